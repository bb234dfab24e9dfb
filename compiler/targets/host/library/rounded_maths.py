"""Rounded maths: the `__nv_` arithmetic and conversions with a rounding in their names."""

from __future__ import annotations

from gridjit.compiler.targets.host.library.maths_text import define


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
