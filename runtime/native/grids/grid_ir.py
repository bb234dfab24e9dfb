"""The function that runs a grid on the host, as LLVM IR text. One function serves all kernels.

    i32 launch_grid(KernelRecord *kernel, const void *shape, const void *params, i32 held, void *status)

shape: a launch's dimensions and dynamic shared memory. params and status are what a kernel's entry takes
(compiler/targets/host/blocks/entry.py says what). held: whether the GIL is held meanwhile; else it is released. It
returns 0, the code of the first block that failed, or INTERRUPTED if a Python signal handler raised, whose error is set
then. The grid is run by the caller alone until what is left, at the cost of a block as it is known, is worth the help
of others. Blocks that wait for each other are run by the caller, all in one call.
"""

from __future__ import annotations

from gridjit.runtime.native.grids.dealing_ir import DEALING
from gridjit.runtime.native.grids.interrupts_ir import INTERRUPTS
from gridjit.runtime.native.grids.replay_ir import REPLAY
from gridjit.runtime.native.grids.sharing_ir import SHARING
from gridjit.runtime.native.grids.signals_ir import SIGNALS
from gridjit.runtime.native.grids.transfer_ir import TRANSFER
from gridjit.runtime.native.grids.waiting_ir import waiting_ir
from gridjit.runtime.native.grids.watching_ir import WATCHING
from gridjit.runtime.native.grids.workers_ir import WORKERS
from gridjit.runtime.native.launches.launch_ir import ATTRIBUTES, filled
from gridjit.runtime.native.layout import grid_records as records
from gridjit.runtime.native.layout.fields import load, place, store

# What is left must take so long, in picoseconds, to be shared: where a worker is awake, and where one has to be woken.
WORTH_PS, WORTH_WAKING_PS = 3_000_000, 25_000_000
# So many launches that were worth sharing but not waking anybody, each so few nanoseconds after the one before, do wake
# workers: these stay awake for the next ones.
MANY_BRIEF, SOON_NS = 16, 20_000
# Of so many blocks, it is worth asking which of them do nothing.
MANY_BLOCKS = 4096

