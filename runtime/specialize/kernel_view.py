"""KernelView: a compilation's view of its kernel: all of it but attributes that reveal the launch without a record.

The kernel's private attributes reveal how it was launched, the current launch included, so they are refused. Its other
specializations differ between processes, and attributes that a program set on it are not in any key: code that read
these, in whatever way, is not stored.
"""

from __future__ import annotations

from collections.abc import Callable
from types import MethodType
from typing import TYPE_CHECKING, Any

from gridjit.compiler.view.config import current_view

if TYPE_CHECKING:
    from gridjit.runtime.kernel import Kernel

# Names that only look private: numba-cuda's protocols.
_SHOWN = frozenset({"_numba_type_", "_device_function"})
_HISTORY = frozenset(
    {
        *("specializations", "overloads", "signatures", "nopython_signatures", "stats", "explain", "generation"),
        "may_compile",
    }
)
_HISTORIES = ("inspect_", "get_")
# A kernel's own attributes that are in the key of its code. A program put its other attributes there, or they are its
# function, which leads to those.
_IN_THE_KEY = frozenset({"options", "marks", "__name__", "__qualname__", "__module__"})
# Attributes in the key of each form itself.
_OF_THE_FORM = frozenset({"options", "targetoptions"})
# Attributes of its class too that are the program's, or lead to all that is.
_THE_PROGRAMS = frozenset(
    {"extensions", "__doc__", "__annotations__", "__wrapped__", "__reduce__", "__reduce_ex__", "__getstate__"}
)


class KernelView:
    """A kernel while it is compiled; equal to it. form: the form that is compiled, with options of its own."""

    __slots__ = ("__weakref__", "_equals", "_get", "_put")

    def __init__(self, kernel: Kernel, form: Kernel) -> None:
        # The kernel is in closures: every access by attribute goes through here.
        def equals(other: object) -> bool:
            return other is kernel or (type(other) is KernelView and other._equals(kernel))

        object.__setattr__(self, "_equals", equals)
        object.__setattr__(self, "_get", _getter(kernel, form))
        object.__setattr__(self, "_put", _putter(kernel))

    def __getattribute__(self, name: str) -> Any:
        # The view's class has this name too, which would be found first.
        if name in ("__doc__", "__annotations__", "__dict__"):
            return object.__getattribute__(self, "_get")(name)
        return object.__getattribute__(self, name)

    def __getattr__(self, name: str) -> Any:
        return self._get(name)

    def __setattr__(self, name: str, value: Any) -> None:
        self._put(name, value)

    @property  # type: ignore[misc]  # isinstance is to know it for a kernel
    def __class__(self) -> Any:
        return self._get("__class__")

    def __getitem__(self, launch: Any) -> Any:
        return self._get("__getitem__")(launch)

    def __call__(self, *args: Any) -> None:
        self._get("__call__")(*args)

    def __eq__(self, other: object) -> bool:
        return bool(self._equals(other))

    def __hash__(self) -> int:
        return int(self._get("__hash__")())

    def __repr__(self) -> str:
        return str(self._get("__repr__")())

    def __reduce__(self) -> Any:
        return self._get("__reduce__")()


def _getter(kernel: Kernel, form: Kernel) -> Callable[[str], Any]:
    def get(name: str) -> Any:
        _check(kernel, name)
        value = getattr(form if name in _OF_THE_FORM else kernel, name)
        if type(value) is not MethodType:
            return value

        def call(*args: Any, **keywords: Any) -> Any:
            return value(*args, **keywords)

        return call

    return get


def _putter(kernel: Kernel) -> Callable[[str, Any], None]:
    def put(name: str, value: Any) -> None:
        setattr(kernel, name, value)

    return put


def _check(kernel: Kernel, name: str) -> None:
    """Raise AttributeError for a kernel's private attribute; keep private the code that reads one not in its key."""
    if name == "__dict__" or (name.startswith("_") and not name.startswith("__") and name not in _SHOWN):
        raise AttributeError(f"{name} of a kernel is not shown while it is compiled: it may reveal the launch")
    view = current_view()
    if view is None:
        return
    if name in _HISTORY or name.startswith(_HISTORIES):
        view.keep_private(f"the compilation read {name} of its kernel, which differs in other processes")
    elif name in _THE_PROGRAMS or (name not in _IN_THE_KEY and not _is_of_the_class(kernel, name)):
        view.keep_private(f"the compilation read {name} of its kernel, which is not in the key of its code")


def _is_of_the_class(kernel: Kernel, name: str) -> bool:
    return any(name in vars(base) for base in type(kernel).__mro__)
