"""What rare threads do by themselves is done after their row only where no thread can tell."""

from __future__ import annotations

import pytest

from gridjit.compiler.targets.host.emit.rows import SunkRow
from gridjit.compiler.targets.host.emit.work_item_loops import ThreadLoops
from gridjit.compiler.targets.host.ir.body import Block, defined
from gridjit.compiler.targets.host.passes.peeled_distances import Distances
from gridjit.compiler.targets.host.passes.peeling import FIRST, LAST, Stop
from gridjit.compiler.targets.host.passes.sinking import sunk

FIRST_ALONE = "br i1 %first, label %alone, label %together"
ALONE = ("%seen = load float, ptr %arg.0", "store float %seen, ptr %tile", "br label %together")
ENDS = ("gridjit.arrive 1, label %later",)
LATER = ("ret i32 0",)


def blocks(alone=ALONE, together=ENDS, *, start=(), branch=FIRST_ALONE, **others):
    """A region that rare threads leave for %alone, and in which all go on at %together."""
    begins = (
        '%"gj.met.0.first" = icmp eq i32 %gj.tid.x, 0',
        '%first = and i1 %"gj.met.0.first", %gj.rare',
        "%tile = getelementptr inbounds i8, ptr %gj.shared, i64 0",
        "%other = icmp sgt i64 %arg.2, 3",
        *start,
        branch,
    )
    lines = {"start": begins, "alone": alone, "together": together, "later": LATER, **others}
    return {f"%{label}": Block(label=f"%{label}", lines=tuple(its)) for label, its in lines.items()}


def late(*given, kept=(), changing=(), stops=(FIRST,), **others):
    region = blocks(*given, **others)
    del region["%later"]
    lines = {name: line for block in region.values() for line in block.lines if (name := defined(line))}
    return sunk(region, "%start", {}, kept, changing, Distances(lines, "x", stops))


def test_only_what_rare_threads_do_is_left():
    start = ("%item = load float, ptr %arg.1", "store float %item, ptr %tile")
    assert late(start=start, kept=("%item",)) == {
        "%start": Block(
            label="%start",
            lines=(
                '%"gj.met.0.first" = icmp eq i32 %gj.tid.x, 0',
                '%first = and i1 %"gj.met.0.first", %gj.rare',
                "%tile = getelementptr inbounds i8, ptr %gj.shared, i64 0",
                FIRST_ALONE,
            ),
        ),
        "%alone": Block(label="%alone", lines=ALONE),
        "%together": Block(label="%together", lines=("ret i32 0",)),
    }


BOTH = "%both = select i1 %first, i1 %other, i1 false"
NOT = ('%"gj.usual" = xor i1 %gj.rare, true', '%but = or i1 %"gj.met.0.first", %"gj.usual"')
READ = ("%seen = load float, ptr %arg.0", "%used = fadd float %seen, %item")


QUIET = ("store float 2.0, ptr %tile", "br label %together")


@pytest.mark.parametrize(
    "changes",
    [
        {"start": (BOTH,), "branch": "br i1 %both, label %alone, label %together"},
        {"start": NOT, "branch": "br i1 %but, label %together, label %alone"},
        {"alone": QUIET, "together": ("store float 0.0, ptr %arg.1", *ENDS)},
        {"alone": QUIET, "together": ("%one = load float, ptr %arg.1", "store float %one, ptr %arg.3", *ENDS)},
        {"together": ("%one = load float, ptr %arg.1", *ENDS)},
        {"together": ("br i1 %other, label %more, label %end",), "more": ("br label %end",), "end": ENDS},
        {"start": ("%item = load float, ptr %arg.1",), "alone": (*READ, "store float %used, ptr %tile", ALONE[-1])},
        {"alone": ("br i1 %other, label %inner, label %together",), "inner": ALONE},
        {
            "alone": QUIET,
            "together": ("%same = phi float [ 1.0, %alone ], [ 1.0, %start ]", "store float %same, ptr %arg.1", *ENDS),
        },
    ],
)
def test_what_nobody_sees_is_postponed(changes):
    assert late(**changes) is not None


OWN = "%count = load i32, ptr %tile, align 4, !gridjit.own !{}"


