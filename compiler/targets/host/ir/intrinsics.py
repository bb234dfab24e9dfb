"""The device's intrinsics on the host: atomics and fences are defined here, thread coordinates only declared.

Coordinates, shared memory, barriers and warp operations remain calls of functions without a body until a kernel is one
function. Then `coordinates` and `barriers` turn them into that function's own parameters and regions.
"""

from __future__ import annotations

from gridjit.base.regexes import regex

# What the names of gridjit's functions begin with, and of those that stand for NVVM's.
GRIDJITS = "gridjit."
OURS = "gridjit.nvvm."
THEIRS = "llvm.nvvm."
BARRIER = "gridjit.nvvm.barrier0"
GRID_BARRIER = "gridjit.grid_barrier"
# What the end of a turn calls, once it is known that a loop waits for other threads.
TURN = "gridjit.turn"
ACTIVE_MASK = "gridjit.activemask"
# What a thread calls where a kernel counts on its warp to be in step.
STEP = "gridjit.in_step"

# Coordinates with the range of their values (exclusive end): CUDA's limits. They let LLVM drop the handling of
# negative indices, with which loads would not vectorize.
_BLOCK, _GRID = 1024, 2**31 - 1
COORDINATES: dict[str, tuple[int, int]] = {
    **{f"tid.{axis}": (0, limit) for axis, limit in zip("xyz", (_BLOCK, _BLOCK, 64), strict=True)},
    **{f"ntid.{axis}": (1, limit + 1) for axis, limit in zip("xyz", (_BLOCK, _BLOCK, 64), strict=True)},
    **{f"ctaid.{axis}": (0, limit) for axis, limit in zip("xyz", (_GRID, 65535, 65535), strict=True)},
    **{f"nctaid.{axis}": (1, limit + 1) for axis, limit in zip("xyz", (_GRID, 65535, 65535), strict=True)},
}
SREG = "read.ptx.sreg."
# What is left of a nap: it orders a thread's accesses for the thread itself, and for no other.
NAP = 'fence syncscope("singlethread") seq_cst'
DYNAMIC_BYTES = "gridjit.dynamic_smem_size"
SHARED_ARRAY = "gridjit.shared."
LINEAR_THREAD = "gridjit.linear_thread"
# The function that a checked kernel calls with an index that is out of bounds, and the size of its axis.
OUTSIDE = "gridjit.outside"
# The function that it calls with an item's address, and then the array's, the indices, the shape and the strides; the
# number of axes ends its name.
ITEM = "gridjit.item."

_PURE = "nounwind willreturn memory(none)"
# What threads wait for each other at: LLVM neither copies nor moves it, nor puts it under another condition.
_CONVERGENT = "convergent noduplicate nounwind"
_PAIR = "{ i32, i1 }"
WAITS = {
    BARRIER: f"void @{BARRIER}()",
    ACTIVE_MASK: f"i32 @{ACTIVE_MASK}()",
    **{f"{BARRIER}.{word}": f"i32 @{BARRIER}.{word}(i32)" for word in ("popc", "and", "or")},
    f"{OURS}bar.warp.sync": f"void @{OURS}bar.warp.sync(i32)",
    f"{OURS}shfl.sync.i32": f"{_PAIR} @{OURS}shfl.sync.i32(i32, i32, i32, i32, i32)",
    f"{OURS}vote.sync": f"{_PAIR} @{OURS}vote.sync(i32, i32, i1)",
    **{f"{OURS}match.any.sync.{kind}": f"i32 @{OURS}match.any.sync.{kind}(i32, {kind})" for kind in ("i32", "i64")},
    **{f"{OURS}match.all.sync.{kind}": f"{_PAIR} @{OURS}match.all.sync.{kind}(i32, {kind})" for kind in ("i32", "i64")},
}

