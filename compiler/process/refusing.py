"""refusing: numba-cuda's functions that do nothing, as only kernels call them, raise OutsideKernelError when called.

They remain the objects by which its compiler knows them, which never looks at their code. So it does not count in keys.
"""

from __future__ import annotations

import dis
import functools
from inspect import Parameter, Signature
from types import CodeType, FunctionType, ModuleType
from typing import Any, NoReturn

from gridjit.compiler.values.errors import OutsideKernelError

_NAME = "the name"
# Instructions of code that does nothing, in any version of Python.
_NOTHING = {"RESUME", "NOP", "LOAD_CONST", "RETURN_CONST", "RETURN_VALUE"}


def refuse_calls(module: ModuleType, prefix: str) -> None:
    """Make the functions of a module that do nothing raise the error if plain Python calls them.

    prefix: the words before the names in programs, without "cuda.".
    """
    for name, function in list(vars(module).items()):
        if type(function) is FunctionType and _does_nothing(function.__code__):
            _give(function, f"{prefix}{name}")


def refuse_call(function: Any, name: str) -> None:
    """Make a function raise the error if plain Python calls it. name: as in programs, without "cuda."."""
    if not refuses(function):
        _give(function, name)


def refuses(function: Any) -> bool:
    """Return whether a function only raises the error."""
    return bool(function.__code__.co_code == _refuse.__code__.co_code)


def _does_nothing(code: CodeType) -> bool:
    # Most functions are told by their length, and the others have few instructions that differ.
    return len(code.co_code) <= len(_nothing.__code__.co_code) and _are_nothing(code.co_code)


@functools.cache
def _are_nothing(instructions: bytes) -> bool:
    return all(dis.opname[code] in _NOTHING for code in instructions[::2])


def _give(function: FunctionType, name: str) -> None:
    """Give a function the code that refuses, under its own name and with its parameters for who looks at them."""
    own, code = function.__code__, _refuse.__code__
    if own.co_argcount:
        vars(function)["__signature__"] = _signature(own.co_varnames[: own.co_argcount])
    function.__code__ = code.replace(
        co_name=own.co_name,
        co_filename=own.co_filename,
        co_firstlineno=own.co_firstlineno,
        co_consts=tuple(name if one == _NAME else one for one in code.co_consts),
    )


@functools.cache
def _signature(parameters: tuple[str, ...]) -> Signature:
    return Signature([Parameter(name, Parameter.POSITIONAL_OR_KEYWORD) for name in parameters])


def _nothing() -> None:
    pass


def _refuse(*_arguments: Any, **_keywords: Any) -> NoReturn:
    # It runs with the globals of the function that it is given to.
    from gridjit.compiler.process.refusing import outside

    try:
        raise outside("the name")
    except BaseException as error:
        error.__traceback__ = None  # of the user's frames alone
        raise


# A name's meaning in a kernel, and the name that a program may have meant elsewhere.
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
# How names begin that are not cuda's: gridjit's own, and a program's.
_ELSEWHERE = ("griddepcontrol.", ".")


def outside(name: str) -> OutsideKernelError:
    """Return the error for a name that plain Python used: cuda's, as "grid", or another with its module."""
    meaning, instead = _KNOWN.get(name) or _KNOWN.get(name.partition(".")[0], ("", ""))
    full = name.removeprefix(".") if name.startswith(_ELSEWHERE) else f"cuda.{name}"
    what = f", {meaning}," if meaning else ""
    way_on = f"; outside kernels, use {instead}" if instead else ""
    return OutsideKernelError(
        f"{full}{what} was used outside a kernel: it works only while a kernel runs. Use it in a function that "
        f"is decorated with @cuda.jit, and launch that: kernel[griddim, blockdim](...){way_on}"
    )
