"""Rounds: the loop of the entry of co-resident blocks, as LLVM IR text.

A round goes on with each block that is there, begins new ones, and sees whether any got on. The entry that these parts
are of has the values that they read: %table, %capacity, %threads, %last, and the words of its state.
"""

from __future__ import annotations

from gridjit.compiler.targets.host.blocks.coresident_block import (
    AT_GRID,
    GO_ON,
    MOVED,
    NAME_TURN,
    NAME_WAIT,
    PASS,
    START,
)
from gridjit.compiler.targets.host.emit.plan import NO_MEMORY, STRANDED, LoopPlan

# Blocks that wait for others' writes at a time: more than any GPU holds.
MOST_BLOCKS = 1 << 16
# A block that is there: where its memory is, its number, and whether it waits for the grid.
RECORD = 24
# While threads wait in vain, the time is asked for once in so many threads' turns.
_TURNS_A_LOOK = 1 << 14
# Where launch has how long threads may wait in vain.
_LIMIT = 32


def rounds(plan: LoopPlan, *, alone: bool) -> list[str]:
    """Return the code of rounds, from "round", and of the ends. alone: whether the blocks are a whole grid."""
    return [
        *_round(),
        *_old_blocks(),
        *_new_blocks(plan),
        *_after_round(alone=alone),
        *_in_vain(),
        *_ends(),
    ]


def _round() -> list[str]:
    return [
        "round:",
        "  store i8 0, ptr %moved",
        "  store i8 0, ptr %opened",
        "  %old.live = load i64, ptr %live",
        "  %back.before = load i64, ptr %back",
        "  %back.now = xor i64 %back.before, 1",
        "  store i64 %back.now, ptr %back",
        "  %goes.back = icmp eq i64 %back.now, 0",
        "  br label %old",
    ]


def _old_blocks() -> list[str]:
    """Return the code that goes on with each block that is there and does not wait for the grid."""
    return [
        "old:",
        "  %k = phi i64 [ 0, %round ], [ %k.next, %old.on ]",
        "  %old.more = icmp ult i64 %k, %old.live",
        "  br i1 %old.more, label %old.look, label %keep",
        "old.look:",
        "  %k.behind = sub i64 %old.live, %k",
        "  %k.back = sub i64 %k.behind, 1",
        "  %i = select i1 %goes.back, i64 %k.back, i64 %k",
        f"  %old.offset = mul i64 %i, {RECORD}",
        "  %old.record = getelementptr i8, ptr %table, i64 %old.offset",
        "  %old.waits.at = getelementptr i8, ptr %old.record, i64 16",
        "  %old.waits = load i64, ptr %old.waits.at",
        "  %old.waiting = icmp ne i64 %old.waits, 0",
        "  br i1 %old.waiting, label %old.on, label %old.run",
        "old.run:",
        f"  %old.code = call i32 @gridjit.turn.of(ptr %params, ptr %launch, ptr %old.record, ptr %status, i32 {GO_ON})",
        "  switch i32 %old.code, label %failed [",
        "    i32 0, label %old.ended",
        f"    i32 {MOVED}, label %old.moved",
        f"    i32 {AT_GRID}, label %old.waits.now",
        f"    i32 {PASS}, label %old.on",
        "  ]",
        "old.waits.now:",
        "  store i64 1, ptr %old.waits.at",
        "  br label %old.moved",
        "old.ended:",
        "  %old.memory = load ptr, ptr %old.record",
        "  call void @free(ptr %old.memory)",
        "  store ptr null, ptr %old.record",
        "  %old.done = load i64, ptr %ended",
        "  %old.done.now = add i64 %old.done, 1",
        "  store i64 %old.done.now, ptr %ended",
        "  br label %old.moved",
        "old.moved:",
        "  store i8 1, ptr %moved",
        "  br label %old.on",
        "old.on:",
        "  %k.next = add i64 %k, 1",
        "  br label %old",
        *_those_that_stay(),
    ]