# PTX's registers of a lane, by the functions that give them.
REGISTERS = {
    word: f"gridjit.{word}" for word in (*(f"lanemask_{word}" for word in ("eq", "lt", "le", "ge", "gt")), "warpid")
}
_LANE = f"""
declare range(i32 0, 1024) i32 @{LINEAR_THREAD}() {_PURE}
define i32 @{OURS}{SREG}laneid() alwaysinline {_PURE} {{
  %t = call i32 @{LINEAR_THREAD}()
  %lane = and i32 %t, 31
  ret i32 %lane
}}
define i32 @gridjit.lanemask_eq() alwaysinline {_PURE} {{
  %t = call i32 @{LINEAR_THREAD}()
  %lane = and i32 %t, 31
  %bit = shl i32 1, %lane
  ret i32 %bit
}}
define i32 @gridjit.lanemask_lt() alwaysinline {_PURE} {{
  %bit = call i32 @gridjit.lanemask_eq()
  %mask = sub i32 %bit, 1
  ret i32 %mask
}}
define i32 @gridjit.lanemask_le() alwaysinline {_PURE} {{
  %bit = call i32 @gridjit.lanemask_eq()
  %below = call i32 @gridjit.lanemask_lt()
  %mask = or i32 %bit, %below
  ret i32 %mask
}}
define i32 @gridjit.lanemask_ge() alwaysinline {_PURE} {{
  %below = call i32 @gridjit.lanemask_lt()
  %mask = xor i32 %below, -1
  ret i32 %mask
}}
define i32 @gridjit.lanemask_gt() alwaysinline {_PURE} {{
  %below = call i32 @gridjit.lanemask_le()
  %mask = xor i32 %below, -1
  ret i32 %mask
}}
define i32 @gridjit.warpid() alwaysinline {_PURE} {{
  %t = call i32 @{LINEAR_THREAD}()
  %warp = lshr i32 %t, 5
  ret i32 %warp
}}
define i32 @{OURS}{SREG}warpsize() alwaysinline {_PURE} {{
  ret i32 32
}}
"""

# There is one group of the whole grid; its handle is not looked at.
_GROUPS = f"""
declare void @{GRID_BARRIER}() convergent noduplicate nounwind
define i64 @cudaCGGetIntrinsicHandle(i32 %scope) alwaysinline {_PURE} {{
  ret i64 1
}}
define i32 @cudaCGSynchronize(i64 %group, i32 %flags) alwaysinline convergent nounwind {{
  call void @{GRID_BARRIER}()
  ret i32 0
}}
"""


def _atomic(name: str, operation: str, kind: str) -> str:
    return f"""
define {kind} @{name}(ptr %p, {kind} %v) alwaysinline nounwind {{
  %old = atomicrmw {operation} ptr %p, {kind} %v monotonic
  ret {kind} %old
}}
"""


def _ordered(name: str, comparison: str, kind: str, bits: str) -> str:
    """An atomic min or max that leaves a NaN where it is and never stores one (as numba-cuda defines them)."""
    return f"""
define {kind} @{name}(ptr %p, {kind} %v) alwaysinline nounwind {{
entry:
  %first = load atomic {bits}, ptr %p monotonic, align {int(bits[1:]) // 8}
  br label %look
look:
  %seen = phi {bits} [ %first, %entry ], [ %now, %swap ]
  %old = bitcast {bits} %seen to {kind}
  %better = fcmp {comparison} {kind} %old, %v
  br i1 %better, label %swap, label %done
swap:
  %new = bitcast {kind} %v to {bits}
  %pair = cmpxchg ptr %p, {bits} %seen, {bits} %new monotonic monotonic
  %now = extractvalue {{ {bits}, i1 }} %pair, 0
  %won = extractvalue {{ {bits}, i1 }} %pair, 1
  br i1 %won, label %done, label %look
done:
  ret {kind} %old
}}
"""


def _fence(scope: str) -> str:
    return f"\ndefine void @{OURS}membar.{scope}() alwaysinline nounwind {{\n  fence seq_cst\n  ret void\n}}\n"


