"""contraction: a product that is only added to something becomes one fused multiply-add, before anything is optimized.

NVVM fuses too, but after it has optimized a program: code with more constants in it may be fused in other places, and
rounds in others. The fusions here do not depend on constants.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping
from typing import NamedTuple

from gridjit.base.regexes import regex

_FUNCTION = regex(r"^define .*?^}", re.MULTILINE | re.DOTALL)
_NAME = r'%(?:"[^"]*"|[\w.$-]+)'
_VALUE = rf"(?:{_NAME}|[^\s,%]+)"
NAMES = regex(_NAME)
ARITHMETIC = regex(
    rf"^(?P<indent>\s*)(?P<name>{_NAME}) = (?P<verb>fmul|fadd|fsub) (?P<kind>float|double) "
    rf"(?P<left>{_VALUE}), (?P<right>{_VALUE})(?P<rest>,? !dbg [^\n]*)?$",
    re.MULTILINE,
)
_FUSED = {"float": "llvm.fma.f32", "double": "llvm.fma.f64"}


class _Product(NamedTuple):
    left: str
    right: str


def contracted(module: str) -> str:
    """Return a module of LLVM IR with its products fused into the additions and subtractions that alone use them."""
    fused = _FUNCTION.sub(lambda found: _fused(found[0]), module)
    declared = (
        f"declare {kind} @{name}({kind}, {kind}, {kind})\n"
        for kind, name in _FUSED.items()
        if f"@{name}(" in fused and not re.search(rf'^declare .*@"?{re.escape(name)}"?\(', fused, re.MULTILINE)
    )
    return fused if fused == module else fused.rstrip("\n") + "\n" + "".join(declared)


def _fused(function: str) -> str:
    if " fmul " not in function:
        return function
    uses = Counter(NAMES.findall(function))
    products = {
        found["name"]: _Product(found["left"], found["right"])
        for found in ARITHMETIC.finditer(function)
        if found["verb"] == "fmul" and uses[found["name"]] == 2  # where it is defined, and where it is used
    }
    return ARITHMETIC.sub(lambda found: _rewritten(found, products), function)


def _rewritten(found: re.Match[str], products: Mapping[str, _Product]) -> str:
    """Return an addition or subtraction of a product as one operation; the product itself is left unused."""
    if found["verb"] == "fmul":
        return found[0]
    left, right, minus = products.get(found["left"]), products.get(found["right"]), found["verb"] == "fsub"
    if left is not None:
        return _operation(found, [left.left, left.right, found["right"]], 2 if minus else None)
    if right is not None:
        return _operation(found, [right.left, right.right, found["left"]], 0 if minus else None)
    return found[0]


def _operation(found: re.Match[str], values: list[str], negated: int | None) -> str:
    """Return the fused operation for two factors and a summand, of which one may have to be negated first."""
    indent, name, kind, rest = found["indent"], found["name"], found["kind"], found["rest"] or ""
    first = ""
    if negated is not None:
        opposite = '%"gridjit.minus.' + name.strip('%"') + '"'
        first = f"{indent}{opposite} = fsub {kind} -0.0, {values[negated]}{rest}\n"
        values[negated] = opposite
    passed = ", ".join(f"{kind} {value}" for value in values)
    return f"{first}{indent}{name} = call {kind} @{_FUSED[kind]}({passed}){rest}"
