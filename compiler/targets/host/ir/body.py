"""Body: a kernel as one function's text - its parameters and blocks - once everything it calls is inlined."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from itertools import chain

from gridjit.base.regexes import regex
from gridjit.compiler.targets.host.ir.instructions import Instruction
from gridjit.compiler.targets.host.ir.module import FunctionText, definitions, label_of
from gridjit.compiler.targets.host.ir.parse import begin, parse
from gridjit.compiler.targets.host.ir.types import closing_bracket, split_commas

NAME = r'%(?:"[^"]*"|[-a-zA-Z$._0-9]+)'
_NAMES = regex(NAME)
_LABEL = regex(rf"label ({NAME})")
# Local arrays may move to the slab, where lifetimes, which are for the stack, do not apply.
_LIFETIME = "call void @llvm.lifetime."
# Of how many instructions it is remembered what they are: passes ask the same of each some 20 times.
_REMEMBERED = 1 << 13


@dataclass(frozen=True, slots=True, kw_only=True)
class Parameter:
    """A parameter: its LLVM type and its name with the percent sign."""

    type: str
    name: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Block:
    """A basic block: its label with the percent sign, and its instructions, the last of which ends it."""

    label: str
    lines: tuple[str, ...]

    @property
    def end(self) -> Instruction:
        """The instruction that ends it."""
        return parse(self.lines[-1])

    @property
    def successors(self) -> tuple[str, ...]:
        """The labels control can go to from here."""
        return _labels(self.lines[-1])

    @property
    def phis(self) -> tuple[str, ...]:
        """The phi instructions that open it."""
        return tuple(line for line in self.lines if opcode(line) == "phi")

    def __str__(self) -> str:
        return "\n".join([f"{self.label[1:]}:", *(f"  {line}" for line in self.lines)])


@dataclass(frozen=True, slots=True, kw_only=True)
class Body:
    """A function: parameters, blocks (the first is the entry), and the rest of its module's text."""

    parameters: tuple[Parameter, ...]
    blocks: tuple[Block, ...]
    rest: str

    @property
    def by_label(self) -> dict[str, Block]:
        """The blocks by their labels."""
        return {block.label: block for block in self.blocks}

    @property
    def lines(self) -> Iterator[str]:
        """The instructions, block by block."""
        return lines_of(self.blocks)

    def __str__(self) -> str:
        parameters = ", ".join(f"{one.type} {one.name}" for one in self.parameters)
        return "\n".join([f"define i32 @kernel({parameters}) {{", *map(str, self.blocks), "}"])


def read_body(text: str, name: str, parameters: tuple[Parameter, ...]) -> Body:
    """Return the function called name out of a module's canonical text."""
    found = next((one for one in definitions(text) if one.name == name), None)
    if found is None:
        raise ValueError(f"the module has no function {name}")
    rest = text.replace(f"{found.text}\n", "", 1)
    return Body(parameters=parameters, blocks=tuple(blocks_of(found.body)), rest=rest)


def body_of(function: FunctionText, rest: str = "") -> Body:
    """Return a function as a body, with its parameters by their types and names. rest: the text of its module."""
    start = function.head.index("(")
    given = split_commas(function.head[start + 1 : closing_bracket(function.head, start)])
    parameters = (one.split(" ") for one in given if one)
    return Body(
        parameters=tuple(Parameter(type=" ".join(words[:-1]), name=words[-1]) for words in parameters),
        blocks=tuple(blocks_of(function.body)),
        rest=rest,
    )


def blocks_of(text: str) -> Iterator[Block]:
    """Yield the blocks of a function's body; a switch, which LLVM prints over several lines, is one line."""
    label, lines, is_open = "", list[str](), False
    for line in text.splitlines():
        statement = line.strip()
        if begun := label_of(line):
            if lines:
                yield Block(label=label, lines=tuple(lines))
            label, lines = f"%{begun}", []
        elif is_open:
            lines[-1] += f" {statement}"
            is_open = not statement.startswith("]")
        elif statement and not statement.startswith(";") and _LIFETIME not in statement:
            lines.append(statement)
            is_open = statement.startswith("switch ") and "]" not in statement
    yield Block(label=label, lines=tuple(lines))


def lines_of(blocks: Iterable[Block]) -> Iterator[str]:
    """Return the instructions of blocks, one after the other."""
    return chain.from_iterable([block.lines for block in blocks])


def definitions_of(lines: Iterable[str]) -> dict[str, str]:
    """Return the instructions that define values, by the values' names."""
    return {name: line for line in lines if (name := defined(line)) is not None}


@lru_cache(_REMEMBERED)
def _labels(line: str) -> tuple[str, ...]:
    found = parse(line)
    return found.labels if found.known else tuple(_LABEL.findall(line))


@lru_cache(_REMEMBERED)
def defined(line: str) -> str | None:
    """Return the name an instruction gives its result, or None."""
    return begin(line)[0].result or None


@lru_cache(_REMEMBERED)
def opcode(line: str) -> str:
    """Return an instruction's operation ("load", "call")."""
    return begin(line)[0].opcode


@lru_cache(_REMEMBERED)
def used(line: str) -> frozenset[str]:
    """Return the values and labels an instruction reads."""
    return frozenset(_NAMES.findall(line, len(defined(line) or "")))


@lru_cache(_REMEMBERED)
def reads(line: str) -> frozenset[str]:
    """Return the values that an instruction reads."""
    return used(line).difference(_labels(line))


def arms(phi: str) -> tuple[tuple[str, str], ...]:
    """Return a phi's (value, predecessor) pairs."""
    return parse(phi).arms


def with_predecessors(phi: str, names: Mapping[str, str]) -> str:
    """Return a phi with its predecessors renamed."""
    return str(parse(phi).with_labels(names))


def rename(line: str, names: dict[str, str]) -> str:
    """Return line with every name in names replaced."""
    return _NAMES.sub(lambda found: names.get(found.group(), found.group()), line)
