"""Inline PTX that numba-cuda writes, and reads of registers, recognized by their text and replaced."""

from __future__ import annotations

from gridjit.compiler.targets.host.ir.calls import AsmCall, asm_calls, split_arguments
from gridjit.compiler.targets.host.ir.intrinsics import COORDINATES, OURS, REGISTERS, SREG
from gridjit.compiler.targets.host.library.ptx import clusters

_PREFIX = "gridjit.asm."

_FUNCTIONS = {
    "mov.u32 $0, %dynamic_smem_size;": "gridjit.dynamic_smem_size",
    "activemask.b32 $0;": "gridjit.activemask",
    "nanosleep.u32 $0;": "gridjit.nanosleep",
    # A launch begins when the previous grid has ended.
    "griddepcontrol.wait;": "llvm.donothing",
    "griddepcontrol.launch_dependents;": "llvm.donothing",
    "tanh.approx.f32 $0, $1;": "__nv_tanhf",
    **{f"mov.u32 $0, %{word};": f"{OURS}{SREG}{word}" for word in (*COORDINATES, "laneid")},
    **{f"mov.u32 $0, %{word};": name for word, name in REGISTERS.items()},
    **clusters.FUNCTIONS,
}
_BITS = (8, 16, 32, 64)
_LOADS = {f"ld.global.{how}.b{bits} $0, [$1];" for how in ("ca", "cg", "cs", "lu", "cv") for bits in _BITS}
# What others write is read again each time.
_VOLATILE = "ld.global.cv."
_STORES = {f"st.global.{how}.b{bits} [$0], $1;" for how in ("cg", "cs", "wb", "wt") for bits in _BITS}
# Conversions of a half to an integer, by whether that has a sign, or to a float; and those to a half, by LLVM's word.
_FROM_HALF = {f"cvt.rni.{sign}{bits}.f16 $0, $1;": sign for sign in "su" for bits in _BITS} | {
    f"cvt.{kind}.f16 $0, $1;": "" for kind in ("f32", "f64")
}
_TO_HALF = {f"cvt.rn.f16.{sign}{bits} $0, $1;": f"{sign}itofp" for sign in "su" for bits in _BITS} | {
    "cvt.rn.f16.f32 $0, $1;": "fptrunc",
    "cvt.rn.f16.f64 $0, $1;": "",
}
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
_WRITTEN = {*_LOADS, *_STORES, *_FROM_HALF, *_TO_HALF}


def asm_function(instructions: str) -> str | None:
    """Return the function that stands for inline PTX on the host, or None."""
    plain = clusters.plain(instructions)
    return f"{_PREFIX}{plain.partition(' ')[0]}" if plain in _WRITTEN else _FUNCTIONS.get(plain)


def replace_asm(text: str) -> tuple[str, list[str]]:
    """Return LLVM IR text with inline PTX replaced by LLVM instructions or calls, and the lines those calls need."""
    needed, parts, after = set[str](), list[str](), 0
    for call in asm_calls(text):
        if (made := _replaced(call, needed)) is not None:
            parts += [text[after : call.start], made]
            after = call.end
    return "".join([*parts, text[after:]]), sorted(needed)


def _replaced(call: AsmCall, needed: set[str]) -> str | None:
    """Return the instruction in place of inline PTX; None if it is not known. The lines that it needs go to needed."""
    name, plain = asm_function(call.instructions), clusters.plain(call.instructions)
    if name is None or plain.startswith(_VOLATILE):
        return name and f"load volatile {call.type}, {call.arguments}"
    types = [argument.split()[0] for argument in split_arguments(call.arguments)]
    if name.startswith(_PREFIX):
        # Cache-hinted accesses differ in type from use to use: one function per type.
        name += "." + "".join(filter(str.isalnum, call.type + "".join(types).replace("*", "p")))
        needed.add(_definition(name, plain, call.type, types))
    else:
        needed.add(f'declare {call.type} @"{name}"({", ".join(types)})')
    return f'call {call.type} @"{name}"({call.arguments})'


def _definition(name: str, instruction: str, result: str, types: list[str]) -> str:
    head = f'define internal {result} @"{name}"({", ".join(f"{t} %v{i}" for i, t in enumerate(types))})'
    return f"{head} alwaysinline nounwind {{\n{_body(instruction, result, types)}\n}}"


def _body(instruction: str, result: str, types: list[str]) -> str:
    if instruction in _LOADS:
        return f"  %r = load {result}, {types[0]} %v0\n  ret {result} %r"
    if instruction in _STORES:
        return f"  store {types[1]} %v1, {types[0]} %v0\n  ret void"
    if instruction in _FROM_HALF:
        return "  %h = bitcast i16 %v0 to half\n" + _from_half(_FROM_HALF[instruction], result)
    if not (number := _TO_HALF[instruction]):
        return _HALF_OF_DOUBLE
    return f"  %h = {number} {types[0]} %v0 to half\n  %r = bitcast half %h to i16\n  ret i16 %r"


def _from_half(sign: str, result: str) -> str:
    if not sign:
        return f"  %r = fpext half %h to {result}\n  ret {result} %r"
    return (
        f"  %f = fpext half %h to float\n  %n = call float @llvm.rint.f32(float %f)\n"
        f"  %r = call {result} @llvm.fpto{sign}i.sat.{result}.f32(float %n)\n  ret {result} %r"
    )
