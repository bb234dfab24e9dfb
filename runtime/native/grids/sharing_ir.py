"""Sharing as LLVM IR: a launch takes a slot, calls workers to it, does part of the work, and waits for them."""

from __future__ import annotations

from gridjit.runtime.native.grids.interrupts_ir import LOOK_NS
from gridjit.runtime.native.grids.workers_ir import SPIN_NS
from gridjit.runtime.native.layout.fields import load, place, store

# A chunk of a shared grid takes so long, in picoseconds, at least and at most.
LEAST_PS, MOST_PS = 3_000_000, 5_000_000_000
# For a launch that takes longer, in picoseconds, it is always asked whether the engine's signal is still free.
SETTLE_PS = 100_000_000

SHARING = f"""
; Run the blocks from first on, together with workers; return the first code that is not 0, or NO_SLOT: it cannot be.
define internal i32 @share(ptr %engine, ptr %caller, ptr %kernel, ptr %launch, ptr %params,
  i64 %first, i64 %blocks, ptr %status) #1 {{
entry:
{load("engine", "Engine", "pool:ptr")}
  %pool = getelementptr i8, ptr %engine.pool, i64 0
{place("pool", "Pool", "slot", "sequence", "sleeping", "settled")}
{load("caller", "Caller", "runner:ptr")}
  br label %seek
seek:
  %i = phi i64 [ 0, %entry ], [ %i.next, %taken ]
  %slot.offset = mul i64 %i, {{Slot.size_}}
  %slot = getelementptr i8, ptr %pool.slot.at, i64 %slot.offset
  %claimed = cmpxchg ptr %slot, i32 0, i32 1 seq_cst seq_cst
  %mine = extractvalue {{ i32, i1 }} %claimed, 1
  br i1 %mine, label %fill, label %taken
taken:
  %i.next = add i64 %i, 1
  %i.more = icmp slt i64 %i.next, {{SLOTS}}
  br i1 %i.more, label %seek, label %none
none:
  ret i32 {{NO_SLOT}}

fill:
{load("kernel", "Kernel", "threads:i32", "cost", "piece", "chunks")}
  %left = sub i64 %blocks, %first
  %unwatched = icmp eq ptr %caller.runner, null
  ; It takes two system calls: for a launch that takes a moment, with each tick.
  %settled = load atomic i32, ptr %pool.settled.at monotonic, align 4
  %known.well = icmp ne i32 %settled, 0
  %moment = udiv i64 {SETTLE_PS}, %kernel.cost
  %brief = icmp ult i64 %left, %moment
  %settled.well = and i1 %known.well, %brief
  %as.it.is = or i1 %unwatched, %settled.well
  br i1 %as.it.is, label %recruit, label %settle
settle:
  ; Workers go by the signal that they find when they come.
  %signal = call i32 @settle_here(ptr %engine)
  br label %recruit
recruit:
  %helpers = sub i32 %kernel.threads, 1
  call void @start(ptr %engine, ptr %pool, i32 %helpers)
  %threads = zext i32 %kernel.threads to i64
  %threads.few = icmp slt i64 %threads, {{PARTS}}
  %parts.most = select i1 %threads.few, i64 %threads, i64 {{PARTS}}
  %parts.left = icmp slt i64 %left, %parts.most
  %parts = select i1 %parts.left, i64 %left, i64 %parts.most
  %parts.short = trunc i64 %parts to i32
  %chunk = call i64 @chunk_of(i64 %left, i64 %parts, i64 %kernel.cost, i64 %kernel.piece, i64 %kernel.chunks)
{place("slot", "Slot", "part", "open", "working", "waiting", "stopped", "failed", "status")}
{store("slot", "Slot", kernel="ptr %kernel", launch="ptr %launch", params="ptr %params", chunk="i64 %chunk")}
{store("slot", "Slot", parts="i32 %parts.short", interrupted="i32 0")}
  store atomic i32 0, ptr %slot.stopped.at seq_cst, align 4
  store atomic i32 0, ptr %slot.failed.at seq_cst, align 4
  %each = udiv i64 %left, %parts
  br label %divide
divide:
  %p = phi i64 [ 0, %recruit ], [ %p.next, %divide ]
  %begin = phi i64 [ %first, %recruit ], [ %p.end, %divide ]
  %p.offset = mul i64 %p, {{Part.size_}}
  %part = getelementptr i8, ptr %slot.part.at, i64 %p.offset
  %p.next = add i64 %p, 1
  %p.more = icmp slt i64 %p.next, %parts
  %p.sum = add i64 %begin, %each
  %p.end = select i1 %p.more, i64 %p.sum, i64 %blocks
{store("part", "Part", next="i64 %begin", end="i64 %p.end")}
  br i1 %p.more, label %divide, label %post
post:
  store atomic i32 1, ptr %slot.open.at seq_cst, align 4
  %news = atomicrmw add ptr %pool.sequence.at, i32 1 seq_cst
  %asleep = load atomic i32, ptr %pool.sleeping.at seq_cst, align 4
  %all.awake = icmp eq i32 %asleep, 0
  br i1 %all.awake, label %labour, label %rouse
rouse:
  %needed = sub i32 %parts.short, 1
  call void @wake(ptr %engine, ptr %pool.sequence.at, i32 %needed)
  br label %labour
labour:
  call void @work(ptr %engine, ptr %slot, i32 0, ptr %caller.runner, ptr %caller)
  call void @await(ptr %engine, ptr %caller, ptr %slot)
  %code = load atomic i32, ptr %slot.failed.at seq_cst, align 4
  %well = icmp eq i32 %code, 0
  br i1 %well, label %free, label %copy
copy:
  %at = phi i64 [ 0, %labour ], [ %at.next, %copy ]
  %from = getelementptr i8, ptr %slot.status.at, i64 %at
  %to = getelementptr i8, ptr %status, i64 %at
  %value = load i32, ptr %from
  store volatile i32 %value, ptr %to
  %at.next = add i64 %at, 4
  %at.more = icmp slt i64 %at.next, {{STATUS}}
  br i1 %at.more, label %copy, label %free
free:
  store atomic i32 0, ptr %slot seq_cst, align 4
  ret i32 %code
}}

; How many blocks to deal at a time.
define internal i64 @chunk_of(i64 %left, i64 %parts, i64 %cost, i64 %piece, i64 %chunks) #2 {{
entry:
  %each = udiv i64 %left, %parts
  %share = udiv i64 %each, %chunks
  %known = or i64 %cost, 1
  %least = udiv i64 {LEAST_PS}, %known
  %longest = call i64 @llvm.umax.i64(i64 %piece, i64 {MOST_PS})
  %most = udiv i64 %longest, %known
  %few = icmp slt i64 %share, %least
  %more = select i1 %few, i64 %least, i64 %share
  %many = icmp sgt i64 %more, %most
  %fewer = select i1 %many, i64 %most, i64 %more
  %whole = icmp sgt i64 %fewer, %each
  %fits = select i1 %whole, i64 %each, i64 %fewer
  %none = icmp slt i64 %fits, 1
  %chunk = select i1 %none, i64 1, i64 %fits
  ret i64 %chunk
}}

; Wait until no worker is in the launch any more: they use its caller's memory. If it was interrupted, those that stay
; in a block are made to leave it.
define internal void @await(ptr %engine, ptr %caller, ptr %slot) #1 {{
entry:
{place("slot", "Slot", "working", "waiting", "stopped", "interrupted")}
  %begun = call i64 @now(ptr %engine)
  br label %watch
watch:
  %working = load atomic i32, ptr %slot.working.at seq_cst, align 4
  %alone = icmp eq i32 %working, 0
  br i1 %alone, label %done, label %look
look:
  call void @pause()
  %now = call i64 @now(ptr %engine)
  %ended = call i1 @look(ptr %caller, i64 %now)
  br i1 %ended, label %interrupt, label %patience
interrupt:
  store atomic i32 1, ptr %slot.stopped.at seq_cst, align 4
  store atomic i32 1, ptr %slot.interrupted.at seq_cst, align 4
  call void @expel(ptr %engine, ptr %slot)
  br label %nap
patience:
  %spun = sub i64 %now, %begun
  %tired = icmp sgt i64 %spun, {SPIN_NS}
  br i1 %tired, label %nap, label %watch
nap:
  %limit = phi i64 [ {LOOK_NS}, %patience ], [ {LOOK_NS // 10}, %interrupt ]
  store atomic i32 1, ptr %slot.waiting.at seq_cst, align 4
  %still = load atomic i32, ptr %slot.working.at seq_cst, align 4
  %gone = icmp eq i32 %still, 0
  br i1 %gone, label %done, label %sleep
sleep:
  call void @sleep(ptr %engine, ptr %slot.working.at, i32 %still, i64 %limit)
  br label %watch
done:
  store atomic i32 0, ptr %slot.waiting.at seq_cst, align 4
  ret void
}}
"""
