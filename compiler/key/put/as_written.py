"""as_written: whether functions of numba's have the code and defaults that their module's file gives them.

Most have: what Python itself notes of a function tells that. The file is looked at only for the others.
"""

from __future__ import annotations

import functools
import marshal
import sys
from collections.abc import Iterable, Iterator, Sequence
from types import CodeType, FunctionType
from typing import Any

from gridjit.compiler.key.put.own import is_own_function
from gridjit.compiler.key.source.scalars import scalar_text
from gridjit.compiler.process.stamps import set_since_made
from gridjit.interrupts import let_through


def not_as_written(functions: Sequence[FunctionType]) -> list[FunctionType]:
    """Return those of numba's functions with other code or defaults than in their file; none before Python 3.12."""
    return [one for one in set_since_made(functions) or () if is_own_function(one) and not _is_as_written(one)]


def _is_as_written(function: FunctionType) -> bool:
    """Return whether a function is as its module's file, or a function of that which it is made by, says."""
    has_defaults = function.__defaults__ is not None or function.__kwdefaults__ is not None
    if not has_defaults and _is_made_by_another(function):
        return True
    # A function that wraps something may be called as that is.
    if not function.__code__.co_freevars and function.__code__.co_qualname != function.__qualname__:
        return False
    name = function.__globals__.get("__name__")
    codes = _codes_of(name) if isinstance(name, str) else ()
    # What has no file cannot be compared: what decorators wrote, for example.
    return not codes or (function.__code__ in codes and _are_written(function, codes))


def _is_made_by_another(function: FunctionType) -> bool:
    """Return whether the very code of a function is a part of another's, as that of a decorator's wrapper is."""
    others = [one for one in function.__globals__.values() if type(one) is FunctionType and one is not function]
    return any(function.__code__ is code for one in others for code in _within(one.__code__.co_consts))


def _are_written(function: FunctionType, codes: Iterable[CodeType]) -> bool:
    """Return whether the plain values among a function's defaults are in its module's code: together, if all are."""
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
