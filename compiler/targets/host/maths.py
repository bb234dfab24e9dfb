"""The `__nv_` mathematical functions on the host: each is a libm function, an LLVM intrinsic or a short definition.

Functions of glibc's libmvec are offered to LLVM's vectorizer where the target has them.
"""

from __future__ import annotations

import re

from gridjit.compiler.targets.base import Target
from gridjit.compiler.targets.host.target import has_feature, libmvec_level

_PREFIX = "__nv_"
_PURE = "nounwind willreturn memory(none)"
_KINDS = (("", "double", "f64", "i64"), ("f", "float", "f32", "i32"))

# libm functions of one and of two arguments; their float twins end in f, as CUDA's do.
_LIBM_1 = [
    "exp",
    "exp2",
    "exp10",
    "expm1",
    "log",
    "log2",
    "log10",
    "log1p",
    "sin",
    "cos",
    "tan",
    "asin",
    "acos",
    "atan",
    "sinh",
    "cosh",
    "tanh",
    "asinh",
    "acosh",
    "atanh",
    "erf",
    "erfc",
    "tgamma",
    "lgamma",
    "cbrt",
    "logb",
    "j0",
    "j1",
    "y0",
    "y1",
]
_LIBM_2 = ["pow", "atan2", "fmod", "hypot", "remainder", "nextafter", "fdim"]
_INTRINSIC_1 = {"fabs": "fabs", "floor": "floor", "ceil": "ceil", "trunc": "trunc", "rint": "rint", "sqrt": "sqrt"}
_INTRINSIC_1 |= {"nearbyint": "nearbyint", "round": "round"}
_INTRINSIC_2 = {"fmin": "minnum", "fmax": "maxnum", "copysign": "copysign"}
# CUDA's fast functions trade accuracy for speed that the host does not need to trade.
_FAST = ["sin", "cos", "tan", "exp", "exp10", "log", "log2", "log10"]

# libmvec's functions by the glibc level (see target) that brought them.
_LIBMVEC = dict.fromkeys(("sin", "cos", "exp", "log", "pow"), 1) | dict.fromkeys(
    [
        "tan",
        "asin",
        "acos",
        "atan",
        "atan2",
        "sinh",
        "cosh",
        "tanh",
        "asinh",
        "acosh",
        "atanh",
        "exp2",
        "exp10",
        "expm1",
        "log2",
        "log10",
        "log1p",
        "cbrt",
        "hypot",
        "erf",
        "erfc",
    ],
    2,
)
# libm functions whose arguments are not all of one type.
_ODD_DECLARATIONS = {
    "frexp": "declare double @frexp(double, ptr) nounwind willreturn",
    "frexpf": "declare float @frexpf(float, ptr) nounwind willreturn",
    "ilogb": f"declare i32 @ilogb(double) {_PURE}",
    "ilogbf": f"declare i32 @ilogbf(float) {_PURE}",
}
# Vector extensions as the vector ABI names them, the feature that has them, and their bytes.
_VECTORS = (("e", "avx512f", 64), ("d", "avx2", 32), ("b", "sse2", 16))


def is_maths(name: str) -> bool:
    """Return whether the host has code for a `__nv_` function."""
    return name in _DEFINITIONS


def definitions(names: set[str], target: Target) -> str:
    """Return LLVM IR text that defines those of names which are `__nv_` functions."""
    wanted = sorted(_closure(names))
    calls = sorted({call for name in wanted for call in _CALLS.get(name, ())})
    text = [
        f"declare {kind} @{function}({kind}{', ' + kind if count == 2 else ''}) {_PURE}"
        for function, kind, count in calls
    ]
    text += [line for call, line in _ODD_DECLARATIONS.items() if any(f"@{call}(" in _DEFINITIONS[n] for n in wanted)]
    used = []
    for function, kind, count in calls:
        for symbol, vector in _vector_forms(function, kind, target):
            text.append(f"declare {vector} @{symbol}({', '.join([vector] * count)}) {_PURE}")
            used.append(f"ptr @{symbol}")
    if used:
        text.append(
            f'@llvm.compiler.used = appending global [{len(used)} x ptr] [{", ".join(used)}], section "llvm.metadata"'
        )
    for name in wanted:
        body = _DEFINITIONS[name]
        for function, kind, _count in _CALLS.get(name, ()):
            body = body.replace(f"<{function}>", _variants(function, kind, target))
        text.append(body)
    return "\n".join(text) + "\n"


