"""Shared atomics: atomic operations on a block's shared memory, as plain ones.

One thread of the host runs a block's threads one after the other, so no other can see its shared memory meanwhile.
Fences and memory that may be global stay as they are. The loads and stores are marked: they do depend on those of other
threads, and must not be told to LLVM as independent.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace

from gridjit.base.regexes import regex
from gridjit.compiler.targets.host.ir.body import NAME, Block, Body, arms, definitions_of, opcode

EXCHANGE = regex(
    rf"(?P<result>{NAME}) = atomicrmw (?P<volatile>volatile )?(?P<operation>\w+) ptr (?P<at>{NAME}), "
    r"(?P<type>\S+) (?P<value>\S+) [^,]*(?:, align (?P<align>\d+))?"
)
_COMPARE = regex(
    rf"(?P<result>{NAME}) = cmpxchg (?P<weak>weak )?(?P<volatile>volatile )?ptr (?P<at>{NAME}), "
    r"(?P<type>i\d+) (?P<old>\S+), i\d+ (?P<new>\S+) [^,]*(?:, align (?P<align>\d+))?"
)
SIMPLE = {
    **{name: f"{name} {{type}} {{old}}, {{value}}" for name in ("add", "sub", "and", "or", "xor", "fadd", "fsub")},
    **{
        name: f"call {{type}} @llvm.{intrinsic}.{{type}}({{type}} {{old}}, {{type}} {{value}})"
        for name, intrinsic in (("max", "smax"), ("min", "smin"), ("umax", "umax"), ("umin", "umin"))
    },
}
_BASE = "ptr %gj.shared,"
_POINTER = regex(rf"ptr ({NAME})")
# What loads and stores carry that depend on those of other threads.
OWN = "!gridjit.own !{}"


def plain_shared_atomics(body: Body) -> Body:
    """Return body with the atomic operations on its shared arrays written as loads and stores."""
    lines = definitions_of(body.lines)
    blocks = tuple(
        Block(label=block.label, lines=tuple(new for line in block.lines for new in _plain(line, lines)))
        for block in body.blocks
    )
    return replace(body, blocks=blocks)


def _plain(line: str, lines: Mapping[str, str]) -> list[str]:
    """Return the instructions in place of one."""
    operation = opcode(line)
    found = {"atomicrmw": EXCHANGE, "cmpxchg": _COMPARE}.get(operation)
    match = found.match(line) if found else None
    if match is None or match["volatile"] or not _is_shared(match["at"], lines, set()):
        return [line]
    return _exchanged(match) if operation == "atomicrmw" else _compared(match)


def _exchanged(found: re.Match[str]) -> list[str]:
    kind, at, old = found["type"], found["at"], found["result"]
    align = f", align {found['align']}" if found["align"] else ""
    load = f"{old} = load {kind}, ptr {at}{align}, {OWN}"
    if found["operation"] == "xchg":
        return [load, f"store {kind} {found['value']}, ptr {at}{align}, {OWN}"]
    if found["operation"] not in SIMPLE:
        return [found.string]
    new = _beside(old, "new")
    made = SIMPLE[found["operation"]].format(type=kind, old=old, value=found["value"])
    return [load, f"{new} = {made}", f"store {kind} {new}, ptr {at}{align}, {OWN}"]


def _compared(found: re.Match[str]) -> list[str]:
    kind, at, pair = found["type"], found["at"], found["result"]
    align = f", align {found['align']}" if found["align"] else ""
    old, same, new, half = (_beside(pair, word) for word in ("old", "same", "new", "half"))
    both = f"{{ {kind}, i1 }}"
    return [
        f"{old} = load {kind}, ptr {at}{align}, {OWN}",
        f"{same} = icmp eq {kind} {old}, {found['old']}",
        f"{new} = select i1 {same}, {kind} {found['new']}, {kind} {old}",
        f"store {kind} {new}, ptr {at}{align}, {OWN}",
        f"{half} = insertvalue {both} poison, {kind} {old}, 0",
        f"{pair} = insertvalue {both} {half}, i1 {same}, 1",
    ]


def _beside(name: str, word: str) -> str:
    """Return a name for a part of a value."""
    return f'%"gj.{word}.{name[1:].strip(chr(34))}"'


def _is_shared(name: str, lines: Mapping[str, str], seen: set[str]) -> bool:
    """Return whether an address is one in shared memory, however it was chosen."""
    if name in seen:
        return True
    seen.add(name)
    line = lines.get(name, "")
    operation = opcode(line) if line else ""
    if operation == "getelementptr":
        return _BASE in line or all(_is_shared(base, lines, seen) for base in _POINTER.findall(line)[:1])
    if operation == "phi":
        return all(_is_shared(value, lines, seen) for value, _ in arms(line))
    if operation == "select":
        chosen = _POINTER.findall(line)
        return len(chosen) == 2 and all(_is_shared(value, lines, seen) for value in chosen)
    return False
