"""Loop versioning: rows of threads in which no index counts from an array's end, and items are contiguous.

Python's `x[i]` tests whether the index is negative, and an array whose layout is only known at launch has strides.
Either keeps LLVM from seeing that neighbouring threads touch neighbouring items. So both are tested once for each row.
If none of the row's indices is negative, and each stride is the size of an item, the row is run by a loop that takes
this for granted (`%gj.asks` is false there). Otherwise it is run by a loop with all the tests.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from gridjit.compiler.targets.host.analysis.affine import ONE, PLACE, Affine, Row, affine
from gridjit.compiler.targets.host.analysis.loop_steps import compared_with
from gridjit.compiler.targets.host.analysis.pointers import base_of
from gridjit.compiler.targets.host.ir.body import Body, Parameter, defined, definitions_of, lines_of
from gridjit.compiler.targets.host.ir.instructions import Instruction, Operand, beside
from gridjit.compiler.targets.host.ir.parse import parse
from gridjit.compiler.targets.host.passes.row_values import FAR, RegionValues, RowWriter

ASKS = "%gj.asks"
# LLVM tests `i < 3` to learn whether `i - 3` is negative.
_LESS = ("slt", "ult")
_SIZES = {"i8": 1, "i16": 2, "i32": 4, "i64": 8, "float": 4, "double": 8}
# The most bytes between neighbouring items that are worth loading together; others are gathered either way.
_CLOSE = 64
# More tests take longer than a row saves.
_MOST = 24


@dataclass(frozen=True, slots=True, kw_only=True)
class Versioned:
    """A body in which some instructions test only if `%gj.asks` is set.

    indices: values that are tested for being negative. strides: parameters that are taken to be the size of an item.
    Both by the name of the value that says so.
    """

    body: Body
    indices: Mapping[str, Affine] = field(default_factory=dict)
    strides: Mapping[str, tuple[str, int]] = field(default_factory=dict)


def versioned(body: Body, axis: str, given: Collection[str] = ()) -> Versioned:
    """Return body with such tests where these let LLVM see that neighbouring threads touch neighbouring items.

    axis: that of a row, x or y. given: values that all threads of a row share when they use them.
    """
    lines = definitions_of(body.lines)
    row = Row(lines, axis, given)
    known = _known(body.lines, lines)
    asked = {condition for line in lines.values() if (condition := _from_end(line))}
    indices = {
        name: value
        for name in sorted(asked)
        if (value := _index(lines.get(name, ""), row, known)) is not None and _is_close(value)
    }
    sizes = _sizes(body, row, indices)
    if not (indices or sizes) or len(indices) > _MOST:
        return Versioned(body=body)
    made = _Rewriting(lines, indices, sizes)
    blocks = tuple(
        replace(block, lines=tuple(new for line in block.lines for new in made.line(line))) for block in body.blocks
    )
    return Versioned(body=replace(body, blocks=blocks), indices=indices, strides=made.strides)


def _known(every: Iterable[str], lines: Mapping[str, str]) -> set[str]:
    """Return the values of 64 bits that LLVM is told not to be negative."""
    told = (made.values[0] for made in map(parse, every) if made.callee_name == "llvm.assume")
    asked = (compared_with(condition, "sge", "0", lines) for condition in told)
    return {one.value for one in asked if one is not None and one.type == "i64"}


def _index(line: str, row: Row, known: Collection[str]) -> Affine | None:
    """Return a value less the number that an instruction compares it with, as a linear value.

    known: values that LLVM knows not to be negative.
    """
    found = parse(line)
    if found.opcode != "icmp" or found.kind != "i64" or not found.is_binary:
        return None
    predicate, (name, end) = found.predicate, found.values
    if predicate not in _LESS or not name.startswith("%") or end.startswith("%"):
        return None
    value = row.value(name) if not (name in known and end == "0") else None
    if value is None or not (-FAR < int(end) < FAR) or (predicate == "ult" and end.startswith("-")):
        return None
    return {**value, ONE: value.get(ONE, 0) - int(end)}


def _from_end(line: str) -> str:
    """Return the condition on which an instruction chooses a value over 0; "" if it does not."""
    found = parse(line)
    if found.opcode != "select" or found.kind != "i1" or found.operands[2:] != (Operand("i64", "0"),):
        return ""
    return found.values[0] if found.values[0].startswith("%") else ""


def _of_two(line: str, operation: str) -> Instruction | None:
    """Return an instruction's parts, if it adds or multiplies two values of 64 bits; else None."""
    found = parse(line)
    if found.opcode != operation or found.kind != "i64" or not (found.wraps and found.is_binary):
        return None
    return found if all(one.startswith("%") for one in found.values) else None