# The other threads of the block run on this one: it has nothing to wait for. But it reads memory again afterwards.
_NAP = f"""
define void @gridjit.nanosleep(i32 %ns) alwaysinline nounwind {{
  {NAP}
  ret void
}}
"""


def _definitions() -> dict[str, str]:
    table = {f"{OURS}membar.{scope}": _fence(scope) for scope in ("cta", "gl", "sys")}
    for kind, bits, word in (("float", "i32", "f32"), ("double", "i64", "f64")):
        table[f"{OURS}atomic.load.add.{word}.p0{word}"] = _atomic(
            f"{OURS}atomic.load.add.{word}.p0{word}", "fadd", kind
        )
        for name, operation in (("add", "fadd"), ("sub", "fsub"), ("nanmax", "fmax"), ("nanmin", "fmin")):
            full = f"___numba_atomic_{kind}_{name}"
            table[full] = _atomic(full, operation, kind)
        for name, comparison in (("max", "olt"), ("min", "ogt")):
            full = f"___numba_atomic_{kind}_{name}"
            table[full] = _ordered(full, comparison, kind, bits)
    for name, operation in (("inc", "uinc_wrap"), ("dec", "udec_wrap")):
        short, wide = f"{OURS}atomic.load.{name}.32.p0i32", f"___numba_atomic_u64_{name}"
        table[short] = _atomic(short, operation, "i32")
        table[wide] = _atomic(wide, operation, "i64")
    table["gridjit.nanosleep"] = _NAP
    for name in (f"{OURS}{SREG}laneid", f"{OURS}{SREG}warpsize", *REGISTERS.values()):
        table[name] = _LANE
    for name in ("cudaCGGetIntrinsicHandle", "cudaCGSynchronize"):
        table[name] = _GROUPS
    return table


_DEFINITIONS = _definitions()
# LLVM's own intrinsics that numba-cuda uses and every processor has.
_PORTABLE = regex(
    r"llvm\.(ctpop|ctlz|cttz|fma|bswap|bitreverse|memcpy|memset|memmove|[su](?:add|sub|mul)\.with\.overflow|assume"
    r"|fabs|sqrt|floor|ceil|trunc|copysign|rint|minnum|maxnum|[su]?(?:min|max)|abs|dbg|lifetime|expect|pow|exp|log|sin"
    r"|cos|fmuladd|experimental\.noalias\.scope\.decl)(\.|$)"
)


def is_intrinsic(name: str) -> bool:
    """Return whether the host has code for a function that the front end declared."""
    ours = name.replace(THEIRS, OURS, 1)
    coordinate = ours.removeprefix(OURS + SREG)
    return (
        ours in WAITS
        or coordinate in COORDINATES
        or ours in _DEFINITIONS
        or name in (DYNAMIC_BYTES, OUTSIDE)
        or name.startswith(ITEM)
        or _PORTABLE.match(name) is not None
    )


def declaration(name: str) -> str | None:
    """Return the declaration of a coordinate or of what threads do together, with what LLVM may assume, or None."""
    if name in WAITS:
        return f"declare {WAITS[name]} {_CONVERGENT}"
    coordinate = name.removeprefix(OURS + SREG)
    if coordinate in COORDINATES:
        low, high = COORDINATES[coordinate]
        return f"declare range(i32 {low}, {_signed(high)}) i32 @{name}() {_PURE}"
    if name == DYNAMIC_BYTES:
        return f"declare range(i32 0, {2**31 - 1}) i32 @{DYNAMIC_BYTES}() {_PURE}"
    if name.startswith(ITEM):
        numbers = ", ".join(["i64"] * (3 * int(name.removeprefix(ITEM))))
        return f"declare void @{name}(ptr, ptr, {numbers}) nounwind willreturn memory(inaccessiblemem: write)"
    return None


def definitions(names: set[str]) -> str:
    """Return LLVM IR text that defines the intrinsics among names that have a body on the host."""
    return "".join(sorted({_DEFINITIONS[name] for name in names if name in _DEFINITIONS}))


def _signed(value: int) -> int:
    return value if value < 2**31 else value - 2**32
