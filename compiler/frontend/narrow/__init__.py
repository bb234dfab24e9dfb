"""Floats of 16 and 8 bits: numba-cuda's modules of them, left out until a compile has to do with one."""
