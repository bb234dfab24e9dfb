"""Finding: a rule's result for a failure.

A rule is a function from a Failure to a Finding, or None if the failure is not of its kind.
"""

from __future__ import annotations

import ast
import difflib
from collections.abc import Iterable
from typing import Final

from gridjit.base.values import dataclass

ITEM: Final = "A kernel works on items: index the array, as in x[i]."
WHOLE: Final = "A kernel works on items: index the arrays, as in out[i] = x[i] + y[i]."


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """sentence: the fault; advice: the way on, "" for none; node: the expression that it is about, if known."""

    sentence: str
    advice: str = ""
    node: ast.AST | None = None


class _Unquoted(str):
    """Words that stand where messages quote a name."""

    __slots__ = ()

    def __repr__(self) -> str:
        return str(self)


# The name of an expression whose text is not known, as in Python's interactive shell before 3.13.
UNNAMED: Final[str] = _Unquoted("a value")


def ways_round(kind: str) -> str:
    """Return advice in place of a container that kernels do not have."""
    if kind == "dict":
        return "Use arrays or tuples, indexed by numbers."
    return "Use cuda.local.array(size, dtype), with a size that is known when the kernel is compiled."


def near(name: str, known: Iterable[str]) -> str | None:
    """Return the known name that was probably meant, if there is one."""
    names = [one for one in dict.fromkeys(known) if one != name and not one.startswith("__")]
    folded = {one.lower().replace("_", ""): one for one in names}
    if (same := folded.get(name.lower().replace("_", ""))) is not None:
        return same
    found = difflib.get_close_matches(name, names, n=1, cutoff=0.7)
    return found[0] if found else None
