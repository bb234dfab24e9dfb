"""Foreign locks: numba's and llvmlite's locks that a compile takes, freed in a forked child and after an interrupt.

Both take their locks in Python, where an interrupt can come between taking one and noting it. Nothing is imported.
Both also note at exit that LLVM is not called any more; where a function at exit imports them, that is done here.
"""

from __future__ import annotations

import sys
import weakref
from collections.abc import Callable
from types import FrameType
from typing import Any, TypeVar

from gridjit.base.forking import free_in_child, held, wait_before_fork
from gridjit.compiler.source.libraries import in_loaded

Result = TypeVar("Result")

_COMPILING = (
    ("numba.core.compiler_lock", "global_compiler_lock._lock"),
    ("numba.cuda.core.compiler_lock", "_numba_cuda_compiler_lock._lock"),
    ("numba.cuda.descriptor", "cuda_target._typingctx.callstack._lock"),
)
_ENDING = ("llvmlite.binding.common", "numba.core.utils", "numba.cuda.utils")
_IN_LLVM = (("llvmlite.binding.ffi", "lib._lock._lock"),)


def compiling_locks() -> list[Any]:
    """Return the reentrant locks that are held while something is compiled, of the imported libraries."""
    return _present(_COMPILING)


def compiler_locks() -> tuple[Any, Any]:
    """Return numba's and numba-cuda's own compiler locks, in the order they are taken in; both must be imported."""
    core, cuda = _present(_COMPILING[:2])
    return core, cuda


def llvm_locks() -> list[Any]:
    """Return the reentrant lock that llvmlite holds while it is in LLVM, if it is imported."""
    return _present(_IN_LLVM)


def taken() -> dict[int, int]:
    """Return how often the calling thread rightly holds each of these locks.

    LLVM's lock is rightly held only inside a call of LLVM, where a signal handler or a finalizer may compile as well.
    Otherwise an interrupted finalizer has kept it.
    """
    known = {id(lock): held(lock) for lock in compiling_locks()}
    return known | {id(lock): held(lock) for lock in llvm_locks() if held(lock) and _is_in_llvm()}


def give_back(before: dict[int, int]) -> None:
    """Release these locks until the calling thread holds each only as often as before."""
    for lock in (*compiling_locks(), *llvm_locks()):
        for _ in range(held(lock) - before.get(id(lock), 0)):
            lock.release()


def giving_back(work: Callable[[], Result]) -> Result:
    """Return work(). At its end, also by an error, release the locks that it took and still holds."""
    from gridjit.base.interrupts import surely

    before = taken()
    try:
        return work()
    finally:
        try:
            give_back(before)
        except BaseException:  # an interrupt, perhaps at the call itself
            surely(lambda: give_back(before))
            raise


def _is_in_llvm() -> bool:
    """Return whether the calling thread is in a function of llvmlite's that holds its lock."""
    frame: FrameType | None = sys._getframe()
    while frame is not None and frame.f_globals.get("__name__") != "llvmlite.binding.ffi":
        frame = frame.f_back
    return frame is not None


def _end() -> None:
    for end in (in_loaded(module, "_at_shutdown") for module in _ENDING):
        if end is not None:
            end()


def _present(names: tuple[tuple[str, str], ...]) -> list[Any]:
    found = (in_loaded(module, path) for module, path in names)
    return [lock for lock in found if hasattr(lock, "_is_owned")]


free_in_child(compiling_locks)
wait_before_fork(llvm_locks)
weakref.finalize(taken, _end)
