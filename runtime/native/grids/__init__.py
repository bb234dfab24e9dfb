"""Grids on the host in machine code: who runs which blocks, the threads that help, and how a launch is interrupted."""
