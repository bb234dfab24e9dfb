"""Inline PTX that numba-cuda writes, and reads of registers, recognized by their text and replaced."""

from __future__ import annotations

import re

from gridjit.base.regexes import regex
from gridjit.compiler.targets.host.ir.intrinsics import COORDINATES, OURS, REGISTERS, SREG
from gridjit.compiler.targets.host.library.ptx.clusters import cluster_function

_PREFIX = "gridjit.asm."

_EXACT = {
    "mov.u32 $0, %dynamic_smem_size;": "gridjit.dynamic_smem_size",
    "activemask.b32 $0;": "gridjit.activemask",
    "nanosleep.u32 $0;": "gridjit.nanosleep",
    # A launch begins when the previous grid has ended.
    "griddepcontrol.wait;": "llvm.donothing",
    "griddepcontrol.launch_dependents;": "llvm.donothing",
    "tanh.approx.f32 $0, $1;": "__nv_tanhf",
}
_REGISTER = regex(r"\s*mov\.u32\s+\$0,\s*%(\w+(?:\.[xyz])?);\s*")
_REGISTERS = REGISTERS | {word: f"{OURS}{SREG}{word}" for word in (*COORDINATES, "laneid")}
_LOAD = regex(r"ld\.global\.(?:ca|cg|cs|lu|cv)\.b(8|16|32|64) \$0, \[\$1\];")
# What others write is read again each time.
_VOLATILE = "ld.global.cv."
_STORE = regex(r"st\.global\.(?:cg|cs|wb|wt)\.b(8|16|32|64) \[\$0\], \$1;")
_FROM_HALF = regex(r"cvt\.(?:(f32|f64)|rni\.([su])(8|16|32|64))\.f16 \$0, \$1;")
_TO_HALF = regex(r"cvt\.rn\.f16\.(?:(f32|f64)|([su])(8|16|32|64)) \$0, \$1;")
# Processors round a double to a float, and a float to a half; LLVM would call a function of GCC's library, which not
# every process has. Rounded twice to the nearest, a number may be one too large. So the float gets a last digit of 1 if
# digits were lost, and then tells which half is nearer.
_HALF_OF_DOUBLE = """
  %near = fptrunc double %v0 to float
  %back = fpext float %near to double
  %exact = fcmp ueq double %back, %v0
  %size = call double @llvm.fabs.f64(double %v0)
  %size.back = call double @llvm.fabs.f64(double %back)
  %beyond = fcmp ogt double %size.back, %size
  %less = zext i1 %beyond to i32
  %bits = bitcast float %near to i32
  %towards.zero = sub i32 %bits, %less
  %odd = or i32 %towards.zero, 1
  %chosen = select i1 %exact, i32 %bits, i32 %odd
  %float = bitcast i32 %chosen to float
  %h = fptrunc float %float to half
  %r = bitcast half %h to i16
  ret i16 %r""".removeprefix("\n")
_CALL = regex(
    r'call (?P<type>[^\s(]+)(?: \([^()]*\))?\s+asm\s+(?:sideeffect\s+)?"(?P<asm>(?:[^"\\]|\\.)*)", "[^"]*"'
    r"\s*\((?P<arguments>[^()]*)\)",
    needs=("asm",),
)


def asm_function(instruction: str) -> str | None:
    """Return the function that stands for an inline PTX instruction on the host, or None."""
    if instruction in _EXACT:
        return _EXACT[instruction]
    if any(pattern.fullmatch(instruction) for pattern in (_LOAD, _STORE, _FROM_HALF, _TO_HALF)):
        return _PREFIX + re.sub(r"[^a-z0-9]+", ".", instruction.partition(" ")[0])
    if (found := _REGISTER.fullmatch(instruction)) and found[1] in _REGISTERS:
        return _REGISTERS[found[1]]
    return cluster_function(instruction)


def replace_asm(text: str) -> tuple[str, tuple[str, ...]]:
    """Return LLVM IR text with inline PTX replaced by LLVM instructions or calls, and the lines those calls need."""
    needed: set[str] = set()

    def replacement(match: re.Match[str]) -> str:
        result, instruction, arguments = match["type"], match["asm"], match["arguments"]
        name = asm_function(instruction)
        if name is None:
            return match.group()
        if instruction.startswith(_VOLATILE):
            return f"load volatile {result}, {arguments}"
        # Cache-hinted accesses differ in type from use to use: one function per type.
        types = [argument.split()[0] for argument in arguments.split(",")] if arguments.strip() else []
        if name.startswith(_PREFIX):
            name += "." + re.sub(r"[^a-z0-9]", "", result + "".join(types).replace("*", "p"))
            needed.add(_definition(name, instruction, result, types))
        else:
            needed.add(f'declare {result} @"{name}"({", ".join(types)})')
        return f'call {result} @"{name}"({arguments})'

    text = _CALL.sub(replacement, text)
    return text, tuple(sorted(needed))


def _definition(name: str, instruction: str, result: str, types: list[str]) -> str:
    head = f'define internal {result} @"{name}"({", ".join(f"{t} %v{i}" for i, t in enumerate(types))})'
    return f"{head} alwaysinline nounwind {{\n{_body(instruction, result, types)}\n}}"


def _body(instruction: str, result: str, types: list[str]) -> str:
    if _LOAD.fullmatch(instruction):
        return f"  %r = load {result}, {types[0]} %v0\n  ret {result} %r"
    if _STORE.fullmatch(instruction):
        return f"  store {types[1]} %v1, {types[0]} %v0\n  ret void"
    if found := _FROM_HALF.fullmatch(instruction):
        return "  %h = bitcast i16 %v0 to half\n" + _from_half(found, result)
    found = _TO_HALF.fullmatch(instruction)
    assert found is not None  # asm_function knew it
    if found[1] == "f64":
        return _HALF_OF_DOUBLE
    number = "fptrunc" if found[1] else ("sitofp" if found[2] == "s" else "uitofp")
    return f"  %h = {number} {types[0]} %v0 to half\n  %r = bitcast half %h to i16\n  ret i16 %r"


def _from_half(found: re.Match[str], result: str) -> str:
    if found[1]:
        return f"  %r = fpext half %h to {result}\n  ret {result} %r"
    return (
        f"  %f = fpext half %h to float\n  %n = call float @llvm.rint.f32(float %f)\n"
        f"  %r = call {result} @llvm.fpto{found[2]}i.sat.{result}.f32(float %n)\n  ret {result} %r"
    )
