"""Small maths: `__nv_` functions that are neither the C library's nor LLVM's, each in a few instructions."""

from __future__ import annotations

from gridjit.compiler.targets.host.library.maths_text import KINDS, Row, definitions_of

_MEAN = """%a = {extend} i32 %x to i64
    %b = {extend} i32 %y to i64
    %s = add i64 %a, %b
    %t = add i64 %s, {more}
    %h = {shift} i64 %t, 1
    %r = trunc i64 %h to i32
    ret i32 %r"""
_PRODUCT = """%a = shl i32 %x, 8
    %b = {shift} i32 %a, 8
    %c = shl i32 %y, 8
    %d = {shift} i32 %c, 8
    %r = mul i32 %b, %d
    ret i32 %r"""
_DIFFERENCE = """%a = icmp {less} i32 %x, %y
    %b = sub i32 %x, %y
    %c = sub i32 %y, %x
    %d = select i1 %a, i32 %c, i32 %b
    %r = add i32 %d, %z
    ret i32 %r"""
_INTEGERS: tuple[Row, ...] = (
    ("hadd", "i32", "i32 x, i32 y", _MEAN.format(extend="sext", shift="ashr", more=0)),
    ("rhadd", "i32", "i32 x, i32 y", _MEAN.format(extend="sext", shift="ashr", more=1)),
    ("uhadd", "i32", "i32 x, i32 y", _MEAN.format(extend="zext", shift="lshr", more=0)),
    ("urhadd", "i32", "i32 x, i32 y", _MEAN.format(extend="zext", shift="lshr", more=1)),
    ("mul24", "i32", "i32 x, i32 y", _PRODUCT.format(shift="ashr")),
    ("umul24", "i32", "i32 x, i32 y", _PRODUCT.format(shift="lshr")),
    ("sad", "i32", "i32 x, i32 y, i32 z", _DIFFERENCE.format(less="slt")),
    ("usad", "i32", "i32 x, i32 y, i32 z", _DIFFERENCE.format(less="ult")),
    ("byte_perm", "i32", "i32 x, i32 y, i32 s", "<permutation>"),
    (
        "hiloint2double",
        "double",
        "i32 x, i32 y",
        """%a = zext i32 %x to i64
        %b = shl i64 %a, 32
        %c = zext i32 %y to i64
        %d = or i64 %b, %c
        %r = bitcast i64 %d to double
        ret double %r""",
    ),
    (
        "double2loint",
        "i32",
        "double x",
        "%a = bitcast double %x to i64\n%r = trunc i64 %a to i32\nret i32 %r",
    ),
    (
        "double2hiint",
        "i32",
        "double x",
        "%a = bitcast double %x to i64\n%b = lshr i64 %a, 32\n%r = trunc i64 %b to i32\nret i32 %r",
    ),
    (
        "float2half_rn",
        "i16",
        "float x",
        "%h = fptrunc float %x to half\n%r = bitcast half %h to i16\nret i16 %r",
    ),
    (
        "half2float",
        "float",
        "i16 x",
        "%h = bitcast i16 %x to half\n%r = fpext half %h to float\nret float %r",
    ),
    # The estimate is wrong only if a number half way between two floats is nearer to the result: its square tells.
    (
        "frsqrt_rn",
        "float",
        "float x",
        """%wide = fpext float %x to double
        %root = call double @llvm.sqrt.f64(double %wide)
        %estimate = fdiv double 1.0, %root
        %near = fptrunc double %estimate to float
        %near.wide = fpext float %near to double
        %above = fcmp ogt double %estimate, %near.wide
        %step = select i1 %above, i32 1, i32 -1
        %bits = bitcast float %near to i32
        %moved = add i32 %bits, %step
        %next = bitcast i32 %moved to float
        %next.wide = fpext float %next to double
        %sum = fadd double %near.wide, %next.wide
        %middle = fmul double %sum, 5.000000e-01
        %square = fmul double %middle, %middle
        %sign = call double @llvm.fma.f64(double %square, double %wide, double -1.0)
        %middle.low = fcmp olt double %sign, 0.0
        %past = xor i1 %middle.low, %above
        %equal = fcmp oeq double %estimate, %near.wide
        %keep = or i1 %past, %equal
        %found = select i1 %keep, float %near, float %next
        %size = call double @llvm.fabs.f64(double %estimate)
        %infinite = fcmp oeq double %size, 0x7FF0000000000000
        %zero = fcmp oeq double %estimate, 0.0
        %nan = fcmp uno double %estimate, 0.0
        %a = or i1 %infinite, %zero
        %b = or i1 %a, %nan
        %r = select i1 %b, float %near, float %found
        ret float %r""",
    ),
)
# The order of a Bessel function is an integer; the quotient's last digits come through a pointer.
_LIBRARY: tuple[Row, ...] = (
    ("jn{suffix}", "{kind}", "i32 n, {kind} x", "%r = call {kind} @jn{suffix}(i32 %n, {kind} %x)\nret {kind} %r"),
    ("yn{suffix}", "{kind}", "i32 n, {kind} x", "%r = call {kind} @yn{suffix}(i32 %n, {kind} %x)\nret {kind} %r"),
)
_WRITING: tuple[Row, ...] = (
    (
        "remquo{suffix}",
        "{kind}",
        "{kind} x, {kind} y, ptr q",
        "%r = call {kind} @remquo{suffix}({kind} %x, {kind} %y, ptr %q)\nret {kind} %r",
    ),
)
# x less the nearest even number is exact, and so are the two halves that it is folded into: of at most a quarter.
_TURN = """%q = fmul {kind} %x, {half}
    %n = call {kind} @llvm.rint.{word}({kind} %q)
    %whole = fmul {kind} %n, 2.0
    %t = fsub {kind} %x, %whole
    %s2 = fmul {kind} %t, 2.0
    %k = call {kind} @llvm.rint.{word}({kind} %s2)
    %k2 = fmul {kind} %k, {half}
    %u = fsub {kind} %t, %k2
    %a = fmul {kind} %u, {pi}
    %sin = call {kind} @__nv_sin{suffix}({kind} %a)
    %cos = call {kind} @__nv_cos{suffix}({kind} %a)
    %ki = call i32 @llvm.fptosi.sat.i32.{word}({kind} %k)
    %odd = trunc i32 %ki to i1
    %quarter = and i32 %ki, 2
    %turned = icmp ne i32 %quarter, 0"""
