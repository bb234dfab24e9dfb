"""rounding: the `__nv_` arithmetic and conversions with a rounding in their names.

A function that rounds up, down or towards zero sets its thread's rounding mode, computes, and resets it. LLVM knows
this (strictfp), and moves nothing across.
"""

from __future__ import annotations

from gridjit.compiler.targets.host.library.maths_text import PREFIX, define

# The roundings as llvm.set.rounding has them; 1 is to the nearest.
_MODES = {"rz": 0, "ru": 2, "rd": 3}
_NEAREST = 1
_CONSTRAINED = "llvm.experimental.constrained"
_HOW = 'metadata !"round.dynamic", metadata !"fpexcept.strict"'
_KINDS = (("f", "float", "f32"), ("d", "double", "f64"))
_SIGNED = {"int": "i32", "ll": "i64"}


def directed_maths() -> dict[str, str]:
    """Return name -> definition of the functions with such a rounding in their names."""
    table: dict[str, str] = {}
    for mode in _MODES:
        for letter, kind, word in _KINDS:
            table |= _arithmetic(mode, letter, kind, word)
            table |= _from_integers(mode, kind, word)
        name = f"double2float_{mode}"
        table[name] = _define(name, mode, "float", "fptrunc.f32.f64", ("double %x",))
    return table


def _arithmetic(mode: str, letter: str, kind: str, word: str) -> dict[str, str]:
    both = (f"{kind} %x", f"{kind} %y")
    rows: list[tuple[str, str, tuple[str, ...]]]
    rows = [(f"{letter}{name}_{mode}", f"f{name}.{word}", both) for name in ("add", "sub", "mul", "div")]
    rows += [(f"{letter}sqrt_{mode}", f"sqrt.{word}", both[:1])]
    rows += [(f"{letter}rcp_{mode}", f"fdiv.{word}", (f"{kind} 1.0", f"{kind} %x"))]
    rows += [(f"fma{'f' if letter == 'f' else ''}_{mode}", f"fma.{word}", (*both, f"{kind} %z"))]
    return {name: _define(name, mode, kind, operation, values) for name, operation, values in rows}


def _from_integers(mode: str, kind: str, word: str) -> dict[str, str]:
    """Return the conversions of integers, all by that of those with a sign: LLVM's own of others is for the nearest."""
    table = {
        f"{name}2{kind}_{mode}": _define(f"{name}2{kind}_{mode}", mode, kind, f"sitofp.{word}.{bits}", (f"{bits} %x",))
        for name, bits in _SIGNED.items()
    }
    for name, bits in (("uint", "i32"), ("ull", "i64")):
        body = _UNSIGNED[bits].format(kind=kind, function=f"@{PREFIX}ll2{kind}_{mode}")
        table[f"{name}2{kind}_{mode}"] = (
            f"define {kind} @{PREFIX}{name}2{kind}_{mode}({bits} %x) alwaysinline nounwind {{{body}}}"
        )
    return table


# Of a number with 64 digits the last is lost, and marks that one was: twice the half is rounded as the number is.
_UNSIGNED = {
    "i32": """
  %wide = zext i32 %x to i64
  %r = call {kind} {function}(i64 %wide)
  ret {kind} %r
""",
    "i64": """
  %half = lshr i64 %x, 1
  %last = and i64 %x, 1
  %marked = or i64 %half, %last
  %long = icmp slt i64 %x, 0
  %some = select i1 %long, i64 %marked, i64 %x
  %y = call {kind} {function}(i64 %some)
  %twice = fadd {kind} %y, %y
  %r = select i1 %long, {kind} %twice, {kind} %y
  ret {kind} %r
""",
}


def _define(name: str, mode: str, kind: str, operation: str, values: tuple[str, ...]) -> str:
    """Return the definition of a function that is one operation in a rounding."""
    parameters = ", ".join([value for value in values if "%" in value])
    return f"""define {kind} @{PREFIX}{name}({parameters}) noinline nounwind strictfp {{
  call void @llvm.set.rounding(i32 {_MODES[mode]}) strictfp
  %r = call {kind} @{_CONSTRAINED}.{operation}({", ".join(values)}, {_HOW}) strictfp
  call void @llvm.set.rounding(i32 {_NEAREST}) strictfp
  ret {kind} %r
}}"""


# They are not inlined: LLVM does not where callers know of no rounding.
APART = frozenset(PREFIX + name for name, text in directed_maths().items() if " noinline " in text)


def rounded_maths() -> dict[str, str]:
    """Return name -> definition of the round-to-nearest arithmetic, never fused, and of the conversions."""
    table: dict[str, str] = {}
    for letter, kind, word in (("f", "float", "f32"), ("d", "double", "f64")):
        for name in ("add", "mul", "div", "sub"):
            full = f"{letter}{name}_rn"
            table[full] = define(full, kind, f"{kind} x, {kind} y", f"%r = f{name} {kind} %x, %y\nret {kind} %r")
        table[f"{letter}sqrt_rn"] = define(
            f"{letter}sqrt_rn", kind, f"{kind} x", f"%r = call {kind} @llvm.sqrt.{word}({kind} %x)\nret {kind} %r"
        )
        table[f"{letter}rcp_rn"] = define(
            f"{letter}rcp_rn", kind, f"{kind} x", f"%r = fdiv {kind} 1.0, %x\nret {kind} %r"
        )
        for integer, bits, sign in (("int", "i32", "s"), ("uint", "i32", "u"), ("ll", "i64", "s"), ("ull", "i64", "u")):
            for mode, rounding in (("rz", "trunc"), ("rn", "rint"), ("rd", "floor"), ("ru", "ceil")):
                name = f"{kind}2{integer}_{mode}"
                table[name] = define(
                    name,
                    bits,
                    f"{kind} x",
                    f"%n = call {kind} @llvm.{rounding}.{word}({kind} %x)\n"
                    f"%r = call {bits} @llvm.fpto{sign}i.sat.{bits}.{word}({kind} %n)\nret {bits} %r",
                )
            name = f"{integer}2{kind}_rn"
            table[name] = define(name, kind, f"{bits} x", f"%r = {sign}itofp {bits} %x to {kind}\nret {kind} %r")
    table["double2float_rn"] = define(
        "double2float_rn", "float", "double x", "%r = fptrunc double %x to float\nret float %r"
    )
    return table
