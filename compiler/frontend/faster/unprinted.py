"""unprinted: the text of each assignment is not made where nothing prints it.

numba-cuda makes the text of each statement that it lowers, and prints it only if DEBUG_JIT is set. An assignment's has
those of all parts of its expression in it. Its text is empty for the function that lowers it, and whole for others, as
for the messages of errors.
"""

from __future__ import annotations

import sys
from typing import Any

from gridjit.compiler.frontend.faster.piece import Piece, Replace


def _install(replace: Replace) -> None:
    from numba.cuda.core import config, ir
    from numba.cuda.lowering import Lower

    if config.DEBUG_JIT:
        return
    lowers = Lower.lower_inst.__code__

    def text(assignment: Any) -> str:
        return "" if sys._getframe(1).f_code is lowers else str(original(assignment))

    original = replace(ir.Assign, "__str__", text)


PIECE = Piece(
    name="unprinted",
    written_for={
        "numba.cuda.lowering:Lower.lower_inst": ("150 lines, ac1410d0ebffc063",),
        "numba.cuda.lowering:BaseLower.debug_print": ("5 lines, 214b620de5b62ded",),
        "numba.cuda.core.ir:Assign.__str__": ("2 lines, a1c8350d4283edcb",),
    },
    install=_install,
)
