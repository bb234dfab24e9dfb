"""Files that kernels are linked with on the host: LLVM IR, objects and archives for this processor, and C."""
