"""Exact maths: the host's functions in a form whose results do not depend on values that are folded into a kernel.

The C library's functions are called for constants too, which LLVM would compute by itself and in another way, and never
in their vector forms, which are less exact and used for some threads of a block and not for others.
"""

from __future__ import annotations

from gridjit.compiler.targets.host.library.maths_text import KINDS, PURE
from gridjit.regexes import regex

# Has LLVM take a call for that of any function.
OPAQUE = " nobuiltin"
# Of zeros with two signs LLVM's own may return either.
_EXTREMES = {"minnum": "olt", "maxnum": "ogt"}
_APPROXIMATE = regex(r"(= fdiv) arcp afn ")


def exact(maths: str) -> str:
    """Return definitions of `__nv_` functions with each result determined by the arguments."""
    maths = _APPROXIMATE.sub(r"\1 ", maths)
    for name, comparison in _EXTREMES.items():
        for _, kind, word, _ in KINDS:
            if f"@llvm.{name}.{word}(" in maths:
                maths = maths.replace(f"@llvm.{name}.{word}(", f"@gridjit.{name}.{word}(")
                maths += _extreme(f"gridjit.{name}.{word}", kind, comparison)
    return maths


def _extreme(name: str, kind: str, comparison: str) -> str:
    """Return a function that returns the smaller or greater of two numbers, or the one that is a number."""
    return f"""
define {kind} @{name}({kind} %x, {kind} %y) alwaysinline {PURE} {{
  %first = fcmp {comparison} {kind} %x, %y
  %nan = fcmp uno {kind} %y, %y
  %either = or i1 %first, %nan
  %r = select i1 %either, {kind} %x, {kind} %y
  ret {kind} %r
}}
"""