def _is_close(value: Affine | None, size: int = 1) -> bool:
    return value is not None and 0 < abs(value.get(PLACE, 0)) * size <= _CLOSE


def _sizes(body: Body, row: Row, indices: Collection[str]) -> dict[str, int]:
    """Return the parameters that may be strides between neighbouring threads' items, with the items' sizes."""
    parameters = {one.name for one in body.parameters if one.type == "i64"}
    found: dict[str, set[int]] = {}
    for made in map(parse, body.lines):
        size = _SIZES.get(made.type if made.opcode == "load" else made.kind, 0)
        if not made.accessed or made.flags or not size:
            continue
        number = parse(row.lines.get(made.accessed, "")).cast_of("i64", "ptr")
        for part in affine(number, row.lines) if number else ():
            if (stride := _stride(part, row, indices, parameters, size)) is not None:
                found.setdefault(stride, set()).add(size)
    return {name: next(iter(sizes)) for name, sizes in found.items() if len(sizes) == 1}


def _stride(name: str, row: Row, indices: Collection[str], parameters: Collection[str], size: int) -> str | None:
    """Return the parameter that a product multiplies an index by that varies along the row."""
    for stride, index in _both(_of_two(row.lines.get(name, ""), "mul")):
        if stride in parameters and _is_close(_place(index, row, indices), size):
            return stride
    return None


def _place(name: str, row: Row, indices: Collection[str]) -> Affine | None:
    """Return an index as an affine expression, without the size that is added to it where it is negative."""
    if (value := row.value(name)) is not None:
        return value
    for part, other in _both(_of_two(row.lines.get(name, ""), "add")):
        if _from_end(row.lines.get(other, "")) in indices:
            return row.value(part)
    return None


def _both(found: Instruction | None) -> list[tuple[str, str]]:
    if found is None:
        return []
    a, b = found.values
    return [(a, b), (b, a)]


class _Rewriting:
    """Rewrites the instructions that test, and addresses computed as integers, which LLVM does not see through."""

    def __init__(self, lines: Mapping[str, str], indices: Collection[str], sizes: Mapping[str, int]) -> None:
        self.lines, self.indices, self.sizes = lines, indices, sizes
        self.strides: dict[str, tuple[str, int]] = {}

    def line(self, line: str) -> tuple[str, ...]:
        """Return the instruction that takes an instruction's place."""
        name = defined(line)
        if name is not None and name in self.indices:
            raw = beside(name, "below")
            return str(parse(line)._replace(result=raw)), f"{name} = and i1 {raw}, {ASKS}"
        if name is not None and (found := _of_two(line, "mul")):
            return self._product(name, line, found)
        return self._address(line) if self.sizes else (line,)

    def _product(self, name: str, line: str, found: Instruction) -> tuple[str, ...]:
        stride = next((one for one in found.values if one in self.sizes), None)
        if stride is None:
            return (line,)
        known = beside(name, "stride")
        a, b = found.values
        other = b if stride == a else a
        size = self.sizes[stride]
        self.strides[known] = (stride, size)
        return f"{known} = select i1 {ASKS}, i64 {stride}, i64 {size}", f"{name} = mul i64 {known}, {other}"

    def _address(self, line: str) -> tuple[str, ...]:
        made = parse(line)
        number = made.cast_of("i64", "ptr")
        if not number or (base := base_of(number, self.lines)) is None:
            return (line,)
        way = beside(made.result, "way")
        return (
            f"{way} = sub i64 {number}, {base.result}",
            f"{made.result} = getelementptr i8, {base.operands[0]}, i64 {way}",
        )


def version_name(number: int) -> str:
    """Return the name of the function that tells whether a row of a region is plain."""
    return f"gridjit.plain.{number}"


def version_text(asked: Versioned, number: int, region: RegionValues, parameters: Sequence[Parameter]) -> str:
    """Return the function that tells whether the row of a region's threads from %gj.from to %gj.to - 1 is plain.

    "" if that is not known before the row is run, or the region has no such tests. parameters: the region's.
    """
    made = definitions_of(lines_of(region.blocks.values()))
    values = {tuple(sorted(asked.indices[name].items())) for name in asked.indices if name in made}
    strides = {asked.strides[name] for name in asked.strides if name in made}
    writer = RowWriter(region, parameters)
    if not (values or strides) or not all(writer.index(dict(value)) for value in sorted(values)):
        return ""
    for stride, size in sorted(strides):
        writer.holds(f"icmp eq i64 {stride}, {size}")
    return writer.function(version_name(number), "i1", writer.all)
