"""numba-cuda's API: its import, its names in kernels, its types, and replacements of its functions in a compile."""
