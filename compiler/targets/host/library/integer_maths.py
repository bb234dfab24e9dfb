"""Integer maths: the `__nv_` functions of integers, and of a float's bits as an integer."""

from __future__ import annotations

from gridjit.compiler.targets.host.library.maths_text import Row, definitions_of

_INTRINSIC = "%r = call {{kind}} @llvm.{}.{{kind}}({{kind}} %x, {{kind}} %y)\nret {{kind}} %r"
_PAIRS: tuple[Row, ...] = (
    ("{long}max", "{kind}", "{kind} x, {kind} y", _INTRINSIC.format("smax")),
    ("{long}min", "{kind}", "{kind} x, {kind} y", _INTRINSIC.format("smin")),
    ("u{long}max", "{kind}", "{kind} x, {kind} y", _INTRINSIC.format("umax")),
    ("u{long}min", "{kind}", "{kind} x, {kind} y", _INTRINSIC.format("umin")),
)
_BITS: tuple[Row, ...] = (
    ("{long}abs", "{kind}", "{kind} x", "%r = call {kind} @llvm.abs.{kind}({kind} %x, i1 false)\nret {kind} %r"),
    ("brev{long}", "{kind}", "{kind} x", "%r = call {kind} @llvm.bitreverse.{kind}({kind} %x)\nret {kind} %r"),
    ("popc{long}", "i32", "{kind} x", "%n = call {kind} @llvm.ctpop.{kind}({kind} %x)\n{to_i32}\nret i32 %r"),
    ("clz{long}", "i32", "{kind} x", "%n = call {kind} @llvm.ctlz.{kind}({kind} %x, i1 false)\n{to_i32}\nret i32 %r"),
    (
        "ffs{long}",
        "i32",
        "{kind} x",
        """%n = call {kind} @llvm.cttz.{kind}({kind} %x, i1 false)
        {to_i32}
        %p = add i32 %r, 1
        %z = icmp eq {kind} %x, 0
        %q = select i1 %z, i32 0, i32 %p
        ret i32 %q""",
    ),
)
_HIGH_PRODUCT = """%a = {extend} {kind} %x to {wide}
    %b = {extend} {kind} %y to {wide}
    %p = mul {wide} %a, %b
    %h = lshr {wide} %p, {size}
    %r = trunc {wide} %h to {kind}
    ret {kind} %r"""
_PRODUCTS: tuple[Row, ...] = (
    ("mul{high}", "{kind}", "{kind} x, {kind} y", _HIGH_PRODUCT.replace("{extend}", "sext")),
    ("umul{high}", "{kind}", "{kind} x, {kind} y", _HIGH_PRODUCT.replace("{extend}", "zext")),
)
_REINTERPRETED: tuple[Row, ...] = (
    ("float_as_int", "i32", "float x", "%r = bitcast float %x to i32\nret i32 %r"),
    ("int_as_float", "float", "i32 x", "%r = bitcast i32 %x to float\nret float %r"),
    ("double_as_longlong", "i64", "double x", "%r = bitcast double %x to i64\nret i64 %r"),
    ("longlong_as_double", "double", "i64 x", "%r = bitcast i64 %x to double\nret double %r"),
)
_I32 = {"kind": "i32", "wide": "i64", "size": "32", "long": "", "high": "hi", "to_i32": "%r = add i32 %n, 0"}
_I64 = {"kind": "i64", "wide": "i128", "size": "64", "long": "ll", "high": "64hi", "to_i32": "%r = trunc i64 %n to i32"}


def integer_maths() -> dict[str, str]:
    """Return name -> definition of the functions of integers."""
    table = definitions_of(_REINTERPRETED, {})
    for words in (_I32, _I64):
        table |= definitions_of((*_PAIRS, *_BITS, *_PRODUCTS), words)
    return table
