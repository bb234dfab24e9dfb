"""The functions that checked kernels call, as texts of LLVM IR."""
