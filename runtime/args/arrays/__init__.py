"""Arrays as arguments: who owns their memory, how it is laid out, and where it must be."""
