"""Attributes that a program set on a library's classes and functions, and on kernels and dispatchers.

Such objects count as a whole. An attribute that a program put on one counts where code takes it.
"""

from __future__ import annotations

import dis
from collections.abc import Callable, Iterator, Mapping
from types import FunctionType, ModuleType

from gridjit.compiler.key.source.libraries import is_library, is_librarys
from gridjit.compiler.key.source.objects import function_of
from gridjit.compiler.key.source.opaque import of_kind

# What a kernel or a dispatcher keeps of its launches and compiles; it differs by process.
_HISTORY = frozenset(
    (
        *("stats", "specializations", "overloads", "signatures", "explain", "generation", "nopython_signatures"),
        *("definition", "_compiler", "_code", "_specialized_kernels", "specializations", "extensions"),
        *("get_call_template", "get_compile_result", "get_metadata", "get_overload"),
    )
)
_SHOWS_CODE = ("inspect_", "get_regs_", "get_const_", "get_shared_", "get_local_", "get_max_")
_KERNELS = ("Kernel", "TieredKernel", "CUDADispatcher", "ConfiguredKernel", "_LaunchConfiguration")
# What update_wrapper copies from the wrapped function, which counts itself.
_COPIED = frozenset({"__wrapped__", "__module__", "__qualname__", "__type_params__"})


def may_hold(value: object) -> bool:
    """Return whether value is a library's, and of a kind that programs put attributes on."""
    if of_kind(value, type) or of_kind(value, FunctionType):
        return is_librarys(value)
    return _is_wrapper(value)


def put_on(value: object, is_put_there: Callable[[object], bool]) -> Mapping[str, object]:
    """Return what a program may have put on value, by name."""
    if isinstance(value, type):
        held = {name: item for cls in reversed(value.__mro__) for name, item in vars(cls).items()}
        return {name: item for name, item in held.items() if not name.startswith("__") and is_put_there(item)}
    own = _COPIED if isinstance(value, FunctionType) else _COPIED | _stored_by(type(value)) | _HISTORY
    return {name: item for name, item in vars(value).items() if name not in own}


def history_of(value: object, name: str) -> str | None:
    """Return why an attribute of a kernel differs by process, or None if it does not."""
    kind = type(value)
    if kind.__name__ not in _KERNELS or not is_library(kind.__module__):
        return None
    if (name in _HISTORY or name.startswith(_SHOWS_CODE)) and (name in vars(value) or hasattr(kind, name)):
        return f"{name} of a kernel"
    return None


def end_of(value: object, attributes: tuple[str, ...]) -> tuple[object, tuple[str, ...]]:
    """Return what a chain of attributes leads to through modules, and the rest of the chain."""
    while attributes and of_kind(value, ModuleType):
        value, attributes = vars(value).get(attributes[0]), attributes[1:]
    return value, attributes


def _is_wrapper(value: object) -> bool:
    kind = type(value)
    if not is_library(kind.__module__) or issubclass(kind, ModuleType) or not hasattr(value, "__dict__"):
        return False
    return "py_func" in vars(value) and function_of(value) is not None


def _stored_by(cls: type) -> frozenset[str]:
    """Return the names of the attributes that the methods of a class and of its bases give its objects."""
    if cls not in _stored:
        names = (name for base in cls.__mro__ for method in vars(base).values() for name in _stores(method))
        _stored[cls] = frozenset(names)
    return _stored[cls]


# By class; libraries' classes do not change.
_stored: dict[type, frozenset[str]] = {}


def _stores(method: object) -> Iterator[str]:
    for one in (method, *(getattr(method, name, None) for name in ("fget", "fset", "fdel"))):
        if (code := getattr(one, "__code__", None)) is not None:
            yield from (step.argval for step in dis.get_instructions(code) if step.opname == "STORE_ATTR")
    # A property that is worked out once leaves its name behind.
    name = getattr(method, "attrname", None) or getattr(method, "_name", None)
    if isinstance(name, str):
        yield name
