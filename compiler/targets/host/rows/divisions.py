"""divisions: integer divisions that some threads of a row skip are each thread's own.

If a loop does not change the operands of a division, LLVM's vectorizer makes the division once for all lanes, even
where it is behind a condition: it is made if the condition holds for the first lane, and the other lanes get garbage
(LLVM 22; `if t == 1: x = tile[(t + 1) % blockDim.x]`, in which it knows t). So what the loops over a row hand to each
thread is added to such dividends: `%gj.apart`, which is 0, but LLVM cannot know that, nor take it for the same in all
threads.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace

from gridjit.compiler.targets.host.flow.uniform import parted_blocks, uniform_values
from gridjit.compiler.targets.host.regions.body import NAME, Body

APART = "%gj.apart"
# No pass looks into what an assembler makes.
NOTHING = '  %nothing = call i32 asm "", "=r,0"(i32 0)'
_DIVISION = re.compile(rf"({NAME}) = ([su](?:div|rem)) (exact )?i(\d+) (\S+), ({NAME})(.*)", re.DOTALL)


def with_own_divisions(body: Body) -> Body:
    """Return body with `%gj.apart` in the dividends of the divisions that some threads skip."""
    if not any(_DIVISION.match(line) for block in body.blocks for line in block.lines):
        return body
    parted = parted_blocks(body, uniform_values(body))
    blocks = tuple(
        replace(block, lines=tuple(line for one in block.lines for line in _own(one)))
        if block.label in parted
        else block
        for block in body.blocks
    )
    return replace(body, blocks=blocks)


def handed(before: str, end: str, name: str = "%apart") -> list[str]:
    """Return the start of a loop that hands each thread %apart: it follows one block, and goes round from another.

    name: what a loop over rows hands each row, for a thread that is run beside the loop over the row's others. If that
    loop does nothing, the loop over rows is the one that is vectorized.
    """
    return [
        f"  {name} = phi i32 [ 0, %{before} ], [ {name}.next, %{end} ]",
        f"  {name}.next = add i32 {name}, %nothing",
    ]


def has_own_divisions(body: Body) -> bool:
    """Return whether a body reads `%gj.apart`."""
    return any(APART in line for block in body.blocks for line in block.lines)


def _own(line: str) -> Iterator[str]:
    """Yield an instruction, with its dividend made anew if it is a division."""
    if found := _DIVISION.match(line):
        name, operation, exact, bits, dividend, divisor, rest = found.groups(default="")
        added = APART
        if bits != "32":
            added = f"{name}.apart"
            yield f"{added} = {'zext' if int(bits) > 32 else 'trunc'} i32 {APART} to i{bits}"
        yield f"{name}.own = or i{bits} {dividend}, {added}"
        yield f"{name} = {operation} {exact}i{bits} {name}.own, {divisor}{rest}"
    else:
        yield line
