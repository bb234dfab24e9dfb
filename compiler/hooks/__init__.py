"""Functions that an artifact wants called, in words from which another process makes them again."""
