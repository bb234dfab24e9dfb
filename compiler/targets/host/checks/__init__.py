"""What debug kernels are checked for while they run on the host: accesses outside arrays, unwritten memory, races."""
