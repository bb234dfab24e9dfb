"""The function that makes launches one after another, as LLVM IR text: a graph's on the host.

    i32 replay(const StepRecord *steps, i64 count, void *report)

It returns 0, or what launch_grid returns for the first launch that failed: its status is in the report then, and its
number where reports have a handle. The launches after it are not made. A grid that is known to take so little time that
nobody could help with it is run at once; the GIL is released, and the launch watched, for all of these together, and
the time is taken of some of them. Any other is launch_grid's. There is at least one launch.
"""

from __future__ import annotations

from gridjit.runtime.native.layout.fields import load, place, store

# A grid of so much work, in picoseconds, is not shared.
ALONE_PS = 8_000_000
# One grid in so many is timed, a power of two; which, the clock says, so that each has its turn.
TIMED = 8

REPLAY = f"""
define internal i32 @replay(ptr %steps, i64 %count, ptr %report) #0 {{
entry:
  %launch = alloca [{{LAUNCH_BYTES}} x i8], align 8
  %caller = alloca [{{Caller.size_}} x i8], align 16
  %patience.at = getelementptr i8, ptr %launch, i64 {{PATIENCE}}
  %any = load ptr, ptr %steps
{load("any", "Kernel", "engine:ptr")}
  %engine = getelementptr i8, ptr %any.engine, i64 0
{load("engine", "Engine", "pool:ptr", "main", "pthread_self:ptr")}
{load("engine", "Engine", "PyEval_SaveThread:ptr", "PyEval_RestoreThread:ptr")}
  %pool = getelementptr i8, ptr %engine.pool, i64 0
  %self = call i64 %engine.pthread_self()
  %is.main = icmp eq i64 %self, %engine.main
  %watched = zext i1 %is.main to i32
  br label %begin

; The GIL is held here, and nothing is watched.
begin:
  %from = phi i64 [ 0, %entry ], [ %big.next, %big.passed ]
  %state = call ptr %engine.PyEval_SaveThread()
  %begun = call i64 @now(ptr %engine)
  br i1 %is.main, label %watch, label %unwatched
watch:
  %watching = call ptr @watch(ptr %engine, ptr %pool, ptr %caller, ptr %any)
  br label %unwatched
unwatched:
  %runner = phi ptr [ null, %begin ], [ %watching, %watch ]
{store("caller", "Caller", state="ptr %state", checked="i64 %begun", runner="ptr %runner", engine="ptr %engine")}
{store("caller", "Caller", held="i32 0", watched="i32 %watched", interrupted="i32 0")}
  br label %step

step:
  %i = phi i64 [ %from, %unwatched ], [ %next, %passed ]
  %before = phi i64 [ %begun, %unwatched ], [ %now, %passed ]
  %offset = mul i64 %i, {{Step.size_}}
  %one = getelementptr i8, ptr %steps, i64 %offset
{load("one", "Step", "kernel:ptr", "shape:ptr", "params:ptr")}
  %kernel = getelementptr i8, ptr %one.kernel, i64 0
{load("kernel", "Kernel", "patience")}
{place("kernel", "Kernel", "cost")}
  call void @llvm.memcpy.p0.p0.i64(ptr align 8 %launch, ptr align 4 %one.shape, i64 {{SHAPE_BYTES}}, i1 false)
  store i64 %kernel.patience, ptr %patience.at
  %blocks = call i64 @blocks_of(ptr %launch)
  %cost = load atomic i64, ptr %kernel.cost.at monotonic, align 8
  %unknown = icmp eq i64 %cost, 0
  %divisor = select i1 %unknown, i64 1, i64 %cost
  %most = udiv i64 {ALONE_PS}, %divisor
  %many = icmp ugt i64 %blocks, %most
  %big = or i1 %unknown, %many
  br i1 %big, label %leave, label %small
small:
  %turn = lshr i64 %begun, 5
  %place = add i64 %turn, %i
  %phase = and i64 %place, {TIMED - 1}
  %timed = icmp eq i64 %phase, 0
  br i1 %timed, label %start, label %run
start:
  %started = call i64 @now(ptr %engine)
  br label %run
run:
  %since = phi i64 [ 0, %small ], [ %started, %start ]
  %code = call i32 @run(ptr %runner, ptr %kernel, ptr %launch, ptr %one.params, i64 0, i64 %blocks, ptr %report)
  br i1 %timed, label %learn, label %ran
learn:
  %later = call i64 @now(ptr %engine)
  %took = sub i64 %later, %since
  call void @learn(ptr %kernel, i64 %took, i64 %blocks)
  br label %ran
ran:
  %now = phi i64 [ %before, %run ], [ %later, %learn ]
  %failed = icmp ne i32 %code, 0
  br i1 %failed, label %leave, label %look
look:
  %interrupted = call i1 @look(ptr %caller, i64 %now)
  br i1 %interrupted, label %leave, label %passed
passed:
  %next = add i64 %i, 1
  %more = icmp slt i64 %next, %count
  br i1 %more, label %step, label %leave

; Give back what launch_grid, or Python, wants for itself.
leave:
  %answer = phi i32 [ 0, %step ], [ %code, %ran ], [ 0, %look ], [ 0, %passed ]
  %goes.on = phi i1 [ true, %step ], [ false, %ran ], [ false, %look ], [ false, %passed ]
  br i1 %is.main, label %unwatch, label %restore
unwatch:
  call void @unwatch(ptr %pool, ptr %runner)
  br label %restore
restore:
  %state.at = getelementptr i8, ptr %caller, i64 {{Caller.state}}
  %state.now = load ptr, ptr %state.at
  call void %engine.PyEval_RestoreThread(ptr %state.now)
  %ended.at = getelementptr i8, ptr %caller, i64 {{Caller.interrupted}}
  %ended = load i32, ptr %ended.at
  %was.interrupted = icmp ne i32 %ended, 0
  br i1 %was.interrupted, label %stop, label %calm
stop:
  ret i32 {{INTERRUPTED}}
calm:
  br i1 %goes.on, label %grid, label %end

grid:
  %grid.code = call i32 @launch_grid(ptr %kernel, ptr %one.shape, ptr %one.params, i32 0, ptr %report)
  %grid.failed = icmp ne i32 %grid.code, 0
  br i1 %grid.failed, label %end, label %big.passed
big.passed:
  %big.next = add i64 %i, 1
  %big.more = icmp slt i64 %big.next, %count
  br i1 %big.more, label %begin, label %end
end:
  %result = phi i32 [ %answer, %calm ], [ %grid.code, %grid ], [ 0, %big.passed ]
  %number = getelementptr i8, ptr %report, i64 {{REPORT_HANDLE}}
  store i64 %i, ptr %number
  ret i32 %result
}}
"""
