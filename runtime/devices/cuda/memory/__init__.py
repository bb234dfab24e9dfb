"""A GPU's memory: where it comes from, copies, and memory of the host's that these pass by."""
