"""A kernel as LLVM IR text: blocks and instructions, gridjit's own operations, and the places of values in memory."""
