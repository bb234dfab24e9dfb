"""Workers as LLVM IR: threads that help with whatever launch is open, and sleep while none is."""

from __future__ import annotations

from gridjit.runtime.native.layout.fields import load, place, store

# A worker that runs out of work looks for more for so long before it sleeps: about as long as it takes to wake.
SPIN_NS = 50_000

WORKERS = f"""
; The life of a worker.
define internal ptr @worker(ptr %self) #1 {{
entry:
  %all = alloca [16 x i64], align 8
  %old = alloca [16 x i64], align 8
{load("self", "Runner", "engine:ptr", "number")}
  %engine = getelementptr i8, ptr %self.engine, i64 0
{load("engine", "Engine", "pool:ptr", "pthread_self:ptr", "pthread_setname_np:ptr")}
  %pool = getelementptr i8, ptr %engine.pool, i64 0
  %index = trunc i64 %self.number to i32
  %me = call i64 %engine.pthread_self()
{store("self", "Runner", thread="i64 %me")}
  %name = getelementptr i8, ptr %engine, i64 {{Engine.name}}
  %named = call i32 %engine.pthread_setname_np(i64 %me, ptr %name)
{place("self", "Runner", "slot", "signal")}
{place("pool", "Pool", "sequence", "sleeping", "slot")}
  br label %again
again:
  %seen = load atomic i32, ptr %pool.sequence.at seq_cst, align 4
  br label %scan
scan:
  %i = phi i64 [ 0, %again ], [ %i.next, %scan.next ]
  %slot.offset = mul i64 %i, {{Slot.size_}}
  %slot = getelementptr i8, ptr %pool.slot.at, i64 %slot.offset
{place("slot", "Slot", "open", "working", "parts")}
  %open = load atomic i32, ptr %slot.open.at seq_cst, align 4
  %closed = icmp eq i32 %open, 0
  br i1 %closed, label %scan.next, label %join
join:
  ; Counted first, looked at then: as long as it is counted, what it finds open stays.
  %before = atomicrmw add ptr %slot.working.at, i32 1 seq_cst
  %open.still = load atomic i32, ptr %slot.open.at seq_cst, align 4
  %parts = load i32, ptr %slot.parts.at
  %room = sub i32 %parts, 1
  %fits = icmp slt i32 %before, %room
  %is.open = icmp ne i32 %open.still, 0
  %joins = and i1 %fits, %is.open
  br i1 %joins, label %labour, label %quit
labour:
  %signal.at = getelementptr i8, ptr %engine, i64 {{Engine.signal}}
  %signal = load atomic i64, ptr %signal.at seq_cst, align 8
  %mine = load i64, ptr %self.signal.at
  %same = icmp eq i64 %mine, %signal
  br i1 %same, label %help, label %reopen
reopen:
  call void @shut(ptr %engine, ptr %all, ptr %old)
  store i64 %signal, ptr %self.signal.at
  br label %help
help:
  store atomic ptr %slot, ptr %self.slot.at seq_cst, align 8
  call void @work(ptr %engine, ptr %slot, i32 %index, ptr %self, ptr null)
  store atomic ptr null, ptr %self.slot.at seq_cst, align 8
  call void @leave(ptr %engine, ptr %slot)
  br label %again
quit:
  call void @leave(ptr %engine, ptr %slot)
  br label %scan.next
scan.next:
  %i.next = add i64 %i, 1
  %i.more = icmp slt i64 %i.next, {{SLOTS}}
  br i1 %i.more, label %scan, label %idle
idle:
  %begun = call i64 @now(ptr %engine)
  br label %spin
spin:
  %n = phi i32 [ 0, %idle ], [ %n.next, %spin.on ], [ 0, %spin.clock ]
  call void @pause()
  %now.seen = load atomic i32, ptr %pool.sequence.at seq_cst, align 4
  %news = icmp ne i32 %now.seen, %seen
  br i1 %news, label %again, label %spin.on
spin.on:
  %n.next = add i32 %n, 1
  %n.more = icmp slt i32 %n.next, 32
  br i1 %n.more, label %spin, label %spin.time
spin.time:
  %now = call i64 @now(ptr %engine)
  %spun = sub i64 %now, %begun
  %tired = icmp sgt i64 %spun, {SPIN_NS}
  br i1 %tired, label %park, label %spin.clock
spin.clock:
  br label %spin
park:
  %asleep = atomicrmw add ptr %pool.sleeping.at, i32 1 seq_cst
  call void @sleep(ptr %engine, ptr %pool.sequence.at, i32 %seen, i64 0)
  %awake = atomicrmw sub ptr %pool.sleeping.at, i32 1 seq_cst
  br label %again
}}

; Be counted out of a launch; its caller may wait for that.
define internal void @leave(ptr %engine, ptr %slot) #1 {{
entry:
{place("slot", "Slot", "working", "waiting")}
  %before = atomicrmw sub ptr %slot.working.at, i32 1 seq_cst
  %last = icmp eq i32 %before, 1
  br i1 %last, label %look, label %done
look:
  %waiting = load atomic i32, ptr %slot.waiting.at seq_cst, align 4
  %waits = icmp ne i32 %waiting, 0
  br i1 %waits, label %rouse, label %done
rouse:
  call void @wake(ptr %engine, ptr %slot.working.at, i32 1)
  br label %done
done:
  ret void
}}

; Have so many workers, or as many as the system allows. Signals are left to Python's threads.
define internal void @start(ptr %engine, ptr %pool, i32 %wanted) #1 {{
entry:
  %all = alloca [16 x i64], align 8
  %old = alloca [16 x i64], align 8
  %thread = alloca i64, align 8
{place("pool", "Pool", "size", "starting", "worker")}
  %capped = icmp slt i32 %wanted, {{WORKERS}}
  %most = select i1 %capped, i32 %wanted, i32 {{WORKERS}}
  %size = load atomic i32, ptr %pool.size.at seq_cst, align 4
  %enough = icmp sge i32 %size, %most
  br i1 %enough, label %done, label %claim
claim:
  %claimed = cmpxchg ptr %pool.starting.at, i32 0, i32 1 seq_cst seq_cst
  %mine = extractvalue {{ i32, i1 }} %claimed, 1
  br i1 %mine, label %begin, label %done
begin:
  call void @shut(ptr %engine, ptr %all, ptr %old)
{load("engine", "Engine", "pthread_create:ptr", "pthread_detach:ptr")}
  %size.now = load atomic i32, ptr %pool.size.at seq_cst, align 4
  %short.now = icmp slt i32 %size.now, %most
  br i1 %short.now, label %next, label %end
next:
  %i = phi i32 [ %size.now, %begin ], [ %i.next, %started ]
  %i.wide = zext i32 %i to i64
  %offset = mul i64 %i.wide, {{Runner.size_}}
  %worker = getelementptr i8, ptr %pool.worker.at, i64 %offset
  %i.next = add i32 %i, 1
  %number = zext i32 %i.next to i64
{store("worker", "Runner", engine="ptr %engine", number="i64 %number")}
  %failed = call i32 %engine.pthread_create(ptr %thread, ptr null, ptr @worker, ptr %worker)
  %refused = icmp ne i32 %failed, 0
  br i1 %refused, label %end, label %started
started:
  %ident = load i64, ptr %thread
  %detached = call i32 %engine.pthread_detach(i64 %ident)
  store atomic i32 %i.next, ptr %pool.size.at seq_cst, align 4
  %more = icmp slt i32 %i.next, %most
  br i1 %more, label %next, label %end
end:
{load("engine", "Engine", "pthread_sigmask:ptr")}
  %reopened = call i32 %engine.pthread_sigmask(i32 2, ptr %old, ptr null)
  store atomic i32 0, ptr %pool.starting.at seq_cst, align 4
  br label %done
done:
  ret void
}}

; Block all signals of this thread but the engine's own, which threads that it starts inherit.
define internal void @shut(ptr %engine, ptr %all, ptr %old) #1 {{
entry:
{load("engine", "Engine", "signal", "pthread_sigmask:ptr")}
  br label %fill
fill:
  %i = phi i64 [ 0, %entry ], [ %i.next, %fill ]
  %at = getelementptr i64, ptr %all, i64 %i
  store volatile i64 -1, ptr %at
  %i.next = add i64 %i, 1
  %more = icmp slt i64 %i.next, 16
  br i1 %more, label %fill, label %open
open:
  %bit.number = sub i64 %engine.signal, 1
  %bit.small = and i64 %bit.number, 63
  %bit = shl i64 1, %bit.small
  %rest = xor i64 %bit, -1
  %known = icmp ne i64 %engine.signal, 0
  %first = select i1 %known, i64 %rest, i64 -1
  store volatile i64 %first, ptr %all
  %shut = call i32 %engine.pthread_sigmask(i32 2, ptr %all, ptr %old)
  ret void
}}
"""
