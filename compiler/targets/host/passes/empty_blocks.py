"""Empty blocks: a function that tells whether no thread of a box of blocks passes the kernel's first condition.

    i1 @gridjit.outside(i32 first and last block along x, y and z, a thread's place, parameters)

Each comparison that has to hold is asked at the corners of the box, which are threads at the corners of its corner
blocks. Its values are sums of multiples of the places, or rise or fall with such a sum, so they are largest and
smallest there. If it holds at none of the corners, and nothing wraps around there, no thread in between passes it.
"""

from __future__ import annotations

from collections.abc import Sequence

from gridjit.compiler.targets.host.analysis.conditions import Comparison, necessary
from gridjit.compiler.targets.host.ir.body import Block, Body, Parameter, arms, defined, opcode, used
from gridjit.compiler.targets.host.ir.cold_code import COLD
from gridjit.compiler.targets.host.ir.coordinates import PLACE
from gridjit.compiler.targets.host.passes.guard_conditions import ends, is_early, is_unseen, openings
from gridjit.compiler.targets.host.passes.iteration_bounds import ASKED, declared, leaf

OUTSIDE = "gridjit.outside"
# The ends of a box, as parameters of that function.
BOX = tuple(f"%{end}.{axis}" for axis in "xyz" for end in ("first", "last"))
_LEAF = "gridjit.corner"
_PLACES = tuple(f"%gj.{of}.{axis}" for of in ("ctaid", "tid") for axis in "xyz")
_THREAD = "%gj.thread"


def empty_blocks_text(body: Body) -> str:
    """Return the function and its callees; "" if nothing is known of the blocks of body that do nothing."""
    *_, last = (body, *openings(body))
    parts = _conditions(last)
    every = (*PLACE, *body.parameters)
    leaves = [leaf(f"{_LEAF}.{number}", one, every, f"{COLD} ") for number, one in enumerate(parts)]
    return "".join([*leaves, _outside(parts, every)]) if parts else ""


def _conditions(body: Body) -> tuple[Comparison, ...]:
    """Return comparisons that hold for each thread that does anything; none if that is not known of any."""
    entry = body.blocks[0]
    condition = entry.end.condition
    if not condition or not all(is_early(line) or is_unseen(line, entry) or _reads(line) for line in entry.lines[:-1]):
        return ()
    yes, no = entry.end.labels
    blocks = body.by_label
    off = [_only_ends(blocks[label], entry.label) for label in (yes, no)]
    if off[0] == off[1]:
        return ()
    early = {name: line for line in entry.lines[:-1] if is_early(line) and (name := defined(line))}
    known = {one.name for one in (*PLACE, *body.parameters)} | set(early)
    made = necessary(condition, off[1], early, (*_PLACES, _THREAD))
    return tuple(one for one in made if all(_values(line) <= known for line in one.lines))


def _reads(line: str) -> bool:
    """Return whether a line only reads memory, which nobody misses if nothing else is done."""
    return opcode(line) == "load" and " load volatile " not in line and " load atomic " not in line


def _only_ends(block: Block, entry: str) -> bool:
    """Return whether a thread that comes from the entry to this block ends there, without an exception."""
    if not ends(block):
        return False
    result = block.lines[-1].removeprefix("ret i32 ")
    phis = {defined(line): {label: value for value, label in arms(line)} for line in block.phis}
    return result == "0" or phis.get(result, {}).get(entry) == "0"


def _values(line: str) -> set[str]:
    name = defined(line)
    return {one for one in used(line) if one != name}


def _outside(parts: Sequence[Comparison], every: Sequence[Parameter]) -> str:
    """Return the function, which asks one comparison after another."""
    box = ", ".join(f"i32 {end}" for end in BOX)
    return "\n".join(
        [
            f"define internal i1 @{OUTSIDE}({box}, {declared(every)}) alwaysinline nounwind {COLD} {{",
            "entry:",
            *(f"  %most.{axis} = sub nuw nsw i32 %gj.ntid.{axis}, 1" for axis in "xyz"),
            "  br label %part.0",
            *(line for number, one in enumerate(parts) for line in _part(number, one, every)),
            f"part.{len(parts)}:",
            "  ret i1 false",
            "nobody:",
            "  ret i1 true",
            "}\n",
        ]
    )


