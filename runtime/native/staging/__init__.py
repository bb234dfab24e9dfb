"""Launches in machine code whose arrays are the host's: copied to a GPU before the kernel, and back after it."""
