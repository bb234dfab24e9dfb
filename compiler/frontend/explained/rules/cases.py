"""Cases: the arguments that a function takes, where the compiler lists them; and functions passed without a call."""

from __future__ import annotations

import ast
import re
from collections.abc import Sequence
from typing import Final

from gridjit.compiler.frontend.explained.failure import Failure
from gridjit.compiler.frontend.explained.rules.finding import Finding
from gridjit.compiler.frontend.explained.source import text_of
from gridjit.compiler.frontend.explained.types_said import parts, said

_CASE: Final = re.compile(r"^\s*\* \((?P<given>.*)\) -> ", re.MULTILINE)
_MOST: Final = 8
_BITS, _COUNTERS = "int32, int64, uint32 or uint64", "uint32 or uint64"
_NUMBERS = "float32, float64, int32, int64, uint32 or uint64"
# Atomic function -> the items that its array may have.
_ATOMICS: Final = {
    **dict.fromkeys(("add", "sub", "max", "min", "nanmax", "nanmin"), _NUMBERS),
    **dict.fromkeys(("and_", "or_", "xor", "exch", "cas", "compare_and_swap"), _BITS),
    **dict.fromkeys(("inc", "dec"), _COUNTERS),
}


def atomics_text(name: str) -> str:
    """Return a sentence on the items that an atomic function works on; "" for other functions."""
    owner, _, function = name.rpartition(".")
    items = _ATOMICS.get(function, "") if owner.endswith("atomic") else ""
    return f"It works on an array of {items}." if items else ""


def cases_text(failure: Failure) -> str:
    """Return a sentence on the arguments that a call's function takes; "" if unknown, or too much to read."""
    cases = tuple(dict.fromkeys(parts(said(one["given"])) for one in _CASE.finditer(failure.text)))
    if not cases or len({len(case) for case in cases}) > 1:
        return ""
    columns = [tuple(dict.fromkeys(column)) for column in zip(*cases, strict=True)]
    alike = [column for column in columns if len(column) > 1]
    if len(columns) == 1:
        return _sentence(_listed(columns[0]))
    if all(len(column) == 1 for column in columns):
        return _sentence(", ".join(column[0] for column in columns))
    if all(column == alike[0] for column in columns):
        return _sentence(f"{len(columns)} arguments of one type: {_listed(alike[0])}")
    return _sentence("; or ".join(", ".join(case) for case in cases)) if len(cases) <= _MOST else ""


def _sentence(taken: str) -> str:
    return f"It takes {taken}." if taken else "It takes no arguments."


def _listed(names: Sequence[str]) -> str:
    *most, last = names
    return f"{', '.join(most)} or {last}" if most else last


def not_called(failure: Failure, call: ast.Call | None) -> Finding | None:
    """A function of cuda among the arguments of a call: its brackets were forgotten."""
    for node in call.args if call is not None else ():
        name = text_of(node)
        if isinstance(node, ast.Attribute) and name.rpartition(".")[2] in ("grid", "gridsize"):
            sentence = f"{name} is a function, and it is given without being called"
            return Finding(sentence=sentence, advice=f"Call it: {name}(1).", node=node)
    return None
