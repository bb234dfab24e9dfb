"""A GPU's memory: where it comes from, copies, and the host's memory that copies go through."""
