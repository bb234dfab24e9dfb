"""Kernels of libraries that extend numba-cuda, and the process that tries them."""
