"""What numba, numba-cuda and their extensions are in this process today, looked at once for all who ask."""
