"""clusters: a block's position in its cluster, and the cluster's barriers, as in PTX.

numba-cuda has no functions for them: kernels use inline PTX. The cluster's shape is a constant of the code.
"""

from __future__ import annotations

import math

from gridjit.compiler.targets.host.ir.intrinsics import BARRIER, GRID_BARRIER, OURS, SREG, WAITS, declaration
from gridjit.compiler.values.launch_config import Dim3

PREFIX = "gridjit.cluster."
WAIT = f"{PREFIX}wait"
_WAIT, _ARRIVE = "barrier.cluster.wait", "barrier.cluster.arrive"
_WAITS = [f"{_WAIT}{how}{aligned};" for how in ("", ".acquire") for aligned in ("", ".aligned")]
_ARRIVALS = [f"{_ARRIVE}{how}{aligned};" for how in ("", ".release", ".relaxed") for aligned in ("", ".aligned")]
_ATTRIBUTES = "alwaysinline nounwind willreturn memory(none)"
_OF_AXIS = ("cluster_ctaid", "cluster_nctaid", "clusterid", "nclusterid")
_RANKS = ("cluster_ctarank", "cluster_nctarank")
# The functions that stand for inline PTX about clusters, as `plain` returns it.
FUNCTIONS = {
    **{f"mov.u32 $0, %{name}.{axis};": f"{PREFIX}{name}.{axis}" for name in _OF_AXIS for axis in "xyz"},
    **{f"mov.u32 $0, %{name};": f"{PREFIX}{name}" for name in _RANKS},
    **dict.fromkeys(_ARRIVALS, f"{PREFIX}arrive"),
    **dict.fromkeys([*_WAITS, *(f"{first} {last}" for first in _ARRIVALS for last in _WAITS)], WAIT),
}


def plain(instructions: str) -> str:
    """Return inline PTX with one space between any two words; LLVM IR has codes for tabs and ends of lines."""
    for code in ("\\09", "\\0A", "\\0a", "\\0D", "\\0d"):
        instructions = instructions.replace(code, " ")
    return " ".join(instructions.replace(",", ", ").replace(";", "; ").split())


def definitions(names: set[str], cluster: Dim3 | None) -> str:
    """Return LLVM IR text that defines those of names which are such functions, for clusters of a shape."""
    wanted = sorted(name for name in names if name.startswith(PREFIX))
    if not wanted:
        return ""
    shape = cluster or (1, 1, 1)
    places = [f"{OURS}{SREG}{word}.{axis}" for word in ("ctaid", "nctaid") for axis in "xyz"]
    declared = [*(declaration(place) or "" for place in places), *_barriers(shape)[1:]]
    return "\n".join([*declared, *(_definition(name, shape) for name in wanted)]) + "\n"


def waits(text: str) -> bool:
    """Return whether a module's inline PTX waits for the other blocks of a cluster."""
    return _WAIT in text


def _barriers(shape: Dim3) -> tuple[str, str]:
    """Return what a wait calls, and its declaration. A block that is a cluster waits for its own threads."""
    if math.prod(shape) == 1:
        return BARRIER, f"declare {WAITS[BARRIER]} convergent noduplicate nounwind"
    return GRID_BARRIER, f"declare void @{GRID_BARRIER}() convergent noduplicate nounwind"


def _definition(name: str, shape: Dim3) -> str:
    word = name.removeprefix(PREFIX)
    if name == WAIT:
        body = f"  call void @{_barriers(shape)[0]}()\n  ret void"
        return f"define void @{WAIT}() alwaysinline convergent nounwind {{\n{body}\n}}"
    if word == "arrive":
        # Whoever arrives goes on; who waits here waits until all of the cluster do.
        return f"define void @{name}() alwaysinline nounwind {{\n  ret void\n}}"
    return f"define i32 @{name}() {_ATTRIBUTES} {{\n{_place(word, shape)}\n}}"


def _place(word: str, shape: Dim3) -> str:
    if word == "cluster_nctarank":
        return f"  ret i32 {math.prod(shape)}"
    if word == "cluster_ctarank":
        return _rank(shape)
    name, _, axis = word.partition(".")
    size = shape["xyz".index(axis)]
    if name == "cluster_nctaid":
        return f"  ret i32 {size}"
    of = "nctaid" if name == "nclusterid" else "ctaid"
    operation = "urem" if name == "cluster_ctaid" else "udiv"
    return f"  %b = call i32 @{OURS}{SREG}{of}.{axis}()\n  %r = {operation} i32 %b, {size}\n  ret i32 %r"


def _rank(shape: Dim3) -> str:
    """Return the code of a block's number in its cluster: x counts first."""
    lines = [
        line
        for axis, size in zip("xyz", shape, strict=True)
        for line in (f"  %b.{axis} = call i32 @{OURS}{SREG}ctaid.{axis}()", f"  %{axis} = urem i32 %b.{axis}, {size}")
    ]
    lines += [f"  %zs = mul i32 %z, {shape[1]}", "  %zy = add i32 %zs, %y"]
    return "\n".join([*lines, f"  %rows = mul i32 %zy, {shape[0]}", "  %r = add i32 %rows, %x", "  ret i32 %r"])
