"""symbols: the names that the host's code finds in the process that loads it."""

from __future__ import annotations

# A cell that holds the C library's stream which kernels print to.
STREAM = "gridjit_print_stream"
# Numbers of 64 bits: whether allocations are counted; memory taken and freed; heads of arrays taken and freed.
COUNTERS = "gridjit_allocation_counters"

# What an artifact's resources call the need of each.
RESOURCES = {"prints": STREAM, "allocates": COUNTERS}
