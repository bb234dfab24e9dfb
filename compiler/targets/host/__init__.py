"""The host target: kernels compiled to machine code for this computer's processor, by llvmlite and without numba."""

from gridjit.compiler.targets.host.processor import host_target

__all__ = ["host_target"]
