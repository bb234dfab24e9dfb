"""The functions of CUDA's C++ half and bfloat16 on the host, by the names under which numba-cuda calls them."""
