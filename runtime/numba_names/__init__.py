"""A kernel under numba-cuda's names: its types, code and pickles."""
