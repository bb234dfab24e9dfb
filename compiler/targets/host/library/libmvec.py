"""libmvec: glibc's vector functions, offered to LLVM's vectorizer where the target has them.

Their last bits differ from libm's, and from width to width. So code that calls a function in several forms calls the
widest of them for all: a result depends on the argument alone, not on the thread's place in a vector loop.
"""

from __future__ import annotations

from typing import NamedTuple

from gridjit.compiler.targets.host.ir.calls import calls
from gridjit.compiler.targets.host.llvm.features import has_feature, libmvec_level
from gridjit.compiler.values.target import Target

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
# Vector extensions: their letter in the vector ABI, the processor feature, and the bytes of a vector.
_VECTORS = (("e", "avx512f", 64), ("d", "avx2", 32), ("b", "sse2", 16))
_PREFIX, _REPLACED = "_ZGV", "gridjit.as.vectors."


class _Form(NamedTuple):
    """A function's form: how many arguments it takes in one call, its symbol, and how many parameters it has."""

    width: int
    symbol: str
    arity: int


def several_forms(text: str) -> dict[str, str]:
    """Return definitions in place of the functions that optimized code calls beside a wider form, by their symbols."""
    if _PREFIX not in text:
        return {}
    called = dict.fromkeys(call.name for call in calls(text))
    found: dict[str, set[_Form]] = {}
    for symbol in (name for name in called if name.startswith(_PREFIX)):
        # A letter for the vectors, N, how many items they have, a v for each parameter.
        form, _, function = symbol.removeprefix(_PREFIX).partition("_")
        width = form[2:].rstrip("v")
        found.setdefault(function, set()).add(_Form(int(width), symbol, len(form) - len(width) - 2))
    made = dict[str, str]()
    for function, forms in found.items():
        kind = "float" if function.endswith("f") and function != "erf" else "double"
        widest = max(forms)
        alone = {_Form(1, function, widest.arity)} if function in called else set()
        made |= {other.symbol: _by_wider(other, widest, kind) for other in sorted((forms | alone) - {widest})}
    return made


def replacement(symbol: str) -> str:
    """Return the name of the definition in place of a symbol."""
    return _REPLACED + symbol


def _by_wider(form: _Form, wider: _Form, kind: str) -> str:
    """Return the definition of a form by a call of a wider one, which computes each result several times."""
    given, wide = f"<{form.width} x {kind}>", f"<{wider.width} x {kind}>"
    arguments = [f"%x{number}" for number in range(form.arity)]
    lanes = ", ".join(f"i32 {lane % form.width}" for lane in range(wider.width))
    first = ", ".join(f"i32 {lane}" for lane in range(form.width))
    lines = [f"%w{number} = shufflevector {given} {name}, {given} poison, <{wider.width} x i32> <{lanes}>"
             for number, name in enumerate(arguments)]  # fmt: skip
    passed = ", ".join(f"{wide} %w{number}" for number in range(form.arity))
    lines += [
        f"%all = call {wide} @{wider.symbol}({passed})",
        f"%r = shufflevector {wide} %all, {wide} poison, <{form.width} x i32> <{first}>",
    ]
    if form.width == 1:
        ones = [f"%v{number} = insertelement {given} poison, {kind} {name}, i32 0"
                for number, name in enumerate(arguments)]  # fmt: skip
        lines = [*ones, *(line.replace(f" {given} %x", f" {given} %v") for line in lines)]
        lines.append(f"%one = extractelement {given} %r, i32 0")
    taken, end = (kind, "%one") if form.width == 1 else (given, "%r")
    body = "".join(f"  {line}\n" for line in [*lines, f"ret {taken} {end}"])
    parameters = ", ".join(f"{taken} {name}" for name in arguments)
    declared = f"declare {wide} @{wider.symbol}({', '.join([wide] * form.arity)})\n"
    return f"{declared}define weak_odr hidden {taken} @{replacement(form.symbol)}({parameters}) nounwind {{\n{body}}}\n"


def vector_forms(function: str, kind: str, target: Target) -> list[tuple[str, str]]:
    """Return (symbol, vector type) of each form a libm function has for target; kind: the type of its arguments."""
    base = function.removesuffix("f") if kind == "float" else function
    level = _LIBMVEC.get(base, 0)
    if not level or level > libmvec_level(target):
        return []
    count = 2 if base in ("pow", "atan2", "hypot") else 1
    size = 4 if kind == "float" else 8
    return [
        (f"{_PREFIX}{letter}N{width // size}{'v' * count}_{function}", f"<{width // size} x {kind}>")
        for letter, feature, width in _VECTORS
        if has_feature(target, feature)
    ]


def variants(function: str, kind: str, target: Target) -> str:
    """Return the attribute that tells the vectorizer which vector forms the called libm function has."""
    forms = ",".join(f"{symbol}({symbol})" for symbol, _ in vector_forms(function, kind, target))
    return f' "vector-function-abi-variant"="{forms}"' if forms else ""
