"""regexes: regular expressions that are compiled when they are first used, as a process uses few of them."""

from __future__ import annotations

import re
from typing import Any, AnyStr, cast

_ATTRIBUTES = (
    *("findall", "finditer", "flags", "fullmatch", "groupindex", "groups"),
    *("match", "pattern", "search", "split", "sub", "subn"),
)


def regex(text: AnyStr, flags: int = 0) -> re.Pattern[AnyStr]:
    """Return what can be used as the compiled regular expression; the first use raises re.error if it has a fault."""
    return cast("re.Pattern[AnyStr]", Postponed(text, flags))


class Postponed:
    """A regular expression that has no attribute of a compiled one until it is asked for one, and then has all."""

    def __init__(self, text: str | bytes, flags: int) -> None:
        self._given: tuple[Any, int] = text, flags

    def __getattr__(self, name: str) -> Any:
        if name not in _ATTRIBUTES:
            raise AttributeError(f"a regular expression has no attribute {name!r}", name=name, obj=self)
        compiled = re.compile(*self._given)
        vars(self).update((one, getattr(compiled, one)) for one in _ATTRIBUTES)
        return vars(self)[name]
