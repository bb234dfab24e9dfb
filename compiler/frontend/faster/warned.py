"""warned: warnings are caught over all constraints of a round of type inference, until one comes.

numba-cuda begins to catch warnings, and ends that, for each constraint, so as to know whose they are: each time Python
copies its filters and forgets what it warned of. Here that is done once, and again after each constraint that warns.
"""

from __future__ import annotations

import contextlib
import warnings
from collections.abc import Iterator
from typing import Any

from gridjit.compiler.frontend.faster.piece import Piece, Replace

# The code of contextlib's functions around generators.
_MADE_BY_CONTEXTLIB = contextlib.contextmanager(lambda: iter(())).__code__


def _install(replace: Replace) -> None:
    from numba.cuda.core import typeinfer
    from numba.cuda.core.errors import WarningsFixer
    from numba.cuda.core.typeinfer import ConstraintNetwork

    if WarningsFixer.catch_warnings.__code__ is not _MADE_BY_CONTEXTLIB:
        return

    def propagate(network: Any, inference: Any) -> Any:
        if type(fixer := inference.warnings) is not WarningsFixer:
            return original(network, inference)
        errors: list[Any] = []
        left = iter(network.constraints)
        while (warned := _until_one_warns(left, inference, fixer._category, errors)) is not None:
            _keep(fixer, *warned)
        return errors

    def _until_one_warns(left: Iterator[Any], inference: Any, category: Any, errors: list[Any]) -> Any:
        """Return the constraint that warns, and its warnings; None if none does. Constraints' errors are added."""
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always", category)
            for constraint in left:
                try:
                    constraint(inference)
                except typeinfer.ForceLiteralArg as error:
                    errors.append(error)
                except typeinfer.TypingError as error:
                    typeinfer._logger.debug("captured error", exc_info=error)
                    made = typeinfer.TypingError(str(error), loc=constraint.loc, highlighting=False)
                    errors.append(typeinfer.utils.chain_exception(made, error))
                if caught:
                    return constraint, caught
        return None

    original = replace(ConstraintNetwork, "propagate", propagate)


def _keep(fixer: Any, constraint: Any, caught: Any) -> None:
    """Have numba-cuda's warnings come at the end, each once and at its constraint's place; pass others on."""
    place = constraint.loc
    filename, line = place.filename, place.line
    for one in caught:
        text = str(one.message)
        if issubclass(one.category, fixer._category):
            filename, line = filename or one.filename, line or one.lineno
            fixer._warnings[filename, line, one.category].add(text)
        else:
            warnings.warn_explicit(text, one.category, one.filename, one.lineno)


PIECE = Piece(
    name="warned",
    written_for={
        "numba.cuda.core.typeinfer:ConstraintNetwork.propagate": ("27 lines, 58e9c7199694e235",),
        "numba.cuda.core.errors:WarningsFixer.catch_warnings.__wrapped__": ("19 lines, c46ffa32ec4c34f1",),
    },
    install=_install,
)
