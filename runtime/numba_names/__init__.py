"""What numba-cuda's names mean for a kernel: its types, code and pickles."""
