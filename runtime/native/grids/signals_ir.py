"""The engine's signal as LLVM IR: which one it is, so that it takes none that the program uses, and none is held back.

A program may begin to handle a signal, or to block it in its main thread, at any time. So
code that is about to rely on the engine's signal checks that it is still free, and otherwise moves to another one. The
ticker, which cannot see what the main thread blocks, also moves on from a signal that does not arrive.
"""

from __future__ import annotations

from gridjit.runtime.native.layout.fields import load, place, store

# Debuggers pass SIGURG on, and programs that do not know it ignore it; then come real-time signals, from the last down.
_FIRST, _LAST_REAL_TIME, _COUNT = 23, 60, 11
_SA_SIGINFO, _SA_RESTART, _SA_NODEFER = 0x4, 0x10000000, 0x40000000

SIGNALS = f"""
; Settle on a signal that this thread does not block; the main thread does so at times.
define internal i32 @settle_here(ptr %engine) #1 {{
entry:
  %mask = alloca [16 x i64], align 8
{load("engine", "Engine", "pool:ptr", "pthread_sigmask:ptr")}
  %pool = getelementptr i8, ptr %engine.pool, i64 0
  store volatile i64 0, ptr %mask
  %asked = call i32 %engine.pthread_sigmask(i32 0, ptr null, ptr %mask)
  %blocked = load volatile i64, ptr %mask
{store("pool", "Pool", blocked="i64 %blocked")}
  %signal = call i32 @settle(ptr %engine, i64 %blocked)
  ; Where there is none, every launch looks again.
  %known = icmp ne i32 %signal, 0
  %settled = zext i1 %known to i32
{place("pool", "Pool", "settled")}
  store atomic i32 %settled, ptr %pool.settled.at seq_cst, align 4
  ret i32 %signal
}}

; Keep the engine's signal if it is handled by this code and not blocked; else take one that nobody handles or blocks.
; Return it, or 0 if there is none.
define internal i32 @settle(ptr %engine, i64 %blocked) #1 {{
entry:
  %action = alloca [19 x i64], align 8
{load("engine", "Engine", "signal", "handler", "sigaction:ptr")}
{place("engine", "Engine", "signal")}
  br label %next
next:
  %turn = phi i64 [ -1, %entry ], [ %turn.next, %refused ]
  %is.present = icmp eq i64 %turn, -1
  %is.first = icmp eq i64 %turn, 0
  %real.time = sub i64 {_LAST_REAL_TIME + 1}, %turn
  %candidate = select i1 %is.first, i64 {_FIRST}, i64 %real.time
  %wide = select i1 %is.present, i64 %engine.signal, i64 %candidate
  %number = trunc i64 %wide to i32
  %unknown = icmp eq i64 %wide, 0
  br i1 %unknown, label %refused, label %arrives
arrives:
  %place = sub i64 %wide, 1
  %moved = lshr i64 %blocked, %place
  %bit = and i64 %moved, 1
  %held.back = icmp ne i64 %bit, 0
  br i1 %held.back, label %refused, label %ask
ask:
  %failed = call i32 %engine.sigaction(i32 %number, ptr null, ptr %action)
  %is.unusable = icmp ne i32 %failed, 0
  br i1 %is.unusable, label %refused, label %whose
whose:
  %handler = load volatile i64, ptr %action
  %ours = icmp eq i64 %handler, %engine.handler
  br i1 %ours, label %chosen, label %others
others:
  %free = icmp eq i64 %handler, 0
  br i1 %free, label %clear, label %refused
clear:
  %i = phi i64 [ 0, %others ], [ %i.next, %clear ]
  %at = getelementptr i64, ptr %action, i64 %i
  store volatile i64 0, ptr %at
  %i.next = add i64 %i, 1
  %more = icmp slt i64 %i.next, 19
  br i1 %more, label %clear, label %take
take:
  store volatile i64 %engine.handler, ptr %action
  %flags = getelementptr i8, ptr %action, i64 136
  store volatile i32 {_SA_SIGINFO | _SA_RESTART | _SA_NODEFER}, ptr %flags
  %taken = call i32 %engine.sigaction(i32 %number, ptr %action, ptr null)
  %is.taken = icmp eq i32 %taken, 0
  br i1 %is.taken, label %chosen, label %refused
refused:
  %turn.next = add i64 %turn, 1
  %candidates = icmp slt i64 %turn.next, {_COUNT}
  br i1 %candidates, label %next, label %none
none:
  store atomic i64 0, ptr %engine.signal.at seq_cst, align 8
  ret i32 0
chosen:
  store atomic i64 %wide, ptr %engine.signal.at seq_cst, align 8
  ret i32 %number
}}
"""
