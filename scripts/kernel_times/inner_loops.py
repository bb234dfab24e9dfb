"""inner_loops: how many instructions a kernel's innermost loop has for each of those that it is for, in PTX or SASS."""

from __future__ import annotations

import re
from typing import NamedTuple

_LABEL = re.compile(r"^(?P<label>[$.\w]+):")
# PTX has a tab before instructions, SASS their address.
_INSTRUCTION = re.compile(r"^\s+(?:/\*[0-9a-f]+\*/\s+)?(?:@!?\w*%?\w+\s+)?(?P<code>[a-zA-Z][\w.:]*)(?P<rest>.*?);")
_BRANCH = re.compile(r"^(?:bra|BRA)\b.*?(?P<to>[$.]L[\w$.]*)")


class Loop(NamedTuple):
    """The instructions of a loop, or of a kernel without one, and how many of them do its work."""

    instructions: int
    work: int

    @property
    def each(self) -> float:
        """How many instructions there are for each that does the work."""
        return self.instructions / max(self.work, 1)


def inner_loop(text: str, work: str) -> Loop:
    """Return the innermost loop of PTX or SASS that has most of the work, a pattern; the whole body if none has any."""
    body, found = _parsed(text)
    loops: dict[int, int] = {}
    for at, one in enumerate(body):
        if (branch := _BRANCH.match(one)) and found.get(branch["to"], at) < at:
            loops[found[branch["to"]]] = at
    inner = [(first, last) for first, last in loops.items() if not _holds_one(first, last, loops)]
    counted = [_counted(body[first : last + 1], work) for first, last in inner] if work else []
    best = max(counted, key=lambda loop: loop.work, default=Loop(0, 0))
    return best if best.work else _counted(body, work)


def _holds_one(first: int, last: int, loops: dict[int, int]) -> bool:
    return any(first <= start and end <= last and (start, end) != (first, last) for start, end in loops.items())


def _counted(body: list[str], work: str) -> Loop:
    return Loop(len(body), sum(bool(re.search(work, one)) for one in body) if work else 0)


def _parsed(text: str) -> tuple[list[str], dict[str, int]]:
    """Return a kernel's instructions, and at which of them its labels stand; of two bodies, those of the first.

    That is the one for arrays that do not overlap, after the test whether they do.
    """
    _, entry, ptx = text.partition(".entry ")
    body: list[str] = []
    found: dict[str, int] = {}
    for line in (ptx.partition("\n}")[0].rpartition("\n{")[2] if entry else text).splitlines():
        if label := _LABEL.match(line):
            found[label["label"]] = len(body)
        elif (one := _INSTRUCTION.match(line)) and one["code"] != "NOP":
            body.append(one["code"] + one["rest"])
    return body, found
