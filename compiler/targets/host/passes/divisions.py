"""divisions: each thread makes its own integer divisions, if some threads of a row skip them.

If a loop does not change the operands of a division, LLVM's vectorizer makes the division once for all lanes, even
behind a condition: only if the condition holds for the first lane, so that the other lanes get garbage (LLVM 22;
`if t == 1: x = tile[(t + 1) % blockDim.x]`, in which it knows t). So `%gj.apart`, which the loops over a row hand to
each thread, is added to such dividends. It is 0, but LLVM can neither know that nor assume that all threads share it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace

from gridjit.base.regexes import regex
from gridjit.compiler.targets.host.analysis.uniformity import divergent_blocks, uniform_values
from gridjit.compiler.targets.host.ir.body import NAME, Body

APART = "%gj.apart"
# No pass looks into inline assembly.
NOTHING = '  %nothing = call i32 asm "", "=r,0"(i32 0)'
_DIVISION = regex(
    rf"({NAME}) = ([su](?:div|rem)) (exact )?i(\d+) (\S+), ({NAME})(.*)", re.DOTALL, needs=("div ", "rem ")
)


def with_own_divisions(body: Body) -> Body:
    """Return body with `%gj.apart` in the dividends of the divisions that some threads skip."""
    if not any(_DIVISION.match(line) for line in body.lines):
        return body
    parted = divergent_blocks(body, uniform_values(body))
    blocks = tuple(
        replace(block, lines=tuple(line for one in block.lines for line in _own(one)))
        if block.label in parted
        else block
        for block in body.blocks
    )
    return replace(body, blocks=blocks)


def handed(before: str, end: str, name: str = "%apart") -> list[str]:
    """Return the start of a loop that hands each thread %apart: entered from `before`, repeated from `end`.

    name: what a loop over rows hands each row, for a thread that is run outside the loop over the row's others. If that
    inner loop is empty, LLVM vectorizes the loop over rows.
    """
    return [
        f"  {name} = phi i32 [ 0, %{before} ], [ {name}.next, %{end} ]",
        f"  {name}.next = add i32 {name}, %nothing",
    ]


def has_own_divisions(body: Body) -> bool:
    """Return whether a body reads `%gj.apart`."""
    return any(APART in line for line in body.lines)


def _own(line: str) -> Iterator[str]:
    """Yield an instruction; of a division, with %gj.apart added to its dividend."""
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
