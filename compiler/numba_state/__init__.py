"""The state of numba, numba-cuda and their extensions in this process, looked at once for all who ask."""
