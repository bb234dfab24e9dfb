"""CodePlace: a point in a function's code, as text that stays right when the lines around it move.

Artifacts and stored units hold it in the form of `str`: they are found again after an edit that leaves the code as it
is. Its line is looked up in the code of this process when it is shown.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from functools import lru_cache
from types import CodeType
from typing import NamedTuple

_PLACE = r"([^|\s]*)\|([^|]*)\|(\d+)\|([0-9a-f]*)\|(\d+)"


class CodePlace(NamedTuple):
    """A function's qualified name, the name of its file and the line as they were, the code's digest, an offset in it.

    file: of a library, with the name of its package. digest: "" where the code was not known; then the line is 0, as
    nothing tells whether it has moved since.
    """

    function: str
    file: str
    line: int
    digest: str = ""
    offset: int = 0

    @classmethod
    def of(cls, code: CodeType, offset: int, function: str = "") -> CodePlace:
        """Return the place of an instruction; function: the name of a function with the code, if it was renamed."""
        from gridjit.compiler.source.code import plan_of

        file = _named(code.co_filename)
        return cls(function or _name_of(code), file, _line_at(code, offset), plan_of(code).digest, offset)

    @classmethod
    def at_line(cls, path: str, line: int, function: str, own: CodeType) -> CodePlace:
        """Return the place of a line of a file in a function of that qualified name and code.

        The line may be of another function that is compiled into it, and whose code this process has looked at.
        """
        from gridjit.compiler.source.code import planned, with_nested

        for code in (nested for outer in (own, *planned()) for nested in with_nested(outer)):
            if code.co_filename == path and (offsets := [end - 2 for _, end, at in code.co_lines() if at == line]):
                return cls.of(code, offsets[-1], function if code is own else "")
        return cls(function, _named(path), 0)

    @classmethod
    def read(cls, text: str) -> CodePlace | None:
        """Return the place that str wrote; None for any other text."""
        found = re.fullmatch(_PLACE, text)
        return None if found is None else cls._of_match(found)

    @classmethod
    def _of_match(cls, found: re.Match[str]) -> CodePlace:
        return cls(found[1], found[2], int(found[3]), found[4], int(found[5]))

    @property
    def today(self) -> CodePlace:
        """The place by its whole path and line in this process, if its code is known here; else as it was."""
        code = max(self._codes(), key=self._likeness, default=None)
        return self if code is None else self._replace(file=code.co_filename, line=_line_at(code, self.offset))

    @property
    def identity(self) -> CodePlace:
        """The place without its line, which an edit of the lines around it does not change."""
        return self._replace(line=0)

    def text(self, *, whole: bool = False) -> str:
        """Return the name of the file, or its whole path, and the line if it is known."""
        file = _named(self.file) if self.file.startswith("/") and not whole else self.file
        return f"{file}:{self.line}" if self.line else file

    def __str__(self) -> str:
        return "|".join(map(str, self))

    def _codes(self) -> Iterator[CodeType]:
        """Yield the functions of this code, the last looked at first: a module may be loaded again."""
        from gridjit.compiler.source.code import plan_of, planned, with_nested

        known = (one for outer in reversed(planned()) for one in with_nested(outer)) if self.digest else ()
        return (one for one in known if plan_of(one).digest == self.digest)

    def _likeness(self, code: CodeType) -> tuple[bool, bool]:
        """Return whether the name and the file match, to choose among several functions of the same code."""
        is_named = _name_of(code) in (self.function, self.function.rpartition(".")[2])
        return is_named, code.co_filename.endswith(self.file)


def shown(text: str, *, whole: bool = False) -> str:
    """Return a text with "file:line", as it is today, for each stored place in it. whole: the file's whole path."""
    return re.sub(_PLACE, lambda found: CodePlace._of_match(found).today.text(whole=whole), text)


@lru_cache(maxsize=256)
def file_named(path: str) -> str:
    """Return a file as a cache names it for people: "~/a/prog.py", "numpy/linalg.py"; "" if it does not exist.

    path: of a function's code. A prompt, a notebook and `python -c` name files that do not exist.
    """
    if not (os.path.isabs(path) and os.path.isfile(path)):
        return ""
    found, home = os.path.normpath(path).rpartition("/site-packages/")[2], os.path.expanduser("~").rstrip("/")
    return f"~{found[len(home) :]}" if home and found.startswith(f"{home}/") else found


def _named(path: str) -> str:
    """Return the name of a file; of a library's file, its path in the folder of libraries."""
    _, installed, inside = path.rpartition("/site-packages/")
    return inside if installed else path.rpartition("/")[2]


def _name_of(code: CodeType) -> str:
    return getattr(code, "co_qualname", code.co_name)  # Python 3.10 has no qualified names


def _line_at(code: CodeType, offset: int) -> int:
    return next((line for start, end, line in code.co_lines() if line and start <= offset < end), code.co_firstlineno)
