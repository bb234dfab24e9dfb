"""numba-cuda's passes, made faster while gridjit compiles, with equal results; other compiles use numba's own."""
