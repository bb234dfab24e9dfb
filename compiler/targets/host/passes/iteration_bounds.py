"""Iteration bounds: a function that finds where in a row of threads a condition holds, without asking each thread.

    { i32 first, i32 end, i1 known } @gridjit.bounds(i32 length, i32 step, place of the row's first thread, parameters)

Each comparison of the condition is asked at both ends of the row; one that does not depend on the place, once. Where
they differ, the place between is searched by halving. Nothing is known if a value wraps around or a comparison holds
only in the middle: then each thread is asked.
"""

from __future__ import annotations

from collections.abc import Sequence

from gridjit.compiler.targets.host.analysis.conditions import Comparison, checked
from gridjit.compiler.targets.host.ir.body import Parameter
from gridjit.compiler.targets.host.ir.coordinates import PLACE

NAME = "gridjit.bounds"
RESULT = "{ i32, i32, i1 }"
ASKED = "{ i32, i1 }"
_LEAF = "gridjit.compare"


def bounds_text(conditions: Sequence[Comparison], parameters: Sequence[Parameter], axis: str) -> str:
    """Return the function that finds where all conditions hold along axis ("x"), and its callees."""
    every = (*PLACE, *parameters)
    leaves = [leaf(f"{_LEAF}.{number}", one, every) for number, one in enumerate(conditions)]
    return "".join([*leaves, _bounds(conditions, every, axis)])


def declared(every: Sequence[Parameter]) -> str:
    """Return parameters as a function declares them."""
    return ", ".join([f"{one.type} {one.name}" for one in every])


def leaf(name: str, one: Comparison, every: Sequence[Parameter], how: str = "") -> str:
    """Return a function that returns how a comparison's operands compare - -1, 0, 1 - and whether one wrapped."""
    lines, bits = checked(one)
    a, b = one.operands
    less, more = ("ult", "ugt") if one.type == "i1" else ("slt", "sgt")
    wraps = ["%gj.bad.0 = or i1 false, false"]
    for index, bit in enumerate(bits):
        wraps.append(f"%gj.bad.{index + 1} = or i1 %gj.bad.{index}, {bit}")
    return "\n  ".join(
        [
            f"define internal {ASKED} @{name}({declared(every)}) alwaysinline nounwind {how}{{\ngj.ask:",
            *lines,
            *wraps,
            f"%gj.less = icmp {less} {one.type} {a}, {b}",
            f"%gj.more = icmp {more} {one.type} {a}, {b}",
            "%gj.less.wide = sext i1 %gj.less to i32",
            "%gj.more.wide = zext i1 %gj.more to i32",
            "%gj.sign = or i32 %gj.less.wide, %gj.more.wide",
            f"%gj.asked.0 = insertvalue {ASKED} poison, i32 %gj.sign, 0",
            f"%gj.asked = insertvalue {ASKED} %gj.asked.0, i1 %gj.bad.{len(bits)}, 1",
            f"ret {ASKED} %gj.asked\n}}\n",
        ]
    )


def _bounds(conditions: Sequence[Comparison], every: Sequence[Parameter], axis: str) -> str:
    lines = [
        f"define internal {RESULT} @{NAME}(i32 %length, i32 %step, {declared(every)}) alwaysinline nounwind {{",
        "entry:",
        "  %last = sub nuw nsw i32 %length, 1",
        "  br label %leaf.0",
    ]
    first, end = "0", "%length"
    for number, one in enumerate(conditions):
        if one.everywhere:
            lines += _everywhere(number, one, _At(every, axis))
            continue
        lines += _narrowed(number, one, (first, end), _At(every, axis))
        first, end = f"%first.{number}", f"%end.{number}"
    lines += [
        f"leaf.{len(conditions)}:",
        *_returned("some", first, end, "true"),
        "empty:",
        *_returned("none", "0", "0", "true"),
        "unknown:",
        *_returned("unknown", "0", "0", "false"),
        "}",
    ]
    return "\n".join(lines) + "\n"


class _At:
    """Writes the arguments of a comparison for the thread at a place of the row."""

    def __init__(self, every: Sequence[Parameter], axis: str) -> None:
        self.every = every
        self.axis = f"%gj.tid.{axis}"

    def ask(self, number: int, name: str, place: str) -> list[str]:
        """Return the lines that leave in %name.sign and %name.bad how a comparison comes out at a place."""
        given = {self.axis: place, "%gj.thread": f"%{name}.thread"}
        values = ", ".join([f"{one.type} {given.get(one.name, one.name)}" for one in self.every])
        return [
            f"  %{name}.far = mul i32 {place}, %step",
            f"  %{name}.thread = add i32 %gj.thread, %{name}.far",
            f"  %{name} = call {ASKED} @{_LEAF}.{number}({values})",
            f"  %{name}.sign = extractvalue {ASKED} %{name}, 0",
            f"  %{name}.bad = extractvalue {ASKED} %{name}, 1",
        ]


