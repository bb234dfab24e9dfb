"""Vectorizer chains: whether LLVM's vectorizer would follow so many paths through a loop's values that it never ends.

For a value that is the same in all iterations of a loop, the vectorizer asks which lanes its users need, and their
users, and follows each path anew. `m = x if x > m else m`, unrolled 32 times, has 2**32 paths. Such loops are looked
for in what LLVM makes of a kernel without vectorizing, and only if the kernel's code may lead to them. In doubt the
answer is yes, which costs speed and nothing else.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from gridjit.base.regexes import regex
from gridjit.compiler.targets.host.analysis.vectorizer_roots import may_have_chain

_BLOCK = regex(r'^("[^"]+"|[-\w.$]+):', re.MULTILINE)
_NAME = regex(r'%(?:"[^"]+"|[-\w.$]+)')
_TARGET = regex(r'label %("[^"]+"|[-\w.$]+)')
# Far more than any program has that LLVM finishes; a search up to here takes a hundredth of a second.
_MOST = 2**17


def may_never_end(text: str) -> bool:
    """Return whether a kernel's own code may have so many paths, once its loops are unrolled."""
    return any(may_have_chain(blocks, _MOST) for blocks in _functions(text))


def never_ends(text: str) -> bool:
    """Return whether a loop of a module that LLVM has optimized has more paths than can be followed."""
    return any(_ways(loop) > _MOST for blocks in _functions(text) for loop in _innermost(blocks))


def _functions(text: str) -> Iterator[list[tuple[str, list[str]]]]:
    """Yield each function as its blocks' names and instructions, in their order."""
    for function in re.findall(r"^define [^\n]*\n(.*?)^}", text, re.MULTILINE | re.DOTALL):
        first, *rest = _BLOCK.split(function)
        named = zip(["", *rest[::2]], [first, *rest[1::2]], strict=True)
        yield [(name, [line for line in body.splitlines() if line.startswith("  ")]) for name, body in named]


def _back_edges(blocks: list[tuple[str, list[str]]]) -> Iterator[tuple[int, int]]:
    places = {name: number for number, (name, _) in enumerate(blocks)}
    for number, (_, lines) in enumerate(blocks):
        for target in _TARGET.findall(lines[-1] if lines else ""):
            if places[target] <= number:
                yield places[target], number


def _innermost(blocks: list[tuple[str, list[str]]]) -> Iterator[list[str]]:
    """Yield the instructions of each innermost loop."""
    loops = list(_back_edges(blocks))
    for head, latch in loops:
        if not any((head, latch) != other and head <= other[0] and other[1] <= latch for other in loops):
            yield [line for _, lines in blocks[head : latch + 1] for line in lines]


def _ways(lines: list[str]) -> int:
    """Return how many paths through users, and users of users, lead from the uniform value that has the most."""
    varying: set[str] = set()
    uniform: list[tuple[str, list[str]]] = []
    for line in lines:
        name, _, rest = line.strip().partition(" = ")
        used = _NAME.findall(rest)
        if " = phi " in line or not varying.isdisjoint(used):
            varying.add(name)
        elif rest:
            uniform.append((name, used))
    ways: dict[str, int] = {}
    for name, used in reversed(uniform):
        own = ways.setdefault(name, 1)
        for one in used:
            ways[one] = ways.get(one, 1) + own
    return max((ways[name] for name, _ in uniform), default=0)
