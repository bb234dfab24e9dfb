"""The machine code of a launch, as LLVM IR."""