def _closure(names: set[str]) -> set[str]:
    """Return those of names which are defined here, and what their definitions call in turn."""
    found: set[str] = set()
    waiting = [name for name in names if name in _DEFINITIONS]
    while waiting:
        name = waiting.pop()
        if name not in found:
            found.add(name)
            waiting += re.findall(rf"call [^@]*@({_PREFIX}\w+)", _DEFINITIONS[name])
    return found


def _vector_forms(function: str, kind: str, target: Target) -> list[tuple[str, str]]:
    base = function.removesuffix("f") if kind == "float" else function
    level = _LIBMVEC.get(base, 0)
    if not level or level > libmvec_level(target):
        return []
    count = 2 if base in ("pow", "atan2", "hypot") else 1
    size = 4 if kind == "float" else 8
    return [
        (f"_ZGV{letter}N{width // size}{'v' * count}_{function}", f"<{width // size} x {kind}>")
        for letter, feature, width in _VECTORS
        if has_feature(target, feature)
    ]


def _variants(function: str, kind: str, target: Target) -> str:
    forms = ",".join(f"{symbol}({symbol})" for symbol, _ in _vector_forms(function, kind, target))
    return f' "vector-function-abi-variant"="{forms}"' if forms else ""


def _function(name: str, result: str, arguments: str, body: str, attributes: str = _PURE) -> str:
    """Return a definition; arguments "double x, i32 n" become %x and %n."""
    parameters = ", ".join(f"{part.split()[0]} %{part.split()[1]}" for part in arguments.split(", "))
    lines = "\n".join("  " + line.strip() for line in body.strip().splitlines())
    return f"define {result} @{_PREFIX}{name}({parameters}) alwaysinline {attributes} {{\n{lines}\n}}"


def _libm() -> tuple[dict[str, str], dict[str, tuple[tuple[str, str, int], ...]]]:
    """Return the definitions that call libm, and what each calls: (function, type, arguments)."""
    table: dict[str, str] = {}
    calls: dict[str, tuple[tuple[str, str, int], ...]] = {}

    def add(name: str, function: str, kind: str, count: int) -> None:
        arguments = ", ".join(f"{kind} {letter}" for letter in "xy"[:count])
        values = ", ".join(f"{kind} %{letter}" for letter in "xy"[:count])
        table[_PREFIX + name] = _function(
            name, kind, arguments, f"%r = call {kind} @{function}({values})<{function}>\nret {kind} %r"
        )
        calls[_PREFIX + name] = ((function, kind, count),)

    for suffix, kind, _, _ in _KINDS:
        for name in _LIBM_1:
            add(name + suffix, name + suffix, kind, 1)
        for name in _LIBM_2:
            add(name + suffix, name + suffix, kind, 2)
    for name in _FAST:
        add(f"fast_{name}f", f"{name}f", "float", 1)
    add("fast_powf", "powf", "float", 2)
    return table, calls


def _intrinsics() -> dict[str, str]:
    table: dict[str, str] = {}
    for suffix, kind, word, _ in _KINDS:
        for name, intrinsic in _INTRINSIC_1.items():
            table[name + suffix] = _function(
                name + suffix, kind, f"{kind} x", f"%r = call {kind} @llvm.{intrinsic}.{word}({kind} %x)\nret {kind} %r"
            )
        for name, intrinsic in _INTRINSIC_2.items():
            table[name + suffix] = _function(
                name + suffix,
                kind,
                f"{kind} x, {kind} y",
                f"%r = call {kind} @llvm.{intrinsic}.{word}({kind} %x, {kind} %y)\nret {kind} %r",
            )
        fma = f"%r = call {kind} @llvm.fma.{word}({kind} %x, {kind} %y, {kind} %z)\nret {kind} %r"
        for name in (f"fma{suffix}", f"fma{suffix}_rn"):
            table[name] = _function(name, kind, f"{kind} x, {kind} y, {kind} z", fma)
    return table


