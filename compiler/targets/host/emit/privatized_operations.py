"""Operations on privatized arrays as LLVM IR: atomic, or plain where the array is a copy; how copies begin and end."""

from __future__ import annotations

from collections.abc import Collection

from gridjit.compiler.targets.host.emit.metadata import ROLLED
from gridjit.compiler.targets.host.ir.cold_code import COLD
from gridjit.compiler.targets.host.ir.module import with_each_line
from gridjit.compiler.targets.host.ir.parse import parse
from gridjit.compiler.targets.host.passes.privatization import ALONE, MARK, PrivatizedArray
from gridjit.compiler.targets.host.passes.shared_atomics import SIMPLE


def written_out(text: str) -> str:
    """Return a region's text with each marked operation as a call."""
    return with_each_line(text, MARK, lambda line: _call(line.strip().removesuffix(MARK)))


def _call(line: str) -> str:
    made = parse(line)
    if made.opcode != "atomicrmw":
        raise ValueError(f"{line} is not an operation on a gathered array")
    at, value = made.operands
    return f"  call void @{_name('do', made.predicate, value.type)}({at}, {value}, i1 {ALONE.name})"


def privatized_operations(arrays: Collection[PrivatizedArray]) -> str:
    """Return the functions that do operations on these arrays, begin copies, and merge them."""
    sorts = sorted({(one.kind, one.type, one.neutral) for one in arrays})
    also = {("sub", kind) for name, kind, _ in sorts if name == "add"}
    done = sorted({(name, kind) for name, kind, _ in sorts} | also)
    return "\n".join([*(_operation(*one) for one in done), *(_begin(*one) + _merge(*one) for one in sorts)])


def begin_name(array: PrivatizedArray) -> str:
    """Return the name of the function that fills a copy with the operation's identity: (ptr copy, i64 items)."""
    return _name("begin", array.kind, array.type)


def merge_name(array: PrivatizedArray) -> str:
    """Return the name of the function that merges a copy into an array: (ptr copy, ptr array, i64 items).

    The copy is as it was at its beginning then.
    """
    return _name("merge", array.kind, array.type)


def _name(word: str, operation: str, kind: str) -> str:
    return f"gridjit.gathered.{word}.{operation}.{kind}"


def _operation(operation: str, kind: str) -> str:
    size = int(kind[1:]) // 8
    made = SIMPLE[operation].format(type=kind, old="%old", value="%value")
    return f"""
define internal void @{_name("do", operation, kind)}(ptr %at, {kind} %value, i1 %alone) alwaysinline nounwind {{
entry:
  br i1 %alone, label %plain, label %atomic
plain:
  %old = load {kind}, ptr %at, align {size}
  %new = {made}
  store {kind} %new, ptr %at, align {size}
  ret void
atomic:
  %seen = atomicrmw {operation} ptr %at, {kind} %value monotonic, align {size}
  ret void
}}
"""


def _begin(operation: str, kind: str, neutral: int) -> str:
    head = f"define internal void @{_name('begin', operation, kind)}(ptr noalias %copy, i64 %items)"
    if neutral in (0, -1):
        return f"""
{head} alwaysinline nounwind {COLD} {{
entry:
  %bytes = mul i64 %items, {int(kind[1:]) // 8}
  call void @llvm.memset.p0.i64(ptr %copy, i8 {neutral}, i64 %bytes, i1 false)
  ret void
}}
"""
    return f"""
{head} noinline nounwind {{
entry:
  br label %each
each:
  %i = phi i64 [ 0, %entry ], [ %next, %each ]
  %at = getelementptr inbounds {kind}, ptr %copy, i64 %i
  store {kind} {neutral}, ptr %at
  %next = add nuw i64 %i, 1
  %more = icmp ult i64 %next, %items
  br i1 %more, label %each, label %done
done:
  ret void
}}
"""


def _merge(operation: str, kind: str, neutral: int) -> str:
    size = int(kind[1:]) // 8
    head = f"@{_name('merge', operation, kind)}(ptr noalias %copy, ptr noalias %to, i64 %items)"
    return f"""
define internal void {head} noinline nounwind {{
entry:
  br label %each
each:
  %i = phi i64 [ 0, %entry ], [ %next, %on ]
  %at = getelementptr inbounds {kind}, ptr %copy, i64 %i
  %value = load {kind}, ptr %at
  %nothing = icmp eq {kind} %value, {neutral}
  br i1 %nothing, label %on, label %merge
merge:
  %to.at = getelementptr inbounds {kind}, ptr %to, i64 %i
  %seen = atomicrmw {operation} ptr %to.at, {kind} %value monotonic, align {size}
  store {kind} {neutral}, ptr %at
  br label %on
on:
  %next = add nuw i64 %i, 1
  %more = icmp ult i64 %next, %items
  br i1 %more, label %each, label %done, {ROLLED}
done:
  ret void
}}
"""
