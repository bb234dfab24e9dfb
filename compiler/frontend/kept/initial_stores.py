"""initial_stores: takes dead stores of zeros out of LLVM IR text, which numba writes where it reserves memory.

It stores zeros in a function's entry block, even if other values overwrite them. For each alloca with uses in the entry
block and in another, LLVM, and NVVM with it, walks through much of the function: for the thousands of variables of a
long kernel that is most of a compile. The zeros of an alloca go if it is overwritten as a whole on every path from the
entry block to its other uses. The machine code is the same.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Sequence
from itertools import accumulate

# A text has millions of characters: each pattern begins with the end of a line, for which it is searched at once.
_FUNCTION = re.compile(r"\ndefine [^\n]*\n\{\n")
_LABEL = re.compile(r"\n[^\s{}][^\n]*:(?=\n)")
_RESERVED = re.compile(
    r'(?P<kept>\n  (?P<at>%"[^"\n]*") = alloca (?P<type>.+))\n  store (?P=type) [^%\n]*, (?P=type)\* (?P=at)(?=\n)'
)
_NAME = re.compile(r'(%"[^"\n]*")')
_TARGET = re.compile(r' label %"([^"\n]*)"')
# More blocks than this are not searched for a store.
_FAR = 16
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
    """Return the reserved memories that are overwritten as a whole before any other use; blocks: all but the entry."""
    stored, used = defaultdict[str, set[int]](set), defaultdict[str, set[int]](set)
    for block, (start, end) in enumerate(blocks if reserved else ()):
        parts = _NAME.split(function[start:end])  # texts between names, and names, by turns
        here = reserved.intersection(parts[1::2])
        for name, at in _first(parts).items() if here else ():
            if name in here:
                (stored if _is_stored(function, start + at, name) else used)[name].add(block)
    before = _predecessors(function, blocks) if used else {}
    return {name for name in stored if all(_follows(stored[name], block, before) for block in used[name])}


def _predecessors(function: str, blocks: Sequence[tuple[int, int]]) -> dict[int, list[int]]:
    """Return the blocks that each block is reached from, -1 for the entry; nothing if a label is of none of them."""
    numbers = {function[start : function.index("\n", start)].strip('":'): at for at, (start, _) in enumerate(blocks)}
    before: dict[int, list[int]] = {}
    for at, (start, end) in enumerate([(0, blocks[0][0]), *blocks], -1):
        for label in _TARGET.findall(function, start, end):
            if label not in numbers:
                return {}
            before.setdefault(numbers[label], []).append(at)
    return before


def _follows(stored: set[int], block: int, before: dict[int, list[int]]) -> bool:
    """Return whether each path to a block leads through a block in stored; False where that takes many steps."""
    seen, left = {block}, [block]
    while left:
        for one in before.get(left.pop(), [-1]):
            if one < 0 or len(seen) > _FAR:
                return False
            if one not in seen and one not in stored:
                seen.add(one)
                left.append(one)
    return True


def _first(parts: Sequence[str]) -> dict[str, int]:
    """Return the first position of each name in a text. parts: of the text, every second of them a name."""
    starts = list(accumulate(map(len, parts)))[:-1:2]
    # The first position is written last.
    return dict(zip(reversed(parts[1::2]), reversed(starts), strict=True))


def _is_stored(function: str, at: int, name: str) -> bool:
    """Return whether a name stands where the memory that it names is overwritten as a whole."""
    line = function[function.rfind("\n", 0, at) + 1 : function.find("\n", at)]
    store = _STORE.fullmatch(line)
    return store is not None and store["at"] == name and line.count(name) == 1
