"""Copies within a GPU that no pitched copy of the driver fits: kernels of ours, and which of them a copy takes."""
