"""The host target: kernels compiled to machine code for this computer's processor, by llvmlite and without numba."""