def _everywhere(n: int, one: Comparison, at: _At) -> list[str]:
    """Return the lines that leave no bounds unless a comparison holds, which comes out the same at all places."""
    return [
        f"leaf.{n}:",
        *at.ask(n, f"low.{n}", "0"),
        f"  br i1 %low.{n}.bad, label %unknown, label %good.{n}",
        f"good.{n}:",
        f"  %low.{n}.holds = icmp {one.predicate} i32 %low.{n}.sign, 0",
        f"  br i1 %low.{n}.holds, label %leaf.{n + 1}, label %empty",
    ]


def _narrowed(number: int, one: Comparison, so_far: tuple[str, str], at: _At) -> list[str]:
    """Return the lines that narrow the bounds so far to where a comparison holds as well."""
    n, holds = number, one.predicate
    lines = [
        f"leaf.{n}:",
        *at.ask(n, f"low.{n}", "0"),
        *at.ask(n, f"high.{n}", "%last"),
        f"  %bad.{n} = or i1 %low.{n}.bad, %high.{n}.bad",
        # It may be equal somewhere between.
        f"  %product.{n} = mul i32 %low.{n}.sign, %high.{n}.sign",
        f"  %crosses.{n} = icmp slt i32 %product.{n}, {'0' if holds in ('eq', 'ne') else '-1'}",
        f"  %open.{n} = or i1 %bad.{n}, %crosses.{n}",
        f"  br i1 %open.{n}, label %unknown, label %good.{n}",
        f"good.{n}:",
        f"  %low.{n}.holds = icmp {holds} i32 %low.{n}.sign, 0",
        f"  %high.{n}.holds = icmp {holds} i32 %high.{n}.sign, 0",
        f"  %differ.{n} = xor i1 %low.{n}.holds, %high.{n}.holds",
        f"  br i1 %differ.{n}, label %search.{n}, label %same.{n}",
        f"same.{n}:",
        f"  br i1 %low.{n}.holds, label %next.{n}, label %empty",
        *_search(n, holds, at),
    ]
    first, end = so_far
    return [
        *lines,
        f"found.{n}:",
        f"  %later.{n} = call i32 @llvm.umax.i32(i32 {first}, i32 %q.{n})",
        f"  %sooner.{n} = call i32 @llvm.umin.i32(i32 {end}, i32 %q.{n})",
        f"  %first.new.{n} = select i1 %high.{n}.holds, i32 %later.{n}, i32 {first}",
        f"  %end.new.{n} = select i1 %high.{n}.holds, i32 {end}, i32 %sooner.{n}",
        f"  br label %next.{n}",
        f"next.{n}:",
        f"  %first.{n} = phi i32 [ {first}, %same.{n} ], [ %first.new.{n}, %found.{n} ]",
        f"  %end.{n} = phi i32 [ {end}, %same.{n} ], [ %end.new.{n}, %found.{n} ]",
        f"  br label %leaf.{n + 1}",
    ]


def _search(n: int, holds: str, at: _At) -> list[str]:
    """Return the loop that leaves in %q the first place at which a comparison comes out as at the row's end."""
    return [
        f"search.{n}:",
        f"  %p.{n} = phi i32 [ 0, %good.{n} ], [ %p.next.{n}, %halve.{n} ]",
        f"  %q.{n} = phi i32 [ %last, %good.{n} ], [ %q.next.{n}, %halve.{n} ]",
        f"  %gap.{n} = sub nuw nsw i32 %q.{n}, %p.{n}",
        f"  %close.{n} = icmp ule i32 %gap.{n}, 1",
        f"  br i1 %close.{n}, label %found.{n}, label %halve.{n}",
        f"halve.{n}:",
        f"  %half.{n} = lshr i32 %gap.{n}, 1",
        f"  %middle.at.{n} = add nuw nsw i32 %p.{n}, %half.{n}",
        *at.ask(n, f"middle.{n}", f"%middle.at.{n}"),
        f"  %middle.{n}.holds = icmp {holds} i32 %middle.{n}.sign, 0",
        f"  %as.low.{n} = xor i1 %middle.{n}.holds, %high.{n}.holds",
        f"  %p.next.{n} = select i1 %as.low.{n}, i32 %middle.at.{n}, i32 %p.{n}",
        f"  %q.next.{n} = select i1 %as.low.{n}, i32 %q.{n}, i32 %middle.at.{n}",
        f"  br label %search.{n}",
    ]


def _returned(name: str, first: str, end: str, known: str) -> list[str]:
    return [
        f"  %{name}.0 = insertvalue {RESULT} poison, i32 {first}, 0",
        f"  %{name}.1 = insertvalue {RESULT} %{name}.0, i32 {end}, 1",
        f"  %{name}.2 = insertvalue {RESULT} %{name}.1, i1 {known}, 2",
        f"  ret {RESULT} %{name}.2",
    ]
