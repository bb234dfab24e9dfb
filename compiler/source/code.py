"""CodePlan: a code object's digest and references. The digest does not depend on line numbers, comments or paths."""

from __future__ import annotations

import dis
import re
import sys
import weakref
from collections.abc import Iterable, Iterator
from types import CodeType
from typing import Generic, TypeAlias, TypeVar

from gridjit.base.digests import blake2b, utf8
from gridjit.base.values import dataclass
from gridjit.compiler.source.scalars import scalar_text

Value = TypeVar("Value")
# What a code object loads, nested code aside. For each instruction that does something, its name and the name that it
# loads, two empty texts if it loads nothing from outside; and the constants that are loaded, by index: which it is of
# them, in the order of first use.
Loads: TypeAlias = "tuple[list[tuple[str, str]], dict[int, int]]"

_GLOBAL_LOADS = frozenset({"LOAD_GLOBAL", "LOAD_NAME", "LOAD_FROM_DICT_OR_GLOBALS"})
_FREE_LOADS = frozenset({"LOAD_DEREF", "LOAD_CLASSDEREF", "LOAD_FROM_DICT_OR_DEREF"})
_ATTRIBUTE_LOADS = frozenset({"LOAD_ATTR", "LOAD_METHOD"})
# Instructions that only fill space.
_FILLERS = frozenset({"EXTENDED_ARG", "CACHE", "PUSH_NULL", "NOP"})
_NAMED = _GLOBAL_LOADS | _FREE_LOADS | _ATTRIBUTE_LOADS
# The last Python whose bytecode is known here.
_LAST_KNOWN = (3, 13)
# Arguments whose lowest bit is not part of the index.
_SHIFTED = {name for name, since in (("LOAD_GLOBAL", (3, 11)), ("LOAD_ATTR", (3, 12))) if sys.version_info >= since}
_OTHER = ("", "")
_FILLING = frozenset(opcode for opcode, name in enumerate(dis.opname) if name in _FILLERS)
_CONSTANT = frozenset(dis.hasconst)
# Most instructions: they load nothing from outside, and no constant.
_PLAIN = frozenset(
    opcode for opcode, name in enumerate(dis.opname) if name not in _NAMED and opcode not in _FILLING | _CONSTANT
)
# Generator, coroutine, *args and the like. The higher flags are __future__ imports and whether there is a docstring.
_FLAGS = 0x3FF
_DOTTED = r"(?<=\.)[^\W\d]\w*"  # compiled when first used
# A longer text is prose or source code.
_LONGEST_NAMES = 1 << 12


@dataclass(frozen=True, slots=True, kw_only=True)
class Reference:
    """A name that code loads from outside itself, and the chain of attributes that it takes of it.

    `helpers.clip(x)` is name "helpers" with attributes ("clip",). free: it is a closure's variable, not a global.
    """

    name: str
    attributes: tuple[str, ...] = ()
    free: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class CodePlan:
    """The digest and the references of a code object, nested code included.

    digest: of bytecode, names, argument counts, flags, exception table and constants. Docstrings and other constants
        that no instruction loads do not count, and neither do the other constants' indices.
    references: in the order of the bytecode, without duplicates.
    attributes: every name that may be an attribute, for modules that are put into a local variable or getattr.
    strange: types of constants that no Python compiler makes and that are not covered.
    """

    digest: str
    references: tuple[Reference, ...]
    attributes: tuple[str, ...]
    strange: tuple[str, ...]


def plan_of(code: CodeType) -> CodePlan:
    """Return the plan of code, made once per code object."""
    known = _plans.get(code)
    return _plans.put(code, _make_plan(code)) if known is None else known


def digest_fields(fields: Iterable[bytes | memoryview]) -> str:
    """Return the digest of byte strings, each preceded by its length so that no two sequences look alike."""
    state = blake2b(digest_size=16)
    for field in fields:
        state.update(len(field).to_bytes(8, "little"))
        state.update(field)
    return state.hexdigest()