def _shapes() -> dict[str, str]:
    """Functions of a number's form, and those of several results."""
    table: dict[str, str] = {}
    for suffix, kind, word, bits in _KINDS:

        def put(name: str, result: str, arguments: str, body: str, attributes: str = _PURE) -> None:
            table[name] = _function(name, result, arguments, body, attributes)

        nan = f"%c = fcmp uno {kind} %x, %x\n%r = zext i1 %c to i32\nret i32 %r"
        infinity = "0x7FF0000000000000"
        inf = (
            f"%a = call {kind} @llvm.fabs.{word}({kind} %x)\n%c = fcmp oeq {kind} %a, {infinity}\n"
            "%r = zext i1 %c to i32\nret i32 %r"
        )
        finite = inf.replace("fcmp oeq", "fcmp olt")
        sign = f"%b = bitcast {kind} %x to {bits}\n%c = icmp slt {bits} %b, 0\n%r = zext i1 %c to i32\nret i32 %r"
        letter = suffix or "d"
        put(f"isnan{letter}", "i32", f"{kind} x", nan)
        put(f"isinf{letter}", "i32", f"{kind} x", inf)
        put("finitef" if suffix else "isfinited", "i32", f"{kind} x", finite)
        put(f"signbit{letter}", "i32", f"{kind} x", sign)
        for name in ("ldexp", "scalbn"):
            put(
                name + suffix,
                kind,
                f"{kind} x, i32 n",
                f"%r = call {kind} @llvm.ldexp.{word}.i32({kind} %x, i32 %n)\nret {kind} %r",
            )
        put(
            "powif" if suffix else "powi",
            kind,
            f"{kind} x, i32 n",
            f"%y = sitofp i32 %n to {kind}\n"
            f"%r = call {kind} @{_PREFIX}pow{suffix}({kind} %x, {kind} %y)\nret {kind} %r",
        )
        put(
            f"modf{suffix}",
            kind,
            f"{kind} x, ptr whole",
            f"""%t = call {kind} @llvm.trunc.{word}({kind} %x)
            store {kind} %t, ptr %whole
            %a = call {kind} @llvm.fabs.{word}({kind} %x)
            %inf = fcmp oeq {kind} %a, {infinity}
            %d = fsub {kind} %x, %t
            %f = select i1 %inf, {kind} 0.0, {kind} %d
            %r = call {kind} @llvm.copysign.{word}({kind} %f, {kind} %x)
            ret {kind} %r""",
            "nounwind willreturn",
        )
        put(
            f"frexp{suffix}",
            kind,
            f"{kind} x, ptr exponent",
            f"%r = call {kind} @frexp{suffix}({kind} %x, ptr %exponent)\nret {kind} %r",
            "nounwind willreturn",
        )
        put(
            f"sincos{suffix}",
            "void",
            f"{kind} x, ptr s, ptr c",
            f"""%a = call {kind} @{_PREFIX}sin{suffix}({kind} %x)
            store {kind} %a, ptr %s
            %b = call {kind} @{_PREFIX}cos{suffix}({kind} %x)
            store {kind} %b, ptr %c
            ret void""",
            "nounwind willreturn",
        )
        for inverse, root in (("rsqrt", "sqrt"), ("rcbrt", "cbrt")):
            put(
                inverse + suffix,
                kind,
                f"{kind} x",
                f"%s = call {kind} @{_PREFIX}{root}{suffix}({kind} %x)\n%r = fdiv {kind} 1.0, %s\nret {kind} %r",
            )
        put(
            f"llrint{suffix}",
            "i64",
            f"{kind} x",
            f"%n = call {kind} @llvm.rint.{word}({kind} %x)\n"
            f"%r = call i64 @llvm.fptosi.sat.i64.{word}({kind} %n)\nret i64 %r",
        )
        put(
            f"llround{suffix}",
            "i64",
            f"{kind} x",
            f"%n = call {kind} @llvm.round.{word}({kind} %x)\n"
            f"%r = call i64 @llvm.fptosi.sat.i64.{word}({kind} %n)\nret i64 %r",
        )
        put(f"ilogb{suffix}", "i32", f"{kind} x", f"%r = call i32 @ilogb{suffix}({kind} %x)\nret i32 %r")
    put_fast = "%r = fdiv arcp afn float %x, %y\nret float %r"
    table["fast_fdividef"] = _function("fast_fdividef", "float", "float x, float y", put_fast)
    table["saturatef"] = _function(
        "saturatef",
        "float",
        "float x",
        "%a = call float @llvm.maxnum.f32(float %x, float 0.0)\n"
        "%r = call float @llvm.minnum.f32(float %a, float 1.0)\nret float %r",
    )
    return table


