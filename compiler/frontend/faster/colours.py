"""colours: the texts of errors are coloured, and nothing else.

Where colorama is installed, numba has it wrap the program's output and unwrap it again for each text that it colours.
Only printing could need that, and numba catches most errors itself.
"""

from __future__ import annotations

import contextlib

from gridjit.compiler.frontend.faster.piece import Piece, Replace


def _install(replace: Replace) -> None:
    from numba.core import errors
    from numba.cuda.core import errors as cuda_errors

    for module in (errors, cuda_errors):
        replace(module, "ColorShell", contextlib.nullcontext)


PIECE = Piece(
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
    install=_install,
)
