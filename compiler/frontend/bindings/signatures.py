"""Signature texts, such as "void(float32[:, ::1], int64)", read as numba's types: parsed, never evaluated.

A text names types, indexes them by `:` and `::1`, calls them (a signature) or calls one of a few constructors. Anything
else is a ConfigError that names it. No code in a text runs.
"""

from __future__ import annotations

import ast
import difflib
import warnings
from typing import Any

import numpy as np

from gridjit.base.interrupts import let_through
from gridjit.base.printable import printable
from gridjit.compiler.frontend.bindings.bootstrap import numba_cuda
from gridjit.compiler.values.errors import ConfigError, a_class, shown

# numba's classes that texts may call. They keep their arguments and do nothing with them.
_CONSTRUCTORS = frozenset(
    (
        *("Array", "CPointer", "CharSeq", "Complex", "DType", "Float", "Integer", "NPDatetime", "NPTimedelta"),
        *("NestedArray", "NumberClass", "Optional", "RawPointer", "Record", "Tuple", "UniTuple", "UnicodeCharSeq"),
        "optional",
    )
)
_METHODS = {("Record", "make_c_struct")}
# Text is for people: longer ones are a mistake, and deep ones take the parser's stack.
_MOST_TEXT, _MOST_SHOWN = 100_000, 120
_EXAMPLE = 'such as "void(float32[::1], int64)"'


class _NotATypeError(Exception):
    """Part of a text is not of the language; the message names it."""


def parsed(text: str) -> Any:
    """Return the numba signature or the tuple of numba types of a text; raises ConfigError."""
    shown = repr(text if len(text) < _MOST_SHOWN else f"{text[:_MOST_SHOWN]}...")
    try:
        found = _value(_tree(text))
    except _NotATypeError as error:
        raise ConfigError(f"signature {shown}: {printable(str(error))}") from None
    except Exception as error:  # of numba's constructors, which check what they are given in many ways
        let_through(error)
        raise ConfigError(f"signature {shown} is not understood: {printable(str(error))}") from error
    if not isinstance(found, tuple) and not hasattr(found, "return_type"):
        raise ConfigError(f"signature {shown}: give the types of the arguments in parentheses, {_EXAMPLE}")
    return found


def _tree(text: str) -> ast.expr:
    if len(text) > _MOST_TEXT:
        raise _NotATypeError(f"it has {len(text)} characters, more than {_MOST_TEXT}")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of Python's, about code that is not run
            return ast.parse(text.strip(), "signature", mode="eval").body
    except (SyntaxError, ValueError) as error:
        said = error.msg if isinstance(error, SyntaxError) else str(error)
        raise _NotATypeError(f"{said}; give types, {_EXAMPLE}") from None
    except (RecursionError, MemoryError):
        raise _NotATypeError("it is nested too deeply") from None


def _value(node: ast.expr) -> Any:
    """Return the value of a part of a text."""
    match node:
        case ast.Name(id=name):
            return _named(name)
        case ast.Attribute(value=ast.Name(id="types"), attr=name):
            return _named(name)
        case ast.Subscript(value=item, slice=axes):
            return _type(item)[_axes(axes)]
        case ast.Tuple(elts=parts):
            return tuple(_type(part) for part in parts)
        case ast.Call(func=called, args=arguments, keywords=keywords):
            if (constructor := _constructor(called)) is not None:
                named = {word.arg: _argument(word.value) for word in keywords if word.arg is not None}
                if len(named) == len(keywords):
                    return constructor(*map(_argument, arguments), **named)
            elif not keywords:
                return _type(called)(*map(_type, arguments))
    raise _NotATypeError(f"{_source(node)} is not a type; give types, {_EXAMPLE}")


def _type(node: ast.expr) -> Any:
    found = _value(node)
    if not isinstance(found, _types().Type):
        raise _NotATypeError(f"{_source(node)} is not a type; give types, {_EXAMPLE}")
    return found


def _named(name: str) -> Any:
    """Return the type that numba, or an extension of it, has under a name."""
    known = {other for other, value in vars(_types()).items() if isinstance(value, _types().Type)}
    if name in known:
        return vars(_types())[name]
    if name in _CONSTRUCTORS:
        raise _NotATypeError(f"{name} needs arguments, as in UniTuple(float32, 3)")
    near = difflib.get_close_matches(name, known, n=1)
    raise _NotATypeError(f"numba does not have a type {name!r}{f'; did you mean {near[0]}?' if near else ''}")


