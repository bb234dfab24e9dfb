"""exactness: whether code computes the same whatever is folded into it, as code made with jit(tiered=True) has to.

What a program computes with integers, and with floats by IEEE's rules, is the same with more constants in it. An
operation that the optimizer may make less exact, as fastmath allows, is not, and neither is one with no exact result.
"""

from __future__ import annotations

from collections.abc import Iterable

from gridjit.base.regexes import regex

_FLAGS = r"(?:fast|nnan|ninf|nsz|arcp|contract|afn|reassoc)"
_RELAXED = regex(rf"= (?:(?:tail|notail|musttail) )?(?:f(?:add|sub|mul|div|rem|neg|cmp)|call|select|phi) {_FLAGS} ")
# LLVM's own functions, which it computes in one way where it knows the arguments, and in another where it does not.
_OWN = r"(?:pow|powi|exp|exp2|exp10|log|log2|log10|sin|cos|tan|a?sinh?|a?cosh?|a?tanh?|atan2|fmuladd|minnum|maxnum)"
_VAGUE = regex(rf'call [^\n]*@"?(llvm\.{_OWN})\.')
# What numba-cuda has for fastmath, and programs may call as well.
_FAST = regex(r'call [^\n]*(?:@"?__nv_fast_|asm [^\n]*\.approx\.)')


def inexact(modules: Iterable[str]) -> str:
    """Return what in modules of LLVM IR has results that depend on what is folded into them; empty if nothing."""
    for module in modules:
        if _RELAXED.search(module) or _FAST.search(module):
            return "part of it is compiled with fastmath, so its results may depend on what is folded into the code"
        if found := _VAGUE.search(module):
            return f"it calls {found[1]}, whose results may depend on what is folded into the code"
    return ""
