"""What numba-cuda does around each pass, each statement and each instruction, done with fewer calls."""
