"""A loop that polls memory by an operation that need not change it gets cuts; one that always changes it gets none."""

from __future__ import annotations

import pytest

from gridjit.compiler.targets.host.ir.body import Body, blocks_of
from gridjit.compiler.targets.host.passes.spin_loops import with_spin_cuts

LOOP = """entry:
  br label %"a loop"
"a loop":
  {read}
  %end = icmp eq i32 %seen, 0
  br i1 %end, label %"a loop", label %done
done:
  ret i32 0
"""


@pytest.mark.parametrize(
    ("read", "cuts"),
    [
        ("%seen = atomicrmw add ptr %p, i32 0 monotonic, align 4", 1),
        ("%seen = atomicrmw volatile sub ptr %p, i32 %n monotonic, align 4", 1),
        ("%seen = atomicrmw add ptr %p, i32 1 monotonic, align 4", 0),
        ("%seen = atomicrmw uinc_wrap ptr %p, i32 %n monotonic, align 4", 0),
        ("%seen = load volatile i32, ptr %p, align 4", 1),
        ("%seen = load atomic i32, ptr %p acquire, align 4", 1),
        ("%seen = load something that nobody knows", 1),
    ],
)
def test_a_turn_of_a_loop_that_polls_is_cut(read: str, cuts: int) -> None:
    body = Body(parameters=(), blocks=tuple(blocks_of(LOOP.format(read=read))), rest="")
    made = with_spin_cuts(body)
    assert len(made.locations) == cuts
    assert made.body.by_label['%"a loop"'].successors[0] == ("%gj.turn.0" if cuts else '%"a loop"')
