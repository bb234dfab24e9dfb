"""Diagnosis: why a kernel does not compile, as a value: kernel, places, fault and advice. At most a screen."""

from __future__ import annotations

from gridjit.base.printable import printable
from gridjit.base.values import dataclass
from gridjit.compiler.frontend.explained.source import line_of

_MOST_CALLS = 5
_LONGEST_LINE = 110
_LONGEST_SENTENCE = 400


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """A line of the user's on the way to the fault. columns: of the expression, counted from 0; None: not known."""

    path: str
    line: int
    function: str = ""
    columns: tuple[int, int] | None = None

    def __str__(self) -> str:
        inside = f", in {self.function}" if self.function else ""
        return "\n".join((f"  {printable(self.path)}:{self.line}{inside}", *self._shown()))

    def _shown(self) -> tuple[str, ...]:
        """Return the source line, with the expression marked."""
        text = line_of(self.path, self.line).rstrip()
        if not text.strip():
            return ()
        indent = len(text) - len(text.lstrip())
        shown = text.strip()
        if self.columns is None:
            return (f"    {printable(shown)[:_LONGEST_LINE]}",)
        begin, end = (max(0, column - indent) for column in self.columns)
        first = _first_shown(shown, begin, end)
        line = f"    {printable(shown[first:])[:_LONGEST_LINE]}"
        mark = " " * (4 + begin - first) + "^" * max(1, min(end, first + _LONGEST_LINE, len(shown)) - begin)
        return (line,) if len(mark) > len(line) else (line, mark)


def _first_shown(text: str, begin: int, end: int) -> int:
    """Return from which character on a line is shown: all of it, or, of a long one, the part around the expression."""
    if end <= _LONGEST_LINE:
        return 0
    return max(0, begin - max(0, _LONGEST_LINE - (end - begin)) // 2)


@dataclass(frozen=True, slots=True, kw_only=True)
class Diagnosis:
    """kernel: with the types of its arguments; steps: from there inwards; sentence: the fault; advice: if any."""

    kernel: str
    target: str
    steps: tuple[Step, ...]
    sentence: str
    advice: str = ""

    def __str__(self) -> str:
        sentence = _short(self.sentence)
        head = f"{self.kernel} for {self.target} does not compile: {sentence}"
        return "\n".join((head, "", *map(str, self._steps()), *(("", self.advice) if self.advice else ())))

    def _steps(self) -> tuple[object, ...]:
        """Return the steps that are shown: of a long chain of calls the first and the last."""
        if len(self.steps) <= _MOST_CALLS:
            return self.steps
        left_out = len(self.steps) - _MOST_CALLS + 1
        return (*self.steps[:2], f"  ... {left_out} more calls ...", *self.steps[2 + left_out :])


def _short(sentence: str) -> str:
    text = printable(" ".join(sentence.split())).rstrip(".")
    return text if len(text) <= _LONGEST_SENTENCE else text[: _LONGEST_SENTENCE - 3] + "..."
