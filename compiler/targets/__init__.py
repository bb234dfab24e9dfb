"""Targets: what code is made for. LLVM IR of the front end in, an image that a device loads out."""
