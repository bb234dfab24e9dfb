"""Sharing: whether what a hook holds belongs to it alone, so that a copy in another process stays equal to it.

If something else - a module, a class, another function - also holds a list, a dictionary or an object, it may change
it, and a hook that was made again around a copy would not see that.
"""

from __future__ import annotations

import dis
import gc
from collections.abc import Iterable
from types import CellType, CodeType, FrameType, GeneratorType
from typing import Any

from gridjit.compiler.key.source.code import with_nested

# References that the look itself makes.
_LOOKING = (FrameType, GeneratorType)


def is_shared(value: object, holder: object) -> bool:
    """Return whether something besides holder refers to value, or to something changeable inside it."""
    # No closure may hold value here: it would be one of its holders.
    inside = value
    if type(value) is not tuple:
        if not _is_changeable(value):
            return False
        if _has_other_holders(value, holder):
            return True
        inside = _held_in(value)
    for item in inside:  # type: ignore[attr-defined]  # noqa: SIM110  # a generator's closure would
        if is_shared(item, value):
            return True
    return False


def is_object_shared(value: object, holder: object) -> bool:
    """Return whether something besides holder refers to an object, or to something changeable that it holds."""
    if _has_other_holders(value, holder):
        return True
    for item in vars(value).values():  # noqa: SIM110  # as above
        if is_shared(item, value):
            return True
    return False


def is_shared_in(cell: CellType, closure: tuple[CellType, ...]) -> bool:
    """Return whether a closure's variable holds something shared, perhaps with another function's closure."""
    value = cell.cell_contents
    return is_shared(value, cell) or (_is_changeable(value) and _has_other_holders(cell, closure))


def changes_elsewhere(name: str, codes: Iterable[CodeType]) -> bool:
    """Return whether a function in these codes assigns to that variable of an outer one."""
    return any(
        instruction.opname == "STORE_DEREF" and instruction.argval == name
        for code in codes
        for nested in with_nested(code)
        if name in nested.co_freevars
        for instruction in dis.get_instructions(nested)
    )


def _is_changeable(value: object) -> bool:
    return isinstance(value, list | dict)


def _has_other_holders(value: object, holder: object) -> bool:
    known = {id(holder), id(getattr(holder, "__dict__", None))}
    return any(id(one) not in known and not isinstance(one, _LOOKING) for one in gc.get_referrers(value))


def _held_in(value: Any) -> Iterable[object]:
    return iter(value.values() if isinstance(value, dict) else value)
