"""plain: the numba types and the values of code that are known completely, and the marks of these values.

A value of another class has no mark, and code made with it is not kept.
"""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable
from types import BuiltinFunctionType, FunctionType, ModuleType
from typing import Any, TypeAlias

from gridjit.base.interrupts import let_through
from gridjit.compiler.frontend.bindings.bootstrap import numba_cuda
from gridjit.compiler.recorded.reads import taken_text
from gridjit.compiler.source import libraries
from gridjit.compiler.source.scalars import scalar_text

# Equal for values that lead to the same code. A mark is valid only while its value is alive.
ValueMark: TypeAlias = "tuple[object, ...]"

# numba's types without parts, types with one type inside under a name, and types that are iterated over.
_ATOMS = (
    *("Integer", "Float", "Complex", "Boolean", "NoneType", "SliceType", "RangeType", "StringLiteral"),
    *("GridGroup", "Bfloat16"),
)
_LITERALS = ("IntegerLiteral", "BooleanLiteral")
_AROUND = {"Array": "dtype", "UniTuple": "dtype", "StarArgUniTuple": "dtype", "Optional": "type"}
_CLASSES = {"NumberClass": "instance_type", "DType": "dtype"}
_SEQUENCES = ("Tuple", "StarArgTuple")
# Objects that stand for a function that kernels call, and gridjit's names for the launch: each is immutable.
_CALLED = (
    ("gridjit.runtime.device_function", "DeviceFunction"),
    ("gridjit.runtime.kernel", "Kernel"),
    ("numba.cuda.dispatcher", "CUDADispatcher"),
    ("gridjit.compiler.view.static", "StaticDim3"),
    ("gridjit.compiler.view.static", "StaticInt"),
    ("numpy", "ufunc"),
)
# Classes of the functions in numba-cuda's vocabulary that it implements itself.
_INTRINSIC = ("numba.cuda.extending", "_Intrinsic")


def is_plain(numba_type: Any) -> bool:
    """Return whether a type is numba's own, with nothing in it that a program made."""
    look = _looks().get(type(numba_type))
    return look is not None and look(numba_type)


@functools.cache
def _looks() -> dict[type, Callable[[Any], bool]]:
    numba_cuda()
    from numba.cuda import types

    found: dict[str, Callable[[Any], bool]] = {
        **dict.fromkeys(_ATOMS, lambda _: True),
        **dict.fromkeys(_LITERALS, lambda one: scalar_text(one.literal_value) is not None),
        **{name: functools.partial(_inside, part) for name, part in (*_AROUND.items(), *_CLASSES.items())},
        **dict.fromkeys(_SEQUENCES, lambda one: all(map(is_plain, one.types))),
        "Omitted": lambda one: scalar_text(one.value) is not None,
        "Record": lambda one: all(is_plain(field.type) for field in one.fields.values()),
    }
    kinds = {name: getattr(types, name, None) or getattr(types.ext_types, name, None) for name in found}
    return {kind: found[name] for name, kind in kinds.items() if kind is not None}


def is_of_plain_types(kind: type) -> bool:
    """Return whether a class is a plain type's, or a base of a plain type's class, even if only by registration."""
    return any(issubclass(one, kind) for one in _looks())


def _inside(name: str, numba_type: Any) -> bool:
    return is_plain(getattr(numba_type, name))


def mark_of(value: object) -> ValueMark | None:
    """Return the mark of a value that code takes; None if no mark covers all that the compiler may see."""
    try:
        return _mark(value)
    except Exception as error:  # to look at a value may run code of its class
        let_through(error)
        return None


def is_numbas(function: object) -> bool:
    """Return whether a function is in a module of the installed numba-cuda, whose tests are programs."""
    if type(function) is not FunctionType:
        return False
    module = function.__globals__.get("__name__")
    if not isinstance(module, str) or not libraries.is_numbas(module):
        return False
    return getattr(sys.modules.get(module), "__dict__", None) is function.__globals__


def _mark(value: Any) -> ValueMark | None:
    if (text := scalar_text(value)) is not None:
        return ("scalar", text)
    if type(value) is tuple:
        marks = tuple(_mark(item) for item in value)
        return None if any(mark is None or mark[0] != "scalar" for mark in marks) else ("tuple", marks)
    if _stays(value):
        # A function's object may be given another dispatcher, and is then of another type.
        return ("the very", id(value), None if type(value) is ModuleType else getattr(value, "_numba_type_", None))
    if is_plain(value):
        return ("type", type(value), str(value))
    return _numpy_mark(value) if type(value).__module__ in ("numpy", "numpy.dtypes") else None


def _numpy_mark(value: Any) -> ValueMark | None:
    dtype = getattr(value, "dtype", value)
    if dtype.hasobject or dtype.metadata is not None or dtype.names is not None:
        return None
    if type(value).__name__ == "ndarray":
        return ("array", id(value), taken_text(value), value.strides)
    return ("numpy", type(value), taken_text(value))


def _stays(value: Any) -> bool:
    """Return whether a value is a library's code, a module, or stands for a function that has its own unit."""
    kind = type(value)
    if kind is ModuleType:
        return True
    if isinstance(value, type) or kind in (FunctionType, BuiltinFunctionType):
        module = value.__globals__.get("__name__") if kind is FunctionType else value.__module__
        return libraries.is_library(module if isinstance(module, str) else "")
    if (kind.__module__, kind.__name__) == _INTRINSIC:
        return is_numbas(value._defn)
    return (kind.__module__, kind.__name__) in _CALLED
