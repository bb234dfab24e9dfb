"""Opcodes: LLVM's instructions, grouped by the changes that they allow."""

from __future__ import annotations

from gridjit.compiler.targets.host.ir.parse import parse

_ARITHMETIC = frozenset(["add", "sub", "mul", "and", "or", "xor", "shl", "lshr", "ashr"])
# On integers and addresses, cheap, and without effects: they neither touch memory nor trap.
_SIMPLE = _ARITHMETIC | {"icmp", "select", "sext", "zext", "trunc", "getelementptr"}
# What is cheaper to compute again than to keep: integers, addresses, comparisons. Divisions could trap, loads
# could see another value.
CHEAP = _SIMPLE | {"bitcast", "ptrtoint", "inttoptr"}
# What may run once more for a thread that then does nothing else.
PURE = _SIMPLE | {"fcmp", "sitofp", "uitofp", "fadd", "fsub", "fmul", "freeze"}
# What may run for a thread that would not have come to it: it may have no meaning for some operands, but does not trap.
EARLY = PURE | {"fdiv", "fneg", "fpext", "fptrunc", "fptosi", "fptoui", "bitcast", "ptrtoint", "inttoptr"}
# Functions that are operations: what they return depends on their operands alone.
_NAMES = (
    *("smin.", "smax.", "umin.", "umax.", "abs.", "fabs.", "ctpop.", "ctlz.", "cttz.", "bswap.", "bitreverse."),
    *("fshl.", "fshr.", "sqrt.", "floor.", "ceil.", "trunc.", "rint.", "nearbyint.", "round.", "copysign."),
    *("minnum.", "maxnum.", "fma.", "fmuladd."),
    *(f"{sign}{word}.{how}." for sign in "su" for word in ("add", "sub", "mul") for how in ("sat", "with.overflow")),
)
_OPERATIONS = tuple(f"llvm.{name}" for name in _NAMES)


def may_wait(line: str) -> bool:
    """Return whether a thread may wait for another one by an instruction.

    Threads that wait for each other without a barrier use it: a turn of one may wait for a later turn of another.
    """
    one = parse(line)
    return one.opcode == "fence" or (one.opcode in ("load", "store") and (one.is_atomic or one.is_volatile))


def is_operation(call: str) -> bool:
    """Return whether a call instruction is one of LLVM's own operations on numbers."""
    return parse(call).callee_name.startswith(_OPERATIONS)
