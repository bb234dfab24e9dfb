"""Value types: the LLVM type of each value of a kernel, as its instructions say it.

To ask llvmlite for the type of a value takes several calls into LLVM, which cost more than all else that is asked of
the value. So a type is read where its instruction names it, and LLVM is asked where one does not.
"""

from __future__ import annotations

import re
from typing import Any

from gridjit.base.regexes import regex
from gridjit.compiler.targets.host.ir.body import Body, defined, opcode
from gridjit.compiler.targets.host.ir.contexts import ValueType
from gridjit.compiler.targets.host.llvm import modules as llvm
from gridjit.compiler.values.target import Target

# Numbers and pointers: others stand for themselves in no instruction.
_KINDS = frozenset(("half", "bfloat", "float", "double", "ptr"))
_BYTES = {"i1": 1, "i8": 1, "i16": 2, "i32": 4, "i64": 8, "half": 2, "bfloat": 2, "float": 4, "double": 8, "ptr": 8}
_PLAIN = r"(i\d+|half|bfloat|float|double|ptr)"
_CALLED = regex(rf"(?:\w+ )?call [^@%]*?{_PLAIN} @")
_REPLACED = regex(rf"atomicrmw [^,]*, {_PLAIN} ", needs=("atomicrmw",))
# Operations whose result is of the type that is named first.
_OF_INTEGERS = ("add", "sub", "mul", "sdiv", "udiv", "srem", "urem", "and", "or", "xor", "shl", "ashr", "lshr")
_OF_FLOATS = ("fadd", "fsub", "fmul", "fdiv", "frem", "fneg")
_OF_OPERANDS = frozenset((*_OF_INTEGERS, *_OF_FLOATS, "phi", "load", "freeze"))
_COMPARISONS = frozenset(("icmp", "fcmp"))
_ADDRESSES = frozenset(("getelementptr", "alloca"))


def value_types(body: Body, function: Any, target: Target) -> dict[str, ValueType]:
    """Return the types of the values that a body's instructions define, by name; function: the same to LLVM."""
    said = {name: _said(line) for line in body.lines if (name := defined(line))}
    if None in said.values():
        return _asked(function, target)
    texts = {text for text in said.values() if text}
    described = dict(zip(texts, types_of(list(texts), target), strict=True))
    return {name: described[text] for name, text in said.items() if text}


def type_of(text: str, target: Target) -> ValueType:
    """Return the size and alignment of an LLVM type given as text."""
    return types_of([text], target)[0]


def types_of(texts: list[str], target: Target) -> list[ValueType]:
    """Return the sizes and alignments of LLVM types given as text."""
    known = {text: _known(text) for text in texts}
    others = [text for text, found in known.items() if found is None]
    asked = dict(zip(others, _types_of_others(others, target), strict=True)) if others else {}
    return [known[text] or asked[text] for text in texts]


def _known(text: str) -> ValueType | None:
    """Return the size and alignment of a type that has the same on all processors with 64 bits; None for others."""
    if text in _BYTES:
        return ValueType(text=text, size=_BYTES[text], align=_BYTES[text])
    count, _, item = text.removeprefix("[").removesuffix("]").partition(" x ")
    one = _known(item) if text.startswith("[") else None
    return None if one is None else ValueType(text=text, size=int(count) * one.size, align=one.align)


def _types_of_others(texts: list[str], target: Target) -> list[ValueType]:
    lines = "".join(f"@x{number} = external global {text}\n" for number, text in enumerate(texts))
    module = llvm.parse(llvm.header(target) + lines)
    return [_described(text, llvm.global_type(module, f"x{number}"), target) for number, text in enumerate(texts)]


def _said(line: str) -> str | None:
    """Return the type that an instruction names for its result, or None."""
    # A name in quotes may have any characters.
    made, operation = line.partition('" = ' if line.startswith('%"') else " = ")[2], opcode(line)
    if operation in _ADDRESSES:
        return None if "<" in made else "ptr"
    if operation == "call":
        return called[1] if (called := _CALLED.match(made)) else None
    if operation == "atomicrmw":
        return replaced[1] if (replaced := _REPLACED.match(made)) else None
    if '"' in made:
        return None
    if operation == "select":
        asked, _, values = made.partition(", ")
        return _first_type(["select", *values.split(" ")]) if asked.split(" ")[-2] == "i1" else None
    named = _first_type(made.split(" "))
    if operation in _COMPARISONS:
        return "i1" if named else None
    if operation in _OF_OPERANDS:
        return named
    to = made.partition(" to ")[2].partition(",")[0]
    return to if named and _is_plain(to) else None


def _first_type(words: list[str]) -> str | None:
    """Return the type that is named behind an operation and its flags, if it is that of a number or a pointer."""
    for word in (one.removesuffix(",") for one in words[1:]):
        if _is_plain(word):
            return word
        if not word.isalpha():
            return None
    return None


def _is_plain(text: str) -> bool:
    return text in _KINDS or (text.startswith("i") and text[1:].isdecimal())


def _asked(function: Any, target: Target) -> dict[str, ValueType]:
    """Return the types of the values that a function's instructions define, as LLVM knows them."""
    types: dict[str, Any] = {}
    values: dict[str, ValueType] = {}
    for block in function.blocks:
        for instruction in block.instructions:
            if name := instruction.name:
                kind = instruction.type
                text = str(kind)
                if text not in types:
                    types[text] = _described(text, kind, target)
                values[_written(name)] = types[text]
    return values


def _described(text: str, value_type: Any, target: Target) -> ValueType:
    return ValueType(text=text, size=llvm.size_of(target, value_type), align=max(1, llvm.align_of(target, value_type)))


def _written(name: str) -> str:
    """Return a name as LLVM prints it: quoted if it is not a plain identifier."""
    return f"%{name}" if re.fullmatch(r"[-a-zA-Z._][-a-zA-Z$._0-9]*", name) and "$" not in name else f'%"{name}"'
