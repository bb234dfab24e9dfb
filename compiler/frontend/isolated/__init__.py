"""One compile by numba-cuda, closed off: it meets nothing of other compiles, and leaves nothing behind."""
