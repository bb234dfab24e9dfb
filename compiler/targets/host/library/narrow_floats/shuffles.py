"""shuffles: halves, bfloat16s and pairs of them from other lanes of a warp, as CUDA's C++ functions give them."""

from __future__ import annotations

from gridjit.compiler.targets.host.ir.intrinsics import OURS, declaration
from gridjit.compiler.targets.host.library.narrow_floats.builder import IRBuilder
from gridjit.compiler.targets.host.library.narrow_floats.mangled_names import CppFunction
from gridjit.regexes import regex

_SHUFFLE = regex(r"__shfl(?:_(up|down|xor))?_sync")
# The mode of a shuffle, and the lane at which a segment ends: its first lane for upward shuffles alone.
_MODES = {None: (0, 31), "up": (1, 0), "down": (2, 31), "xor": (3, 31)}
_NAME = f"{OURS}shfl.sync.i32"
_SIZES = {"__half": 16, "__nv_bfloat16": 16, "__half2": 32, "__nv_bfloat162": 32}

DECLARED = f"{declaration(_NAME)}\n"


def shuffle(code: IRBuilder, named: CppFunction) -> bool:
    """Write a shuffle by pointers to its result, mask, value, lane and width; return whether the symbol is one."""
    found, size = _SHUFFLE.fullmatch(named.name), _SIZES.get(named.owner)
    if found is None or size is None:
        return False
    mode, end = _MODES[found[1]]
    mask, value, lane, width = (
        code.load(kind, pointer)
        for kind, pointer in zip(("i32", f"i{size}", "i32", "i32"), ("%a", "%b", "%c", "%d"), strict=True)
    )
    wide = value if size == 32 else code.put(f"zext i16 {value} to i32")
    rest = code.put(f"sub i32 32, {width}")
    clamp = code.put(f"or i32 {code.put(f'shl i32 {rest}, 8')}, {end}")
    operands = ", ".join(f"i32 {one}" for one in (mask, str(mode), wide, lane, clamp))
    pair = code.put(f"call {{ i32, i1 }} @{_NAME}({operands})")
    got = code.put(f"extractvalue {{ i32, i1 }} {pair}, 0")
    code.store(f"i{size}", got if size == 32 else code.put(f"trunc i32 {got} to i16"), "%r")
    return True
