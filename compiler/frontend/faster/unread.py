"""unread: texts that nobody reads are not made, such as those of assignments, or are made faster: coloured errors.

numba-cuda makes the text of each statement that it lowers, and prints it only if DEBUG_JIT is set. An assignment's
contains those of all parts of its expression. Here the function that lowers an assignment gets an empty text; others
get the whole text, for example for error messages.

Where colorama is installed, numba has it wrap the program's output and unwrap it again for each text that it colours.
Only printing could need that, and numba catches most errors itself. Here the text is coloured and nothing else.
"""

from __future__ import annotations

import contextlib
import sys
from typing import Any

from gridjit.compiler.frontend.faster.piece import Piece, Replace


def _install_texts(replace: Replace) -> None:
    from numba.cuda.core import config, ir
    from numba.cuda.lowering import Lower

    if config.DEBUG_JIT:
        return
    lowers = Lower.lower_inst.__code__

    def text(assignment: Any) -> str:
        return "" if sys._getframe(1).f_code is lowers else str(original(assignment))

    original = replace(ir.Assign, "__str__", text)


def _install_colours(replace: Replace) -> None:
    from numba.core import errors
    from numba.cuda.core import errors as cuda_errors

    for module in (errors, cuda_errors):
        replace(module, "ColorShell", contextlib.nullcontext)


TEXTS = Piece(
    name="texts",
    written_for={
        "numba.cuda.lowering:Lower.lower_inst": ("150 lines, ac1410d0ebffc063",),
        "numba.cuda.lowering:BaseLower.debug_print": ("5 lines, 214b620de5b62ded",),
        "numba.cuda.core.ir:Assign.__str__": ("2 lines, a1c8350d4283edcb",),
    },
    install=_install_texts,
)

COLOURS = Piece(
    name="colours",
    written_for={
        "numba.core.errors:ColorShell.__init__": ("3 lines, 3fc1a97c1d643478",),
        "numba.core.errors:ColorShell.__enter__": ("3 lines, 59401117896990a8",),
        "numba.core.errors:ColorShell.__exit__": ("3 lines, 2308c4d010059687",),
        "numba.core.errors:HighlightColorScheme._markup": ("11 lines, 0ec2907611830988",),
        "numba.cuda.core.errors:ColorShell.__init__": ("3 lines, 3fc1a97c1d643478",),
        "numba.cuda.core.errors:ColorShell.__enter__": ("3 lines, 59401117896990a8",),
        "numba.cuda.core.errors:ColorShell.__exit__": ("3 lines, 13abab30a0342be8",),
        "numba.cuda.core.errors:HighlightColorScheme._markup": ("11 lines, 309e97642fdefc89",),
    },
    install=_install_colours,
)
