"""Source locations: the lines of Python from which the instructions come that make threads wait for each other.

The front end names a block of code after the place of its bytecode. Each such instruction carries the function and the
bytecode that its block stands for, from the text that the front end makes until the kernel is cut.
"""

from __future__ import annotations

import dis
import re
import sys
from collections.abc import Iterator
from types import CodeType
from typing import Any

from gridjit.base.regexes import regex
from gridjit.base.values import dataclass
from gridjit.compiler.source.code_place import CodePlace
from gridjit.compiler.targets.host.ir.metadata import node_text
from gridjit.compiler.targets.host.ir.module import FunctionText, with_definitions
from gridjit.compiler.values.target import Lowered

# A block that checks divide goes on in blocks at the end of the text, whose names begin with its own.
_LABEL = regex(r'^"?B(\d+)(?:\.[^":\n]*)?"?:', re.MULTILINE)
_READ = regex(
    r'^( *%"[^"]+" = (?:(?:cmpxchg|atomicrmw|load volatile) [^\n]*'
    r'|load (?:i\d+|float|double), \S+ %"\.\d+"(?:, !dbg !\d+)?))$',
    re.MULTILINE,
)
_ITEM = regex(r" = load (?!volatile)")
# A fence has a thread look again at what it reads beside it.
_WAITS = regex(
    r" (?:cmpxchg|atomicrmw|load volatile) |\.membar\.|nanosleep\.u32 ",
    needs=("cmpxchg", "atomicrmw", "volatile", "membar", "nanosleep"),
)
_FIRST = 800_000
_MARK = regex(r", !gj\.spot !(\d+)", needs=("gj.spot",))
_NODE = regex(r'!\{!"([^"]*)", i32 (\d+), i32 (\d+), i32 (\d+)\}')
_PART = regex(r"\d+")
_ESCAPES = regex(r"(?:_[0-9a-f]{2})+")


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceLocation:
    """A piece of a function's bytecode, from start to before end (0: to its end); function: its name in LLVM IR.

    item: whether an item of an array is read there, not by a call.
    """

    function: str
    start: int
    end: int
    item: bool = False


def with_locations(text: str, *, always: bool = False) -> str:
    """Return a module of the front end's, each instruction that may poll memory with its location.

    always: also where nothing says that threads wait for each other.
    """
    if not always and not _WAITS.search(text):
        return text
    nodes: list[str] = []
    text = with_definitions(text, lambda one: _marked(one, nodes))
    return "\n".join([text, *nodes, ""])


def _marked(function: FunctionText, nodes: list[str]) -> str:
    name, body = function.symbol.strip('"'), function.text
    places = [(label.start(), int(label[1])) for label in _LABEL.finditer(body)]
    offsets = sorted({offset for _, offset in places})

    def mark(line: re.Match[str]) -> str:
        start = next((offset for at, offset in reversed(places) if at < line.start()), 0)
        end = next((offset for offset in offsets if offset > start), 0)
        number = _FIRST + len(nodes)
        item = int(_ITEM.search(line[1]) is not None)
        nodes.append(f'!{number} = !{{!"{name}", i32 {start}, i32 {end}, i32 {item}}}')
        return f"{line[1]}, !gj.spot !{number}"

    return _READ.sub(mark, body)


def location_of(line: str, rest: str) -> SourceLocation | None:
    """Return the location of an instruction, if it has one; rest: the text that has its module's metadata."""
    if (mark := _MARK.search(line)) is None:
        return None
    found = _NODE.match(node_text(rest, f"!{mark[1]}"))
    return (
        SourceLocation(function=found[1], start=int(found[2]), end=int(found[3]), item=found[4] == "1")
        if found
        else None
    )


def without_location(line: str) -> str:
    """Return an instruction without its location."""
    return _MARK.sub("", line)


def place_of(location: SourceLocation | None, lowered: Lowered) -> str:
    """Return the place in Python's code of a location, as `CodePlace` writes it, as far as it is known."""
    if location is None:
        return ""
    path = path_of(location.function)
    code = lowered.code if location.function == lowered.entry else _found(path)
    if code is None:
        return f"in {'.'.join(path)}"
    return str(CodePlace.of(code, _offset(code, location)))


def _offset(code: CodeType, location: SourceLocation) -> int:
    """Return where the last call in a location is, as atomic operations are calls, or the last item that is read."""
    here = [one for one in dis.get_instructions(code) if location.start <= one.offset < (location.end or sys.maxsize)]
    calls = [one.offset for one in here if (_reads_item(one) if location.item else one.opname.startswith("CALL"))]
    return calls[-1] if calls else here[-1].offset if here else 0


def _reads_item(one: dis.Instruction) -> bool:
    return one.opname.startswith("BINARY_SUBSCR") or (one.opname == "BINARY_OP" and one.argrepr == "[]")


def path_of(mangled: str) -> list[str]:
    """Return the parts of a function's name with its module's, as numba mangles them (Itanium's nested names)."""
    return [part for text in _parts(mangled.removeprefix("_ZN")) for part in _ESCAPES.sub(_characters, text).split(".")]


def _parts(text: str) -> Iterator[str]:
    while length := _PART.match(text):
        end = length.end() + int(length[0])
        yield text[length.end() : end]
        text = text[end:]


def _characters(found: re.Match[str]) -> str:
    """Return what stands for characters that names do not have; names have such texts themselves ("wait_added")."""
    try:
        text = bytes.fromhex(found[0].replace("_", "")).decode()
    except UnicodeDecodeError:
        return found[0]
    return found[0] if re.search(r"[A-Za-z0-9_]", text) else text


def _found(path: list[str]) -> CodeType | None:
    """Return the code of a function, which may be local to another one, by its module's name and its own."""
    for count in range(len(path) - 1, 0, -1):
        if (module := sys.modules.get(".".join(path[:count]))) is not None:
            return _inside(module, path[count:])
    return None


def _inside(owner: Any, names: list[str]) -> CodeType | None:
    here: Any = owner
    for name in names:
        if isinstance(here, CodeType):
            inner = (one for one in here.co_consts if isinstance(one, CodeType) and one.co_name == name)
            here = here if name == "<locals>" else next(inner, None)
        else:
            here = _code(here) if name == "<locals>" else getattr(here, name, None)
    return here if isinstance(here, CodeType) else _code(here)


def _code(function: Any) -> CodeType | None:
    code = getattr(getattr(function, "py_func", function), "__code__", None)
    return code if isinstance(code, CodeType) else None