def _those_that_stay() -> list[str]:
    """Return the code that moves the records of blocks that have not ended together, in their order."""
    return [
        "keep:",
        "  %e = phi i64 [ 0, %old ], [ %e.next, %keep.on ]",
        "  %kept = phi i64 [ 0, %old ], [ %kept.now, %keep.on ]",
        "  %e.more = icmp ult i64 %e, %old.live",
        "  br i1 %e.more, label %keep.look, label %kept.all",
        "keep.look:",
        f"  %e.offset = mul i64 %e, {RECORD}",
        "  %e.record = getelementptr i8, ptr %table, i64 %e.offset",
        "  %e.memory = load ptr, ptr %e.record",
        "  %e.gone = icmp eq ptr %e.memory, null",
        "  br i1 %e.gone, label %keep.on, label %keep.move",
        "keep.move:",
        f"  %kept.offset = mul i64 %kept, {RECORD}",
        "  %kept.record = getelementptr i8, ptr %table, i64 %kept.offset",
        f"  call void @llvm.memmove.p0.p0.i64(ptr %kept.record, ptr %e.record, i64 {RECORD}, i1 false)",
        "  %kept.more = add i64 %kept, 1",
        "  br label %keep.on",
        "keep.on:",
        "  %kept.now = phi i64 [ %kept, %keep.look ], [ %kept.more, %keep.move ]",
        "  %e.next = add i64 %e, 1",
        "  br label %keep",
        "kept.all:",
        "  store i64 %kept, ptr %live",
        "  br label %new",
    ]


def _new_blocks(plan: LoopPlan) -> list[str]:
    """Return the code that begins blocks until so many of them wait."""
    return [
        "new:",
        "  %wanted = load i64, ptr %wave",
        "  br label %open",
        "open:",
        "  %left = phi i64 [ %wanted, %new ], [ %left.less, %new.stays ], [ %left, %new.ended ]",
        "  %new.live = load i64, ptr %live",
        "  %new.next = load i64, ptr %next",
        "  %new.any = icmp slt i64 %new.next, %last",
        "  %new.room = icmp ult i64 %new.live, %capacity",
        "  %new.wanted = icmp ne i64 %left, 0",
        "  %new.can = and i1 %new.any, %new.room",
        "  %new.does = and i1 %new.can, %new.wanted",
        "  br i1 %new.does, label %begin, label %after",
        *_begun(plan),
    ]


def _begun(plan: LoopPlan) -> list[str]:
    """Return the code that begins one block, which may end or wait at once."""
    return [
        "begin:",
        f"  %new.offset = mul i64 %new.live, {RECORD}",
        "  %new.record = getelementptr i8, ptr %table, i64 %new.offset",
        f"  %new.memory = call ptr @aligned_alloc(i64 {plan.align}, i64 %size)",
        "  %new.missing = icmp eq ptr %new.memory, null",
        "  br i1 %new.missing, label %new.no.memory, label %new.run",
        "new.no.memory:",
        f"  store i32 {NO_MEMORY}, ptr %status, align 4",
        "  br label %failed",
        "new.run:",
        "  store ptr %new.memory, ptr %new.record",
        "  %new.number.at = getelementptr i8, ptr %new.record, i64 8",
        "  store i64 %new.next, ptr %new.number.at",
        "  %new.waits.at = getelementptr i8, ptr %new.record, i64 16",
        "  store i64 0, ptr %new.waits.at",
        "  %new.following = add i64 %new.next, 1",
        "  store i64 %new.following, ptr %next",
        "  %new.more = add i64 %new.live, 1",
        "  store i64 %new.more, ptr %live",
        "  store i8 1, ptr %opened",
        f"  %new.code = call i32 @gridjit.turn.of(ptr %params, ptr %launch, ptr %new.record, ptr %status, i32 {START})",
        "  switch i32 %new.code, label %failed [",
        "    i32 0, label %new.ended",
        f"    i32 {MOVED}, label %new.stays",
        f"    i32 {AT_GRID}, label %new.waits.now",
        f"    i32 {PASS}, label %new.stays",
        "  ]",
        "new.waits.now:",
        "  store i64 1, ptr %new.waits.at",
        "  br label %new.stays",
        "new.stays:",
        "  %left.less = sub i64 %left, 1",
        "  br label %open",
        "new.ended:",
        "  call void @free(ptr %new.memory)",
        "  store i64 %new.live, ptr %live",
        "  store i8 1, ptr %moved",
        "  %new.done = load i64, ptr %ended",
        "  %new.done.now = add i64 %new.done, 1",
        "  store i64 %new.done.now, ptr %ended",
        "  br label %open",
    ]