def _integers() -> dict[str, str]:
    table: dict[str, str] = {}

    def put(name: str, result: str, arguments: str, body: str) -> None:
        table[name] = _function(name, result, arguments, body)

    for kind, wide, a, b, c in (("i32", "i64", "", "", "hi"), ("i64", "i128", "ll", "64", "64hi")):
        del b
        for name, intrinsic in (("max", "smax"), ("min", "smin"), ("umax", "umax"), ("umin", "umin")):
            full = f"u{a}{name[1:]}" if name[0] == "u" else a + name
            put(
                full,
                kind,
                f"{kind} x, {kind} y",
                f"%r = call {kind} @llvm.{intrinsic}.{kind}({kind} %x, {kind} %y)\nret {kind} %r",
            )
        put(f"{a}abs", kind, f"{kind} x", f"%r = call {kind} @llvm.abs.{kind}({kind} %x, i1 false)\nret {kind} %r")
        put(f"brev{a}", kind, f"{kind} x", f"%r = call {kind} @llvm.bitreverse.{kind}({kind} %x)\nret {kind} %r")
        shrink = f"%r = trunc {kind} %n to i32\n" if a else "%r = add i32 %n, 0\n"
        put(f"popc{a}", "i32", f"{kind} x", f"%n = call {kind} @llvm.ctpop.{kind}({kind} %x)\n{shrink}ret i32 %r")
        put(
            f"clz{a}",
            "i32",
            f"{kind} x",
            f"%n = call {kind} @llvm.ctlz.{kind}({kind} %x, i1 false)\n{shrink}ret i32 %r",
        )
        put(
            f"ffs{a}",
            "i32",
            f"{kind} x",
            f"%n = call {kind} @llvm.cttz.{kind}({kind} %x, i1 false)\n{shrink}%p = add i32 %r, 1\n"
            f"%z = icmp eq {kind} %x, 0\n%q = select i1 %z, i32 0, i32 %p\nret i32 %q",
        )
        for sign, extend in (("", "sext"), ("u", "zext")):
            put(
                f"{sign}mul{c}",
                kind,
                f"{kind} x, {kind} y",
                f"%a = {extend} {kind} %x to {wide}\n%b = {extend} {kind} %y to {wide}\n%p = mul {wide} %a, %b\n"
                f"%h = lshr {wide} %p, {kind[1:]}\n%r = trunc {wide} %h to {kind}\nret {kind} %r",
            )
    for name, kind, other in (
        ("float_as_int", "float", "i32"),
        ("int_as_float", "i32", "float"),
        ("double_as_longlong", "double", "i64"),
        ("longlong_as_double", "i64", "double"),
    ):
        put(name, other, f"{kind} x", f"%r = bitcast {kind} %x to {other}\nret {other} %r")
    return table


def _rounded() -> dict[str, str]:
    """The round-to-nearest arithmetic and conversions: what the host does by itself, never fused."""
    table: dict[str, str] = {}
    for letter, kind, word in (("f", "float", "f32"), ("d", "double", "f64")):
        for name in ("add", "mul", "div", "sub"):
            full = f"{letter}{name}_rn"
            table[full] = _function(full, kind, f"{kind} x, {kind} y", f"%r = f{name} {kind} %x, %y\nret {kind} %r")
        table[f"{letter}sqrt_rn"] = _function(
            f"{letter}sqrt_rn", kind, f"{kind} x", f"%r = call {kind} @llvm.sqrt.{word}({kind} %x)\nret {kind} %r"
        )
        table[f"{letter}rcp_rn"] = _function(
            f"{letter}rcp_rn", kind, f"{kind} x", f"%r = fdiv {kind} 1.0, %x\nret {kind} %r"
        )
        floating = {"f": "float", "d": "double"}[letter]
        for integer, bits, sign in (("int", "i32", "s"), ("uint", "i32", "u"), ("ll", "i64", "s"), ("ull", "i64", "u")):
            for mode, rounding in (("rz", "trunc"), ("rn", "rint"), ("rd", "floor"), ("ru", "ceil")):
                name = f"{floating}2{integer}_{mode}"
                table[name] = _function(
                    name,
                    bits,
                    f"{kind} x",
                    f"%n = call {kind} @llvm.{rounding}.{word}({kind} %x)\n"
                    f"%r = call {bits} @llvm.fpto{sign}i.sat.{bits}.{word}({kind} %n)\nret {bits} %r",
                )
            name = f"{integer}2{floating}_rn"
            table[name] = _function(name, kind, f"{bits} x", f"%r = {sign}itofp {bits} %x to {kind}\nret {kind} %r")
    table["double2float_rn"] = _function(
        "double2float_rn", "float", "double x", "%r = fptrunc double %x to float\nret float %r"
    )
    return table


_LIBM_DEFINITIONS, _CALLS = _libm()
_DEFINITIONS = _LIBM_DEFINITIONS | {
    _PREFIX + name: text for part in (_intrinsics(), _shapes(), _integers(), _rounded()) for name, text in part.items()
}


def names() -> tuple[str, ...]:
    """Return every `__nv_` function the host has code for."""
    return tuple(sorted(_DEFINITIONS))
