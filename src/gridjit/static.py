"""The launch's dimensions as compile-time integers in kernels: blockDim.x, gridDim.y, sharedmem, and so on."""

from gridjit.compiler.static import blockDim, gridDim, sharedmem

__all__ = ["blockDim", "gridDim", "sharedmem"]
