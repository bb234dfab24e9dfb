"""Thread loops: loops over the threads of a block - z, y, x - around a body that is given as lines of LLVM IR."""

from __future__ import annotations

from dataclasses import dataclass, field

from gridjit.compiler.targets.host.loops.metadata import LAUNCH, loop_numbers
from gridjit.compiler.targets.host.regions.body import defined, rename

# The values that a function's loops share; every other value is a loop's own.
_SHARED_NAMES = (
    *(f"%{name}" for name in LAUNCH),
    *(f"%ctaid.{axis}" for axis in "xyz"),
    *("%dynamic", "%threads", "%params", "%launch", "%shared", "%slab", "%states", "%status"),
    *("%low", "%high", "%holds"),
)


@dataclass(slots=True)
class ThreadLoops:
    """Writes loops, and remembers for their metadata which of those written may be vectorized."""

    vectorized: list[bool] = field(default_factory=list)

    def loop(self, name: str, body: list[str], before: str, after: str, *, vectorize: bool = True) -> list[str]:
        """Return the loops over z, y and x around body; names inside are made unique by a prefix.

        They follow the block called before, and lead to the one called after. body finds the thread's number in %t
        and %t.wide.
        """
        x, y, z = loop_numbers(len(self.vectorized))
        self.vectorized.append(vectorize)
        lines = [
            *_heads(name, before),
            *body,
            f"  br label %{name}.x.end",
            *_end(name, "x", f"{name}.y.end", x),
            *_end(name, "y", f"{name}.z.end", y),
            *_end(name, "z", after, z),
            f"{after}:",
        ]
        return _prefixed(lines, name)


def _heads(name: str, before: str) -> list[str]:
    """Return where the loops begin, and the number of a thread."""
    return [
        f"  br label %{name}.z",
        f"{name}.z:",
        f"  %tid.z = phi i32 [ 0, %{before} ], [ %z.next, %{name}.z.end ]",
        f"  br label %{name}.y",
        f"{name}.y:",
        f"  %tid.y = phi i32 [ 0, %{name}.z ], [ %y.next, %{name}.y.end ]",
        "  %z.rows = mul nuw nsw i32 %tid.z, %ntid.y",
        "  %row = add nuw nsw i32 %z.rows, %tid.y",
        "  %row.start = mul nuw nsw i32 %row, %ntid.x",
        f"  br label %{name}.x",
        f"{name}.x:",
        f"  %tid.x = phi i32 [ 0, %{name}.y ], [ %x.next, %{name}.x.end ]",
        "  %t = add nuw nsw i32 %row.start, %tid.x",
        "  %t.wide = zext nneg i32 %t to i64",
    ]


def _end(name: str, axis: str, after: str, number: int) -> list[str]:
    """Return the end of the loop over an axis, which goes round or on to after."""
    return [
        f"{name}.{axis}.end:",
        f"  %{axis}.next = add nuw nsw i32 %tid.{axis}, 1",
        f"  %{axis}.more = icmp ult i32 %{axis}.next, %ntid.{axis}",
        f"  br i1 %{axis}.more, label %{name}.{axis}, label %{after}, !llvm.loop !{number}",
    ]


def _prefixed(lines: list[str], name: str) -> list[str]:
    """Return lines in which every value and label that only this loop uses has a name of its own."""
    own = {found for line in lines if (found := defined(line)) is not None} - set(_SHARED_NAMES)
    names = {value: f"%{name}.{value[1:]}" for value in own}
    return [rename(line, names) for line in lines]
