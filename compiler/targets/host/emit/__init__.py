"""Work-item loops: the functions that run a region for the threads of a block, as LLVM IR text."""
