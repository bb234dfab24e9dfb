"""Sets whose order differs by process: of strings, classes, functions, and all that hashes by a secret or an address.

Code may test for items of these sets. If it uses the order of the items, its result differs in another process.
"""

from __future__ import annotations

import dis
from collections.abc import Iterator
from types import CodeType

from gridjit.compiler.source.code import CodeTable, meaningful, with_nested

_SETS = (set, frozenset)
_NAMES = frozenset({"LOAD_GLOBAL", "LOAD_NAME", "LOAD_ATTR", "LOAD_DEREF"})
_CALLS = frozenset({"PRECALL", "CALL", "CALL_FUNCTION"})
# Uses that do not depend on the order: functions of a set, its methods, and instructions that only test for items.
_FUNCTIONS = frozenset({"sorted", "len", "bool", "isinstance", "min", "max"})
_METHODS = frozenset(
    (
        *("add", "update", "discard", "remove", "clear", "issubset", "issuperset", "isdisjoint", "__contains__"),
        *("__len__", "difference_update", "intersection_update"),
    )
)
_ASKS = ("CONTAINS_OP", "POP_JUMP", "JUMP_IF", "TO_BOOL", "UNARY_NOT")


def has_secret_order(value: object) -> bool:
    """Return whether value is a set whose items come in another order in another process."""
    if not isinstance(value, _SETS) or type(value) not in _SETS:
        return False
    return len(value) > 1 and any(_hashes_by_process(item) for item in value)


def ordered_names(code: CodeType) -> frozenset[str]:
    """Return the names of sets whose order code may use; "" for a set that is written in it."""
    if (known := _known.get(code)) is not None:
        return known
    return _known.put(code, frozenset(name for one in with_nested(code) for name in _ordered(meaningful(one))))


_known: CodeTable[frozenset[str]] = CodeTable()


def _hashes_by_process(item: object) -> bool:
    if type(item) is tuple:
        return any(map(_hashes_by_process, item))
    return type(item) not in (bool, int, float, complex)


def _ordered(steps: list[dis.Instruction]) -> Iterator[str]:
    for place, step in enumerate(steps[:-1]):
        after = steps[place + 1]
        if step.opname == "LOAD_CONST" and has_secret_order(step.argval) and after.opname == "GET_ITER":
            yield ""
        elif step.opname in _NAMES and not _is_only_asked(steps, place, after):
            yield step.argval


def _is_only_asked(steps: list[dis.Instruction], place: int, after: dis.Instruction) -> bool:
    if after.opname in ("LOAD_ATTR", "LOAD_METHOD"):
        return after.argval in _METHODS
    if after.opname in _CALLS:
        return any(one.argval in _FUNCTIONS for one in steps[max(0, place - 3) : place])
    return after.opname.startswith(_ASKS)
