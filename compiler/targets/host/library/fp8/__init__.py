"""The functions of CUDA's C++ floats of 8 bits on the host, by the names under which numba-cuda calls them."""
