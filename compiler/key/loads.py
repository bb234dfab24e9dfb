"""loads: which names and constants code loads, read from its bytecode: what dis tells of these, in a tenth of the time.

A first launch waits for it. Of a Python whose bytecode is not known here, dis is asked.
"""

from __future__ import annotations

import dis
import sys
from types import CodeType
from typing import NamedTuple

GLOBAL_LOADS = frozenset({"LOAD_GLOBAL", "LOAD_NAME", "LOAD_FROM_DICT_OR_GLOBALS"})
FREE_LOADS = frozenset({"LOAD_DEREF", "LOAD_CLASSDEREF", "LOAD_FROM_DICT_OR_DEREF"})
ATTRIBUTE_LOADS = frozenset({"LOAD_ATTR", "LOAD_METHOD"})
# Instructions that only fill space.
FILLERS = frozenset({"EXTENDED_ARG", "CACHE", "PUSH_NULL", "NOP"})
_NAMED = GLOBAL_LOADS | FREE_LOADS | ATTRIBUTE_LOADS
# The last Python whose bytecode is known here.
_LAST_KNOWN = (3, 13)
# Arguments whose lowest bit is not part of the index.
_SHIFTED = {name for name, since in (("LOAD_GLOBAL", (3, 11)), ("LOAD_ATTR", (3, 12))) if sys.version_info >= since}
_OTHER = ("", "")


class Loads(NamedTuple):
    """What a code object loads, nested code aside.

    names: for each instruction that does something, its name and the name that it loads; two empty texts if it loads
    nothing from outside. constants: the indices of those that an instruction loads.
    """

    names: list[tuple[str, str]]
    constants: set[int | None]


def loads_of(code: CodeType) -> Loads:
    """Return what code loads."""
    return _read(code) if sys.version_info[:2] <= _LAST_KNOWN else told_by_dis(code)


def told_by_dis(code: CodeType) -> Loads:
    """Return what code loads as dis tells it."""
    steps = [one for one in dis.get_instructions(code) if one.opname not in FILLERS]
    names = [(one.opname, one.argval) if one.opname in _NAMED else _OTHER for one in steps]
    return Loads(names=names, constants={one.arg for one in steps if one.opcode in dis.hasconst})


def _read(code: CodeType) -> Loads:
    names: list[tuple[str, str]] = []
    constants: set[int | None] = set()
    bytecode, high = code.co_code, 0
    for opcode, low in zip(bytecode[::2], bytecode[1::2], strict=True):
        if opcode in _PLAIN:
            names.append(_OTHER)
            high = 0
        elif opcode == dis.EXTENDED_ARG:
            high = (high | low) << 8
        elif opcode not in _FILLING:
            if opcode in _CONSTANT:
                constants.add(high | low)
            names.append(_named(code, dis.opname[opcode], high | low))
            high = 0
    return Loads(names=names, constants=constants)


def _named(code: CodeType, opname: str, arg: int) -> tuple[str, str]:
    if opname not in _NAMED:
        return _OTHER
    if opname in FREE_LOADS:
        return opname, _variable(code, arg)
    return opname, code.co_names[arg >> 1 if opname in _SHIFTED else arg]


def _variable(code: CodeType, arg: int) -> str:
    """Return the name of a variable that is shared with nested code, or with the code around."""
    if sys.version_info < (3, 11):
        return (*code.co_cellvars, *code.co_freevars)[arg]
    cells = [name for name in code.co_cellvars if name not in code.co_varnames]
    return (*code.co_varnames, *cells, *code.co_freevars)[arg]


_FILLING = frozenset(opcode for opcode, name in enumerate(dis.opname) if name in FILLERS)
_CONSTANT = frozenset(dis.hasconst)
# Most instructions: they load nothing from outside, and no constant.
_PLAIN = frozenset(
    opcode for opcode, name in enumerate(dis.opname) if name not in _NAMED and opcode not in _FILLING | _CONSTANT
)