def _constructor(node: ast.expr) -> Any:
    """Return the constructor that a call is of; None if it is of something else."""
    match node:
        case ast.Attribute(value=ast.Name(id="types"), attr=name) | ast.Name(id=name) if name in _CONSTRUCTORS:
            return getattr(_types(), name)
        case ast.Attribute(value=ast.Name(id=name), attr=method) if (name, method) in _METHODS:
            return getattr(getattr(_types(), name), method)
    return None


def _axes(node: ast.expr) -> Any:
    """Return an index of `:` and `::1`, as many as there are."""
    axes = tuple(_axis(one) for one in (node.elts if isinstance(node, ast.Tuple) else [node]))
    return axes if isinstance(node, ast.Tuple) else axes[0]


def _axis(node: ast.expr) -> slice:
    match node:
        case ast.Slice(lower=None, upper=None, step=None):
            return slice(None)
        case ast.Slice(lower=None, upper=None, step=ast.Constant(value=1)):
            return slice(None, None, 1)
    raise _NotATypeError(f"[{_source(node)}]: give an array's dimensions as : or ::1, such as float32[:, ::1]")


def _argument(node: ast.expr) -> Any:
    """Return an argument of a constructor: a type, a plain value, or several of these."""
    match node:
        case ast.Constant(value=value) if value is None or isinstance(value, str | int):
            return value
        case ast.Tuple(elts=parts):
            return tuple(map(_argument, parts))
        case ast.List(elts=parts):
            return list(map(_argument, parts))
        case ast.Dict(keys=keys, values=values) if None not in keys:
            return {
                _argument(key): _argument(value) for key, value in zip(keys, values, strict=True) if key is not None
            }
    return _type(node)


def _source(node: ast.expr) -> str:
    text = ast.unparse(node)
    return text if len(text) < _MOST_SHOWN else f"{text[:_MOST_SHOWN]}..."


def _types() -> Any:
    numba_cuda()
    from numba.cuda import types

    return types


_WAY_ON = 'give a string, such as "void(float32[::1], int64)", or a tuple of types: (cuda.float32[::1], cuda.int64)'

_NUMBERS = (np.number, np.bool_, int, float, complex)


def check_types(signature: Any) -> None:
    """Raise ConfigError unless signature, which is not a text, is numba's or a tuple of numba's types."""
    from numba.cuda import types
    from numba.cuda.core import sigutils

    if not isinstance(signature, tuple):
        if sigutils.is_signature(signature):
            return
        raise ConfigError(f"signature {shown(signature)} is {a_class(type(signature))}: {_WAY_ON}")
    for place, item in enumerate(signature, 1):
        if not isinstance(item, types.Type):
            raise ConfigError(f"signature {shown(signature)}: item {place} is {_said(item)}")


def _said(item: Any) -> str:
    """Return words for an item that is not a type, and the type that was probably meant."""
    what = a_class(item).partition(" ")[2] if isinstance(item, type) else a_class(type(item))
    if isinstance(item, np.ndarray):
        return f"{what} and not its type: give cuda.{_typed(item.dtype)}[{', '.join(':' * item.ndim)}]"
    if (name := _number(item)) is not None:
        return f"{what}, not a type of kernels: give cuda.{name}"
    if isinstance(item, str):
        return f"a string: give one string for the whole signature, or types such as cuda.{_plain(item)}"
    return f"{what}, not a type of kernels: {_WAY_ON}"


def _number(item: Any) -> str | None:
    """Return the name of the type of numbers that NumPy or Python calls so; None if there is none."""
    if not isinstance(item, np.dtype) and not (isinstance(item, type) and issubclass(item, _NUMBERS)):
        return None
    try:
        return _typed(np.dtype(item))
    except TypeError:  # a class of NumPy's that is not of one type, or one of the program's
        return None


def _typed(dtype: np.dtype[Any]) -> str:
    return "boolean" if dtype.kind == "b" else dtype.name


def _plain(text: str) -> str:
    return text if text.isidentifier() else "float32"
