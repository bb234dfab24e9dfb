"""Pickles of kernels and device functions: their module and name if these lead to them, else their whole content.

Pickles of the program's own file (`__main__`) hold both: a process that runs the same file finds them there, any other
makes them.

The second form needs cloudpickle, which takes functions apart; it is imported only for that. The cache does not read
pickles, neither these nor any others.
"""

from __future__ import annotations

import importlib
import sys
import threading
from collections.abc import Callable, Collection
from types import CodeType
from typing import TYPE_CHECKING, Any

from gridjit.base.digests import sha256

if TYPE_CHECKING:
    from gridjit.runtime.kernel import Kernel

Reduced = tuple[Callable[..., Any], tuple[Any, ...]]


def reduced(value: Any, function: Callable[..., Any], make: Callable[..., Any], *parts: Any) -> Reduced:
    """Return, as __reduce__ does, how to find value by its function's name, or to make it: make(function, *parts).

    A function of the program's own file goes both ways: that file is __main__ here, and another, or none, elsewhere.
    """
    module, name = function.__module__, function.__qualname__
    leads = "<locals>" not in name and module not in _state.absent and named(module, name) is value
    if leads and module != "__main__" and module not in _by_value():
        return _found, (module, name)
    if _state.whole:
        return make, (function, *parts)  # the serializer is at work, which knows functions that refer to themselves
    if not leads or module != "__main__":
        return _made, (_whole(make, (function, *parts)),)
    try:
        data, why = _whole(make, (function, *parts)), ""
    except Exception as error:  # a value that the function refers to may raise anything
        data, why = b"", f"{type(error).__name__}: {error}"
    return _found_or_made, (module, name, type(value), _digest(function), data, why)


def reduced_kernel(kernel: Kernel) -> Reduced:
    """Return how to find a kernel, or to make an equal one, with its options, marks and declarations."""
    return reduced(kernel, kernel.py_func, _kernel, type(kernel), kernel.options, kernel._settings, _marks(kernel))


def reduced_as(kernel: Kernel, kind: type[Kernel]) -> Reduced:
    """Return how to make an equal kernel of another kind; no name leads to it."""
    return _made, (_whole(_kernel, (kernel.py_func, kind, kernel.options, kernel._settings, _marks(kernel))),)


def _marks(kernel: Kernel) -> dict[str, Any]:
    names = ("marks", "declared", "launches", "specialized")
    return {name: getattr(kernel, name) for name in names}


class _State(threading.local):
    """A thread's pickling.

    absent: names of modules that the reading process lacks, or has others for. whole: whether it is pickling a function
    by its code.
    """

    absent: tuple[str, ...] = ()
    whole: bool = False


_state = _State()
# Kernels from other processes' pickles, so that many tasks with one kernel have one kernel; and this process's own
# pickles, whose copies are kernels of their own.
_known: dict[bytes, Any] = {}
_KNOWN = 128
_own: dict[int, None] = {}


def pickled_for_others(kernel: Kernel, absent: tuple[str, ...]) -> bytes:
    """Return a kernel's pickle for a process with other modules of the absent names, which it does not use."""
    import pickle  # few processes hand anything over

    _state.absent = absent
    try:
        return pickle.dumps(kernel)
    finally:
        _state.absent = ()


def _kernel(function: Callable[..., Any], kind: Any, options: Any, settings: dict[str, Any], state: Any) -> Any:
    """Return a kernel from its pickled code."""
    made = kind(function, options, **settings)
    vars(made).update(state)
    return made


def _whole(make: Callable[..., Any], parts: tuple[Any, ...]) -> bytes:
    """Return a pickle of make(*parts), by the code and globals of the functions among them."""
    from gridjit.runtime.numba_names.serializer import dumps

    _state.whole, before = True, _state.whole
    try:
        data = dumps((make, parts))
    finally:
        _state.whole = before
    _own[hash(data)] = None
    _shorten(_own)
    return data


def _shorten(kept: dict[Any, Any]) -> None:
    """Forget the oldest entries, beyond so many."""
    while len(kept) > _KNOWN:
        kept.pop(next(iter(kept)), None)


def _made(data: bytes) -> Any:
    if data in _known:
        return _known[data]
    from gridjit.runtime.numba_names.serializer import loads

    make, parts = loads(data)
    made = make(*parts)
    if hash(data) not in _own:
        _known[data] = made
        _shorten(_known)
    return made


def _found_or_made(module: str, name: str, kind: type[Any], digest: bytes, data: bytes, why: str) -> Any:
    """Return the value of a name in a program's own file if its function is the same, else the pickled value."""
    found = named(module, name)
    if isinstance(found, kind) and digest == _digest(found.py_func):
        return found
    if data:
        return _made(data)
    raise AttributeError(
        f"This pickle holds gridjit's {name} of a program's own file, which is not in this process's {module}, and it "
        f"could not be pickled with its code ({why}); put it into a module that both processes can import"
    )


def _digest(function: Any) -> bytes:
    """Return a digest of a function's code, the same in every process."""
    return sha256(_look(function.__code__).encode())


def look_of(function: Any) -> tuple[Any, ...]:
    """Return a function's code in a form that is the same in every process; constants are left out."""
    return _plain_look(function.__code__)


def _plain_look(code: CodeType) -> tuple[Any, ...]:
    return code.co_firstlineno, code.co_code, code.co_names, code.co_varnames


def _look(code: CodeType) -> str:
    constants = [
        _look(value)
        if isinstance(value, CodeType)
        else sorted(map(repr, value))
        if isinstance(value, frozenset)
        else repr(value)
        for value in code.co_consts
    ]
    return repr((*_plain_look(code), code.co_freevars, constants))


def _by_value() -> Collection[str]:
    """Return the names of modules that cloudpickle sends with their content."""
    known = getattr(sys.modules.get("cloudpickle"), "list_registry_pickle_by_value", set)
    names: Collection[str] = known()
    return names


def _found(module: str, name: str) -> Any:
    """Return a module's value of a name; raises AttributeError or ModuleNotFoundError without a value."""
    imported: Any = sys.modules.get(module) or importlib.import_module(module)
    if (found := named(module, name)) is None:
        raise AttributeError(
            f"This pickle refers to gridjit's {module}.{name}, but {imported!r} has no such name in this process; "
            "have both processes import the same module"
        )
    return found


def named(module: str, qualname: str) -> Any:
    """Return a module's value of a name, None without a value."""
    try:
        found: Any = sys.modules.get(module) or importlib.import_module(module)
    except ImportError:
        return None
    for name in qualname.split("."):
        found = getattr(found, name, None)
    return found
