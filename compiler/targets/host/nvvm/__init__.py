"""numba-cuda's NVVM dialect, made readable for the host's LLVM and searched for operations without support."""
