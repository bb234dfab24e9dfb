"""Fast paths as LLVM IR: what is inlined into a checked kernel before an access, and passes nearly all that are fine.

They look at one number of 1, 2, 4 or 8 bytes that fills its cell, and pass it if what the cell remembers is of the same
thread, or of this block and before its last barrier. They remember it then as the functions of access do, to which they
leave everything else.

A record is a number whose highest bits are the block, then the clock: that it is before the last barrier, of this block
or one before, or nothing at all, is one comparison.
"""

from __future__ import annotations

from collections.abc import Collection

from gridjit.compiler.targets.host.sanitizer.routines import record
from gridjit.compiler.targets.host.sanitizer.routines.fast_argument import (
    ANY_READ,
    ANY_READ_TEXT,
    FLAGS_TEXT,
    argument_path,
    own_path,
)
from gridjit.compiler.targets.host.sanitizer.routines.fast_code import INVARIANT, fast_name
from gridjit.compiler.targets.host.sanitizer.routines.fast_shared import ASKS, SHARED_KINDS, shared_path

SIZES = (1, 2, 4, 8)
# Begins the count of an array's cells that the block has not written.
COUNT = "gridjit.check.count"
_COUNT = f"""
define internal void @{COUNT}(i32 %thread, i64 %start, i64 %shift, i64 %size) nounwind alwaysinline {{
entry:
  %first = icmp eq i32 %thread, 0
  br i1 %first, label %begin, label %done
begin:
  %state = load ptr, ptr @{record.STATE}, {INVARIANT}
  %bytes.at = getelementptr i8, ptr %state, i64 {record.SHARED_BYTES}
  %bytes = load i64, ptr %bytes.at, {INVARIANT}
  %rest = sub i64 %bytes, %start
  %is.static = icmp sge i64 %size, 0
  %its = select i1 %is.static, i64 %size, i64 %rest
  %cells = lshr i64 %its, %shift
  %table.at = getelementptr i8, ptr %state, i64 {record.SHARED_UNWRITTEN}
  %table = load ptr, ptr %table.at, {INVARIANT}
  %left.at = getelementptr i64, ptr %table, i64 %start
  store i64 %cells, ptr %left.at
  br label %done
done:
  ret void
}}
"""


def fast_ir(checks: Collection[str], called: str) -> str:
    """Return the fast paths that a kernel's text calls."""
    races, unwritten = "races" in checks, "uninitialized" in checks
    made = {
        fast_name(kind, space, size): write(kind, size, races, unwritten)
        for size in SIZES
        for space, kinds, write in (
            ("shared", SHARED_KINDS, shared_path),
            ("argument", ("read", "write", "update"), argument_path),
        )
        for kind in kinds
    }
    for kind in ("read", "write", "update"):
        for size in SIZES:
            if f"@{fast_name(kind, 'own', size)}(" in called:
                called += own_path(kind, size)
                made[fast_name(kind, "own", size)] = own_path(kind, size)
    made |= {ANY_READ: ANY_READ_TEXT, COUNT: _COUNT}
    return "\n".join([ASKS, FLAGS_TEXT, *(text for name, text in made.items() if f"@{name}(" in called)])
