"""error_contexts: what an error is told of its surroundings costs a call or two where there is no error.

numba-cuda says around each statement and each constraint what is done there, with a generator that contextlib makes a
context manager of: six calls. Here it is a context manager by itself.
"""

from __future__ import annotations

import contextlib
import functools
from typing import Any

from gridjit.compiler.frontend.faster.piece import Piece, Replace

# The code of whatever contextlib makes of a generator.
MADE_BY_CONTEXTLIB = contextlib.contextmanager(lambda: iter(())).__code__


def _install(replace: Replace) -> None:
    from numba.cuda import lowering
    from numba.cuda.core import errors, typeinfer

    if errors.new_error_context.__code__ is not MADE_BY_CONTEXTLIB:
        return
    made = _context_of(errors)
    own = errors.new_error_context
    for module in (errors, lowering, typeinfer):
        if module.new_error_context is own:
            replace(module, "new_error_context", made)


@functools.cache
def _context_of(errors: Any) -> type:
    """Return what stands for new_error_context of numba-cuda's module of errors."""

    class ErrorContext:
        """What numba-cuda's new_error_context returns."""

        __slots__ = ("_args", "_kwargs", "_text")

        def __init__(self, fmt_: Any, *args: Any, **kwargs: Any) -> None:
            self._text, self._args, self._kwargs = fmt_, args, kwargs

        def __enter__(self) -> None:
            place = self._kwargs.get("loc")
            if place is not None and not place.filename.startswith(errors._numba_path):
                errors.loc_info.update(self._kwargs)

        def __exit__(self, _: Any, error: Any, trace: Any) -> None:
            if error is not None and isinstance(error, errors.NumbaError):
                error.add_context(errors._format_msg(self._text, self._args, self._kwargs))

    return ErrorContext


PIECE = Piece(
    name="error_contexts",
    written_for={
        "numba.cuda.core.errors:new_error_context.__wrapped__": ("19 lines, 40eee903880a38c0",),
        "numba.cuda.core.errors:_format_msg": ("2 lines, 257c92fbd046b404",),
    },
    install=_install,
)
