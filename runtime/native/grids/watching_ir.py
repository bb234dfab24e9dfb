"""Watching as LLVM IR: the ticker, a thread that sends the main thread the engine's signal while a launch lasts."""

from __future__ import annotations

from gridjit.runtime.native.layout.fields import load, place, store

TICK_NS = 100_000_000
# Ticks without a launch before the ticker sleeps until the next one.
IDLE_TICKS = 3

WATCHING = f"""
; Have the ticker watch this launch of the main thread; return the record that it goes by, or null if it cannot.
define internal ptr @watch(ptr %engine, ptr %pool, ptr %caller, ptr %kernel) #1 {{
entry:
  %all = alloca [16 x i64], align 8
  %old = alloca [16 x i64], align 8
  %thread = alloca i64, align 8
{load("engine", "Engine", "pthread_create:ptr", "pthread_detach:ptr", "pthread_sigmask:ptr")}
{place("pool", "Pool", "depth", "launches", "runner", "ticking", "parked", "main", "settled")}
  ; Asked with each tick, as it takes a system call, and for a kernel whose blocks may take any time.
  %settled = load atomic i32, ptr %pool.settled.at monotonic, align 4
{place("kernel", "Kernel", "cost")}
  %cost = load atomic i64, ptr %kernel.cost.at monotonic, align 8
  %long.ago = icmp eq i32 %settled, 0
  %new = icmp eq i64 %cost, 0
  %asks = or i1 %long.ago, %new
  br i1 %asks, label %settle, label %deepen
settle:
  %found = call i32 @settle_here(ptr %engine)
  br label %deepen
deepen:
{load("engine", "Engine", "signal")}
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

; The life of the ticker: while the main thread stays in one launch, it is sent the signal with each tick.
define internal ptr @ticker(ptr %engine) #1 {{
entry:
{load("engine", "Engine", "pool:ptr", "main", "pthread_sigqueue:ptr", "pthread_self:ptr")}
{load("engine", "Engine", "pthread_setname_np:ptr")}
  %pool = getelementptr i8, ptr %engine.pool, i64 0
  %me = call i64 %engine.pthread_self()
  %name = getelementptr i8, ptr %engine, i64 {{Engine.name}}
  %named = call i32 %engine.pthread_setname_np(i64 %me, ptr %name)
{place("pool", "Pool", "rest", "parked", "launches", "runner", "settled", "blocked")}
  br label %tick
tick:
  %last = phi i64 [ -1, %entry ], [ %launches, %idle ], [ -1, %parked ], [ %launches, %sent ], [ %launches, %busy ]
  %idle.ticks = phi i32 [ 0, %entry ], [ %more, %idle ], [ 0, %parked ], [ 0, %sent ], [ 0, %busy ]
  call void @sleep(ptr %engine, ptr %pool.rest.at, i32 0, i64 {TICK_NS})
  store atomic i32 0, ptr %pool.settled.at seq_cst, align 4
  %launches = load atomic i64, ptr %pool.launches.at seq_cst, align 8
  %runner = load atomic ptr, ptr %pool.runner.at seq_cst, align 8
  %none = icmp eq ptr %runner, null
  br i1 %none, label %idle, label %busy
busy:
{place("runner", "Runner", "inside")}
  %inside = load atomic i32, ptr %runner.inside.at seq_cst, align 4
  %is.inside = icmp eq i32 %inside, 1
  %same = icmp eq i64 %last, %launches
  %stuck = and i1 %is.inside, %same
  br i1 %stuck, label %send, label %tick
send:
{place("runner", "Runner", "unheard")}
  %lost = load atomic i64, ptr %runner.unheard.at seq_cst, align 8
{load("engine", "Engine", "signal")}
  ; What has not arrived since the last tick is taken to be blocked.
  %place = sub i64 %engine.signal, 1
  %place.small = and i64 %place, 63
  %bit = shl i64 %lost, %place.small
  %blocked.before = load atomic i64, ptr %pool.blocked.at monotonic, align 8
  %blocked = or i64 %blocked.before, %bit
  %signal = call i32 @settle(ptr %engine, i64 %blocked)
  %found = icmp ne i32 %signal, 0
  %blocked.now = select i1 %found, i64 %blocked, i64 0
  store atomic i64 %blocked.now, ptr %pool.blocked.at monotonic, align 8
  store atomic i64 1, ptr %runner.unheard.at seq_cst, align 8
  ; 0 is sent to nobody.
  %queued = call i32 %engine.pthread_sigqueue(i64 %engine.main, i32 %signal, ptr %runner)
  br label %sent
sent:
  br label %tick
idle:
  %moved = icmp ne i64 %last, %launches
  %base = select i1 %moved, i32 0, i32 %idle.ticks
  %more = add i32 %base, 1
  %long = icmp sgt i32 %more, {IDLE_TICKS}
  br i1 %long, label %park, label %tick
park:
  ; A launch that begins from here on finds it parked; one that began before is seen.
  store atomic i32 1, ptr %pool.parked.at seq_cst, align 4
  %now = load atomic ptr, ptr %pool.runner.at seq_cst, align 8
  %still = icmp eq ptr %now, null
  br i1 %still, label %nap, label %parked
nap:
  call void @sleep(ptr %engine, ptr %pool.parked.at, i32 1, i64 0)
  br label %parked
parked:
  store atomic i32 0, ptr %pool.parked.at seq_cst, align 4
  br label %tick
}}
"""
