"""Passes of numba-cuda's that take less time while gridjit compiles, with equal results; elsewhere they are numba's."""
