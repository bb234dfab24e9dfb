"""Metadata: facts for LLVM about the loops around regions, and about their loads and stores."""

from __future__ import annotations

from collections.abc import Sequence

from gridjit.compiler.targets.host.ir.intrinsics import COORDINATES
from gridjit.compiler.targets.host.passes.shared_atomics import OWN

# The dimensions of a launch, in the order in which the entry is given them.
LAUNCH = ("nctaid.x", "nctaid.y", "nctaid.z", "ntid.x", "ntid.y", "ntid.z")

# Numbers far above those of any kernel.
_GROUP, _RANGES, _UNROLLING, _LOOPS = 900000, 900010, 900090, 900100
_DYNAMIC, _PARALLEL, _PLAIN, _NOTHING = (_RANGES + offset for offset in (6, 7, 8, 9))
_SINGLY, _COUNTER, _ROLLED, _LANES = 900080, 900081, 900091, 950000
DYNAMIC_RANGE = f"!range !{_DYNAMIC}"
COUNTER_RANGE = f"!range !{_COUNTER}"
INVARIANT = f"!invariant.load !{_NOTHING}"
_NOTICED = (" load volatile ", " load atomic ", " store volatile ", " store atomic ")
ACCESS_GROUP = f"!llvm.access.group !{_GROUP}"
# Of a loop that is as fast if it is not unrolled: it waits for memory.
ROLLED = f"!llvm.loop !{_ROLLED}"


def access_group(text: str) -> str:
    """Return a region's text with its loads and stores, except marked ones, in the group declared independent."""
    lines = text.split("\n")
    return "\n".join([f"{line}, {ACCESS_GROUP}" if _is_access(line) and OWN not in line else line for line in lines])


def _is_access(line: str) -> bool:
    """Return whether a line is a plain load or store.

    LLVM takes all accesses of a group for plain ones, and fails if one is volatile or atomic.
    """
    if " = load " not in line and not line.startswith(("  store ", "  call void @llvm.assume(")):
        return False
    return not any(word in line for word in _NOTICED)


def launch_range(index: int) -> str:
    """Return the limits of a dimension of LAUNCH."""
    return f"!range !{_RANGES + index}"


def loop_number(index: int) -> int:
    """Return the number of the loop that is written as the index-th."""
    return _LOOPS + index


def lane_loop(index: int) -> int:
    """Return the number of the loop over the lanes of a warp that is written as the index-th."""
    return _LANES + index


def metadata(vectorized: Sequence[bool], *, parallel: bool, lanes: int = 0) -> str:
    """Return the metadata of the loops written, of the ranges, and of the access group.

    vectorized: whether each loop may be vectorized, in the order they were written. parallel: whether their threads'
    accesses are independent. lanes: how many loops over lanes there are.
    """
    lines = [f"!{_GROUP} = distinct !{{}}", f"!{_NOTHING} = !{{}}", *_ranges()]
    lines.append(f'!{_PARALLEL} = !{{!"llvm.loop.parallel_accesses", !{_GROUP}}}')
    lines.append(f'!{_PLAIN} = !{{!"llvm.loop.vectorize.enable", i1 false}}')
    # The vectorizer interleaves; more copies only cost compile time.
    lines.append(f'!{_UNROLLING} = !{{!"llvm.loop.unroll.disable"}}')
    lines.append(f"!{_ROLLED} = distinct !{{!{_ROLLED}, !{_UNROLLING}}}")
    # A warp has too few lanes to work on several vectors at once.
    lines.append(f'!{_SINGLY} = !{{!"llvm.loop.interleave.count", i32 1}}')
    hints = ", ".join(f"!{number}" for number in (_UNROLLING, _SINGLY, *([_PARALLEL] if parallel else [])))
    lines += [f"!{lane_loop(index)} = distinct !{{!{lane_loop(index)}, {hints}}}" for index in range(lanes)]
    for index, vector in enumerate(vectorized):
        lines.append(_loop(index, vector=vector, parallel=parallel))
    return "\n".join(lines) + "\n"


def _ranges() -> list[str]:
    lines = []
    for index, name in enumerate(LAUNCH):
        low, high = COORDINATES[name]
        lines.append(f"!{_RANGES + index} = !{{i32 {low}, i32 {high if high < 2**31 else high - 2**32}}}")
    lines.append(f"!{_COUNTER} = !{{i64 0, i64 {-(2**63)}}}")
    return [*lines, f"!{_DYNAMIC} = !{{i32 0, i32 2147483647}}"]


def _loop(index: int, *, vector: bool, parallel: bool) -> str:
    """Return the metadata of a loop; of nested ones, only the innermost is ever vectorized."""
    number = loop_number(index)
    hints = [f"!{number}", f"!{_UNROLLING}", *([f"!{_PARALLEL}"] if parallel else [])]
    said = hints if vector else [*hints, f"!{_PLAIN}"]
    return f"!{number} = distinct !{{{', '.join(said)}}}"
