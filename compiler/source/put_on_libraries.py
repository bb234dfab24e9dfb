"""Attributes that a program set on a library's classes, functions and modules, and on kernels and dispatchers.

These objects count as a whole. A value that a program put on one counts where code takes it. Code that a program put
there counts wherever code comes to the object: the library's own code there may call it, and Python itself calls
methods with two underscores.
"""

from __future__ import annotations

import dis
import operator
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from types import FunctionType, ModuleType

from gridjit.compiler.source.libraries import home_of, is_library, is_librarys
from gridjit.compiler.source.objects import function_of, of_kind
from gridjit.compiler.source.scalars import scalar_text

# A kernel's or a dispatcher's attributes about its launches and compiles, which differ by process.
_HISTORY = frozenset(
    (
        *("stats", "specializations", "overloads", "signatures", "explain", "generation", "nopython_signatures"),
        *("definition", "_compiler", "_code", "_specialized_kernels", "specializations", "extensions"),
        *("get_call_template", "get_compile_result", "get_metadata", "get_overload"),
    )
)
_SHOWS_CODE = ("inspect_", "get_regs_", "get_const_", "get_shared_", "get_local_", "get_max_")
_KERNELS = ("Kernel", "TieredKernel", "CUDADispatcher", "ConfiguredKernel", "_LaunchConfiguration")
# Attributes that update_wrapper copies from the wrapped function, which counts itself.
_COPIED = frozenset({"__wrapped__", "__module__", "__qualname__", "__type_params__"})


def may_hold(value: object) -> bool:
    """Return whether value is a library's, and of a kind that programs put attributes on."""
    if of_kind(value, type) or of_kind(value, FunctionType):
        return is_librarys(value)
    return _is_wrapper(value)


def put_on(value: object, name: str, is_put_there: Callable[[object], bool]) -> Mapping[str, object]:
    """Return the attribute of a name that a program may have put on value; for `__dict__`, all of them."""
    if isinstance(value, type):
        held = {one: vars(cls)[one] for cls in reversed(value.__mro__) for one in _named_in(vars(cls), name)}
        return {one: item for one, item in held.items() if not one.startswith("__") and is_put_there(item)}
    own = _COPIED if isinstance(value, FunctionType) else _COPIED | _stored_by(type(value)) | _HISTORY
    return {one: vars(value)[one] for one in _named_in(vars(value), name) if one not in own}


def _named_in(held: Mapping[str, object], name: str) -> Iterable[str]:
    if name == "__dict__":
        return held
    return (name,) if name in held else ()


def history_of(value: object, name: str) -> str | None:
    """Return why an attribute of a kernel differs by process, or None if it does not."""
    kind = type(value)
    if kind.__name__ not in _KERNELS or not is_library(kind.__module__):
        return None
    if (name in _HISTORY or name.startswith(_SHOWS_CODE)) and (name in vars(value) or hasattr(kind, name)):
        return f"{name} of a kernel"
    return None


def end_of(value: object, attributes: tuple[str, ...]) -> tuple[object, tuple[str, ...]]:
    """Return the value at the end of a chain of attributes through modules, and the rest of the chain."""
    while attributes and of_kind(value, ModuleType):
        value, attributes = vars(value).get(attributes[0]), attributes[1:]
    return value, attributes


def code_in_class(cls: type) -> Iterator[tuple[str, object]]:
    """Yield name and value of code that a program put in a library's class, or in a base of it.

    Of classes of Python's own, the plain values count as well, as their methods read them.
    """
    for base in cls.__mro__:
        if base is object or not is_librarys(base):
            continue
        plain = base.__module__.partition(".")[0] in sys.stdlib_module_names
        yield from ((f"{name} of {base.__qualname__}", item) for name, item in _counting(base, plain=plain))


def code_in_module(module: ModuleType) -> Iterator[tuple[str, object]]:
    """Yield name and value of code that a program put in a library's module, or in its inner modules."""
    for inner in _with_inner(module):
        yield from ((f"{name} of {inner.__name__}", item) for name, item in _counting(inner, plain=False))


def _counting(owner: ModuleType | type, *, plain: bool) -> tuple[tuple[str, object], ...]:
    """Return the attributes of a library's module or class that count; plain: also numbers, texts and the like."""
    names, values = tuple(vars(owner)), tuple(vars(owner).values())
    known = _looked_at.get(id(owner))
    if known is None or known[0] is not owner or known[1] != names or not all(map(operator.is_, known[2], values)):
        held = sorted(zip(names, values, strict=True), key=operator.itemgetter(0))
        counts = tuple((name, item) for name, item in held if is_users_code(item) or (plain and _is_plain(name, item)))
        known = _looked_at[id(owner)] = (owner, names, values, counts)
    return known[3]


def _is_plain(name: str, item: object) -> bool:
    return not name.startswith("__") and scalar_text(item) is not None


# By the identity of a module or class: itself, the names and values in it, and the attributes that count.
_looked_at: dict[int, tuple[object, tuple[str, ...], tuple[object, ...], tuple[tuple[str, object], ...]]] = {}


def is_users_code(value: object) -> bool:
    """Return whether something held by a library's class or module is a function of somebody else's, or wraps one."""
    if issubclass(type(value), property):
        return any(map(is_users_code, (value.fget, value.fset, value.fdel)))  # type: ignore[attr-defined]
    inner = getattr(value, "__func__", value) if issubclass(type(value), (staticmethod, classmethod)) else value
    if not of_kind(inner, FunctionType) or is_librarys(inner) or _is_of_a_renamed(inner):
        return False
    # A library's code made with exec, as by namedtuple and dataclass, has no file.
    return "__file__" in inner.__globals__ or home_of(inner) == "__main__"


def _is_of_a_renamed(function: FunctionType) -> bool:
    # _collections_abc calls itself collections.abc.
    name = getattr(function.__globals__.get("__spec__"), "name", "")
    return is_library(name) and getattr(sys.modules.get(name), "__dict__", None) is function.__globals__


def _with_inner(module: ModuleType) -> Iterator[ModuleType]:
    """Yield a module, and of Python's own packages the modules that it names: json.dumps is json.encoder's work."""
    yield module
    top = module.__name__.partition(".")[0]
    for inner in tuple(vars(module).values()) if top in sys.stdlib_module_names else ():
        if of_kind(inner, ModuleType) and inner.__name__.startswith(f"{module.__name__}."):
            yield from _with_inner(inner)


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
