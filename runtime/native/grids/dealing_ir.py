"""Dealing as LLVM IR: a shared grid's parts are run in chunks, one's own part first, then what is left of others'."""

from __future__ import annotations

from gridjit.runtime.native.layout.fields import load, place, store
from gridjit.runtime.native.layout.grid_records import CHUNKS

# A chunk that takes less, in nanoseconds, is lengthened.
BRIEF_NS = 2_000

DEALING = f"""
; Run blocks of a kernel; return its code. A thread with a runner may be made to leave, and then returns STOPPED.
define internal i32 @run(ptr %runner, ptr %kernel, ptr %launch, ptr %params, i64 %first, i64 %last, ptr %status) #1 {{
entry:
{load("kernel", "Kernel", "entry:ptr", "low", "high")}
  %unwatched = icmp eq ptr %runner, null
  br i1 %unwatched, label %plain, label %watched
plain:
  %code = call i32 %kernel.entry(ptr %params, ptr %launch, i64 %first, i64 %last, ptr %status)
  ret i32 %code
watched:
{store("runner", "Runner", low="i64 %kernel.low", high="i64 %kernel.high")}
{load("runner", "Runner", "engine:ptr")}
  %setjmp.at = getelementptr i8, ptr %runner.engine, i64 {{Engine._setjmp}}
  %setjmp = load ptr, ptr %setjmp.at
{place("runner", "Runner", "inside")}
  %jumped = call i32 %setjmp(ptr %runner) returns_twice
  %left = icmp ne i32 %jumped, 0
  br i1 %left, label %stopped, label %go
go:
  store volatile i32 1, ptr %runner.inside.at
  fence syncscope("singlethread") seq_cst
  %watched.code = call i32 %kernel.entry(ptr %params, ptr %launch, i64 %first, i64 %last, ptr %status)
  fence syncscope("singlethread") seq_cst
  store volatile i32 0, ptr %runner.inside.at
  ret i32 %watched.code
stopped:
  ret i32 {{STOPPED}}
}}

; Note what so many blocks took: a block is believed to have become cheaper at once, and more expensive by halves.
define internal void @learn(ptr %kernel, i64 %time, i64 %blocks) #1 {{
entry:
{place("kernel", "Kernel", "cost")}
  %old = load atomic i64, ptr %kernel.cost.at monotonic, align 8
  %all = mul i64 %time, 1000
  %each = udiv i64 %all, %blocks
  %cost = or i64 %each, 1
  %unknown = icmp eq i64 %old, 0
  %cheaper = icmp ult i64 %cost, %old
  %down = sub i64 %old, %cost
  %some = lshr i64 %down, 3
  %lower = add i64 %cost, %some
  %sum = add i64 %cost, %old
  %higher = lshr i64 %sum, 1
  %moved = select i1 %cheaper, i64 %lower, i64 %higher
  %new = select i1 %unknown, i64 %cost, i64 %moved
  store atomic i64 %new, ptr %kernel.cost.at monotonic, align 8
  ret void
}}

; Deal twice as many blocks at a time if these took too little time to be dealt by themselves, but never so many that
; uneven blocks could not balance.
define internal void @lengthen(ptr %at, i64 %chunk, i64 %took, i64 %last, i64 %end) #1 {{
entry:
  %brief = icmp slt i64 %took, {BRIEF_NS}
  %left = sub i64 %end, %last
  %most = udiv i64 %left, {CHUNKS}
  %twice = shl i64 %chunk, 1
  %fits = icmp ule i64 %twice, %most
  %longer = and i1 %brief, %fits
  br i1 %longer, label %change, label %done
change:
  store atomic i64 %twice, ptr %at monotonic, align 8
  br label %done
done:
  ret void
}}

; Run chunks of a shared grid until there are none, beginning with the part of this index. Its caller, if this is it,
; takes the time, and looks for signals.
define internal void @work(ptr %engine, ptr %slot, i32 %index, ptr %runner, ptr %caller) #1 {{
entry:
  %status = alloca [8 x i32], align 8
{load("slot", "Slot", "kernel:ptr", "launch:ptr", "params:ptr", "parts:i32")}
{place("slot", "Slot", "open", "stopped", "failed", "status", "part", "chunk")}
  %helps = icmp eq ptr %caller, null
  %begun = call i64 @now(ptr %engine)
  br label %next.part
next.part:
  %turn = phi i32 [ 0, %entry ], [ %turn.next, %exhausted ]
  %turn.since = phi i64 [ %begun, %entry ], [ %since, %exhausted ]
  %sum = add i32 %index, %turn
  %number = urem i32 %sum, %slot.parts
  %number.wide = zext i32 %number to i64
  %part.offset = mul i64 %number.wide, {{Part.size_}}
  %part = getelementptr i8, ptr %slot.part.at, i64 %part.offset
  %end.at = getelementptr i8, ptr %part, i64 {{Part.end}}
  %end = load i64, ptr %end.at
  br label %deal
deal:
  %since = phi i64 [ %turn.since, %next.part ], [ %since, %passed ], [ %now, %observed ]
  %stop = load atomic i32, ptr %slot.stopped.at monotonic, align 4
  %stopped = icmp ne i32 %stop, 0
  br i1 %stopped, label %leave, label %take
take:
  %chunk = load atomic i64, ptr %slot.chunk.at monotonic, align 8
  %first = atomicrmw add ptr %part, i64 %chunk monotonic
  %none = icmp sge i64 %first, %end
  br i1 %none, label %exhausted, label %go
go:
  %wanted = add i64 %first, %chunk
  %short = icmp slt i64 %wanted, %end
  %last = select i1 %short, i64 %wanted, i64 %end
  %code = call i32 @run(ptr %runner, ptr %slot.kernel, ptr %slot.launch, ptr %slot.params,
    i64 %first, i64 %last, ptr %status)
  %bad = icmp ne i32 %code, 0
  br i1 %bad, label %broke, label %passed
passed:
  br i1 %helps, label %deal, label %observe
observe:
  %now = call i64 @now(ptr %engine)
  %took = sub i64 %now, %since
  %blocks = sub i64 %last, %first
  call void @learn(ptr %slot.kernel, i64 %took, i64 %blocks)
  call void @lengthen(ptr %slot.chunk.at, i64 %chunk, i64 %took, i64 %last, i64 %end)
  %interrupted = call i1 @look(ptr %caller, i64 %now)
  br i1 %interrupted, label %stop.all, label %observed
observed:
  br label %deal
exhausted:
  %turn.next = add i32 %turn, 1
  %more = icmp slt i32 %turn.next, %slot.parts
  br i1 %more, label %next.part, label %leave
broke:
  %left = icmp eq i32 %code, {{STOPPED}}
  br i1 %left, label %stop.all, label %claim
claim:
  %claimed = cmpxchg ptr %slot.failed.at, i32 0, i32 %code seq_cst seq_cst
  %mine = extractvalue {{ i32, i1 }} %claimed, 1
  br i1 %mine, label %copy, label %stop.all
copy:
  %at = phi i64 [ 0, %claim ], [ %at.next, %copy ]
  %from = getelementptr i8, ptr %status, i64 %at
  %to = getelementptr i8, ptr %slot.status.at, i64 %at
  %value = load i32, ptr %from
  store volatile i32 %value, ptr %to
  %at.next = add i64 %at, 4
  %at.more = icmp slt i64 %at.next, {{STATUS}}
  br i1 %at.more, label %copy, label %stop.all
stop.all:
  store atomic i32 1, ptr %slot.stopped.at seq_cst, align 4
  br label %leave
leave:
  store atomic i32 0, ptr %slot.open.at seq_cst, align 4
  ret void
}}
"""
