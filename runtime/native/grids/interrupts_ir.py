"""Interrupts as LLVM IR: signal handlers of Python's that came due during a launch are run, and may end it.

The main thread looks between chunks, and while it waits. In a block that does not end, a signal makes it look: the
ticker sends it one now and then while a launch lasts. Kernels' code holds no lock and owns nothing, so a thread that a
signal meets there may do anything, take the GIL too, and it may go on behind the block. The signal does nothing
anywhere else.
"""

from __future__ import annotations

from gridjit.runtime.native.layout.fields import load, place, store

# How often a launch looks for signals.
LOOK_NS = 50_000_000
_QUEUED = -1  # SI_QUEUE, in siginfo_t's si_code; its value is at 24.

INTERRUPTS = f"""
; Whether the launch is to end: Python's signal handlers are run if it is time, on the thread that they belong to.
define internal i1 @look(ptr %caller, i64 %now) #1 {{
entry:
{load("caller", "Caller", "watched:i32", "interrupted:i32", "checked", "held:i32", "engine:ptr", "state:ptr")}
  %known = icmp ne i32 %caller.interrupted, 0
  br i1 %known, label %end, label %due
due:
  %since = sub i64 %now, %caller.checked
  %soon = icmp slt i64 %since, {LOOK_NS}
  %unwatched = icmp eq i32 %caller.watched, 0
  %skip = or i1 %soon, %unwatched
  br i1 %skip, label %go.on, label %look
look:
  %engine = getelementptr i8, ptr %caller.engine, i64 0
{load("engine", "Engine", "PyEval_SaveThread:ptr", "PyEval_RestoreThread:ptr", "PyErr_CheckSignals:ptr")}
  %is.held = icmp ne i32 %caller.held, 0
  br i1 %is.held, label %check, label %restore
restore:
  call void %engine.PyEval_RestoreThread(ptr %caller.state)
  br label %check
check:
  %raised = call i32 %engine.PyErr_CheckSignals()
  br i1 %is.held, label %note, label %save
save:
  %state = call ptr %engine.PyEval_SaveThread()
{store("caller", "Caller", state="ptr %state")}
  br label %note
note:
  %later = call i64 @now(ptr %engine)
{store("caller", "Caller", checked="i64 %later")}
  %calm = icmp eq i32 %raised, 0
  br i1 %calm, label %go.on, label %interrupt
interrupt:
{store("caller", "Caller", interrupted="i32 1")}
  br label %end
go.on:
  ret i1 false
end:
  ret i1 true
}}

; What the engine's signal does: nothing, unless it meets a thread inside a kernel's own code.
define internal void @on_signal(i32 %number, ptr %info, ptr %context) #1 {{
entry:
  %code.at = getelementptr i8, ptr %info, i64 8
  %code = load i32, ptr %code.at
  %ours = icmp eq i32 %code, {_QUEUED}
  br i1 %ours, label %whose, label %done
whose:
  %value.at = getelementptr i8, ptr %info, i64 24
  %runner = load ptr, ptr %value.at
  %nobody = icmp eq ptr %runner, null
  br i1 %nobody, label %done, label %where
where:
{place("runner", "Runner", "inside", "unheard")}
  store atomic i64 0, ptr %runner.unheard.at seq_cst, align 8
  %inside = load volatile i32, ptr %runner.inside.at
  %outside = icmp ne i32 %inside, 1
  br i1 %outside, label %done, label %place
place:
{load("runner", "Runner", "low", "high", "caller:ptr", "slot:ptr", "engine:ptr", "freeze:i32")}
  %counter.at = getelementptr i8, ptr %context, i64 {{COUNTER}}
  %counter = load i64, ptr %counter.at
  %before = icmp ult i64 %counter, %runner.low
  %behind = icmp uge i64 %counter, %runner.high
  %elsewhere = or i1 %before, %behind
  br i1 %elsewhere, label %done, label %who
who:
  %engine = getelementptr i8, ptr %runner.engine, i64 0
{load("engine", "Engine", "longjmp:ptr")}
  %frozen = icmp ne i32 %runner.freeze, 0
  br i1 %frozen, label %freeze, label %which
freeze:
  store volatile i32 2, ptr %runner.inside.at
  br label %for.ever
for.ever:
  call void @sleep(ptr %engine, ptr %runner.inside.at, i32 2, i64 0)
  br label %for.ever
which:
  %is.main = icmp ne ptr %runner.caller, null
  br i1 %is.main, label %main, label %worker
worker:
  %free = icmp eq ptr %runner.slot, null
  br i1 %free, label %done, label %slot
slot:
  %gone.at = getelementptr i8, ptr %runner.slot, i64 {{Slot.interrupted}}
  %gone = load atomic i32, ptr %gone.at seq_cst, align 4
  %is.gone = icmp ne i32 %gone, 0
  br i1 %is.gone, label %jump, label %done
main:
  ; Handlers may launch, and be met by the next signal: they are not in this block.
  store volatile i32 0, ptr %runner.inside.at
  %now = call i64 @now(ptr %engine)
  %interrupted = call i1 @look(ptr %runner.caller, i64 %now)
  br i1 %interrupted, label %jump, label %go.on
go.on:
  store volatile i32 1, ptr %runner.inside.at
  br label %done
jump:
  store volatile i32 0, ptr %runner.inside.at
  call void %engine.longjmp(ptr %runner, i32 1)
  unreachable
done:
  ret void
}}

; Make those workers leave their blocks that are in a launch which was interrupted.
define internal void @expel(ptr %engine, ptr %slot) #1 {{
entry:
{load("engine", "Engine", "pool:ptr", "pthread_sigqueue:ptr")}
  %pool = getelementptr i8, ptr %engine.pool, i64 0
{place("pool", "Pool", "worker", "size")}
  %size = load atomic i32, ptr %pool.size.at seq_cst, align 4
  %none = icmp eq i32 %size, 0
  br i1 %none, label %done, label %next
next:
  %i = phi i32 [ 0, %entry ], [ %i.next, %passed ]
  %i.wide = zext i32 %i to i64
  %offset = mul i64 %i.wide, {{Runner.size_}}
  %runner = getelementptr i8, ptr %pool.worker.at, i64 %offset
{place("runner", "Runner", "slot", "inside", "thread", "signal")}
  %at = load atomic ptr, ptr %runner.slot.at seq_cst, align 8
  %inside = load atomic i32, ptr %runner.inside.at seq_cst, align 4
  %is.inside = icmp eq i32 %inside, 1
  %here = icmp eq ptr %at, %slot
  %expels = and i1 %here, %is.inside
  br i1 %expels, label %send, label %passed
send:
  %thread = load i64, ptr %runner.thread.at
  %open = load i64, ptr %runner.signal.at
  %signal = trunc i64 %open to i32
  %sent = call i32 %engine.pthread_sigqueue(i64 %thread, i32 %signal, ptr %runner)
  br label %passed
passed:
  %i.next = add i32 %i, 1
  %more = icmp slt i32 %i.next, %size
  br i1 %more, label %next, label %done
done:
  ret void
}}
"""
