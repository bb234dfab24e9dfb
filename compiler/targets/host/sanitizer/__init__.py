"""Checks of debug kernels while they run on the host: accesses outside arrays, reads of unwritten memory, races."""
