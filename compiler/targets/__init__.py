"""Targets: what code is made for. The front end's LLVM IR in, an image that a device loads out."""
