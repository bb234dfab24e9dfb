"""The arguments of the command line: declared, read as values, and completed, without importing the commands."""
