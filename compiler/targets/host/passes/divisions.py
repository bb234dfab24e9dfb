"""divisions: each thread makes its own integer divisions, if some threads of a row skip them.

If a loop does not change the operands of a division, LLVM's vectorizer makes the division once for all lanes, even
behind a condition: only if the condition holds for the first lane, so that the other lanes get garbage (LLVM 22;
`if t == 1: x = tile[(t + 1) % blockDim.x]`, in which it knows t). So `%gj.apart`, which the loops over a row hand to
each thread, is added to such dividends. It is 0, but LLVM can neither know that nor assume that all threads share it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from gridjit.compiler.targets.host.analysis.uniformity import divergent_blocks, uniform_values
from gridjit.compiler.targets.host.ir.body import Body
from gridjit.compiler.targets.host.ir.instructions import Instruction, with_suffix
from gridjit.compiler.targets.host.ir.parse import parse

APART = "%gj.apart"
# No pass looks into inline assembly.
NOTHING = '  %nothing = call i32 asm "", "=r,0"(i32 0)'
_DIVISIONS = frozenset(("sdiv", "udiv", "srem", "urem"))


def with_own_divisions(body: Body) -> Body:
    """Return body with `%gj.apart` in the dividends of the divisions that some threads skip."""
    if not any(_divides(parse(line)) for line in body.lines):
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


def _divides(one: Instruction) -> bool:
    """Return whether an instruction divides integers by a value."""
    return one.opcode in _DIVISIONS and one.kind.startswith("i") and one.values[1].startswith("%")


def _own(line: str) -> Iterator[str]:
    """Yield an instruction; of a division, with %gj.apart added to its dividend."""
    one = parse(line)
    if _divides(one):
        dividend, divisor = one.operands
        kind, added, own = dividend.type, APART, with_suffix(one.result, "own")
        if kind != "i32":
            added = with_suffix(one.result, "apart")
            yield f"{added} = {'zext' if int(kind[1:]) > 32 else 'trunc'} i32 {APART} to {kind}"
        yield f"{own} = or {dividend}, {added}"
        yield str(one._replace(operands=(dividend._replace(value=own), divisor)))
    else:
        yield line
