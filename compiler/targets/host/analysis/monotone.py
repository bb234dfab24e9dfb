"""Monotone values: they only rise or only fall along a row of threads, by steps: `int(i / 5)`, `i // 4`, `i >> 2`.

How each is computed at a place of the row, and what says there that it is not monotone after all: a NaN, a number that
is too large, or a negative one that is taken for unsigned. Floats are rounded as in the kernel, so none counts that
LLVM may round in another way.
"""

from __future__ import annotations

import re
from collections.abc import Collection

from gridjit.compiler.targets.host.ir.body import NAME
from gridjit.regexes import regex

_FLOAT = r"(?P<type>double|float) (?P<a>\S+), (?P<b>\S+)$"
_ARITHMETIC = regex(rf"(?P<name>{NAME}) = (?P<operation>fadd|fsub|fmul|fdiv) {_FLOAT}")
_CONVERSION = regex(
    rf"(?P<name>{NAME}) = (?P<operation>sitofp|uitofp|fptosi) (?:nneg )?(?P<type>\S+) (?P<a>{NAME}) to (?P<to>\S+)$"
)
_QUOTIENT = regex(
    rf"(?P<name>{NAME}) = (?P<operation>[su]div|[al]shr) (?:exact )?(?P<type>i\d+) (?P<a>{NAME}), (?P<b>\d+)$"
)
_WORDS = {"double": "f64", "float": "f32"}


def is_step(line: str, varying: Collection[str]) -> bool:
    """Return whether an instruction makes a monotone value of a monotone one and of what is the same along the row."""
    if _CONVERSION.match(line):
        return True
    if found := _QUOTIENT.match(line):
        return int(found["b"]) > 0
    found = _ARITHMETIC.match(line)
    if found is None or (found["a"] in varying and found["b"] in varying):
        return False
    return found["operation"] != "fdiv" or found["a"] in varying


def asked_step(line: str) -> tuple[list[str], list[str]] | None:
    """Return such an instruction as it is asked at one place, with the bit that says that it cannot be; else None."""
    if found := _QUOTIENT.match(line):
        signed = found["operation"] in ("sdiv", "ashr")
        plain = f"{found['name']} = {found['operation']} {found['type']} {found['a']}, {found['b']}"
        return ([plain], []) if signed else _unless_negative(plain, found)
    if found := _CONVERSION.match(line):
        return _asked_conversion(found)
    return ([line], []) if _ARITHMETIC.match(line) else None


def _asked_conversion(found: re.Match[str]) -> tuple[list[str], list[str]]:
    name, operation, kind, a, to = found["name"], found["operation"], found["type"], found["a"], found["to"]
    plain = f"{name} = {operation} {kind} {a} to {to}"
    if operation == "sitofp":
        return [plain], []
    if operation == "uitofp":
        return _unless_negative(plain, found)
    size, bit = beside(name, "size"), beside(name, "wraps")
    return [
        f"{name} = call {to} @llvm.fptosi.sat.{to}.{_WORDS[kind]}({kind} {a})",
        f"{size} = call {kind} @llvm.fabs.{_WORDS[kind]}({kind} {a})",
        f"{bit} = fcmp uge {kind} {size}, {2.0 ** (int(to[1:]) - 1):.6e}",
    ], [bit]


def _unless_negative(plain: str, found: re.Match[str]) -> tuple[list[str], list[str]]:
    bit = beside(found["name"], "wraps")
    return [plain, f"{bit} = icmp slt {found['type']} {found['a']}, 0"], [bit]


def beside(name: str, word: str) -> str:
    """Return a name for what is computed beside a value."""
    return f'%"gj.{word}.{name[1:].strip(chr(34))}"'
