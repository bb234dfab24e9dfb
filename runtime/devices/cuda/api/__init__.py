"""CUDA's driver API: how it is found and called."""
