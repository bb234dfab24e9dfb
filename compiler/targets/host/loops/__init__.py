"""The loops that run regions: over blocks, threads and the regions themselves, as LLVM IR text."""
