"""forgotten: a launch without a GPU of a kernel from numba-cuda's own jit is one error that says so.

Otherwise numba-cuda would compile it first, and then fail in its driver.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from operator import attrgetter
from types import ModuleType
from typing import Any

from gridjit.compiler.values.errors import DeviceError, for_cause
from gridjit.runtime.installed.taken import name_of
from gridjit.runtime.installed.watching import Watching
from gridjit.runtime.process.session import session

DISPATCHERS = "numba.cuda.dispatcher"
# By class: the methods that launch a kernel, or compile it for the machine's GPU, and the kernel's dispatcher.
_ENTRIES: tuple[tuple[str, str, Callable[[Any], Any]], ...] = (
    ("_LaunchConfiguration", "__call__", attrgetter("dispatcher")),
    ("ForAll", "__call__", attrgetter("dispatcher")),
    ("CUDADispatcher", "specialize", lambda dispatcher: dispatcher),
    ("CUDADispatcher", "compile", lambda dispatcher: dispatcher),
)
# The classes that check.
_asks: set[type] = set()


def watching() -> Watching:
    """Return the finder that follows numba-cuda's dispatchers once they are imported."""
    return Watching(lambda name: follow if name == DISPATCHERS else None)


def follow(dispatchers: ModuleType) -> None:
    """Make numba-cuda's launches check for a GPU first; once will do."""
    for name, method, dispatcher_of in () if dispatchers.CUDADispatcher in _asks else _ENTRIES:
        owner = vars(dispatchers)[name]
        setattr(owner, method, _asking(getattr(owner, method), dispatcher_of))
    _asks.add(dispatchers.CUDADispatcher)


def _asking(entry: Any, dispatcher_of: Callable[[Any], Any]) -> Any:
    @functools.wraps(entry)
    def asking(self: Any, *args: Any, **options: Any) -> Any:
        dispatcher = dispatcher_of(self)
        if session().simulates and not dispatcher.targetoptions.get("device"):  # a function, which numba-cuda refuses
            try:
                raise _forgotten(dispatcher.py_func)
            except DeviceError as error:
                error.__traceback__ = None  # this frame is of no use to the user
                raise
        return entry(self, *args, **options)

    return asking


def _forgotten(function: Any) -> DeviceError:
    """Return the error for a kernel, by its function; it is also numba-cuda's error for a missing driver."""
    from numba.cuda.cudadrv.error import CudaSupportError

    code = function.__code__
    said = (
        f"kernel {name_of(function).rpartition(':')[0]} ({code.co_filename}:{code.co_firstlineno}) was made by "
        "numba-cuda's own jit, which needs a GPU, and there is none: write 'from gridjit import cuda' in that file, or "
        "call gridjit.install() before it is imported"
    )
    return for_cause(DeviceError, said, CudaSupportError(said))
