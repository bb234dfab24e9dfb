"""Vectorizer chains: whether LLVM's vectorizer would follow so many paths through a loop's values that it never ends.

For a value that is the same in all iterations of a loop, the vectorizer asks which lanes its users need, and their
users, and follows each path anew. `m = x if x > m else m`, unrolled 32 times, has 2**32 paths. Such loops are looked
for in what LLVM makes of a kernel without vectorizing, and only if the kernel's code may lead to them. In doubt the
answer is yes, which costs speed and nothing else.
"""

from __future__ import annotations

from collections.abc import Iterator

from gridjit.compiler.targets.host.analysis.vectorizer_lines import LoopValue, read
from gridjit.compiler.targets.host.analysis.vectorizer_roots import may_have_chain
from gridjit.compiler.targets.host.ir.body import Block, blocks_of
from gridjit.compiler.targets.host.ir.module import definitions

# Far more than any program has that LLVM finishes; a search up to here takes a hundredth of a second.
_MOST = 2**17


def may_never_end(text: str) -> bool:
    """Return whether a kernel's own code may have so many paths, once its loops are unrolled."""
    return any(may_have_chain(blocks, _MOST) for blocks in _functions(text))


def never_ends(text: str) -> bool:
    """Return whether a loop of a module that LLVM has optimized has more paths than can be followed."""
    return any(_ways(loop) > _MOST for blocks in _functions(text) for loop in _innermost(blocks))


def _functions(text: str) -> Iterator[list[Block]]:
    return (list(blocks_of(one.body)) for one in definitions(text))


def _back_edges(blocks: list[Block]) -> Iterator[tuple[int, int]]:
    places = {block.label: number for number, block in enumerate(blocks)}
    for number, block in enumerate(blocks):
        for target in block.successors:
            if places[target] <= number:
                yield places[target], number


def _innermost(blocks: list[Block]) -> Iterator[list[str]]:
    """Yield the instructions of each innermost loop."""
    loops = list(_back_edges(blocks))
    for head, latch in loops:
        if not any((head, latch) != other and head <= other[0] and other[1] <= latch for other in loops):
            yield [line for block in blocks[head : latch + 1] for line in block.lines]


def _ways(lines: list[str]) -> int:
    """Return how many paths through users, and users of users, lead from the uniform value that has the most."""
    varying: set[str] = set()
    uniform: list[LoopValue] = []
    for line in (read(0, text) for text in lines):
        if line.operation == "phi" or not varying.isdisjoint(line.used):
            varying.add(line.name)
        elif line.name:
            uniform.append(line)
    ways: dict[str, int] = {}
    for line in reversed(uniform):
        own = ways.setdefault(line.name, 1)
        for one in line.used:
            ways[one] = ways.get(one, 1) + own
    return max((ways[line.name] for line in uniform), default=0)
