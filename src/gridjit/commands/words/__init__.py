"""The words of the command line: declared, read as values, and completed, without importing what carries them out."""
