"""What the front end made of callees, kept for later compiles as long as it is what would be made again."""
