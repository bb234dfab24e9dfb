"""What a compile sees of its launch; each read is recorded."""
