"""Sharing: whether a hook's objects belong to it alone, so that a copy in another process stays equal to it.

If something else - a module, a class, another function, a running call - also holds a list, a dictionary or an object,
it may change it, and a hook that was made again around a copy would not see that. The garbage collector cannot say who
holds an object: it does not know about objects that a program froze or that C code holds. So references are counted,
and a reference that the hook does not account for is another holder's.
"""

from __future__ import annotations

import dis
import functools
import gc
import sys
from collections import Counter
from collections.abc import Container, Iterable
from types import CellType, CodeType, FunctionType, MethodType
from typing import Any

from gridjit.compiler.source.code import with_nested

# No function here may bind a counted object to a name: that would be one more reference.


def shared_variable(function: FunctionType) -> str | None:
    """Return the name of a closure's first variable that holds something shared; None if none does."""
    elsewhere = _is_elsewhere(function, id(function.__closure__))
    for number, name in enumerate(function.__code__.co_freevars):
        if _shares(function.__closure__, {id(_cell(function, number))}, elsewhere):
            return name
    return None


def shares_defaults(function: FunctionType) -> bool:
    """Return whether something besides a function refers to something changeable in its default arguments."""
    return _shares(function, {id(function.__defaults__), id(function.__kwdefaults__)})


def shares_arguments(partial: functools.partial[Any]) -> bool:
    """Return whether something besides a functools.partial refers to something changeable in its arguments."""
    return _shares(partial, {id(partial.args)})


def shares_object(method: MethodType) -> bool:
    """Return whether something besides a method refers to its object, or to something changeable that this holds."""
    if _is_elsewhere(method, id(method.__self__)) or _shares(method.__self__):
        return True
    # From Python 3.13 on, the collector is told of an object's attributes, and not of the dictionary that it shows.
    return hasattr(method.__self__, "__dict__") and _references([vars(method.__self__)], 0) > _OF_AN_OBJECT


def changes_elsewhere(name: str, codes: Iterable[CodeType]) -> bool:
    """Return whether a function in these codes assigns to that variable of an outer one."""
    return any(
        instruction.opname == "STORE_DEREF" and instruction.argval == name
        for code in codes
        for nested in with_nested(code)
        if name in nested.co_freevars
        for instruction in dis.get_instructions(nested)
    )


def _shares(holder: object, parts: Container[int] | None = None, elsewhere: bool = False) -> bool:
    """Return whether something besides holder refers to a changeable object that it holds, at any depth.

    parts: the ids of holder's own objects to look at; None for all. elsewhere: holder is held by another.
    """
    # A tuple may be shared, as constants are, if nothing in it can be changed; its items decide.
    waiting = [(holder, elsewhere)]
    seen: set[tuple[int, bool]] = set()
    while waiting:
        holder, above = waiting.pop()
        held = gc.get_referents(holder)
        for identity, number, is_other in _counted(held):
            kind = type(held[number])
            if (parts is not None and identity not in parts) or not issubclass(kind, _FOLLOWED):
                continue
            if (is_other or above) and issubclass(kind, _CHANGEABLE):
                return True
            if (identity, is_other or above) not in seen:
                seen.add((identity, is_other or above))
                waiting.append((held[number], is_other or above))
        parts = None
    return False


def _counted(held: list[Any]) -> list[tuple[int, int, bool]]:
    """Return for each object its id, an index of it, and whether more refer to it than its holder and held.

    held: all that a holder refers to, each as often as the holder does.
    """
    identities = [*map(id, held)]
    numbers = dict(zip(identities, range(len(held)), strict=True))
    times = Counter(identities)
    return [(one, number, _references(held, number) > 2 * times[one]) for one, number in numbers.items()]


def _is_elsewhere(holder: object, part: int) -> bool:
    """Return whether something besides holder refers to an object that it holds. part: the object's id."""
    return any(is_other for one, _, is_other in _counted(gc.get_referents(holder)) if one == part)


def _references(held: list[Any], number: int) -> int:
    return sys.getrefcount(held[number]) - _OF_A_CALL


def _cell(function: FunctionType, number: int) -> CellType:
    return (function.__closure__ or ())[number]


_CHANGEABLE = (list, dict)
_FOLLOWED = (*_CHANGEABLE, tuple, CellType)
# References to an object's attributes: the object's own, and the list's in which they are counted.
_OF_AN_OBJECT = 2
# References that asking for their number makes.
_OF_A_CALL = 0
_OF_A_CALL = _references([[]], 0) - 1
