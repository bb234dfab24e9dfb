"""Time and waiting as LLVM IR: the clock, sleeping until a word changes, waking those who do."""

from __future__ import annotations

from gridjit.runtime.native.layout.fields import load

_PAUSES = {
    "x86_64": ("declare void @llvm.x86.sse2.pause()", "call void @llvm.x86.sse2.pause()"),
    "aarch64": ("declare void @llvm.aarch64.hint(i32)", "call void @llvm.aarch64.hint(i32 1)"),
}

_TEXT = f"""
; The time in nanoseconds.
define internal i64 @now(ptr %engine) #1 {{
entry:
  %time = alloca [2 x i64], align 8
{load("engine", "Engine", "clock_gettime:ptr")}
  %status = call i32 %engine.clock_gettime(i32 1, ptr %time)
  %seconds = load i64, ptr %time
  %rest.at = getelementptr i64, ptr %time, i64 1
  %rest = load i64, ptr %rest.at
  %whole = mul i64 %seconds, 1000000000
  %sum = add i64 %whole, %rest
  ret i64 %sum
}}

; Sleep while the word is this value, for so many nanoseconds at most; for ever if that is 0.
define internal void @sleep(ptr %engine, ptr %word, i32 %value, i64 %limit) #1 {{
entry:
  %time = alloca [2 x i64], align 8
  %seconds = udiv i64 %limit, 1000000000
  %rest = urem i64 %limit, 1000000000
  store i64 %seconds, ptr %time
  %rest.at = getelementptr i64, ptr %time, i64 1
  store i64 %rest, ptr %rest.at
  %endless = icmp eq i64 %limit, 0
  %until = select i1 %endless, ptr null, ptr %time
{load("engine", "Engine", "syscall:ptr")}
  %r = call i64 (i64, ...) %engine.syscall(i64 {{FUTEX}}, ptr %word, i32 128, i32 %value, ptr %until, ptr null, i32 0)
  ret void
}}

; Wake at most so many threads that sleep by the word.
define internal void @wake(ptr %engine, ptr %word, i32 %count) #1 {{
entry:
{load("engine", "Engine", "syscall:ptr")}
  %r = call i64 (i64, ...) %engine.syscall(i64 {{FUTEX}}, ptr %word, i32 129, i32 %count, ptr null, ptr null, i32 0)
  ret void
}}

define internal void @pause() #2 {{
entry:
  {{PAUSE_CALL}}
  ret void
}}
"""


def waiting_ir(machine: str) -> str:
    """Return the functions now, sleep, wake and pause, for a machine."""
    declared, call = _PAUSES[machine]
    return declared + "\n" + _TEXT.replace("{PAUSE_CALL}", call)
