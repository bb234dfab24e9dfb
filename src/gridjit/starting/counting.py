"""counting: tells of each kernel that gridjit or numba-cuda makes, compiles, finds or launches in this process."""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable
from types import FrameType
from typing import Any

from gridjit.compiler.values.errors import LaunchNeededError
from gridjit.runtime.environment.tracebacks import for_users
from gridjit.runtime.installed import taken

# Called with what KernelCounts.add takes.
Tell = Callable[[dict[str, Any]], None]
_LONGEST = 200
# The modules of numba-cuda that programs make kernels with.
_MAKERS = ("numba.cuda.decorators", "numba.cuda.dispatcher")


def count_ours(kernels: Any, tell: Tell) -> Callable[[], None]:
    """Tell of each kernel of gridjit's class that is made, or gets code, from now on.

    Returns what tells of code that came since a kernel was last asked for any: from other threads or processes.
    """
    counted: dict[int, tuple[Any, int, int]] = {}

    def count(stats: Any) -> bool:
        """Tell the numbers compiled and found since the last time; return whether there were any."""
        _, compiled, found = counted.get(id(stats), (stats, -1, 0))
        now = (stats.compiles, stats.disk_hits)
        if now == (compiled, found):
            return False
        counted[id(stats)] = (stats, *now)
        tell({"compiled": now[0] - max(compiled, 0), "found": now[1] - found})
        return True

    def made(make: Any, kernel: Any, *args: Any, **options: Any) -> None:
        make(kernel, *args, **options)
        if hasattr(kernel, "py_func"):
            tell({"ours": {_name(kernel.py_func): False}})

    def specialized(specialize: Any, kernel: Any, *args: Any, **options: Any) -> Any:
        try:
            found = specialize(kernel, *args, **options)
        except LaunchNeededError:
            raise
        except Exception as error:
            said = f"{type(error).__name__}: {error}".partition("\n")[0][:_LONGEST]
            tell({"why": {_name(kernel.py_func): said}})
            raise
        if count(kernel.stats):
            tell({"ours": {_name(kernel.py_func): True}})
        return found

    _wrap(kernels, "__init__", made)
    _wrap(kernels, "_specialized", specialized)

    def rest() -> None:
        for stats, *_ in list(counted.values()):
            count(stats)

    return rest


def count_numbas(dispatchers: Any, tell: Tell) -> None:
    """Tell of each kernel of numba-cuda's that is made, or launched, from now on; dispatchers: their module."""

    def made(make: Any, kernel: Any, *args: Any, **options: Any) -> None:
        make(kernel, *args, **options)
        if not kernel.targetoptions.get("device") and (way := _way()):
            name = _name(kernel.py_func)
            tell({"numbas": {name: 0}, "why": {name: way}})

    def launched(launch: Any, configured: Any, *args: Any) -> Any:
        tell({"numbas": {_name(configured.dispatcher.py_func): 1}})
        return launch(configured, *args)

    _wrap(dispatchers.CUDADispatcher, "__init__", made)
    _wrap(dispatchers._LaunchConfiguration, "__call__", launched)


def made_before() -> list[str]:
    """Return the kernels and the names of jit that are numba-cuda's already, and cannot become gridjit's."""
    if "numba.cuda.dispatcher" not in sys.modules:
        return []
    jit: Any = sys.modules["numba.cuda.decorators"].jit
    kernels = [f"the kernel {name}" for name in taken.kernels_made()]
    return kernels + [f"jit in {name}" for name in taken.holders_of(jit)]


def _name(function: Any) -> str:
    """Return a function's name and line; multiprocessing's processes know a program's main module by another name."""
    return taken.name_of(function).replace("__mp_main__", "__main__", 1)


def _way() -> str:
    """Return by which of numba-cuda's names a program makes a kernel; empty for numba's own, such as overloads."""
    frame: FrameType | None = sys._getframe()
    name = last = ""
    while frame is not None and (not name or name in _MAKERS or name.startswith("gridjit.")):
        last, name = name, str(frame.f_globals.get("__name__"))
        frame = frame.f_back
    if name.startswith("numba.") and not name.startswith("numba.cuda.tests."):
        return ""
    jit = "numba.cuda.decorators.jit" if last == _MAKERS[0] else "numba.cuda.dispatcher"
    return f"numba-cuda's own, made by {jit}, which gridjit.install() does not replace"


def _wrap(owner: Any, name: str, around: Callable[..., Any]) -> None:
    """Replace a method by a function that gets the method first."""
    method = getattr(owner, name)

    @functools.wraps(method)
    def wrapped(self: Any, *args: Any, **options: Any) -> Any:
        return around(method, self, *args, **options)

    setattr(owner, name, for_users(wrapped))