def _after_round(*, alone: bool) -> list[str]:
    """Return the code that sees whether all is done, whether all blocks wait for the grid, or whether any got on.

    Without alone, for a cluster: those of its blocks that have ended are not waited for.
    """
    return [
        "after:",
        "  %live.now = load i64, ptr %live",
        "  %next.now = load i64, ptr %next",
        "  %none.left = icmp sge i64 %next.now, %last",
        "  %none.live = icmp eq i64 %live.now, 0",
        "  %over = and i1 %none.left, %none.live",
        "  br i1 %over, label %well, label %count.waiting",
        "count.waiting:",
        "  br label %count.next",
        "count.next:",
        "  %c = phi i64 [ 0, %count.waiting ], [ %c.next, %count.one ]",
        "  %waiting = phi i64 [ 0, %count.waiting ], [ %waiting.next, %count.one ]",
        "  %c.more = icmp ult i64 %c, %live.now",
        "  br i1 %c.more, label %count.one, label %counted",
        "count.one:",
        f"  %c.offset = mul i64 %c, {RECORD}",
        "  %c.record = getelementptr i8, ptr %table, i64 %c.offset",
        "  %c.waits.at = getelementptr i8, ptr %c.record, i64 16",
        "  %c.waits = load i64, ptr %c.waits.at",
        "  %waiting.next = add i64 %waiting, %c.waits",
        "  %c.next = add i64 %c, 1",
        "  br label %count.next",
        "counted:",
        "  %all.wait = icmp eq i64 %waiting, %live.now",
        "  %all.here = and i1 %all.wait, %none.left",
        "  br i1 %all.here, label %arrived, label %judge",
        *_arrived(alone=alone),
        "judge:",
        "  %any.moved = load i8, ptr %moved",
        "  %got = icmp ne i8 %any.moved, 0",
        "  br i1 %got, label %got.on, label %in.vain",
        "got.on:",
        "  store i64 0, ptr %idle",
        "  store i64 0, ptr %since",
        "  br label %round",
    ]


def _arrived(*, alone: bool) -> list[str]:
    """Return the code for blocks that all wait for the grid: they go on, unless one that has ended never comes."""
    return [
        "arrived:",
        "  %done.now = load i64, ptr %ended",
        "  %some.ended = icmp ne i64 %done.now, 0",
        f"  br i1 {'%some.ended' if alone else 'false'}, label %stranded, label %release",
        "release:",
        "  br label %release.next",
        "release.next:",
        "  %r = phi i64 [ 0, %release ], [ %r.next, %release.next ]",
        f"  %r.offset = mul i64 %r, {RECORD}",
        "  %r.record = getelementptr i8, ptr %table, i64 %r.offset",
        "  %r.waits.at = getelementptr i8, ptr %r.record, i64 16",
        "  store i64 0, ptr %r.waits.at",
        "  %r.next = add i64 %r, 1",
        "  %r.more = icmp ult i64 %r.next, %live.now",
        "  br i1 %r.more, label %release.next, label %got.on",
    ]


