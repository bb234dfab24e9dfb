"""The launch's dimensions as compile-time integers in kernels: blockDim.x, gridDim.y, sharedmem, and so on."""

from typing import TYPE_CHECKING

from gridjit.compiler.view.static import blockDim, gridDim

if TYPE_CHECKING:
    sharedmem: int  # what it is in a kernel, which is where it has a value
else:
    from gridjit.compiler.view.static import sharedmem

__all__ = ["blockDim", "gridDim", "sharedmem"]
