"""The functions of CUDA's C++ halves, bfloat16s and 8-bit floats on the host, by the names numba-cuda calls them."""
