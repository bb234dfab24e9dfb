"""Signatures as people write them, read as numba's types."""
