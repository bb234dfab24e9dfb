"""One compile by numba-cuda, closed off: it finds nothing of other compiles, and leaves nothing behind."""
