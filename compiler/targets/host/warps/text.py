"""Text: pieces of LLVM IR that all code about threads that work together is made of."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from gridjit.compiler.targets.host.emit.frame import CONTEXT, launch_loads

# A function that is run seldom, or is waited for anyway, and that LLVM should not spend time on.
RARE = "noinline minsize optsize"


def function(result: str, name: str, arguments: Sequence[str], lines: Sequence[str], how: str = "noinline") -> str:
    """Return a function of the frame's context and some arguments; lines follow the loads of the launch."""
    parameters = ", ".join([CONTEXT, *arguments])
    head = f"define internal {result} @{name}({parameters}) nounwind {how} {{"
    return "\n".join([head, "entry:", *launch_loads(), *lines, "}", ""])


def each_lane(name: str, bits: str, before: str, after: str, body: Sequence[str]) -> list[str]:
    """Return a loop over the lanes whose bits are set, from the block called before to the one called after.

    body finds the lane in %NAME.lane, its bit in %NAME.bit, and its thread in %NAME.t and %NAME.wide. It ends in the
    block called NAME.next.
    """
    n = f"%{name}"
    return [
        f"  br label %{name}.test",
        f"{name}.test:",
        f"  {n}.rest = phi i32 [ {bits}, %{before} ], [ {n}.fewer, %{name}.next ]",
        f"  {n}.any = icmp ne i32 {n}.rest, 0",
        f"  br i1 {n}.any, label %{name}.do, label %{after}",
        f"{name}.do:",
        f"  {n}.lane = call i32 @llvm.cttz.i32(i32 {n}.rest, i1 true)",
        f"  {n}.bit = shl i32 1, {n}.lane",
        f"  {n}.less = add i32 {n}.rest, -1",
        f"  {n}.fewer = and i32 {n}.rest, {n}.less",
        f"  {n}.t = add i32 %lo, {n}.lane",
        f"  {n}.wide = zext i32 {n}.t to i64",
        *body,
        f"  br label %{name}.next",
        f"{name}.next:",
        f"  br label %{name}.test",
        f"{after}:",
    ]


def item(result: str, array: str, index: str, kind: str = "i32") -> list[str]:
    """Return the load of an array's item; index is an i64."""
    return [
        f"  {result}.at = getelementptr inbounds {kind}, ptr {array}, i64 {index}",
        f"  {result} = load {kind}, ptr {result}.at",
    ]


def put(name: str, value: str, array: str, index: str) -> list[str]:
    """Return the store of an array's i32 item; index is an i64."""
    return [
        f"  %{name}.to = getelementptr inbounds i32, ptr {array}, i64 {index}",
        f"  store i32 {value}, ptr %{name}.to",
    ]


def variable(name: str, start: str, kind: str = "i32") -> list[str]:
    """Return a variable in memory, of which LLVM makes values."""
    return [f"  %{name} = alloca {kind}", f"  store {kind} {start}, ptr %{name}"]


def changed(name: str, operation: str, value: str, prefix: str) -> list[str]:
    """Return the code that combines a variable with a value."""
    return [
        f"  %{prefix}.old = load i32, ptr %{name}",
        f"  %{prefix}.new = {operation} i32 %{prefix}.old, {value}",
        f"  store i32 %{prefix}.new, ptr %{name}",
    ]


def status(code: int, values: Mapping[int, str], name: str) -> list[str]:
    """Return the code that fills the status with a code, the block, and values in the thread's three places."""
    words = [str(code), "%ctaid.x", "%ctaid.y", "%ctaid.z", *(values.get(place, "0") for place in range(3))]
    lines = []
    for index, word in enumerate(words):
        lines.append(f"  %{name}.{index} = getelementptr inbounds i8, ptr %status, i64 {4 * index}")
        lines.append(f"  store i32 {word}, ptr %{name}.{index}, align 4")
    return lines


def each_warp(name: str, first: str, last: str, before: str, after: str, body: Sequence[str]) -> list[str]:
    """Return a loop over the warps of the threads from first to last - 1, of which there is one at least.

    body finds the first thread of a warp in %NAME.lo and the one after its last in %NAME.hi. It ends in the block
    called NAME.next.
    """
    n = f"%{name}"
    return [
        f"  br label %{name}.warp",
        f"{name}.warp:",
        f"  {n}.lo = phi i32 [ {first}, %{before} ], [ {n}.end, %{name}.next ]",
        f"  {n}.end = add i32 {n}.lo, 32",
        f"  {n}.hi = call i32 @llvm.umin.i32(i32 {n}.end, i32 {last})",
        *body,
        f"  br label %{name}.next",
        f"{name}.next:",
        f"  {n}.more = icmp ult i32 {n}.end, {last}",
        f"  br i1 {n}.more, label %{name}.warp, label %{after}",
        f"{after}:",
    ]


def each_thread(name: str, first: str, last: str, before: str, after: str, body: Sequence[str]) -> list[str]:
    """Return a loop over the threads from first to last - 1, of which there is one at least.

    body finds a thread in %NAME.t and %NAME.wide.
    """
    n = f"%{name}"
    return [
        f"  br label %{name}.thread",
        f"{name}.thread:",
        f"  {n}.t = phi i32 [ {first}, %{before} ], [ {n}.t.next, %{name}.thread ]",
        f"  {n}.wide = zext nneg i32 {n}.t to i64",
        *body,
        f"  {n}.t.next = add nuw nsw i32 {n}.t, 1",
        f"  {n}.more = icmp ult i32 {n}.t.next, {last}",
        f"  br i1 {n}.more, label %{name}.thread, label %{after}",
        f"{after}:",
    ]
