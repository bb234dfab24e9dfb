"""regexes: regular expressions that are compiled when they are first used, as a process uses few of them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, AnyStr, cast

_ATTRIBUTES = (
    *("findall", "finditer", "flags", "fullmatch", "groupindex", "groups"),
    *("match", "pattern", "search", "split", "sub", "subn"),
)


def regex(text: AnyStr, flags: int = 0, needs: tuple[AnyStr, ...] = ()) -> re.Pattern[AnyStr]:
    """Return a stand-in for the compiled regular expression; the first use raises re.error if it has a fault.

    needs: texts of which each match has one. While the expression is used on strings without any of them, it is not
    compiled, which takes as long as to look for it in a hundred lines.
    """
    return cast("re.Pattern[AnyStr]", Needing(text, flags, needs) if needs else Postponed(text, flags))


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


class Needing(Postponed):
    """One that has no match in a string without a text that it needs; once compiled, it is as any other."""

    def __init__(self, text: str | bytes, flags: int, needs: tuple[Any, ...]) -> None:
        super().__init__(text, flags)
        self._needs = needs

    # Lines are many, and each call costs time: each method looks by itself.

    def match(self, string: Any, *place: int) -> Any:
        """Return the compiled expression's result."""
        for text in self._needs:
            if text in string:
                return self._compiled("match")(string, *place)
        return None

    def search(self, string: Any, *place: int) -> Any:
        """Return the compiled expression's result."""
        for text in self._needs:
            if text in string:
                return self._compiled("search")(string, *place)
        return None

    def finditer(self, string: Any, *place: int) -> Iterator[Any]:
        """Return the compiled expression's result."""
        for text in self._needs:
            if text in string:
                return cast("Iterator[Any]", self._compiled("finditer")(string, *place))
        return iter(())

    def sub(self, made: Any, string: Any, count: int = 0) -> Any:
        """Return the compiled expression's result."""
        for text in self._needs:
            if text in string:
                return self._compiled("sub")(made, string, count)
        return string

    def _compiled(self, name: str) -> Any:
        self.__getattr__(name)
        return vars(self)[name]
