"""libmvec: glibc's vector functions, offered to LLVM's vectorizer where the target has them."""

from __future__ import annotations

from gridjit.compiler.target import Target
from gridjit.compiler.targets.host.processor import has_feature, libmvec_level

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


def vector_forms(function: str, kind: str, target: Target) -> list[tuple[str, str]]:
    """Return (symbol, vector type) of each form a libm function has for target; kind: the type of its arguments."""
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


def variants(function: str, kind: str, target: Target) -> str:
    """Return the attribute that tells the vectorizer which vector forms the called libm function has."""
    forms = ",".join(f"{symbol}({symbol})" for symbol, _ in vector_forms(function, kind, target))
    return f' "vector-function-abi-variant"="{forms}"' if forms else ""
