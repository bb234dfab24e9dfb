"""Records that Python and machine code share, as fields and offsets."""
