"""Stack overflow: a recursion that is too deep for its thread's stack ends its kernel with a code, not the process.

Before a function that can reach itself is entered, its caller checks how much of the stack is left, and returns
STACK_ENDS if that is too little for the function's own frame: its local arrays may be larger than all that is kept
free. Callers pass the code on, as they do with an exception. The entry notes where the stack of its thread ends.
"""

from __future__ import annotations

from collections.abc import Collection

from gridjit.compiler.targets.host.analysis.memory_layout import local_arrays
from gridjit.compiler.targets.host.ir.body import Block, Body
from gridjit.compiler.targets.host.ir.module import FunctionText, with_definitions
from gridjit.compiler.targets.host.llvm import modules as llvm
from gridjit.compiler.values.target import Target

# A code that no exception has.
STACK_ENDS = 0x7FFF_FFF1
NOTE = "gridjit.stack.note"
# What the last recursion that was refused came to: bytes of the stack that the kernel had taken, those that the next
# call may take, and those that there are for it.
TOLD = "gridjit.stack.told"
TOLD_WORDS = 3
_DEEP = "gridjit.stack.deep"
_THREADS = 1024
# What is kept for the C library's functions and for signal handlers, of Python too: at most so much, or a quarter.
_KEPT = 1 << 18
# What a recursion may take of a stack without a limit, which would take all memory.
_MOST = 1 << 26

# Where the stacks of threads end. Each thread finds its row by its own name from a place on, and only it writes there.
LIBRARY = f"""
@gridjit.stacks = internal global [{_THREADS} x {{ i64, i64, i64 }}] zeroinitializer
@{TOLD} = global [{TOLD_WORDS} x i64] zeroinitializer
declare i64 @pthread_self()
declare i32 @pthread_getattr_np(i64, ptr)
declare i32 @pthread_attr_getstack(ptr, ptr, ptr)
declare i32 @pthread_attr_destroy(ptr)

define internal ptr @gridjit.stack.row() noinline nounwind {{
entry:
  %self = call i64 @pthread_self()
  %page = lshr i64 %self, 12
  br label %look
look:
  %n = phi i64 [ 0, %entry ], [ %n.next, %on ]
  %place = add i64 %page, %n
  %index = urem i64 %place, {_THREADS}
  %row = getelementptr [{_THREADS} x {{ i64, i64, i64 }}], ptr @gridjit.stacks, i64 0, i64 %index
  %whose = load atomic i64, ptr %row monotonic, align 8
  %mine = icmp eq i64 %whose, %self
  br i1 %mine, label %found, label %other
other:
  %free = icmp eq i64 %whose, 0
  br i1 %free, label %claim, label %on
claim:
  %claimed = cmpxchg ptr %row, i64 0, i64 %self monotonic monotonic
  %got = extractvalue {{ i64, i1 }} %claimed, 1
  br i1 %got, label %found, label %on
on:
  %n.next = add i64 %n, 1
  %more = icmp ult i64 %n.next, {_THREADS}
  br i1 %more, label %look, label %none
none:
  ret ptr null
found:
  ret ptr %row
}}

define internal void @{NOTE}() noinline nounwind {{
entry:
  %attributes = alloca [64 x i64]
  %low = alloca i64
  %size = alloca i64
  %row = call ptr @gridjit.stack.row()
  %unknown = icmp eq ptr %row, null
  br i1 %unknown, label %done, label %ask
ask:
  %self = call i64 @pthread_self()
  %failed = call i32 @pthread_getattr_np(i64 %self, ptr %attributes)
  %bad = icmp ne i32 %failed, 0
  br i1 %bad, label %done, label %read
read:
  %got = call i32 @pthread_attr_getstack(ptr %attributes, ptr %low, ptr %size)
  %gone = call i32 @pthread_attr_destroy(ptr %attributes)
  %start = load i64, ptr %low
  %bytes = load i64, ptr %size
  %quarter = lshr i64 %bytes, 2
  %kept = call i64 @llvm.umin.i64(i64 %quarter, i64 {_KEPT})
  %ends = add i64 %start, %kept
  %frame = call ptr @llvm.frameaddress.p0(i32 0)
  %here = ptrtoint ptr %frame to i64
  %enough = sub i64 %here, {_MOST}
  %end = call i64 @llvm.umax.i64(i64 %ends, i64 %enough)
  %end.at = getelementptr i64, ptr %row, i64 1
  store i64 %end, ptr %end.at
  %begin.at = getelementptr i64, ptr %row, i64 2
  store i64 %here, ptr %begin.at
  br label %done
done:
  ret void
}}

define internal i1 @{_DEEP}(i64 %bytes) noinline nounwind {{
entry:
  %frame = call ptr @llvm.frameaddress.p0(i32 0)
  %here = ptrtoint ptr %frame to i64
  %row = call ptr @gridjit.stack.row()
  %unknown = icmp eq ptr %row, null
  br i1 %unknown, label %done, label %compare
compare:
  %end.at = getelementptr i64, ptr %row, i64 1
  %end = load i64, ptr %end.at
  %wanted = add i64 %end, %bytes
  %deep = icmp ult i64 %here, %wanted
  br i1 %deep, label %tell, label %done
tell:
  %begin.at = getelementptr i64, ptr %row, i64 2
  %begin = load i64, ptr %begin.at
  %taken = sub i64 %begin, %here
  %all = sub i64 %begin, %end
  %told.next = getelementptr i64, ptr @{TOLD}, i64 1
  %told.all = getelementptr i64, ptr @{TOLD}, i64 2
  store i64 %taken, ptr @{TOLD}
  store i64 %bytes, ptr %told.next
  store i64 %all, ptr %told.all
  br label %done
done:
  %answer = phi i1 [ false, %entry ], [ false, %compare ], [ true, %tell ]
  ret i1 %answer
}}
"""


