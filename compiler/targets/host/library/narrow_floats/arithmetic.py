"""arithmetic: the results of the functions of one, two and three halves or bfloat16s."""

from __future__ import annotations

from collections.abc import Callable

from gridjit.compiler.targets.host.library.narrow_floats.builder import Format, IRBuilder, narrowed, widened

# What a function writes for its arguments, which are numbers of 16 bits.
_Body = Callable[[IRBuilder, Format, "list[str]"], "tuple[str, str]"]
_INFINITY = "0x7FF0000000000000"
_NAN = "32767"


def _doubles(code: IRBuilder, kind: Format, bits: list[str]) -> list[str]:
    return [widened(code, kind, one) for one in bits]


def _result(code: IRBuilder, kind: Format, value: str) -> tuple[str, str]:
    return "i16", narrowed(code, kind, value)


def _sum(code: IRBuilder, x: str, y: str, z: str) -> str:
    """Return x * y + z, to be rounded once more: exact except for its last digit, which is odd if others were lost."""
    product = code.put(f"fmul double {x}, {y}")  # exact: it has at most 22 digits
    total = code.put(f"fadd double {product}, {z}")
    back = code.put(f"fsub double {total}, {product}")
    there = code.put(f"fsub double {total}, {back}")
    one = code.put(f"fsub double {product}, {there}")
    other = code.put(f"fsub double {z}, {back}")
    lost = code.put(f"fadd double {one}, {other}")
    bits = code.put(f"bitcast double {total} to i64")
    inexact = code.put(f"fcmp one double {lost}, 0.0")
    even = code.put(f"xor i1 {code.put(f'trunc i64 {bits} to i1')}, true")
    up = code.put(f"fcmp ogt double {lost}, 0.0")
    positive = code.put(f"fcmp ogt double {total}, 0.0")
    away = code.put(f"icmp eq i1 {up}, {positive}")
    step = code.choose(away, "i64", "1", "-1")
    moved = code.put(f"add i64 {bits}, {step}")
    move = code.put(f"and i1 {inexact}, {even}")
    return code.put(f"bitcast i64 {code.choose(move, 'i64', moved, bits)} to double")


def _computed(code: IRBuilder, name: str, values: list[str]) -> str:
    if name == "fma":
        return _sum(code, *values)
    return code.put(f"f{name} double {values[0]}, {values[1]}")


def _limited(code: IRBuilder, value: str, low: str, high: str | None, nan: str | None) -> str:
    """Return a value no less than low, no more than high; nan in place of one that is not a number."""
    less = code.put(f"fcmp olt double {value}, {low}")
    value = code.choose(less, "double", low, value)
    if high is not None:
        value = code.choose(code.put(f"fcmp ogt double {value}, {high}"), "double", high, value)
    if nan is not None:
        value = code.choose(code.put(f"fcmp uno double {value}, 0.0"), "double", nan, value)
    return value


def _arithmetic(name: str, ending: str = "") -> _Body:
    def body(code: IRBuilder, kind: Format, bits: list[str]) -> tuple[str, str]:
        value = _computed(code, name, _doubles(code, kind, bits))
        if ending == "sat":
            value = _limited(code, value, "0.0", "1.0", "0.0")
        if ending == "relu":
            value = _limited(code, value, "0.0", None, None)
        return _result(code, kind, value)

    return body


def _compared(condition: str) -> _Body:
    def body(code: IRBuilder, kind: Format, bits: list[str]) -> tuple[str, str]:
        x, y = _doubles(code, kind, bits)
        holds = code.put(f"fcmp {condition} double {x}, {y}")
        return "i8", code.put(f"zext i1 {holds} to i8")

    return body


def _extreme(less: str, *, keeps_nan: bool) -> _Body:
    """The smaller or greater number; of zeros, -0 is the smaller. A NaN counts only if keeps_nan, or both are."""

    def body(code: IRBuilder, kind: Format, bits: list[str]) -> tuple[str, str]:
        (x, y), (a, b) = _doubles(code, kind, bits), bits
        first = code.put(f"fcmp {less} double {x}, {y}")
        equal = code.put(f"fcmp oeq double {x}, {y}")
        either = code.put(f"{'or' if less == 'olt' else 'and'} i16 {a}, {b}")
        found = code.choose(equal, "i16", either, code.choose(first, "i16", a, b))
        x_nan, y_nan = (code.put(f"fcmp uno double {one}, 0.0") for one in (x, y))
        if keeps_nan:
            return "i16", code.choose(code.put(f"or i1 {x_nan}, {y_nan}"), "i16", _NAN, found)
        found = code.choose(x_nan, "i16", b, found)
        found = code.choose(y_nan, "i16", a, found)
        return "i16", code.choose(code.put(f"and i1 {x_nan}, {y_nan}"), "i16", _NAN, found)

    return body