def _in_vain() -> list[str]:
    """Return the code for a round in which no thread got on: more blocks may begin; else the time is taken."""
    return [
        "in.vain:",
        "  %waves = load i64, ptr %wave",
        "  %waves.more = shl i64 %waves, 1",
        f"  %waves.most = call i64 @llvm.umin.i64(i64 %waves.more, i64 {MOST_BLOCKS})",
        "  store i64 %waves.most, ptr %wave",
        # Of blocks that have just begun, it is known only after the next round that all wait in vain.
        "  %any.opened = load i8, ptr %opened",
        "  %did.open = icmp ne i8 %any.opened, 0",
        "  br i1 %did.open, label %got.on, label %idle.round",
        "idle.round:",
        "  %idle.old = load i64, ptr %idle",
        "  %turned = mul i64 %live.now, %threads",
        "  %turned.some = add i64 %turned, 1",
        "  %idle.now = add i64 %idle.old, %turned.some",
        "  store i64 %idle.now, ptr %idle",
        f"  %long = icmp ugt i64 %idle.now, {_TURNS_A_LOOK}",
        "  br i1 %long, label %look, label %round",
        "look:",
        "  store i64 0, ptr %idle",
        "  %asked.now = call i32 @clock_gettime(i32 1, ptr %time)",
        "  %seconds = load i64, ptr %time",
        "  %rest.at = getelementptr i64, ptr %time, i64 1",
        "  %rest = load i64, ptr %rest.at",
        "  %seconds.ns = mul i64 %seconds, 1000000000",
        "  %now = add i64 %seconds.ns, %rest",
        "  %begun = load i64, ptr %since",
        "  %not.yet = icmp eq i64 %begun, 0",
        "  br i1 %not.yet, label %note, label %compare",
        "note:",
        "  store i64 %now, ptr %since",
        "  br label %round",
        "compare:",
        "  %spent = sub i64 %now, %begun",
        f"  %limit.at = getelementptr i8, ptr %launch, i64 {_LIMIT}",
        "  %limit = load i64, ptr %limit.at",
        "  %limited = icmp ne i64 %limit, 0",
        "  %exceeds = icmp ugt i64 %spent, %limit",
        "  %ends.now = and i1 %limited, %exceeds",
        "  br i1 %ends.now, label %name, label %round",
    ]


def _ends() -> list[str]:
    """Return the ends: a thread that spins or a block that waits is named, and the memory of all blocks is freed."""
    return [
        "name:",
        "  br label %name.next",
        "name.next:",
        "  %n = phi i64 [ 0, %name ], [ %n.next, %name.next ]",
        f"  %n.offset = mul i64 %n, {RECORD}",
        "  %n.record = getelementptr i8, ptr %table, i64 %n.offset",
        f"  %n.code = call i32 @gridjit.turn.of(ptr %params, ptr %launch, ptr %n.record, ptr %status, i32 {NAME_TURN})",
        "  %n.next = add i64 %n, 1",
        "  %n.found = icmp ne i32 %n.code, 0",
        "  %n.more = icmp ult i64 %n.next, %live.now",
        "  %n.not = xor i1 %n.found, true",
        "  %n.on = and i1 %n.more, %n.not",
        "  br i1 %n.on, label %name.next, label %failed",
        "stranded:",
        f"  %s.code = call i32 @gridjit.turn.of(ptr %params, ptr %launch, ptr %table, ptr %status, i32 {NAME_WAIT})",
        f"  store i32 {STRANDED}, ptr %status",
        "  br label %failed",
        "failed:",
        f"  %result = phi i32 [ %old.code, %old.run ], [ %new.code, %new.run ], [ {NO_MEMORY}, %new.no.memory ], "
        f"[ %n.code, %name.next ], [ {STRANDED}, %stranded ]",
        "  br label %clear",
        "clear:",
        "  %f = phi i64 [ 0, %failed ], [ %f.next, %clear.one ]",
        "  %f.live = load i64, ptr %live",
        "  %f.more = icmp ult i64 %f, %f.live",
        "  br i1 %f.more, label %clear.one, label %end",
        "clear.one:",
        f"  %f.offset = mul i64 %f, {RECORD}",
        "  %f.record = getelementptr i8, ptr %table, i64 %f.offset",
        "  %f.memory = load ptr, ptr %f.record",
        "  call void @free(ptr %f.memory)",
        "  %f.next = add i64 %f, 1",
        "  br label %clear",
        "well:",
        "  br label %end",
        "end:",
        "  %answer = phi i32 [ 0, %well ], [ %result, %clear ]",
        "  call void @free(ptr %table)",
        "  ret i32 %answer",
    ]
