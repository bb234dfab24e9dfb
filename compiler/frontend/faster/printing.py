"""printing: llvmlite's instructions as text; frequent kinds are written in one step.

llvmlite calls a dozen functions for each instruction and formats by field names, which takes a fifth of a long kernel's
compile. This file makes the same text, from the same texts of types and operands. llvmlite keeps each text with its
object and reuses it; so does this file. Instructions with metadata, and other kinds, are left to llvmlite.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from gridjit.compiler.frontend.faster.piece import Piece, Replace

# Where llvmlite keeps an object's text, and the text by which others refer to it.
_TEXT, _REFERENCE = "_StrCaching__cached_str", "_StringReferenceCaching__cached_refstr"


# llvmlite's own classes of types and of values, which find their texts there. An extension's may do otherwise.
_own: set[type] = set()
# llvmlite's classes of instructions: a reference to one is its name in the function.
_instructions: set[type] = set()


def _type(kind: Any) -> str:
    """Return a type's text."""
    return (type(kind) in _own and kind.__dict__.get(_TEXT)) or str(kind)


def _reference(value: Any) -> str:
    """Return how others refer to a value."""
    if (owner := type(value)) not in _own:
        return str(value.get_reference())
    held = value.__dict__
    if (found := held.get(_REFERENCE)) is not None:
        return str(found)
    if owner in _instructions and "\\" not in (name := held["_name"]) and '"' not in name:
        found = held[_REFERENCE] = f'%"{name}"'
        return found
    return str(value.get_reference())


def _typed(value: Any) -> str:
    """Return a value's type, and how others refer to it."""
    return f"{_type(value.type)} {_reference(value)}"


def _extract_value(one: Any, _: Any) -> str:
    return f"extractvalue {_typed(one.aggregate)}, {', '.join(map(str, one.indices))}"


def _insert_value(one: Any, _: Any) -> str:
    return f"insertvalue {_typed(one.aggregate)}, {_typed(one.value)}, {', '.join(map(str, one.indices))}"


def _pointer(one: Any, _: Any) -> str:
    inbounds = " inbounds" if one.inbounds else ""
    indices = ", ".join(map(_typed, one.indices))
    return f"getelementptr{inbounds} {_type(one.source_etype)}, {_typed(one.pointer)}, {indices}"


def _load(one: Any, held: Any) -> str:
    return f"load {_type(held['type'])}, {_typed(held['operands'][0])}{_aligned(one)}"


def _store(one: Any, held: Any) -> str:
    value, pointer = held["operands"]
    return f"store {_typed(value)}, {_typed(pointer)}{_aligned(one)}"


def _aligned(one: Any) -> str:
    return "" if one.align is None else f", align {one.align:d}"


def _operation(_: Any, held: Any) -> str:
    name = " ".join((held["opname"], *held["flags"]))
    return f"{name} {_type(held['type'])} {', '.join(map(_reference, held['operands']))}"


def _compare(one: Any, held: Any) -> str:
    first, second = held["operands"]
    flags = "".join(f" {flag}" for flag in held["flags"])
    return f"{held['opname']}{flags} {one.op} {_typed(first)}, {_reference(second)}"


def _select(_: Any, held: Any) -> str:
    return f"select {' '.join(held['flags'])} {', '.join(map(_typed, held['operands']))}"


def _cast(_: Any, held: Any) -> str:
    return f"{held['opname']} {_typed(held['operands'][0])} to {_type(held['type'])}"


def _classes(module: Any, method: str) -> Iterator[type]:
    """Yield the classes of one of llvmlite's modules whose method is llvmlite's own, which keeps its result."""
    for kind in vars(module).values():
        if isinstance(kind, type) and getattr(getattr(kind, method, None), "__module__", "") == "llvmlite.ir._utils":
            yield kind


def _install(replace: Replace) -> None:
    from numba.cuda.cgutils import ir

    void, kinds = ir.VoidType, ir.instructions
    if not _own:
        _own.update(_classes(ir.types, "__str__"), _classes(ir.values, "get_reference"))
        _own.update(_classes(kinds, "get_reference"))
    ways: dict[type, Callable[[Any, Any], str]] = {
        kinds.ExtractValue: _extract_value,
        kinds.InsertValue: _insert_value,
        kinds.GEPInstr: _pointer,
        kinds.LoadInstr: _load,
        kinds.StoreInstr: _store,
        kinds.Instruction: _operation,
        kinds.ICMPInstr: _compare,
        kinds.FCMPInstr: _compare,
        kinds.SelectInstr: _select,
        kinds.CastInstr: _cast,
    }
    _instructions.update(ways)

    def text_of(one: Any) -> str:
        held = one.__dict__
        if (text := held.get(_TEXT)) is not None:
            return str(text)
        way = ways.get(type(one))
        if way is None or held["metadata"]:
            return str(one)
        text = way(one, held)
        if not isinstance(held["type"], void):
            text = f"{_reference(one)} = {text}"
        text = held[_TEXT] = text.rstrip()
        return text

    def describe(block: Any, buffer: list[str]) -> None:
        buffer.append(f"{block._format_name()}:\n")
        buffer.extend([f"  {text_of(one)}\n" for one in block.instructions])

    replace(ir.Block, "descr", describe)


PIECE = Piece(
    name="printing",
    written_for={
        "llvmlite.ir._utils:_StrCaching.__str__": ("6 lines, 4eac9daee92f6d85",),
        "llvmlite.ir._utils:_StringReferenceCaching.get_reference": ("6 lines, 105a98e205c0dfa9",),
        "llvmlite.ir._utils:_HasMetadata._stringify_metadata": ("10 lines, 0baeb27263906e65",),
        "llvmlite.ir.values:NamedValue._to_string": ("6 lines, 95cdb1bff4099198",),
        "llvmlite.ir.values:NamedValue._get_name": ("2 lines, a3a2943ec96ce454",),
        "llvmlite.ir.values:NamedValue._get_reference": ("6 lines, bb570ae5db4955d6",),
        "llvmlite.ir.values:Constant._to_string": ("2 lines, c3764ab647212467",),
        "llvmlite.ir.values:Constant._get_reference": ("14 lines, aff2e7350787ad6e",),
        "llvmlite.ir.values:Block.descr": ("3 lines, c376db25f442445b",),
        "llvmlite.ir.instructions:Instruction.descr": ("9 lines, fefda1a0245736d4",),
        "llvmlite.ir.instructions:CastInstr.descr": ("8 lines, 29002cfc3430e389",),
        "llvmlite.ir.instructions:CompareInstr.descr": ("10 lines, 0810184d0f1c4b41",),
        "llvmlite.ir.instructions:ExtractValue.descr": ("9 lines, e6f6b439405e9793",),
        "llvmlite.ir.instructions:GEPInstr.descr": ("12 lines, bad3fbd772859200",),
        "llvmlite.ir.instructions:InsertValue.descr": ("9 lines, a8d3b91a706e98bf",),
        "llvmlite.ir.instructions:LoadInstr.descr": ("13 lines, 1e59223dc10c28cd",),
        "llvmlite.ir.instructions:SelectInstr.descr": ("8 lines, b56711b2cc720c4b",),
        "llvmlite.ir.instructions:StoreInstr.descr": ("14 lines, 1f16032000738b2f",),
    },
    install=_install,
)