def _of_one(function: str) -> _Body:
    """A function of doubles, rounded once."""

    def body(code: IRBuilder, kind: Format, bits: list[str]) -> tuple[str, str]:
        return _result(code, kind, code.call("double", function, *_doubles(code, kind, bits)))

    return body


def _bits(instruction: str) -> _Body:
    return lambda code, _, bits: ("i16", code.put(f"{instruction.split()[0]} i16 {bits[0]}, {instruction.split()[1]}"))


def _same(code: IRBuilder, kind: Format, bits: list[str]) -> tuple[str, str]:
    return "i16", bits[0]


def _reciprocal(code: IRBuilder, kind: Format, bits: list[str]) -> tuple[str, str]:
    return _result(code, kind, code.put(f"fdiv double 1.0, {widened(code, kind, bits[0])}"))


def _reciprocal_root(code: IRBuilder, kind: Format, bits: list[str]) -> tuple[str, str]:
    root = code.call("double", "llvm.sqrt.f64", widened(code, kind, bits[0]))
    return _result(code, kind, code.put(f"fdiv double 1.0, {root}"))


def _is_nan(code: IRBuilder, kind: Format, bits: list[str]) -> tuple[str, str]:
    nan = code.put(f"fcmp uno double {widened(code, kind, bits[0])}, 0.0")
    return "i8", code.put(f"zext i1 {nan} to i8")


def _is_infinite(code: IRBuilder, kind: Format, bits: list[str]) -> tuple[str, str]:
    """1 for infinity, -1 for its negative, 0 for others."""
    x = widened(code, kind, bits[0])
    above = code.put(f"fcmp oeq double {x}, {_INFINITY}")
    below = code.put(f"fcmp oeq double {x}, 0xFFF0000000000000")
    return "i32", code.choose(above, "i32", "1", code.choose(below, "i32", "-1", "0"))


_NAMES = {"add": "add", "sub": "sub", "mul": "mul", "fma": "fma"}
_ORDERED = {"eq": "oeq", "ne": "one", "le": "ole", "ge": "oge", "lt": "olt", "gt": "ogt"}
_MATHS = {
    **{f"h{name}": f"llvm.{name}.f64" for name in ("trunc", "ceil", "floor", "rint", "sqrt")},
    **{f"h{name}": f"__nv_{name}" for name in ("log", "log2", "log10", "exp", "exp2", "exp10", "cos", "sin", "tanh")},
    "htanh_approx": "__nv_tanh",
}
# How many numbers each takes: those that are not here take one.
TWO = frozenset(
    [f"__h{name}{ending}" for name in ("add", "sub", "mul") for ending in ("", "_rn", "_sat")]
    + [f"__h{name}{ending}" for name in _ORDERED for ending in ("", "u")]
    + [f"__h{name}{ending}" for name in ("max", "min") for ending in ("", "_nan")]
    + ["__hdiv"]
)
THREE = frozenset(["__hfma", "__hfma_sat", "__hfma_relu"])

BODIES: dict[str, _Body] = {
    **{f"__h{name}": _arithmetic(name) for name in (*_NAMES, "div")},
    **{f"__h{name}_rn": _arithmetic(name) for name in ("add", "sub", "mul")},
    **{f"__h{name}_sat": _arithmetic(name, "sat") for name in _NAMES},
    "__hfma_relu": _arithmetic("fma", "relu"),
    **{f"__h{name}": _compared(condition) for name, condition in _ORDERED.items()},
    **{f"__h{name}u": _compared("u" + condition[1:]) for name, condition in _ORDERED.items()},
    "__hmax": _extreme("ogt", keeps_nan=False),
    "__hmin": _extreme("olt", keeps_nan=False),
    "__hmax_nan": _extreme("ogt", keeps_nan=True),
    "__hmin_nan": _extreme("olt", keeps_nan=True),
    **{name: _of_one(function) for name, function in _MATHS.items()},
    "hrcp": _reciprocal,
    "hrsqrt": _reciprocal_root,
    "__habs": _bits("and 32767"),
    "__hneg": _bits("xor -32768"),
    "__hisnan": _is_nan,
    "__hisinf": _is_infinite,
    "identity": _same,
}
# What the operators are; that for "is not equal" holds for NaNs.
OPERATORS = {
    "pl": "__hadd",
    "mi": "__hsub",
    "ml": "__hmul",
    "dv": "__hdiv",
    "pL": "__hadd",
    "mI": "__hsub",
    "mL": "__hmul",
    "dV": "__hdiv",
    "ps": "identity",
    "ng": "__hneg",
    **{name: f"__h{name}" for name in ("eq", "gt", "lt", "ge", "le")},
    "ne": "__hneu",
}
