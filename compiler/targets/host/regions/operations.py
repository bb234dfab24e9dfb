"""Operations: LLVM's instructions, grouped by what may be done with them."""

from __future__ import annotations

_ARITHMETIC = frozenset(["add", "sub", "mul", "and", "or", "xor", "shl", "lshr", "ashr"])
# On integers and addresses, cheap, and without effects: they neither touch memory nor trap.
_SIMPLE = _ARITHMETIC | {"icmp", "select", "sext", "zext", "trunc", "getelementptr"}
# What is cheaper to compute again than to keep: integers, addresses, comparisons. Divisions could trap, loads
# could see another value.
CHEAP = _SIMPLE | {"bitcast", "ptrtoint", "inttoptr"}
# What may run once more for a thread that then does nothing else.
PURE = _SIMPLE | {"fcmp", "sitofp", "uitofp", "fadd", "fsub", "fmul", "freeze"}
