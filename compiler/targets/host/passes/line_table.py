"""Line table: places in the source that stay with a kernel's instructions, up to the object file's line table.

A kernel's code goes through functions that gridjit writes: regions, and loops around them. Each is described to LLVM as
a part of the kernel, into which the kernel's own function, and what that called, are inlined.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace

from gridjit.base.regexes import regex
from gridjit.compiler.targets.host.ir.body import Block, Body, opcode
from gridjit.compiler.targets.host.ir.debug_locations import DEBUG_LOCATION, without_debug_location

_DEFINE = regex(r"^define (?P<head>[^\n]*@(?P<name>[\w.$\"-]+)\([^\n]*) \{\n(?P<body>.*?)^\}", re.MULTILINE | re.DOTALL)
_CALL = regex(r"^(  [^\n]*\bcall [^\n]*@gridjit\.[^\n]*)$", re.MULTILINE)
_NODE = regex(r"^(!\d+) = (?:distinct )?!DILocation\((.*)\)$", re.MULTILINE)
_INLINED = regex(r", inlinedAt: (!\d+)")
_UNIT = regex(r"^(!\d+) = distinct !DICompileUnit\(.*?file: (!\d+)", re.MULTILINE)
_FIRST = 800_000
# Instructions that the stages after this take apart.
_BARE = frozenset(("ret", "br", "switch", "phi", "unreachable", "alloca"))


def bare(body: Body) -> Body:
    """Return body without the places of those instructions that are taken apart later."""
    blocks = (Block(label=block.label, lines=tuple(map(_bare, block.lines))) for block in body.blocks)
    return replace(body, blocks=tuple(blocks))


def _bare(line: str) -> str:
    return without_debug_location(line) if opcode(line) in _BARE else line


def with_lines(text: str, name: str, line: int) -> str:
    """Return a module's text with its functions described, as parts of the kernel of this name that begins at line."""
    unit = _UNIT.search(text)
    if unit is None:
        return text
    nodes = {found[1]: found[2] for found in _NODE.finditer(text)}
    writer = _Descriptions(unit=unit[1], file=unit[2], nodes=nodes, name=name, line=line)
    described = _DEFINE.sub(writer.described, text).replace("DebugDirectivesOnly", "LineTablesOnly")
    return "\n".join([described, *writer.lines, ""])


@dataclass(slots=True)
class _Descriptions:
    """Writes descriptions of functions, and the copies of places that are inlined into each."""

    unit: str
    file: str
    nodes: dict[str, str]
    name: str
    line: int
    lines: list[str] = field(default_factory=list)

    def described(self, found: re.Match[str]) -> str:
        """Return a function of gridjit's with its description; others have theirs."""
        if not found["name"].startswith("gridjit.") or " !dbg " in found["head"]:
            return found.group()
        program = self._add(
            f'distinct !DISubprogram(name: "{self.name}", linkageName: "{found["name"]}", scope: {self.file}, file: '
            f"{self.file}, line: {self.line}, type: {self._type()}, scopeLine: {self.line}, "
            f"spFlags: DISPFlagDefinition, unit: {self.unit})"
        )
        here = self._add(f"distinct !DILocation(line: {self.line}, scope: {program})")
        copies: dict[str, str] = {}
        body = DEBUG_LOCATION.sub(lambda one: f", !dbg {self._inlined(one[1], here, copies)}", found["body"])
        body = _CALL.sub(lambda one: one[1] if " !dbg " in one[1] else f"{one[1]}, !dbg {here}", body)
        return f"define {found['head']} !dbg {program} {{\n{body}}}"

    def _type(self) -> str:
        return self._add(f"!DISubroutineType(types: {self._add('!{}')})")

    def _inlined(self, place: str, here: str, copies: dict[str, str]) -> str:
        """Return a copy of a place that is inlined here at last."""
        if place not in copies and place in self.nodes:
            outer = _INLINED.search(self.nodes[place])
            at = here if outer is None else self._inlined(outer[1], here, copies)
            text = _INLINED.sub("", self.nodes[place])
            copies[place] = self._add(f"distinct !DILocation({text}, inlinedAt: {at})")
        return copies.get(place, here)

    def _add(self, node: str) -> str:
        number = f"!{_FIRST + len(self.lines)}"
        self.lines.append(f"{number} = {node}")
        return number
