"""The host target: kernels compiled to machine code of this computer's processor. Imports llvmlite's binding, never numba."""

from gridjit.compiler.targets.host.target import host_target

__all__ = ["host_target"]
