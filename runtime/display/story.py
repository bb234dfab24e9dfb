"""Story: what `explain` says, a text that notebooks show line by line."""

from __future__ import annotations

from gridjit.runtime.display.table import escaped


class Story(str):
    """A text of several lines, which an interactive shell shows as they are."""

    __slots__ = ()

    def __repr__(self) -> str:
        return str(self)

    def _repr_html_(self) -> str:
        """Return the text as notebooks show it."""
        return f"<pre>{chr(10).join(escaped(line) for line in self.split(chr(10)))}</pre>"
