"""initial_stores: takes out of LLVM IR text those zeros that numba stores where it reserves memory, and nothing reads.

It stores them in a function's entry block, whatever is stored there later. Memory that is used in two blocks costs
LLVM, and NVVM with it, a walk through the second block up to the first use: for the thousands of array views of a long
kernel that is most of a compile. The zeros of a memory go if all its other uses are in one block, and the first of them
there overwrites it as a whole. The machine code is the same.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from itertools import accumulate

# A text has millions of characters: what is looked for begins with the end of a line, for which it is searched at once.
_FUNCTION = re.compile(r"\ndefine [^\n]*\n\{\n")
_LABEL = re.compile(r"\n[^\s{}][^\n]*:(?=\n)")
_RESERVED = re.compile(
    r'(?P<kept>\n  (?P<at>%"[^"\n]*") = alloca (?P<type>.+))\n  store (?P=type) [^%\n]*, (?P=type)\* (?P=at)(?=\n)'
)
_NAME = re.compile(r'(%"[^"\n]*")')
_STORE = re.compile(r'  store (?P<type>.+) \S+, (?P=type)\* (?P<at>%"[^"\n]*")(?:, (?:align \d+|![^\n]*))*')


def without_initial_stores(text: str) -> str:
    """Return a module's text, as llvmlite prints it, without the stores of zeros that nothing reads."""
    made, at, text = [], 0, f"\n{text}"
    while (found := _FUNCTION.search(text, at)) and (end := text.find("\n}", found.end() - 1) + 2) > 1:
        made += [text[at : found.start()], _cleared(text[found.start() : end])]
        at = end
    return "".join((*made, text[at:]))[1:]


def _cleared(function: str) -> str:
    """Return a function without its own."""
    starts = [found.start() + 1 for found in _LABEL.finditer(function)]
    if len(starts) < 2:
        return function
    blocks = list(zip(starts, [*starts[1:], len(function)], strict=True))
    unread = _unread(function, blocks)
    if not unread:
        return function
    entry = function[starts[0] : starts[1]]
    entry = _RESERVED.sub(lambda found: found["kept"] if found["at"] in unread else found[0], entry)
    return function[: starts[0]] + entry + function[starts[1] :]


def _unread(function: str, blocks: Sequence[tuple[int, int]]) -> set[str]:
    """Return the names of the memories whose first zeros nothing reads; blocks: where each starts and ends."""
    entry = function[slice(*blocks[0])]
    reserved = {at for _, at, _ in _RESERVED.findall(entry)}
    mentions = Counter(_NAME.findall(entry)) if reserved else {}
    return _overwritten(function, blocks[1:], {name for name in reserved if mentions[name] == 2})


def _overwritten(function: str, blocks: Sequence[tuple[int, int]], reserved: set[str]) -> set[str]:
    """Return those of reserved that one block alone uses, and overwrites as a whole before anything else."""
    home: set[str] = set()
    others: set[str] = set()
    for start, end in blocks if reserved else ():
        parts = _NAME.split(function[start:end])  # what is between names, and names, by turns
        used = reserved.intersection(parts[1::2])
        others |= used & home
        first = _first(parts) if (new := used - home) else {}
        home |= new
        others.update(name for name in new if not _is_stored(function, start + first[name], name))
    return home - others


def _first(parts: Sequence[str]) -> dict[str, int]:
    """Return where each name stands first, of the parts of a text of which every second one is a name."""
    starts = list(accumulate(map(len, parts)))[:-1:2]
    # The one that is written down last is the first.
    return dict(zip(reversed(parts[1::2]), reversed(starts), strict=True))


def _is_stored(function: str, at: int, name: str) -> bool:
    """Return whether a name stands where the memory that it names is overwritten as a whole."""
    line = function[function.rfind("\n", 0, at) + 1 : function.find("\n", at)]
    store = _STORE.fullmatch(line)
    return store is not None and store["at"] == name and line.count(name) == 1
