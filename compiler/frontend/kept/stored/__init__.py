"""What the front end made of callees, kept on disk for other processes, with a text that says what it was made from."""
