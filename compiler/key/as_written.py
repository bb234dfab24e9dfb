"""as_written: whether functions of numba's have the code and defaults that their module's file gives them.

Python's own version of a function tells that for most of them. The file is read only for the others.
"""

from __future__ import annotations

import functools
import marshal
import sys
from collections.abc import Iterable, Iterator, Sequence
from types import CodeType, FunctionType
from typing import Any

from gridjit.base.interrupts import let_through
from gridjit.compiler.key.numbas_own import is_own_function
from gridjit.compiler.process.refusing import refuses
from gridjit.compiler.process.stamps import set_since_made
from gridjit.compiler.source.scalars import scalar_text


def not_as_written(functions: Sequence[FunctionType]) -> list[FunctionType]:
    """Return those of numba's functions whose code or defaults differ from their file's; none before Python 3.12."""
    return [one for one in set_since_made(functions) or () if is_own_function(one) and not _is_as_written(one)]


def _is_as_written(function: FunctionType) -> bool:
    """Return whether a function is as its module's file says, or as a function of that file makes it."""
    if refuses(function):
        return True
    has_defaults = function.__defaults__ is not None or function.__kwdefaults__ is not None
    if not has_defaults and _is_made_by_another(function):
        return True
    # A function that wraps another may have that one's name.
    if not function.__code__.co_freevars and function.__code__.co_qualname != function.__qualname__:
        return False
    name = function.__globals__.get("__name__")
    codes = _codes_of(name) if isinstance(name, str) else ()
    # Code without a file, such as what decorators write, cannot be compared.
    return not codes or (function.__code__ in codes and _are_written(function, codes))


def _is_made_by_another(function: FunctionType) -> bool:
    """Return whether a function's very code is part of another function's, as a decorator's wrapper is."""
    others = [one for one in function.__globals__.values() if type(one) is FunctionType and one is not function]
    return any(function.__code__ is code for one in others for code in _within(one.__code__.co_consts))


def _are_written(function: FunctionType, codes: Iterable[CodeType]) -> bool:
    """Return whether its module's code has the plain values of a function's defaults; together, if all are plain."""
    constants = [one for code in codes for one in code.co_consts]
    given: list[Any] = [*(function.__kwdefaults__ or {}).values()]
    defaults = function.__defaults__ or ()
    if all(scalar_text(one) is not None for one in defaults):
        given += [defaults] if defaults else []
    else:
        given += defaults
    texts = {_text(one) for one in constants}
    return all(_text(one) in texts for one in given if type(one) is tuple or scalar_text(one) is not None)


def _text(value: Any) -> bytes:
    return b"" if isinstance(value, CodeType) else marshal.dumps(value, 0)


@functools.cache
def _codes_of(module: str) -> frozenset[CodeType]:
    """Return all code of a module's file; none if it cannot be read."""
    spec = getattr(sys.modules.get(module), "__spec__", None)
    try:
        code = spec.loader.get_code(spec.name)  # type: ignore[union-attr]  # one without it has no file
    except Exception as error:
        let_through(error)
        return frozenset()
    return frozenset() if code is None else frozenset((code, *_within(code.co_consts)))


def _within(constants: Iterable[object]) -> Iterator[CodeType]:
    for one in constants:
        if isinstance(one, CodeType):
            yield one
            yield from _within(one.co_consts)