def with_nested(code: CodeType) -> Iterator[CodeType]:
    """Yield code and the code of everything defined in it."""
    yield code
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from with_nested(constant)


def meaningful(code: CodeType) -> list[dis.Instruction]:
    """Return the instructions of code, without fillers."""
    return [one for one in dis.get_instructions(code) if one.opname not in _FILLERS]


def loads_of(code: CodeType) -> Loads:
    """Return the loads of code: dis's answer in a tenth of the time, as a first launch waits for it."""
    return _read(code) if sys.version_info[:2] <= _LAST_KNOWN else told_by_dis(code)


def told_by_dis(code: CodeType) -> Loads:
    """Return the loads of code, by dis."""
    steps = [one for one in dis.get_instructions(code) if one.opname not in _FILLERS]
    names = [(one.opname, one.argval) if one.opname in _NAMED else _OTHER for one in steps]
    constants: dict[int, int] = {}
    for one in steps:
        if one.opcode in dis.hasconst:
            constants.setdefault(one.arg or 0, len(constants))
    return names, constants


def _read(code: CodeType) -> Loads:
    names: list[tuple[str, str]] = []
    constants: dict[int, int] = {}
    bytecode, high = code.co_code, 0
    for opcode, low in zip(bytecode[::2], bytecode[1::2], strict=True):
        if opcode in _PLAIN:
            names.append(_OTHER)
            high = 0
        elif opcode == dis.EXTENDED_ARG:
            high = (high | low) << 8
        elif opcode not in _FILLING:
            if opcode in _CONSTANT:
                constants.setdefault(high | low, len(constants))
            names.append(_named(code, dis.opname[opcode], high | low))
            high = 0
    return names, constants


def _named(code: CodeType, opname: str, arg: int) -> tuple[str, str]:
    if opname not in _NAMED:
        return _OTHER
    if opname in _FREE_LOADS:
        return opname, _variable(code, arg)
    return opname, code.co_names[arg >> 1 if opname in _SHIFTED else arg]


def _variable(code: CodeType, arg: int) -> str:
    """Return the name of a variable that is shared with nested code, or with the code around."""
    if sys.version_info < (3, 11):
        return (*code.co_cellvars, *code.co_freevars)[arg]
    cells = [name for name in code.co_cellvars if name not in code.co_varnames]
    return (*code.co_varnames, *cells, *code.co_freevars)[arg]


def _make_plan(code: CodeType) -> CodePlan:
    strange: dict[str, None] = {}
    references: dict[Reference, None] = {}
    attributes: dict[str, None] = {}
    loaded: dict[int, dict[int, int]] = {}
    for nested in with_nested(code):
        names, loaded[id(nested)] = loads_of(nested)
        references.update(dict.fromkeys(_references(names, set(code.co_freevars))))
        attributes.update((name, None) for opname, name in names if opname in _ATTRIBUTE_LOADS)
        attributes.update((name, None) for constant in nested.co_consts for name in _names_in(constant))
    return CodePlan(
        digest=_digest(code, loaded, strange),
        references=tuple(references),
        attributes=tuple(attributes),
        strange=tuple(strange),
    )


def names_in_text(text: str) -> Iterator[str]:
    """Yield the attributes that a text may name: `TILE`, `settings.TILE`, `{0.TILE}` as str.format takes it."""
    if text.isidentifier():
        yield text
    elif "." in text and len(text) <= _LONGEST_NAMES:
        yield from re.findall(_DOTTED, text) if "{" in text else _parts_of(text)


def _names_in(constant: object) -> Iterator[str]:
    # `case Tile(size=n)` keeps the names of the attributes that it takes in a tuple.
    for item in constant if type(constant) is tuple else (constant,):
        if type(item) is str:
            yield from names_in_text(item)


def _parts_of(text: str) -> Iterator[str]:
    parts = text.split(".")
    return iter(parts if all(part.isidentifier() for part in parts) else ())


def _references(names: list[tuple[str, str]], freevars: set[str]) -> Iterator[Reference]:
    for position, (opname, name) in enumerate(names):
        free = opname in _FREE_LOADS
        if opname in _GLOBAL_LOADS or (free and name in freevars):
            yield Reference(name=name, attributes=_attributes_after(names, position), free=free)


