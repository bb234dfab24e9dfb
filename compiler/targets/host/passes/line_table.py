"""Line table: places in the source that stay with a kernel's instructions, up to the object file's line table.

A kernel's code goes through functions that gridjit writes: regions, and loops around them. Each is described to LLVM as
a part of the kernel, into which the kernel's own function, and what that called, are inlined.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from gridjit.compiler.targets.host.ir.body import Block, Body, opcode
from gridjit.compiler.targets.host.ir.calls import call_in
from gridjit.compiler.targets.host.ir.debug_locations import DEBUG_LOCATION, without_debug_location
from gridjit.compiler.targets.host.ir.intrinsics import GRIDJITS
from gridjit.compiler.targets.host.ir.metadata import MetadataNode, nodes
from gridjit.compiler.targets.host.ir.module import FunctionText, with_definitions, with_each_line

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
    found = nodes(text)
    unit = next((number for number, node in found.items() if node.kind == "DICompileUnit"), None)
    if unit is None:
        return text
    writer = _Descriptions(unit=unit, file=found[unit].fields["file"], nodes=found, name=name, line=line)
    described = with_definitions(text, writer.described).replace("DebugDirectivesOnly", "LineTablesOnly")
    return "\n".join([described, *writer.lines, ""])


def _lacks_place(line: str) -> bool:
    """Return whether a line calls a function of gridjit's and has no place in the source."""
    call = call_in(line)
    return call is not None and call.name.startswith(GRIDJITS) and " !dbg " not in line


@dataclass(slots=True)
class _Descriptions:
    """Writes descriptions of functions, and the copies of places that are inlined into each."""

    unit: str
    file: str
    nodes: dict[str, MetadataNode]
    name: str
    line: int
    lines: list[str] = field(default_factory=list)

    def described(self, function: FunctionText) -> str:
        """Return a function of gridjit's with its description; others have theirs."""
        if not function.name.startswith(GRIDJITS) or " !dbg " in function.head:
            return function.text
        program = self._add(
            f'distinct !DISubprogram(name: "{self.name}", linkageName: "{function.name}", scope: {self.file}, file: '
            f"{self.file}, line: {self.line}, type: {self._type()}, scopeLine: {self.line}, "
            f"spFlags: DISPFlagDefinition, unit: {self.unit})"
        )
        here = self._add(f"distinct !DILocation(line: {self.line}, scope: {program})")
        copies: dict[str, str] = {}
        body = DEBUG_LOCATION.sub(lambda one: f", !dbg {self._inlined(one[1], here, copies)}", function.body)
        body = with_each_line(body, "call ", lambda line: f"{line}, !dbg {here}" if _lacks_place(line) else line)
        return f"{function.head} !dbg {program} {{\n{body}}}"

    def _type(self) -> str:
        return self._add(f"!DISubroutineType(types: {self._add('!{}')})")

    def _inlined(self, place: str, here: str, copies: dict[str, str]) -> str:
        """Return a copy of a place that is inlined here at last."""
        if place not in copies and place in self.nodes:
            outer = self.nodes[place].fields.get("inlinedAt")
            at = here if outer is None else self._inlined(outer, here, copies)
            node = MetadataNode("DILocation", self.nodes[place].fields | {"inlinedAt": at})
            copies[place] = self._add(f"distinct !DILocation({node.written})")
        return copies.get(place, here)

    def _add(self, node: str) -> str:
        number = f"!{_FIRST + len(self.lines)}"
        self.lines.append(f"{number} = {node}")
        return number
