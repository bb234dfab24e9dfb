"""Value types: the LLVM type of each value of a kernel, as its instructions say it.

To ask llvmlite for the type of a value takes several calls into LLVM, which cost more than all else that is asked of
the value. So a type is read where its instruction names it, and LLVM is asked where one does not.
"""

from __future__ import annotations

import re
from typing import Any

from gridjit.compiler.targets.host.ir.body import Body
from gridjit.compiler.targets.host.ir.contexts import ValueType
from gridjit.compiler.targets.host.ir.parse import parse
from gridjit.compiler.targets.host.ir.types import SIZES
from gridjit.compiler.targets.host.llvm import modules as llvm
from gridjit.compiler.values.target import Target


def value_types(body: Body, function: Any, target: Target) -> dict[str, ValueType]:
    """Return the types of the values that a body's instructions define, by name; function: the same to LLVM."""
    made = [one for one in map(parse, body.lines) if one.result]
    if not all(one.known for one in made):
        return _asked(function, target)
    said = {one.result: one.result_type for one in made}
    texts = list(dict.fromkeys(said.values()))
    described = dict(zip(texts, types_of(texts, target), strict=True))
    return {name: described[text] for name, text in said.items()}


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
    if size := SIZES.get(text):
        return ValueType(text=text, size=size, align=size)
    count, _, item = text.removeprefix("[").removesuffix("]").partition(" x ")
    one = _known(item) if text.startswith("[") else None
    return None if one is None else ValueType(text=text, size=int(count) * one.size, align=one.align)


def _types_of_others(texts: list[str], target: Target) -> list[ValueType]:
    lines = "".join(f"@x{number} = external global {text}\n" for number, text in enumerate(texts))
    module = llvm.parse(llvm.header(target) + lines)
    return [_described(text, llvm.global_type(module, f"x{number}"), target) for number, text in enumerate(texts)]


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
