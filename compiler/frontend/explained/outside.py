"""outside: what a program is told when plain Python uses a name of numba-cuda's that only kernels know."""

from __future__ import annotations

from typing import Any

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


def refuse_outside_kernels() -> None:
    """Have numba-cuda's names for kernels raise OutsideKernelError in plain Python.

    They stay the objects that its compiler knows them by.
    """
    from numba.cuda import extending, stubs

    stubs.Stub.__new__ = staticmethod(_not_made)
    extending._Intrinsic.__call__ = _not_called
    for axis in "xyz":
        setattr(stubs.Dim3, axis, _Axis(axis))
    for owner, name in ((stubs.shared, "array"), (stubs.local, "array"), (stubs.const, "array_like")):
        # Its wrapper raises an error with a text of the function that it wraps, and that is where ours is raised.
        vars(owner)[name].__closure__[0].cell_contents = _Untold(f"{owner.__name__}.{name}")


def outside(name: str, home: str = "cuda.") -> OutsideKernelError:
    """Return the error for a name of kernels, such as "grid" of "cuda.", that plain Python used."""
    meaning, instead = _KNOWN.get(name) or _KNOWN.get(name.partition(".")[0], ("", ""))
    what = f", {meaning}," if meaning else ""
    way_on = f"; outside kernels, use {instead}" if instead else ""
    return OutsideKernelError(
        f"{home}{name}{what} was used outside a kernel: it works only while a kernel runs. Use it in a function that "
        f"is decorated with @cuda.jit, and launch that: kernel[griddim, blockdim](...){way_on}"
    )


class _Axis(property):
    """What kernels read of a position or a shape: x, y or z."""

    def __init__(self, axis: str) -> None:
        super().__init__()
        self._axis = axis

    def __get__(self, instance: Any, owner: type | None = None) -> Any:
        raise outside(f"{owner.__name__ if owner else type(instance).__name__}.{self._axis}")


class _Untold:
    """A function's name, of which no text is made."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __str__(self) -> str:
        raise outside(self._name)


def _not_made(cls: type, *_arguments: Any, **_keywords: Any) -> Any:
    raise outside(cls.__qualname__)


def _not_called(intrinsic: Any, *_arguments: Any, **_keywords: Any) -> Any:
    module, name = str(intrinsic._defn.__module__), intrinsic._name
    if module.startswith("numba."):
        raise outside(name)
    raise outside(name, "griddepcontrol." if module.startswith("gridjit.") else "")
