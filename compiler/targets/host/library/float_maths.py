"""Float maths: the `__nv_` functions of floats that are LLVM intrinsics or a few instructions."""

from __future__ import annotations

from gridjit.compiler.targets.host.library.maths_text import KINDS, Row, define, definitions_of

_INTRINSIC_1 = {"fabs": "fabs", "floor": "floor", "ceil": "ceil", "trunc": "trunc", "rint": "rint", "sqrt": "sqrt"}
_INTRINSIC_1 |= {"nearbyint": "nearbyint", "round": "round"}
_INTRINSIC_2 = {"fmin": "minnum", "fmax": "maxnum", "copysign": "copysign"}
# The constant is infinity.
_PREDICATES: tuple[Row, ...] = (
    (
        "isnan{letter}",
        "i32",
        "{kind} x",
        """%c = fcmp uno {kind} %x, %x
        %r = zext i1 %c to i32
        ret i32 %r""",
    ),
    (
        "isinf{letter}",
        "i32",
        "{kind} x",
        """%a = call {kind} @llvm.fabs.{word}({kind} %x)
        %c = fcmp oeq {kind} %a, 0x7FF0000000000000
        %r = zext i1 %c to i32
        ret i32 %r""",
    ),
    (
        "{finite}",
        "i32",
        "{kind} x",
        """%a = call {kind} @llvm.fabs.{word}({kind} %x)
        %c = fcmp olt {kind} %a, 0x7FF0000000000000
        %r = zext i1 %c to i32
        ret i32 %r""",
    ),
    (
        "signbit{letter}",
        "i32",
        "{kind} x",
        """%b = bitcast {kind} %x to {bits}
        %c = icmp slt {bits} %b, 0
        %r = zext i1 %c to i32
        ret i32 %r""",
    ),
)
_SCALE = "%r = call {kind} @llvm.ldexp.{word}.i32({kind} %x, i32 %n)\nret {kind} %r"
_POWERS: tuple[Row, ...] = (
    ("ldexp{suffix}", "{kind}", "{kind} x, i32 n", _SCALE),
    ("scalbn{suffix}", "{kind}", "{kind} x, i32 n", _SCALE),
    (
        "powi{suffix}",
        "{kind}",
        "{kind} x, i32 n",
        """%y = sitofp i32 %n to {kind}
        %r = call {kind} @__nv_pow{suffix}({kind} %x, {kind} %y)
        ret {kind} %r""",
    ),
    (
        "rsqrt{suffix}",
        "{kind}",
        "{kind} x",
        """%s = call {kind} @__nv_sqrt{suffix}({kind} %x)
        %r = fdiv {kind} 1.0, %s
        ret {kind} %r""",
    ),
    (
        "rcbrt{suffix}",
        "{kind}",
        "{kind} x",
        """%s = call {kind} @__nv_cbrt{suffix}({kind} %x)
        %r = fdiv {kind} 1.0, %s
        ret {kind} %r""",
    ),
)
_TO_INTEGERS: tuple[Row, ...] = (
    (
        "llrint{suffix}",
        "i64",
        "{kind} x",
        """%n = call {kind} @llvm.rint.{word}({kind} %x)
        %r = call i64 @llvm.fptosi.sat.i64.{word}({kind} %n)
        ret i64 %r""",
    ),
    (
        "llround{suffix}",
        "i64",
        "{kind} x",
        """%n = call {kind} @llvm.round.{word}({kind} %x)
        %r = call i64 @llvm.fptosi.sat.i64.{word}({kind} %n)
        ret i64 %r""",
    ),
    ("ilogb{suffix}", "i32", "{kind} x", "%r = call i32 @ilogb{suffix}({kind} %x)\nret i32 %r"),
)
# Functions of several results, which write some of them to memory.
_WRITING: tuple[Row, ...] = (
    (
        "modf{suffix}",
        "{kind}",
        "{kind} x, ptr whole",
        """%t = call {kind} @llvm.trunc.{word}({kind} %x)
        store {kind} %t, ptr %whole
        %a = call {kind} @llvm.fabs.{word}({kind} %x)
        %inf = fcmp oeq {kind} %a, 0x7FF0000000000000
        %d = fsub {kind} %x, %t
        %f = select i1 %inf, {kind} 0.0, {kind} %d
        %r = call {kind} @llvm.copysign.{word}({kind} %f, {kind} %x)
        ret {kind} %r""",
    ),
    (
        "frexp{suffix}",
        "{kind}",
        "{kind} x, ptr exponent",
        "%r = call {kind} @frexp{suffix}({kind} %x, ptr %exponent)\nret {kind} %r",
    ),
    (
        "sincos{suffix}",
        "void",
        "{kind} x, ptr s, ptr c",
        """%a = call {kind} @__nv_sin{suffix}({kind} %x)
        store {kind} %a, ptr %s
        %b = call {kind} @__nv_cos{suffix}({kind} %x)
        store {kind} %b, ptr %c
        ret void""",
    ),
)
_ONLY_FLOAT: tuple[Row, ...] = (
    ("fast_fdividef", "float", "float x, float y", "%r = fdiv arcp afn float %x, %y\nret float %r"),
    (
        "saturatef",
        "float",
        "float x",
        """%a = call float @llvm.maxnum.f32(float %x, float 0.0)
        %r = call float @llvm.minnum.f32(float %a, float 1.0)
        ret float %r""",
    ),
)


def float_maths() -> dict[str, str]:
    """Return name -> definition of the functions of floats that need no library."""
    table = _intrinsics() | definitions_of(_ONLY_FLOAT, {})
    for suffix, kind, word, bits in KINDS:
        words = {"suffix": suffix, "kind": kind, "word": word, "bits": bits, "letter": suffix or "d"}
        words["finite"] = "finitef" if suffix else "isfinited"
        table |= definitions_of((*_PREDICATES, *_POWERS, *_TO_INTEGERS), words)
        table |= definitions_of(_WRITING, words, "nounwind willreturn")
    return table


def _intrinsics() -> dict[str, str]:
    """Return the functions that are LLVM intrinsics, and fma."""
    table: dict[str, str] = {}
    for suffix, kind, word, _ in KINDS:
        for name, intrinsic in _INTRINSIC_1.items():
            table[name + suffix] = define(
                name + suffix, kind, f"{kind} x", f"%r = call {kind} @llvm.{intrinsic}.{word}({kind} %x)\nret {kind} %r"
            )
        for name, intrinsic in _INTRINSIC_2.items():
            table[name + suffix] = define(
                name + suffix,
                kind,
                f"{kind} x, {kind} y",
                f"%r = call {kind} @llvm.{intrinsic}.{word}({kind} %x, {kind} %y)\nret {kind} %r",
            )
        fma = f"%r = call {kind} @llvm.fma.{word}({kind} %x, {kind} %y, {kind} %z)\nret {kind} %r"
        for name in (f"fma{suffix}", f"fma{suffix}_rn"):
            table[name] = define(name, kind, f"{kind} x, {kind} y, {kind} z", fma)
    return table
