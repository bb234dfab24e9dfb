"""The function that runs a grid on the host, as LLVM IR text. One function serves all kernels.

    i32 launch_grid(KernelRecord *kernel, const void *launch, const void *params, i32 held, void *status)

launch, params and status are what a kernel's entry takes (compiler/targets/host/loops/entry.py says what). held: whether
the GIL is held meanwhile; else it is released. It returns 0, the code of the first block that failed, or INTERRUPTED if
a Python signal handler raised, whose error is set then. The grid is run by the caller alone until what is left, at the
cost of a block as it is known, is worth the help of others.
"""

from __future__ import annotations

from gridjit.runtime.native.grids import records
from gridjit.runtime.native.grids.dealing_ir import DEALING
from gridjit.runtime.native.grids.fields import load, place, store
from gridjit.runtime.native.grids.interrupts_ir import INTERRUPTS, LOOK_NS
from gridjit.runtime.native.grids.waiting_ir import waiting_ir
from gridjit.runtime.native.grids.workers_ir import SPIN_NS, WORKERS
from gridjit.runtime.native.launch_ir import ATTRIBUTES, filled

# What is left must take so long, in picoseconds, to be shared: where a worker is awake, and where one has to be woken.
WORTH_PS, WORTH_WAKING_PS = 8_000_000, 25_000_000
# A caller that is alone looks up so often; a chunk of a shared grid takes between so long.
PIECE_PS = 200_000_000
LEAST_PS, MOST_PS = 3_000_000, 5_000_000_000
# Chunks of a part: few enough for each to be worth dealing, enough for uneven blocks to balance.
CHUNKS = 8

_LAUNCH = f"""
define internal i32 @launch_grid(ptr %kernel, ptr %launch, ptr %params, i32 %held, ptr %status) #0 {{
entry:
  %caller = alloca [{{Caller.size_}} x i8], align 16
{load("kernel", "Kernel", "engine:ptr", "threads:i32")}
  %engine = getelementptr i8, ptr %kernel.engine, i64 0
{load("engine", "Engine", "pool:ptr", "main", "signal", "pthread_self:ptr", "PyEval_SaveThread:ptr", "PyEval_RestoreThread:ptr")}
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
  %watching = call ptr @watch(ptr %engine, ptr %pool, ptr %caller)
  br label %unwatched
unwatched:
  %runner = phi ptr [ null, %begin ], [ %watching, %watch ]
{store("caller", "Caller", state="ptr %state", checked="i64 %begun", runner="ptr %runner", engine="ptr %engine", held="i32 %held", watched="i32 %watched", interrupted="i32 0")}
  %blocks = call i64 @blocks_of(ptr %launch)
  %several = icmp sgt i32 %kernel.threads, 1
{place("kernel", "Kernel", "cost")}
{place("pool", "Pool", "size", "sleeping")}
  br label %alone
alone:
  %first = phi i64 [ 0, %unwatched ], [ %last, %on ], [ %first, %nobody ]
  %since = phi i64 [ %begun, %unwatched ], [ %now, %on ], [ %since, %nobody ]
  %sharing = phi i1 [ %several, %unwatched ], [ %sharing, %on ], [ false, %nobody ]
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
  br i1 %much, label %share, label %piece
piece:
  %some = udiv i64 {PIECE_PS}, %divisor
  %some.known = select i1 %unknown, i64 1, i64 %some
  %none = icmp eq i64 %some.known, 0
  %at.least = select i1 %none, i64 1, i64 %some.known
  %fewer = icmp slt i64 %at.least, %left
  %count = select i1 %fewer, i64 %at.least, i64 %left
  %last = add i64 %first, %count
  %code = call i32 @run(ptr %runner, ptr %kernel, ptr %launch, ptr %params, i64 %first, i64 %last, ptr %status)
  %now = call i64 @now(ptr %engine)
  %took = sub i64 %now, %since
  call void @learn(ptr %kernel, i64 %took, i64 %count)
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
  %shared = call i32 @share(ptr %engine, ptr %caller, ptr %kernel, ptr %launch, ptr %params, i64 %first, i64 %blocks, ptr %status)
  %nobody.helps = icmp eq i32 %shared, {{NO_SLOT}}
  br i1 %nobody.helps, label %nobody, label %done
nobody:
  br label %alone

done:
  %result = phi i32 [ %code, %piece ], [ 0, %passed ], [ 0, %more ], [ %shared, %share ]
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

; Have the ticker watch this launch of the main thread; return the record that it goes by, or null if it cannot.
define internal ptr @watch(ptr %engine, ptr %pool, ptr %caller) #1 {{
entry:
  %all = alloca [16 x i64], align 8
  %old = alloca [16 x i64], align 8
  %thread = alloca i64, align 8
{load("engine", "Engine", "signal", "pthread_create:ptr", "pthread_detach:ptr", "pthread_sigmask:ptr")}
{place("pool", "Pool", "depth", "launches", "runner", "ticking", "parked", "main")}
  %depth = load i32, ptr %pool.depth.at
  %deeper = add i32 %depth, 1
  store i32 %deeper, ptr %pool.depth.at
  %signal.known = icmp ne i64 %engine.signal, 0
  %room = icmp slt i32 %depth, {{DEPTH}}
  %can = and i1 %signal.known, %room
  br i1 %can, label %place, label %cannot
place:
  %wide = zext i32 %depth to i64
  %offset = mul i64 %wide, {{Runner.size_}}
  %runner = getelementptr i8, ptr %pool.main.at, i64 %offset
{store("runner", "Runner", caller="ptr %caller", engine="ptr %engine")}
  %launches = load i64, ptr %pool.launches.at
  %more = add i64 %launches, 1
  store atomic i64 %more, ptr %pool.launches.at monotonic, align 8
  store atomic ptr %runner, ptr %pool.runner.at seq_cst, align 8
  %ticking = load i32, ptr %pool.ticking.at
  %ticks = icmp ne i32 %ticking, 0
  br i1 %ticks, label %awake, label %start
start:
  store i32 1, ptr %pool.ticking.at
  call void @shut(ptr %engine, ptr %all, ptr %old)
  %failed = call i32 %engine.pthread_create(ptr %thread, ptr null, ptr @ticker, ptr %engine)
  %reopened = call i32 %engine.pthread_sigmask(i32 2, ptr %old, ptr null)
  %refused = icmp ne i32 %failed, 0
  br i1 %refused, label %watched, label %detach
detach:
  %ident = load i64, ptr %thread
  %detached = call i32 %engine.pthread_detach(i64 %ident)
  br label %watched
awake:
  %parked = load atomic i32, ptr %pool.parked.at seq_cst, align 4
  %sleeps = icmp ne i32 %parked, 0
  br i1 %sleeps, label %rouse, label %watched
rouse:
  store atomic i32 0, ptr %pool.parked.at seq_cst, align 4
  call void @wake(ptr %engine, ptr %pool.parked.at, i32 1)
  br label %watched
watched:
  ret ptr %runner
cannot:
  ret ptr null
}}

; The launch is over: the one around it, if there is one, is watched again.
define internal void @unwatch(ptr %pool, ptr %runner) #1 {{
entry:
{place("pool", "Pool", "depth", "runner")}
  %depth = load i32, ptr %pool.depth.at
  %less = sub i32 %depth, 1
  store i32 %less, ptr %pool.depth.at
  %unknown = icmp eq ptr %runner, null
  br i1 %unknown, label %done, label %back
back:
  %outermost = icmp eq i32 %less, 0
  %before = getelementptr i8, ptr %runner, i64 -{{Runner.size_}}
  %around = select i1 %outermost, ptr null, ptr %before
  store atomic ptr %around, ptr %pool.runner.at seq_cst, align 8
  br label %done
done:
  ret void
}}
"""

