"""Operations: LLVM's instructions, grouped by what may be done with them."""

from __future__ import annotations

import re

_ARITHMETIC = frozenset(["add", "sub", "mul", "and", "or", "xor", "shl", "lshr", "ashr"])
# On integers and addresses, cheap, and without effects: they neither touch memory nor trap.
_SIMPLE = _ARITHMETIC | {"icmp", "select", "sext", "zext", "trunc", "getelementptr"}
# What is cheaper to compute again than to keep: integers, addresses, comparisons. Divisions could trap, loads
# could see another value.
CHEAP = _SIMPLE | {"bitcast", "ptrtoint", "inttoptr"}
# What may run once more for a thread that then does nothing else.
PURE = _SIMPLE | {"fcmp", "sitofp", "uitofp", "fadd", "fsub", "fmul", "freeze"}
# Calls that are operations: what they return depends on their operands alone.
_OPERATION = re.compile(
    r"call [^@]*@llvm\.(?:[su](?:min|max)|abs|fabs|ctpop|ctlz|cttz|bswap|bitreverse|fsh[lr]|sqrt|floor|ceil|trunc|rint"
    r"|nearbyint|round|copysign|minnum|maxnum|fma|fmuladd|[su](?:add|sub|mul)\.(?:sat|with\.overflow))\."
)


def is_operation(call: str) -> bool:
    """Return whether a call instruction is one of LLVM's own operations on numbers."""
    return _OPERATION.search(call) is not None
