"""Types: what LLVM type each value of a kernel has, as its instructions say it.

To ask llvmlite for the type of a value takes several calls into LLVM, which cost more than all else that is asked of
the value. So a type is read where its instruction names it, and LLVM is asked where one does not.
"""

from __future__ import annotations

import re
from typing import Any

from gridjit.compiler.target import Target
from gridjit.compiler.targets.host import llvm
from gridjit.compiler.targets.host.regions.body import NAME, Body, defined, opcode
from gridjit.compiler.targets.host.regions.slots import ValueType
from gridjit.regexes import regex

# Numbers and pointers: others stand for themselves in no instruction.
_PLAIN = r"(i\d+|half|bfloat|float|double|ptr)"
_WORDS = r"(?:[a-z]+ )*?"
_OF_OPERANDS = regex(
    rf"(?:[su]?(?:add|sub|mul|div|rem)|f(?:add|sub|mul|div|rem|neg)|and|or|xor|shl|[al]shr|phi|load|freeze)"
    rf" {_WORDS}{_PLAIN}[ ,]"
)
_CHOSEN = regex(rf"select {_WORDS}i1 \S+, {_PLAIN} ")
_COMPARED = regex(rf"[if]cmp {_WORDS}{_PLAIN} ")
_CAST = regex(rf"\w+ {_WORDS}{_PLAIN} \S+ to {_PLAIN}(?:,|$)")
_CALLED = regex(rf"(?:\w+ )?call [^@%]*?{_PLAIN} @")
_REPLACED = regex(rf"atomicrmw [^,]*, {_PLAIN} ", needs=("atomicrmw",))
_ADDRESS = regex(r"(?:getelementptr|alloca) [^<]*$")
_RESULT = regex(rf"^{NAME} = ")


def value_types(body: Body, function: Any, target: Target) -> dict[str, ValueType]:
    """Return the types of the values that a body's instructions define, by name; function: the same to LLVM."""
    said = {name: _said(line) for block in body.blocks for line in block.lines if (name := defined(line))}
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
    lines = "".join(f"@x{number} = external global {text}\n" for number, text in enumerate(texts))
    module = llvm.parse(llvm.header(target) + lines)
    return [_described(text, llvm.global_type(module, f"x{number}"), target) for number, text in enumerate(texts)]


def _said(line: str) -> str | None:
    """Return the type that an instruction names for its result, or None."""
    made = _RESULT.sub("", line)
    if _ADDRESS.match(made):
        return "ptr"
    if _COMPARED.match(made):
        return "i1"
    if found := _OF_OPERANDS.match(made) or _CHOSEN.match(made) or _REPLACED.match(made):
        return found[1]
    if opcode(line) == "call":
        called = _CALLED.match(made)
        return called[1] if called else None
    cast = _CAST.match(made)
    return cast[2] if cast else None


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