_SHARE = f"""
; Run the blocks from first on, together with workers; return the first code that is not 0, or NO_SLOT: it cannot be.
define internal i32 @share(ptr %engine, ptr %caller, ptr %kernel, ptr %launch, ptr %params, i64 %first, i64 %blocks, ptr %status) #1 {{
entry:
{load("engine", "Engine", "pool:ptr")}
  %pool = getelementptr i8, ptr %engine.pool, i64 0
{place("pool", "Pool", "slot", "sequence", "sleeping")}
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
{load("kernel", "Kernel", "threads:i32", "cost")}
  %helpers = sub i32 %kernel.threads, 1
  call void @start(ptr %engine, ptr %pool, i32 %helpers)
  %left = sub i64 %blocks, %first
  %threads = zext i32 %kernel.threads to i64
  %threads.few = icmp slt i64 %threads, {{PARTS}}
  %parts.most = select i1 %threads.few, i64 %threads, i64 {{PARTS}}
  %parts.left = icmp slt i64 %left, %parts.most
  %parts = select i1 %parts.left, i64 %left, i64 %parts.most
  %parts.short = trunc i64 %parts to i32
  %chunk = call i64 @chunk_of(i64 %left, i64 %parts, i64 %kernel.cost)
{place("slot", "Slot", "part", "open", "working", "waiting", "stopped", "failed", "status")}
{store("slot", "Slot", kernel="ptr %kernel", launch="ptr %launch", params="ptr %params", chunk="i64 %chunk", parts="i32 %parts.short", interrupted="i32 0")}
  store atomic i32 0, ptr %slot.stopped.at seq_cst, align 4
  store atomic i32 0, ptr %slot.failed.at seq_cst, align 4
  %each = udiv i64 %left, %parts
  br label %divide
divide:
  %p = phi i64 [ 0, %fill ], [ %p.next, %divide ]
  %begin = phi i64 [ %first, %fill ], [ %p.end, %divide ]
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
define internal i64 @chunk_of(i64 %left, i64 %parts, i64 %cost) #2 {{
entry:
  %each = udiv i64 %left, %parts
  %share = udiv i64 %each, {CHUNKS}
  %known = or i64 %cost, 1
  %least = udiv i64 {LEAST_PS}, %known
  %most = udiv i64 {MOST_PS}, %known
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

# The first function, as code is known by where it begins.
_PARTS = """
; The address of the function launch_grid, or of the handler of the engine's signal.
define ptr @part(i32 %number) #0 {
entry:
  %first = icmp eq i32 %number, 0
  %address = select i1 %first, ptr @launch_grid, ptr @on_signal
  ret ptr %address
}
"""


def grid_ir(machine: str) -> str:
    """Return the module's text for a machine; equal texts make equal code."""
    parts = (_PARTS, _LAUNCH, _SHARE, DEALING, WORKERS, INTERRUPTS, waiting_ir(machine), ATTRIBUTES)
    return filled("".join(parts), records.names(machine))
