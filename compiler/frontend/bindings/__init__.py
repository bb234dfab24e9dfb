"""numba-cuda's API: how it is imported, its names in kernels, its types, its functions while others stand in."""
