"""LLVM IR for the atomic operations that numba-cuda calls by name and leaves for the target to define.

Each is one compare-and-swap loop; it returns the value that its own swap replaced.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from gridjit.base.regexes import regex

# How their names begin.
_PREFIX = "___numba_atomic_"
_DECLARATION = regex(rf'^declare \S+ @"?({_PREFIX}\w+)"?\(.*\)\s*$', re.MULTILINE)

# %old: the value in memory; %value: the operand; %new: what to store; %store: whether to store it.
_ALWAYS = "%store = icmp eq i32 0, 0"
_LOOP = """\
define internal {type} @"{name}"({type}* %address, {type} %value) alwaysinline {{
entry:
  %word.address = bitcast {type}* %address to {word}*
  %first = load volatile {word}, {word}* %word.address
  br label %attempt
attempt:
  %seen = phi {word} [ %first, %entry ], [ %found, %swap ]
  %old = bitcast {word} %seen to {type}
  {body}
  br i1 %store, label %swap, label %done
swap:
  %new.word = bitcast {type} %new to {word}
  %swapped = cmpxchg volatile {word}* %word.address, {word} %seen, {word} %new.word monotonic monotonic
  %found = extractvalue {{ {word}, i1 }} %swapped, 0
  %won = extractvalue {{ {word}, i1 }} %swapped, 1
  br i1 %won, label %done, label %attempt
done:
  ret {type} %old
}}"""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Atomic:
    """One operation: the type it works on, the integer of its size, and how it makes %new and %store."""

    type: str
    word: str
    body: tuple[str, ...]

    def definition(self, name: str) -> str:
        return _LOOP.format(name=name, type=self.type, word=self.word, body="\n  ".join(self.body))


def define_atomics(module: str) -> str:
    """Return the module's text with each declared atomic that is known here replaced by its definition."""
    return _DECLARATION.sub(_definition, module) if _PREFIX in module else module


def _definition(match: re.Match[str]) -> str:
    atomic = _ATOMICS.get(match[1])
    return match[0] if atomic is None else atomic.definition(match[1])


def _replace_if(type_: str, *conditions: str) -> tuple[str, ...]:
    """Return the body that stores %value itself, where the conditions end in %store."""
    return (*conditions, f"%new = select i1 %store, {type_} %value, {type_} %old")


def _float_atomics(type_: str, word: str) -> dict[str, _Atomic]:
    """Return the table's rows for a floating-point type.

    max and min leave memory alone when either side is NaN (an ordered comparison is then false); nanmax and nanmin
    ignore a NaN operand and replace a NaN in memory (an unordered comparison is then true).
    """
    number = f"%number = fcmp ord {type_} %value, %value"
    both = "%store = and i1 %number, %better"
    bodies = {
        "add": (f"%new = fadd {type_} %old, %value", _ALWAYS),
        "sub": (f"%new = fsub {type_} %old, %value", _ALWAYS),
        "max": _replace_if(type_, f"%store = fcmp olt {type_} %old, %value"),
        "min": _replace_if(type_, f"%store = fcmp ogt {type_} %old, %value"),
        "nanmax": _replace_if(type_, number, f"%better = fcmp ult {type_} %old, %value", both),
        "nanmin": _replace_if(type_, number, f"%better = fcmp ugt {type_} %old, %value", both),
    }
    return {
        f"___numba_atomic_{type_}_{verb}": _Atomic(type=type_, word=word, body=body) for verb, body in bodies.items()
    }


# CUDA's wrapping increment and decrement (atomicInc, atomicDec), for 64 bits.
_WRAPPING = {
    "___numba_atomic_u64_inc": _Atomic(
        type="i64",
        word="i64",
        body=(
            "%next = add i64 %old, 1",
            "%below = icmp ult i64 %old, %value",
            "%new = select i1 %below, i64 %next, i64 0",
            _ALWAYS,
        ),
    ),
    "___numba_atomic_u64_dec": _Atomic(
        type="i64",
        word="i64",
        body=(
            "%next = sub i64 %old, 1",
            "%inside = icmp ult i64 %next, %value",
            "%new = select i1 %inside, i64 %next, i64 %value",
            _ALWAYS,
        ),
    ),
}
_ATOMICS = _WRAPPING | _float_atomics("float", "i32") | _float_atomics("double", "i64")
