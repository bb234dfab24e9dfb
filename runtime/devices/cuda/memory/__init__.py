"""A GPU's memory: allocations, copies, and the host's memory that copies go through."""
