"""pieces: everything that is done faster, put in place for the duration of a compile."""

from __future__ import annotations

from gridjit.compiler.frontend.faster import (
    assigned_once,
    colours,
    flags,
    instructions,
    lifetimes,
    lines,
    liveness,
    operators,
    pass_runs,
    printing,
    refreshing,
    resolving,
    sizes,
    variables,
    warned,
)
from gridjit.compiler.frontend.faster.piece import Piece, Replace
from gridjit.compiler.numba_state.pristine import is_pristine

PIECES: tuple[Piece, ...] = (
    refreshing.PIECE,
    resolving.PIECE,
    operators.CONSTANTS,
    operators.FUNCTIONS,
    assigned_once.PIECE,
    lifetimes.PIECE,
    lifetimes.ENDS,
    liveness.PIECE,
    variables.PIECE,
    flags.PIECE,
    colours.PIECE,
    sizes.PIECE,
    pass_runs.PIECE,
    lines.PIECE,
    instructions.PIECE,
    warned.PIECE,
    printing.PIECE,
)


def make_faster(replace: Replace) -> None:
    """Put the pieces in place whose numba functions have the sources that they were written for.

    In a compile inside another one they are in place already, and stay.
    """
    # Looked at before any is in place: some rely on functions that others replace with equals.
    for piece in [one for one in PIECES if is_pristine(one.written_for)]:
        piece.install(replace)
