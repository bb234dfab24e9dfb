"""Transfers as LLVM IR: a kernel whose blocks each bring a chunk of bytes from an array to page-locked memory, or back.

On the way to a device, whoever completes a piece has the device copy it. On the way back, a piece's chunks wait for the
device's event. Chunks are taken in order, whatever the numbers of the blocks.
"""

from __future__ import annotations

from gridjit.runtime.native.layout.fields import load, place

_NOT_READY = 600  # CUDA_ERROR_NOT_READY
# Of a piece on its way back: nobody knows yet whether it is there; it is; somebody is asking.
_UNKNOWN, _THERE, _ASKED = 0, 1, 2

TRANSFER = f"""
define internal i32 @transfer(ptr %params, ptr %launch, i64 %first, i64 %last, ptr %status) #1 {{
entry:
{load("params", "Transfer", "set_context:ptr", "context:ptr", "copy:ptr", "query:ptr", "move:ptr", "stream:ptr")}
{load("params", "Transfer", "here:ptr", "block:ptr", "there", "size", "chunk", "outward")}
{place("params", "Transfer", "next", "piece")}
  %is.outward = icmp ne i64 %params.outward, 0
  %current = call i32 %params.set_context(ptr %params.context)
  %lost = icmp ne i32 %current, 0
  br i1 %lost, label %done, label %turn
turn:
  %block.number = phi i64 [ %first, %entry ], [ %block.next, %moved ]
  %number = atomicrmw add ptr %params.next.at, i64 1 monotonic
  %begin = mul i64 %number, %params.chunk
  %wanted = add i64 %begin, %params.chunk
  %end = call i64 @llvm.umin.i64(i64 %wanted, i64 %params.size)
  %count = sub i64 %end, %begin
  br label %seek
seek:
  %p = phi i64 [ 0, %turn ], [ %p.next, %seek ]
  %p.offset = mul i64 %p, {{Piece.size_}}
  %piece = getelementptr i8, ptr %params.piece.at, i64 %p.offset
  %p.next = add i64 %p, 1
{load("piece", "Piece", "start", "end", "event:ptr")}
  %beyond = icmp uge i64 %begin, %piece.end
  br i1 %beyond, label %seek, label %found
found:
{place("piece", "Piece", "left", "state")}
  br i1 %is.outward, label %await, label %move
await:
  %state = load atomic i32, ptr %piece.state.at seq_cst, align 4
  %there.already = icmp eq i32 %state, {_THERE}
  br i1 %there.already, label %move, label %claim
claim:
  %claimed = cmpxchg ptr %piece.state.at, i32 {_UNKNOWN}, i32 {_ASKED} seq_cst seq_cst
  %mine = extractvalue {{ i32, i1 }} %claimed, 1
  br i1 %mine, label %ask, label %rest
ask:
  %answer = call i32 %params.query(ptr %piece.event)
  %comes = icmp eq i32 %answer, {_NOT_READY}
  %now.state = select i1 %comes, i32 {_UNKNOWN}, i32 {_THERE}
  store atomic i32 %now.state, ptr %piece.state.at seq_cst, align 4
  %well = icmp eq i32 %answer, 0
  %known = or i1 %well, %comes
  br i1 %known, label %rest, label %done
rest:
  call void @pause()
  br label %await
move:
  %array.at = getelementptr i8, ptr %params.here, i64 %begin
  %block.at = getelementptr i8, ptr %params.block, i64 %begin
  %to = select i1 %is.outward, ptr %array.at, ptr %block.at
  %from = select i1 %is.outward, ptr %block.at, ptr %array.at
  %to.again = call ptr %params.move(ptr %to, ptr %from, i64 %count)
  br i1 %is.outward, label %moved, label %count.down
count.down:
  %left.before = atomicrmw sub ptr %piece.left.at, i64 %count seq_cst
  %complete = icmp eq i64 %left.before, %count
  br i1 %complete, label %submit, label %moved
submit:
  %piece.there = add i64 %params.there, %piece.start
  %piece.here = getelementptr i8, ptr %params.block, i64 %piece.start
  %piece.size = sub i64 %piece.end, %piece.start
  %copied = call i32 %params.copy(i64 %piece.there, ptr %piece.here, i64 %piece.size, ptr %params.stream)
  %refused = icmp ne i32 %copied, 0
  br i1 %refused, label %done, label %moved
moved:
  %block.next = add i64 %block.number, 1
  %more = icmp slt i64 %block.next, %last
  br i1 %more, label %turn, label %done
done:
  %code = phi i32 [ %current, %entry ], [ %answer, %ask ], [ %copied, %submit ], [ 0, %moved ]
  ret i32 %code
}}
"""
