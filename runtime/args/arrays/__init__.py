"""Arrays as arguments: who owns their memory, what its layout is, and where it must be."""
