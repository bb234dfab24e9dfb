"""locations: an implementation's code tells whether it takes the location of what it implements.

numba-cuda asks inspect for the signature of each implementation that it looks up, each time, to find out.
"""

from __future__ import annotations

from types import FunctionType
from typing import Any

from gridjit.compiler.frontend.faster.piece import Piece, Replace

_HAS_REST, _HAS_NAMED_REST = 0x04, 0x08


def _install(replace: Replace) -> None:
    from numba.cuda.core import base

    def has_loc(function: Any) -> bool:
        return original(function) if (names := _parameters(function)) is None else "loc" in names

    original = replace(base, "_has_loc", has_loc)


def _parameters(function: Any) -> tuple[str, ...] | None:
    """Return the parameters' names that inspect would find for a function; None where its code does not tell."""
    while type(function) is FunctionType:
        attributes = vars(function)
        if "__signature__" in attributes:
            return None
        if "__wrapped__" not in attributes:
            code = function.__code__
            rest = bool(code.co_flags & _HAS_REST) + bool(code.co_flags & _HAS_NAMED_REST)
            return code.co_varnames[: code.co_argcount + code.co_kwonlyargcount + rest]
        function = attributes["__wrapped__"]
    return None


PIECE = Piece(
    name="locations",
    written_for={
        "numba.cuda.core.base:_has_loc": ("4 lines, c16f83a58661dccb",),
        "numba.cuda.core.base:_wrap_missing_loc.__call__": ("22 lines, d201b76e8c09e2e6",),
    },
    install=_install,
)
