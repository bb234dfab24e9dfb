"""Files that are linked into kernels on the host: LLVM IR, objects and archives for this processor, and C."""
