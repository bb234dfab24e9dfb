"""Arrays as arguments: whose memory, how it is laid out, and where it must be."""