def _attributes_after(names: list[tuple[str, str]], position: int) -> tuple[str, ...]:
    end = position + 1
    while end < len(names) and names[end][0] in _ATTRIBUTE_LOADS:
        end += 1
    return tuple(name for _, name in names[position + 1 : end])


def _digest(code: CodeType, loaded: dict[int, dict[int, int]], strange: dict[str, None]) -> str:
    numbers = (
        code.co_argcount,
        code.co_posonlyargcount,
        code.co_kwonlyargcount,
        code.co_nlocals,
        code.co_flags & _FLAGS,
    )
    names = (code.co_name, code.co_names, code.co_varnames, code.co_freevars, code.co_cellvars)
    order = loaded.get(id(code), {index: index for index in range(len(code.co_consts))})
    constants = (_constant_text(code.co_consts[index], loaded, strange) for index in order)
    fields: list[bytes] = [_renumbered(code, order), getattr(code, "co_exceptiontable", b"")]
    fields += [repr(numbers).encode(), repr(names).encode()]
    fields += [utf8(text) for text in constants]
    return digest_fields(fields)


def _renumbered(code: CodeType, order: dict[int, int]) -> bytes:
    """Return the bytecode of code with its constants numbered in the order of first use: a docstring moves them."""
    bytecode = bytearray(code.co_code)
    if len(code.co_consts) <= 1 << 8:  # then each index is in one byte
        for at in range(0, len(bytecode), 2):
            if bytecode[at] in _CONSTANT:
                bytecode[at + 1] = order[bytecode[at + 1]]
    return bytes(bytecode)


def _constant_text(value: object, loaded: dict[int, dict[int, int]], strange: dict[str, None]) -> str:
    if (text := scalar_text(value)) is not None:
        return text
    if type(value) is CodeType:
        return f"code {_digest(value, loaded, strange)}"
    if type(value) is tuple:
        return "(" + "".join(_constant_text(item, loaded, strange) + "," for item in value) + ")"
    if type(value) is frozenset:
        return "frozenset{" + ",".join(sorted(_constant_text(item, loaded, strange) for item in value)) + "}"
    if type(value) is slice:
        return "slice" + _constant_text((value.start, value.stop, value.step), loaded, strange)
    strange[type(value).__qualname__] = None
    return f"strange {type(value).__qualname__}"


class CodeTable(Generic[Value]):
    """Values remembered for code objects while they live. By identity, because comparing code objects is slow."""

    def __init__(self) -> None:
        # The weak reference proves that the id does not belong to another object by now.
        self._entries: dict[int, tuple[weakref.ref[CodeType], Value]] = {}

    def get(self, code: CodeType) -> Value | None:
        """Return the value remembered for code, or None."""
        known = self._entries.get(id(code))
        return known[1] if known is not None and known[0]() is code else None

    def put(self, code: CodeType, value: Value) -> Value:
        """Remember value, and return it."""
        identity, entries = id(code), self._entries

        def forget(gone: weakref.ref[CodeType]) -> None:
            if (known := entries.get(identity)) is not None and known[0] is gone:
                entries.pop(identity, None)

        entries[identity] = (weakref.ref(code, forget), value)
        return value

    def codes(self) -> list[CodeType]:
        """Return the code objects with a remembered value."""
        return [code for held, _ in [*self._entries.values()] if (code := held()) is not None]


_plans: CodeTable[CodePlan] = CodeTable()


def planned() -> list[CodeType]:
    """Return the code that lives of which this process made plans."""
    return _plans.codes()


def lines_digest(code: CodeType) -> str:
    """Return the digest of where code stands: its file, and the line of each instruction."""
    nested = [lines_digest(constant) for constant in code.co_consts if isinstance(constant, CodeType)]
    table = repr([*code.co_lines()])
    return digest_fields(utf8(text) for text in (code.co_filename, str(code.co_firstlineno), table, *nested))
