"""What users of numba-cuda know: its names for kernels' types, code and pickles."""
