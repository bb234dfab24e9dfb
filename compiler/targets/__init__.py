"""Targets: the code generators. The front end's LLVM IR in, an image that a device loads out."""