@pytest.mark.parametrize(
    "changes",
    [
        # It does not rejoin the others, or not where it left them.
        {"alone": ("ret i32 0",)},
        {"alone": ("gridjit.arrive 2, label %later",)},
        {"branch": "br i1 %first, label %alone, label %else", "else": ("store float 1.0, ptr %tile", ALONE[-1])},
        {"start": ("%any = or i1 %first, %other",), "branch": "br i1 %any, label %alone, label %together"},
        # It hands on a value.
        {
            "alone": QUIET,
            "together": ("%own = phi float [ 2.0, %alone ], [ 0.0, %start ]", "store float %own, ptr %arg.1", *ENDS),
        },
        {"together": ("%own = phi float [ %seen, %alone ], [ 0.0, %start ]", *ENDS), "kept": ("%own",)},
        {"start": ("%number = zext i1 %first to i32", "store i32 %number, ptr %arg.1")},
        {"kept": ("%first",)},
        # Its thread goes on with the same memory.
        {"together": ("store float 1.0, ptr %tile", *ENDS)},
        {"together": ("%back = load float, ptr %tile", *ENDS)},
        {"together": ("store float 1.0, ptr %arg.1", *ENDS)},
        {"alone": QUIET, "together": ("store float 1.0, ptr %unknown", *ENDS)},
        {"together": ("fence seq_cst", *ENDS)},
        {"alone": QUIET, "together": ("%old = atomicrmw add ptr %arg.1, i32 1 monotonic", *ENDS)},
        {"alone": QUIET, "together": ("%old = load volatile i32, ptr %arg.1", *ENDS)},
        {"together": ("call void @prints()", *ENDS)},
        # It does more than load and store.
        {"alone": ("call void @prints()", ALONE[-1])},
        {"alone": ("store volatile float 1.0, ptr %tile", ALONE[-1])},
        {"alone": ("store float 1.0, ptr %unknown", ALONE[-1])},
        {"alone": (OWN, ALONE[-1])},
        # What it needs is not there any more.
        {
            "start": ("%item = load float, ptr %arg.1", "store float 0.0, ptr %arg.3"),
            "alone": (*READ, "store float %used, ptr %tile", ALONE[-1]),
        },
        {"alone": ("store float %left, ptr %tile", ALONE[-1]), "changing": ("%left",)},
        {
            "start": ("%item = call float @asks()",),
            "alone": ("store float %item, ptr %tile", ALONE[-1]),
        },
        # Nobody is rare.
        {"branch": "br i1 %other, label %alone, label %together"},
    ],
)
def test_what_may_be_seen_is_done_in_the_midst_of_the_row(changes):
    assert late(**changes) is None


def test_a_turn_of_a_loop_follows_another():
    goes = {"together": ("br i1 %other, label %start, label %end",), "end": ENDS}
    assert late(QUIET, **goes) is not None
    assert late(QUIET, start=("%back = load float, ptr %tile",), **goes) is None


BODY = SunkRow(stops=(LAST, FIRST), usual=["  call void @usual()"], sunk=["  call void @late()"])


def calls(lines):
    return [line.strip() for line in lines if "call void" in line]


def test_rare_threads_of_all_rows_follow_the_loops_over_all_threads():
    loops = ThreadLoops()
    lines = loops.loop("only", BODY, "entry", "over")
    assert calls(lines) == ["call void @usual()", "call void @late()", "call void @late()"]
    # Loops over planes, rows and a row's threads, and two of each stop's threads, which are not neighbours.
    assert loops.vectorized == [True, True, True, False, False, False, False]


def test_rare_threads_of_a_row_that_is_run_in_part_follow_their_row():
    loops = ThreadLoops()
    lines = loops.narrowed("only", BODY, ["  %from = add i32 0, 0", "  %to = add i32 9, 0"], "entry", "over")
    assert calls(lines) == ["call void @usual()", "call void @late()", "call void @late()"]
    assert loops.vectorized == [True, True, True]


def own_place(more):
    """Each thread stores behind where the one before it does, of as many bytes."""
    lines = ("%t = zext nneg i32 %gj.tid.x to i64", f"%index = add nuw nsw i64 %t, {more}")
    return {
        "start": (*lines, "%item = getelementptr inbounds float, ptr %tile, i64 %index", *LAST_PLACE),
        "together": ("store float 1.0, ptr %item", *ENDS),
    }


LAST_PLACE = (
    "%n = zext nneg i32 %gj.ntid.x to i64",
    "%beyond = add nuw nsw i64 %n, 1",
    "%after = getelementptr inbounds float, ptr %tile, i64 %beyond",
    "%far = getelementptr inbounds float, ptr %tile, i64 33",
    "%long = getelementptr inbounds i8, ptr %tile, i64 0",
)


def stores(to, kind="float"):
    return (f"store {kind} zeroinitializer, ptr {to}", "br label %together")


@pytest.mark.parametrize(
    ("more", "alone", "stops"),
    [
        (1, stores("%tile"), (FIRST,)),
        (1, stores("%after"), (LAST,)),
        (2, stores("%long", "double"), (FIRST, LAST)),
    ],
)
def test_what_no_thread_of_the_row_uses_may_be_stored_after_it(more, alone, stops):
    assert late(alone, stops=stops, **own_place(more)) is not None


@pytest.mark.parametrize(
    ("more", "alone", "stops"),
    [
        (0, stores("%tile"), (FIRST,)),  # its own
        (0, stores("%item"), (LAST,)),
        (1, stores("%long", "double"), (FIRST,)),  # the first of two words is free
        (2, stores("%after"), (LAST,)),  # that of the thread before
        (1, stores("%far"), (Stop(place=31),)),  # that of a later thread, if the row is so long
        (1, stores("%unknown"), (FIRST,)),
    ],
)
def test_what_a_thread_of_the_row_may_use_is_stored_in_its_midst(more, alone, stops):
    assert late(alone, stops=stops, **own_place(more)) is None
