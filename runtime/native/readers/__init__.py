"""The ways to read an argument in machine code, as LLVM IR: one function for each of READS."""
