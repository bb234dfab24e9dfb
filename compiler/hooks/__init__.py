"""Functions that an artifact wants called, described so that another process can make them again."""
