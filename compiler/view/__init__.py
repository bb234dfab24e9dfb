"""The launch as a compile sees it; each read is recorded."""
