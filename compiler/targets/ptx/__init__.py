"""The CUDA target: LLVM IR to PTX by NVVM, PTX and linked files to a cubin by nvJitLink, without a GPU."""
