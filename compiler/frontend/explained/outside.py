"""outside: what a program is told when plain Python uses a name of numba-cuda's that only kernels know."""

from __future__ import annotations

from gridjit.compiler.errors import OutsideKernelError

# What a name is to a kernel, and what a program that used it elsewhere may have meant.
_KNOWN = {
    "grid": ("a thread's position in the grid", ""),
    "gridsize": ("the number of threads in the grid", "the blocks of a launch times their threads"),
    "threadIdx": ("a thread's position in its block", ""),
    "blockIdx": ("a block's position in the grid", ""),
    "blockDim": ("the shape of a launch's blocks", "the blockdim that you launch with"),
    "gridDim": ("the shape of a launch's grid", "the griddim that you launch with"),
    "syncthreads": ("a barrier for the threads of a block", "cuda.synchronize(), which waits for launches"),
    "shared.array": ("memory that the threads of a block share", "cuda.device_array(shape, dtype)"),
    "local.array": ("memory of one thread", "cuda.device_array(shape, dtype)"),
    "const.array_like": ("constant memory of a kernel", "cuda.to_device(array)"),
    "atomic": ("an update of memory that no other thread can interrupt", "NumPy, or a kernel of one thread"),
}
# How names begin that are not cuda's: gridjit's own, and those of a program.
_ELSEWHERE = ("griddepcontrol.", ".")


def outside(name: str) -> OutsideKernelError:
    """Return the error for a name that plain Python used: one of cuda's, such as "grid", or one with its module."""
    meaning, instead = _KNOWN.get(name) or _KNOWN.get(name.partition(".")[0], ("", ""))
    full = name.removeprefix(".") if name.startswith(_ELSEWHERE) else f"cuda.{name}"
    what = f", {meaning}," if meaning else ""
    way_on = f"; outside kernels, use {instead}" if instead else ""
    return OutsideKernelError(
        f"{full}{what} was used outside a kernel: it works only while a kernel runs. Use it in a function that "
        f"is decorated with @cuda.jit, and launch that: kernel[griddim, blockdim](...){way_on}"
    )
