"""Python code and objects as the compiler sees them: their digests, files, libraries and places."""
