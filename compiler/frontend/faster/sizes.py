"""sizes: LLVM is asked once for the size and the alignment of a type, and remembered by the type's text.

numba-cuda asks for each variable that it stores, and LLVM parses a module for each question. A type's text says all
about it, unless it contains the name of a structure: these types are asked about each time.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from gridjit.compiler.frontend.faster.piece import Piece, Replace

# The data layout, and its answers by the method and the type's text.
_answers: list[tuple[Any, dict[tuple[str, str], int]]] = []
_MOST = 4096


def _install(replace: Replace) -> None:
    from numba.cuda.core.base import BaseContext, llvmir

    for name in ("get_abi_sizeof", "get_abi_alignment"):
        replace(BaseContext, name, _remembering(name, getattr(BaseContext, name), llvmir.Type))


def _remembering(name: str, original: Callable[[Any, Any], int], kind: type) -> Callable[[Any, Any], int]:
    def ask(context: Any, type_: Any) -> int:
        text = str(type_) if isinstance(type_, kind) else "%"
        if "%" in text:
            return original(context, type_)
        known = _known(context.target_data)
        if (found := known.get((name, text))) is None:
            found = known[name, text] = original(context, type_)
        return found

    return ask


def _known(layout: Any) -> dict[tuple[str, str], int]:
    if not _answers or _answers[0][0] is not layout or len(_answers[0][1]) >= _MOST:
        _answers[:] = [(layout, {})]
    return _answers[0][1]


PIECE = Piece(
    name="sizes",
    written_for={
        "numba.cuda.core.base:BaseContext.get_abi_sizeof": ("6 lines, c3aaa1a1693d0eb7",),
        "numba.cuda.core.base:BaseContext.get_abi_alignment": ("6 lines, 07ccd1b2a270e401",),
        "llvmlite.ir.types:Type.get_abi_size": ("6 lines, a0f558f47e65f210",),
        "llvmlite.ir.types:Type.get_abi_alignment": ("7 lines, ac532ab6d317fb51",),
        "llvmlite.ir.types:Type._get_ll_global_value_type": ("14 lines, ff641f06ff136630",),
    },
    install=_install,
)
