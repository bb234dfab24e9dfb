"""What the front end made of callees, kept on disk for other processes, with what it was made from told in texts."""