def _part(n: int, one: Comparison, every: Sequence[Parameter]) -> list[str]:
    """Return the loop over the corners at which a comparison must not hold; it goes on where it does at one of them."""
    corners = _varied(one)
    given = {f"%gj.ctaid.{axis}": f"%ctaid.{axis}.{n}" for axis in "xyz"}
    given |= {f"%gj.tid.{axis}": f"%tid.{axis}.{n}" for axis in "xyz"} | {_THREAD: f"%thread.{n}"}
    values = ", ".join(f"{p.type} {given.get(p.name, p.name)}" for p in every)
    # Equal nowhere means that it is on one side everywhere.
    turned = f"%turned.{n}" if one.predicate == "eq" else "false"
    return [
        f"part.{n}:",
        f"  br label %corner.{n}",
        f"corner.{n}:",
        f"  %which.{n} = phi i32 [ 0, %part.{n} ], [ %which.next.{n}, %fails.{n} ]",
        f"  %side.{n} = phi i32 [ 0, %part.{n} ], [ %sign.{n}, %fails.{n} ]",
        *(line for place in _PLACES for line in _end(place, n, corners)),
        f"  %plane.{n} = mul i32 %tid.z.{n}, %gj.ntid.y",
        f"  %row.{n} = add i32 %plane.{n}, %tid.y.{n}",
        f"  %rows.{n} = mul i32 %row.{n}, %gj.ntid.x",
        f"  %thread.{n} = add i32 %rows.{n}, %tid.x.{n}",
        f"  %asked.{n} = call {ASKED} @{_LEAF}.{n}({values})",
        f"  %sign.{n} = extractvalue {ASKED} %asked.{n}, 0",
        f"  %bad.{n} = extractvalue {ASKED} %asked.{n}, 1",
        f"  %holds.{n} = icmp {one.predicate} i32 %sign.{n}, 0",
        f"  %sides.{n} = mul i32 %side.{n}, %sign.{n}",
        f"  %turned.{n} = icmp slt i32 %sides.{n}, 0",
        f"  %open.{n} = or i1 %bad.{n}, %holds.{n}",
        f"  %goes.on.{n} = or i1 %open.{n}, {turned}",
        f"  br i1 %goes.on.{n}, label %part.{n + 1}, label %fails.{n}",
        f"fails.{n}:",
        f"  %which.next.{n} = add nuw nsw i32 %which.{n}, 1",
        f"  %more.{n} = icmp ult i32 %which.next.{n}, {1 << len(corners)}",
        f"  br i1 %more.{n}, label %corner.{n}, label %nobody",
    ]


def _varied(one: Comparison) -> list[str]:
    """Return the places that a comparison asks for, each of which has two ends."""
    names = set(one.operands).union(*map(used, one.lines))
    if _THREAD in names:
        names.update(place for place in _PLACES if ".tid." in place)
    return [place for place in _PLACES if place in names]


def _end(place: str, n: int, corners: Sequence[str]) -> list[str]:
    """Return the lines that choose an end of a place by a bit of the corner's number; what is not asked is at 0."""
    of, axis = place.removeprefix("%gj.").split(".")
    ends = ("0", f"%most.{axis}") if of == "tid" else (f"%first.{axis}", f"%last.{axis}")
    if place not in corners:
        return [f"  %{of}.{axis}.{n} = add i32 {ends[0]}, 0"]
    bit = corners.index(place)
    return [
        f"  %bit.{of}.{axis}.{n} = and i32 %which.{n}, {1 << bit}",
        f"  %low.{of}.{axis}.{n} = icmp eq i32 %bit.{of}.{axis}.{n}, 0",
        f"  %{of}.{axis}.{n} = select i1 %low.{of}.{axis}.{n}, i32 {ends[0]}, i32 {ends[1]}",
    ]
