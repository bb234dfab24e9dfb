"""The functions of CUDA's 8-bit C++ floats on the host, by the names under which numba-cuda calls them."""
