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
from gridjit.compiler.frontend.faster.written_for import are_known

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


# Pieces, and all that they rely on.
_together: list[tuple[tuple[Piece, ...], dict[str, tuple[str, ...]]]] = []


def make_faster(replace: Replace) -> None:
    """Put the pieces in place whose numba functions are those that they were written for.

    In a compile inside another one they are in place already, and stay.
    """
    # Looked at before any is in place: some rely on what others replace with its equal.
    known = PIECES if are_known(_all_of(PIECES)) else [one for one in PIECES if are_known(one.written_for)]
    for piece in known:
        piece.install(replace)


def _all_of(pieces: tuple[Piece, ...]) -> dict[str, tuple[str, ...]]:
    """Return all that pieces rely on; the same object each time."""
    if not _together or _together[0][0] is not pieces:
        _together[:] = [(pieces, {place: one.written_for[place] for one in pieces for place in one.written_for})]
    return _together[0][1]
