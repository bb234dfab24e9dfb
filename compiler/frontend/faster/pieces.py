"""pieces: everything that is done faster, put in place for the duration of a compile."""

from __future__ import annotations

from gridjit.compiler.frontend.faster import (
    assigned_once,
    flags,
    lifetimes,
    locations,
    operators,
    printing,
    refreshing,
    resolving,
    sizes,
    unread,
    variables,
)
from gridjit.compiler.frontend.faster.answers import attributes, constants, implementations
from gridjit.compiler.frontend.faster.around import error_contexts, instructions, lines, memory, pass_runs
from gridjit.compiler.frontend.faster.piece import Piece, Replace
from gridjit.compiler.frontend.faster.written_for import are_known

PIECES: tuple[Piece, ...] = (
    refreshing.PIECE,
    resolving.PIECE,
    operators.ARRAYS,
    operators.CONSTANTS,
    operators.FUNCTIONS,
    assigned_once.PIECE,
    lifetimes.PIECE,
    lifetimes.ENDS,
    variables.PIECE,
    flags.PIECE,
    unread.COLOURS,
    locations.PIECE,
    sizes.PIECE,
    unread.TEXTS,
    printing.PIECE,
    implementations.PIECE,
    attributes.PIECE,
    constants.PIECE,
    error_contexts.PIECE,
    pass_runs.PIECE,
    lines.PIECE,
    memory.PIECE,
    instructions.PIECE,
)


def make_faster(replace: Replace) -> None:
    """Put the pieces in place whose numba functions are those that they were written for.

    In a compile inside another one they are in place already, and stay.
    """
    # Looked at before any is in place: some rely on what others replace with its equal.
    for piece in [one for one in PIECES if are_known(one.written_for)]:
        piece.install(replace)
