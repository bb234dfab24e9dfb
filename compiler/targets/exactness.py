"""exactness: whether code computes the same with and without folded fields, as code made with jit(tiered=True) has to.

Results of integers, and of floats by IEEE's rules, are the same with more constants in a program. An operation that the
optimizer may make less exact, as fastmath allows, may differ, and so may an operation without an exact result.
"""

from __future__ import annotations

from collections.abc import Iterable

from gridjit.base.regexes import regex

_FLAGS = r"(?:fast|nnan|ninf|nsz|arcp|contract|afn|reassoc)"
_RELAXED = regex(rf"= (?:(?:tail|notail|musttail) )?(?:f(?:add|sub|mul|div|rem|neg|cmp)|call|select|phi) {_FLAGS} ")
# LLVM's own functions, which it computes in one way where it knows the arguments, and in another where it does not.
_OWN = r"(?:pow|powi|exp|exp2|exp10|log|log2|log10|sin|cos|tan|a?sinh?|a?cosh?|a?tanh?|atan2|fmuladd|minnum|maxnum)"
_VAGUE = regex(rf'call [^\n]*@"?(llvm\.{_OWN})\.')
# numba-cuda's fast functions for fastmath, which programs may call as well.
_FAST = regex(r'call [^\n]*(?:@"?__nv_fast_|asm [^\n]*\.approx\.)')


def inexact(modules: Iterable[str]) -> str:
    """Return why results of modules of LLVM IR may depend on the fields folded into them; empty if they do not."""
    for module in modules:
        if _RELAXED.search(module) or _FAST.search(module):
            return "part of it is compiled with fastmath, so its results may depend on what is folded into the code"
        if found := _VAGUE.search(module):
            return f"it calls {found[1]}, whose results may depend on what is folded into the code"
    return ""
