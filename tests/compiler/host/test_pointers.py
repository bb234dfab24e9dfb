"""The memory that an address can be in is found through every instruction that makes addresses, or is unknown."""

from __future__ import annotations

import pytest

from gridjit.compiler.targets.host.analysis.pointers import (
    BLOCK,
    CONSTANT,
    LOCAL,
    PRIVATE,
    UNKNOWN,
    Argument,
    Root,
    Roots,
    SharedRoot,
    base_of,
)
from gridjit.compiler.targets.host.ir.body import definitions_of

LINES = definitions_of(
    line.strip()
    for line in """
    %item = getelementptr inbounds i64, ptr %arg.4, i64 %i
    %first = ptrtoint ptr %arg.4 to i64
    %second = ptrtoint ptr %arg.11 to i64
    %way = mul i64 %i, %arg.8
    %sum = add i64 %first, %way
    %further = add nuw nsw i64 %sum, 8
    %back = sub i64 %sum, %way
    %strided = inttoptr i64 %further to ptr
    %again = inttoptr i64 %back to ptr
    %both = add i64 %sum, %second
    %of.both = inttoptr i64 %both to ptr
    %apart = sub i64 %second, %first
    %of.apart = inttoptr i64 %apart to ptr
    %there = add i64 %first, %apart
    %of.there = inttoptr i64 %there to ptr
    %number = load i64, ptr %item, align 8
    %of.number = inttoptr i64 %number to ptr
    %stored = load ptr, ptr %item, align 8
    %chosen = select i1 %c, ptr %item, ptr %arg.11
    %looped = phi ptr [ %arg.4, %entry ], [ %next, %loop ]
    %next = getelementptr i8, ptr %looped, i64 8
    %fixed = select i1 %c, ptr %arg.4, ptr inttoptr (i64 4096 to ptr)
    %kept = freeze ptr %item
    %four = getelementptr i8, <4 x ptr> %many, i64 1
    %read = va_arg ptr %arg.4, ptr
    %table = getelementptr [4 x i64], ptr @table, i64 0, i64 %i
    %in.table = select i1 %c, ptr %table, ptr getelementptr inbounds (i8, ptr @table, i64 8)
    %mine = alloca [8 x float], align 16
    %pair = alloca { i32, i32 }, align 8
    %tile = call ptr @"gridjit.shared.tile 1"()
    %tile.item = getelementptr i32, ptr %tile, i64 %i
    %placed = getelementptr inbounds i8, ptr %gj.shared, i64 64
    """.splitlines()
    if line.strip()
)


@pytest.mark.parametrize(
    ("at", "roots"),
    [
        ("%item", {Argument(4)}),
        ("%strided", {Argument(4)}),
        ("%again", {Argument(4)}),
        ("%of.there", {Argument(11)}),
        ("%chosen", {Argument(4), Argument(11)}),
        ("%looped", {Argument(4)}),
        ("%kept", {Argument(4)}),
        ("%table", {CONSTANT}),
        ("%in.table", {CONSTANT}),
        ("%mine", {LOCAL}),
        ("%pair", {PRIVATE}),
        ("%tile.item", {SharedRoot(32)}),
        ("%placed", {BLOCK}),
        ("%fixed", {Argument(4), UNKNOWN}),
        *((name, {UNKNOWN}) for name in ("%of.both", "%of.apart", "%of.number", "%stored", "%four", "%read", "null")),
        ('%"not @table"', {UNKNOWN}),
    ],
)
def test_an_address_is_in_the_memory_that_it_is_made_from_or_in_unknown_memory(at: str, roots: set[Root]) -> None:
    found = Roots(definitions=LINES, offsets={"tile 1": 32}, arrays=frozenset(("%mine",)))
    assert found.of(at) == roots


@pytest.mark.parametrize(("number", "base"), [("%further", "%first"), ("%there", "%second"), ("%both", None)])
def test_a_sum_begins_with_the_one_pointer_in_it(number: str, base: str | None) -> None:
    found = base_of(number, LINES)
    assert (found and found.result) == base