_DECLARATION = f"declare i1 @{_DEEP}(i64)"
_ASKED = f"call i1 @{_DEEP}(i64 0)"
_ENTRY = ".entered"
_BEGINS = "\n  br label %"
# Beside its local arrays, what a function keeps of its values while it calls itself.
_VALUES = 1 << 10


def watched(text: str, recursive: Collection[str]) -> str:
    """Return a module's text in which those functions return STACK_ENDS where little of the stack is left."""
    if not recursive:
        return text
    text = with_definitions(text, lambda one: _watched(one.text) if one.name in recursive else one.text)
    return f"{text}\n{_DECLARATION}\n"


def looks(text: str) -> bool:
    """Return whether a module's text looks at the stack: recursions that nothing comes to are gone from it."""
    return _DECLARATION in text


def with_library(text: str) -> str:
    """Return a module's text with the function that looks at the stack, if it is called."""
    return text.replace(_DECLARATION, LIBRARY) if looks(text) else text


def _watched(function: str) -> str:
    """Return a function that looks first; one that returns another thing than a code is left as it is."""
    # Local arrays are in the first block, which stays the first.
    entry, begins, rest = function.partition(_BEGINS)
    if not begins or not entry.partition("@")[0].endswith(" i32 "):
        return function
    look = f"\n  %gj.deep = call i1 @{_DEEP}(i64 0)\n  br i1 %gj.deep, label %gj.ends, label %"
    label, _, blocks = rest.partition("\n")
    return f"{entry}{look}{label}\ngj.ends:\n  ret i32 {STACK_ENDS}\n{blocks}"


def with_frames(rest: str, module: llvm.Module, target: Target) -> str:
    """Return a module's text in which functions that look at the stack are entered only if their frames fit there."""
    if not looks(rest):
        return rest
    return with_definitions(rest, lambda one: _entered(one, module, target) if _ASKED in one.text else one.text)


def _entered(function: FunctionText, module: llvm.Module, target: Target) -> str:
    """Return a function that asks, and the one that it then calls: on entry, that one takes its frame at once."""
    text, name = function.text, function.symbol
    types = [str(argument.type) for argument in module.get_function(function.name).arguments]
    given = ", ".join(f"{kind} %given.{number}" for number, kind in enumerate(types))
    inner = f'@"{name.strip(chr(34))}{_ENTRY}"'
    own = text.replace(_ASKED, "icmp ne i32 0, 0").replace(f"@{name}(", f"{inner}(", 1)
    asks = (
        f"define internal i32 @{name}({given}) nounwind {{\n"
        f"  %deep = call i1 @{_DEEP}(i64 {_frame(text, target)})\n  br i1 %deep, label %ends, label %go\n"
        f"ends:\n  ret i32 {STACK_ENDS}\n"
        f"go:\n  %code = call i32 {inner}({given}) noinline\n  ret i32 %code\n}}"
    )
    return f"{own}\n\n{asks}"


def _frame(text: str, target: Target) -> int:
    """Return about how many bytes of the stack a function takes."""
    lines = tuple(line.strip() for line in text.splitlines())
    body = Body(parameters=(), blocks=(Block(label="", lines=lines),), rest="")
    return _VALUES + sum(array.stride for array in local_arrays(body, target).values())