_LAUNCH = f"""
define internal i32 @launch_grid(ptr %kernel, ptr %shape, ptr %params, i32 %held, ptr %status) #0 {{
entry:
  %launch = alloca [{{LAUNCH_BYTES}} x i8], align 8
  %caller = alloca [{{Caller.size_}} x i8], align 16
{load("kernel", "Kernel", "engine:ptr", "threads:i32", "resident:i32", "patience", "piece")}
  call void @llvm.memcpy.p0.p0.i64(ptr align 8 %launch, ptr align 4 %shape, i64 {{SHAPE_BYTES}}, i1 false)
  %patience.at = getelementptr i8, ptr %launch, i64 {{PATIENCE}}
  store i64 %kernel.patience, ptr %patience.at
  %together = icmp ne i32 %kernel.resident, 0
  %engine = getelementptr i8, ptr %kernel.engine, i64 0
{load("engine", "Engine", "pool:ptr", "main", "pthread_self:ptr")}
{load("engine", "Engine", "PyEval_SaveThread:ptr", "PyEval_RestoreThread:ptr")}
  %pool = getelementptr i8, ptr %engine.pool, i64 0
  %is.held = icmp ne i32 %held, 0
  br i1 %is.held, label %begin, label %release
release:
  %saved = call ptr %engine.PyEval_SaveThread()
  br label %begin
begin:
  %state = phi ptr [ null, %entry ], [ %saved, %release ]
  %begun = call i64 @now(ptr %engine)
  %self = call i64 %engine.pthread_self()
  %is.main = icmp eq i64 %self, %engine.main
  %watched = zext i1 %is.main to i32
  br i1 %is.main, label %watch, label %unwatched
watch:
  %watching = call ptr @watch(ptr %engine, ptr %pool, ptr %caller, ptr %kernel)
  br label %unwatched
unwatched:
  %runner = phi ptr [ null, %begin ], [ %watching, %watch ]
{store("caller", "Caller", state="ptr %state", checked="i64 %begun", runner="ptr %runner", engine="ptr %engine")}
{store("caller", "Caller", held="i32 %held", watched="i32 %watched", interrupted="i32 0")}
  %all = call i64 @blocks_of(ptr %launch)
  %several = icmp sgt i32 %kernel.threads, 1
{place("kernel", "Kernel", "cost", "ended")}
{place("pool", "Pool", "size", "sleeping")}
  %few = icmp slt i64 %all, {MANY_BLOCKS}
  %as.it.is = or i1 %few, %together
  br i1 %as.it.is, label %ready, label %narrow
narrow:
  ; Only the blocks between the first and the last that do anything, if the kernel's entry knows of them.
  %begins = call i64 @ends_of(ptr %kernel, ptr %launch, ptr %params, i64 %all, ptr %status)
  %ends.at = getelementptr i8, ptr %status, i64 8
  %ends = load i64, ptr %ends.at, align 4
  %nothing = icmp sge i64 %begins, %ends
  br i1 %nothing, label %done, label %ready
ready:
  %from = phi i64 [ 0, %unwatched ], [ %begins, %narrow ]
  %blocks = phi i64 [ %all, %unwatched ], [ %ends, %narrow ]
  br label %alone
alone:
  %first = phi i64 [ %from, %ready ], [ %last, %on ], [ %first, %nobody ]
  %since = phi i64 [ %begun, %ready ], [ %now, %on ], [ %since, %nobody ]
  %sharing = phi i1 [ %several, %ready ], [ %sharing, %on ], [ false, %nobody ]
  %left = sub i64 %blocks, %first
  %cost = load atomic i64, ptr %kernel.cost.at monotonic, align 8
  %unknown = icmp eq i64 %cost, 0
  %divisor = select i1 %unknown, i64 1, i64 %cost
  %one = icmp sle i64 %left, 1
  %own = or i1 %one, %unknown
  %own.too = xor i1 %sharing, true
  %no.help = or i1 %own, %own.too
  br i1 %no.help, label %piece, label %weigh
weigh:
  %size = load atomic i32, ptr %pool.size.at monotonic, align 4
  %asleep = load atomic i32, ptr %pool.sleeping.at monotonic, align 4
  %awake = icmp sgt i32 %size, %asleep
  %worth = select i1 %awake, i64 {WORTH_PS}, i64 {WORTH_WAKING_PS}
  %least = udiv i64 %worth, %cost
  %much = icmp ugt i64 %left, %least
  br i1 %much, label %share, label %wish
wish:
  %least.awake = udiv i64 {WORTH_PS}, %cost
  %wished = icmp ugt i64 %left, %least.awake
  br i1 %wished, label %count.brief, label %piece
count.brief:
{place("kernel", "Kernel", "brief")}
  %ended.last = load atomic i64, ptr %kernel.ended.at monotonic, align 8
  %gap = sub i64 %begun, %ended.last
  %soon = icmp ult i64 %gap, {SOON_NS}
  %brief.before = load atomic i64, ptr %kernel.brief.at monotonic, align 8
  %brief.more = add i64 %brief.before, 1
  %many = icmp uge i64 %brief.more, {MANY_BRIEF}
  %calls = and i1 %soon, %many
  %goes.on = xor i1 %calls, true
  %counts = and i1 %soon, %goes.on
  %brief = select i1 %counts, i64 %brief.more, i64 0
  store atomic i64 %brief, ptr %kernel.brief.at monotonic, align 8
  br i1 %calls, label %share, label %piece
piece:
  %some = udiv i64 %kernel.piece, %divisor
  %some.known = select i1 %unknown, i64 1, i64 %some
  %none = icmp eq i64 %some.known, 0
  %at.least = select i1 %none, i64 1, i64 %some.known
  %fewer = icmp slt i64 %at.least, %left
  %apart = xor i1 %together, true
  %in.pieces = and i1 %fewer, %apart
  %count = select i1 %in.pieces, i64 %at.least, i64 %left
  %last = add i64 %first, %count
  %code = call i32 @run(ptr %runner, ptr %kernel, ptr %launch, ptr %params, i64 %first, i64 %last, ptr %status)
  %now = call i64 @now(ptr %engine)
  %took = sub i64 %now, %since
  call void @learn(ptr %kernel, i64 %took, i64 %count)
  store atomic i64 %now, ptr %kernel.ended.at monotonic, align 8
  %failed = icmp ne i32 %code, 0
  br i1 %failed, label %done, label %passed
passed:
  %over = icmp sge i64 %last, %blocks
  br i1 %over, label %done, label %more
more:
  %interrupted = call i1 @look(ptr %caller, i64 %now)
  br i1 %interrupted, label %done, label %on
on:
  br label %alone
share:
  %shared = call i32 @share(ptr %engine, ptr %caller, ptr %kernel, ptr %launch, ptr %params,
    i64 %first, i64 %blocks, ptr %status)
  %nobody.helps = icmp eq i32 %shared, {{NO_SLOT}}
  br i1 %nobody.helps, label %nobody, label %done
nobody:
  br label %alone

done:
  %result = phi i32 [ 0, %narrow ], [ %code, %piece ], [ 0, %passed ], [ 0, %more ], [ %shared, %share ]
  br i1 %is.main, label %unwatch, label %after
unwatch:
  call void @unwatch(ptr %pool, ptr %runner)
  br label %after
after:
  %ended.at = getelementptr i8, ptr %caller, i64 {{Caller.interrupted}}
  %ended = load i32, ptr %ended.at
  %was.interrupted = icmp ne i32 %ended, 0
  %answer = select i1 %was.interrupted, i32 {{INTERRUPTED}}, i32 %result
  br i1 %is.held, label %end, label %restore
restore:
  %state.at = getelementptr i8, ptr %caller, i64 {{Caller.state}}
  %state.now = load ptr, ptr %state.at
  call void %engine.PyEval_RestoreThread(ptr %state.now)
  br label %end
end:
  ret i32 %answer
}}

; Store in place of a status from which to before which block a kernel's blocks do anything; return the first.
define internal i64 @ends_of(ptr %kernel, ptr %launch, ptr %params, i64 %all, ptr %status) #1 {{
entry:
{load("kernel", "Kernel", "entry:ptr")}
  %ends.at = getelementptr i8, ptr %status, i64 8
  store i64 0, ptr %status, align 4
  store i64 %all, ptr %ends.at, align 4
  %code = call i32 %kernel.entry(ptr %params, ptr %launch, i64 %all, i64 0, ptr %status)
  %begins = load i64, ptr %status, align 4
  ret i64 %begins
}}

define internal i64 @blocks_of(ptr %launch) #2 {{
entry:
  %x = load i32, ptr %launch
  %y.at = getelementptr i8, ptr %launch, i64 4
  %y = load i32, ptr %y.at
  %z.at = getelementptr i8, ptr %launch, i64 8
  %z = load i32, ptr %z.at
  %x.wide = zext i32 %x to i64
  %y.wide = zext i32 %y to i64
  %z.wide = zext i32 %z to i64
  %plane = mul i64 %x.wide, %y.wide
  %all = mul i64 %plane, %z.wide
  ret i64 %all
}}
"""

# The first function, as code is known by where it begins.
_PARTS = """
; The address of the function launch_grid, of the handler of the engine's signal, of what settles on a signal, of
; replay, or of transfer.
define ptr @part(i32 %number) #0 {
entry:
  %first = icmp eq i32 %number, 0
  %second = icmp eq i32 %number, 1
  %fourth = icmp eq i32 %number, 3
  %fifth = icmp eq i32 %number, 4
  %fifth.or.third = select i1 %fifth, ptr @transfer, ptr @settle_here
  %last = select i1 %fourth, ptr @replay, ptr %fifth.or.third
  %other = select i1 %second, ptr @on_signal, ptr %last
  %address = select i1 %first, ptr @launch_grid, ptr %other
  ret ptr %address
}
"""


def grid_ir(machine: str) -> str:
    """Return the module's text for a machine; equal texts make equal code."""
    watching = (INTERRUPTS, SIGNALS, WATCHING)
    parts = (_PARTS, _LAUNCH, REPLAY, TRANSFER, SHARING, DEALING, WORKERS, *watching, waiting_ir(machine), ATTRIBUTES)
    return filled("".join(parts), records.names(machine))