_SIN = """%sin.one = select i1 %odd, {kind} %cos, {kind} %sin
    %sin.minus = fneg {kind} %sin.one
    %sin.r = select i1 %turned, {kind} %sin.minus, {kind} %sin.one
    %sin.zero = fcmp oeq {kind} %sin.r, 0.0
    %sin.signed = call {kind} @llvm.copysign.{word}({kind} 0.0, {kind} %x)
    %sin.pi = select i1 %sin.zero, {kind} %sin.signed, {kind} %sin.r"""
_COS = """%cos.one = select i1 %odd, {kind} %sin, {kind} %cos
    %cos.minus = fneg {kind} %cos.one
    %cos.turned = xor i1 %turned, %odd
    %cos.some = select i1 %cos.turned, {kind} %cos.minus, {kind} %cos.one
    %cos.pi = fadd {kind} %cos.some, 0.0"""
_CIRCULAR: tuple[Row, ...] = (
    ("sinpi{suffix}", "{kind}", "{kind} x", f"{_TURN}\n{_SIN}\nret {{kind}} %sin.pi"),
    ("cospi{suffix}", "{kind}", "{kind} x", f"{_TURN}\n{_COS}\nret {{kind}} %cos.pi"),
)
_BOTH: tuple[Row, ...] = (
    (
        "sincospi{suffix}",
        "void",
        "{kind} x, ptr s, ptr c",
        """%a = call {kind} @__nv_sinpi{suffix}({kind} %x)
        store {kind} %a, ptr %s
        %b = call {kind} @__nv_cospi{suffix}({kind} %x)
        store {kind} %b, ptr %c
        ret void""",
    ),
)
_FAST: tuple[Row, ...] = (
    (
        "fast_sincosf",
        "void",
        "float x, ptr s, ptr c",
        """%a = call float @__nv_sinf(float %x)
        store float %a, ptr %s
        %b = call float @__nv_cosf(float %x)
        store float %b, ptr %c
        ret void""",
    ),
)
_PI = {"double": "0x400921FB54442D18", "float": "0x400921FB60000000"}


def more_maths() -> dict[str, str]:
    """Return name -> definition of these functions."""
    table = definitions_of(_INTEGERS, {}) | definitions_of(_FAST, {}, "nounwind willreturn")
    table["byte_perm"] = table["byte_perm"].replace("  <permutation>", _permutation())
    for suffix, kind, word, _ in KINDS:
        words = {"suffix": suffix, "kind": kind, "word": word, "half": "5.000000e-01", "pi": _PI[kind]}
        table |= definitions_of((*_CIRCULAR, *_LIBRARY), words)
        table |= definitions_of((*_BOTH, *_WRITING), words, "nounwind willreturn")
    return table


def _permutation() -> str:
    """Return the code that takes four of eight bytes, by four bits for each; the fourth copies the byte's sign."""
    lines = ["  %xw = zext i32 %x to i64", "  %yw = zext i32 %y to i64", "  %yh = shl i64 %yw, 32"]
    lines += ["  %all = or i64 %xw, %yh"]
    for n in range(4):
        lines += [
            f"  %n{n} = lshr i32 %s, {4 * n}",
            f"  %i{n} = and i32 %n{n}, 7",
            f"  %w{n} = zext i32 %i{n} to i64",
            f"  %b{n} = shl i64 %w{n}, 3",
            f"  %t{n} = lshr i64 %all, %b{n}",
            f"  %c{n} = trunc i64 %t{n} to i8",
            f"  %m{n} = and i32 %n{n}, 8",
            f"  %f{n} = icmp ne i32 %m{n}, 0",
            f"  %g{n} = ashr i8 %c{n}, 7",
            f"  %d{n} = select i1 %f{n}, i8 %g{n}, i8 %c{n}",
            f"  %e{n} = zext i8 %d{n} to i32",
            f"  %p{n} = shl i32 %e{n}, {8 * n}",
        ]
    lines += ["  %o1 = or i32 %p0, %p1", "  %o2 = or i32 %o1, %p2", "  %r = or i32 %o2, %p3", "  ret i32 %r"]
    return "\n".join(lines)
