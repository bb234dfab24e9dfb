"""Inline PTX on the host: numba-cuda's own texts, reads of registers, and clusters."""
