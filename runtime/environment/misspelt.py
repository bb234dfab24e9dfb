"""Misspelt: names that are close to known names, for questions in messages."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Sequence

from gridjit.base.messages import warn_or_log
from gridjit.base.printable import printable
from gridjit.compiler.values.errors import ConfigWarning

_PREFIX = "GRIDJIT_"
# Names that differ in a letter or two, and hardly any others.
_NEAR = 0.75


def warn_of_misspelt(unknown: Iterable[str], known: Sequence[str]) -> None:
    """Warn of each unknown variable whose name is nearly a setting's; others may be another program's."""
    for name in unknown:
        if (near := near_name(name, known)) is not None:
            words = f"{printable(name)} is not a setting of gridjit and has no effect: did you mean {near}?"
            warn_or_log(ConfigWarning(words), logger="gridjit")


def near_name(name: str, known: Iterable[str]) -> str | None:
    """Return the known name that was probably meant, if any."""
    short = {other.removeprefix(_PREFIX).lower(): other for other in known}
    found = difflib.get_close_matches(name.removeprefix(_PREFIX).lower(), short, n=1, cutoff=_NEAR)
    return short[found[0]] if found else None


def near_names(name: str, known: Iterable[str]) -> list[str]:
    """Return the known names that may have been meant, the nearest first, at most three."""
    lower = {other.lower(): other for other in known}
    return [lower[found] for found in difflib.get_close_matches(name.lower(), lower, n=3, cutoff=0.6)]
