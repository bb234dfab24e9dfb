"""Inline PTX on the host: what numba-cuda writes, reads of registers, and clusters."""
