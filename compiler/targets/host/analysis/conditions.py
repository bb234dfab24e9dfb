"""Conditions: a branch's condition as comparisons that all have to hold, each monotone along one axis of a block.

If both sides of a comparison are a multiple of the place along the axis plus something that does not depend on it, the
comparison holds for the threads at one end of a row, unless something wraps around. The same is true if one side is the
same along the row and the other is monotone: it only rises or only falls, by steps (`int(i / 5)`, `i // 4`, `i >> 2`).
Where this is used, the ends of the row are tested for wrapping around, and for what says there that a value is not
monotone after all: a NaN, a number that is too large, or a negative one that is taken for unsigned. Floats are rounded
as in the kernel, so none counts that LLVM may round in another way.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass

from gridjit.compiler.targets.host.ir.body import used
from gridjit.compiler.targets.host.ir.instructions import Instruction, Operand, beside
from gridjit.compiler.targets.host.ir.parse import parse

_OPERATIONS = frozenset(("add", "sub", "mul", "shl", "or"))
_CASTS = frozenset(("sext", "zext", "trunc"))
# What a condition is compared with that does not depend on the axis.
_TRUE = "true"
_OPPOSITE = {"slt": "sge", "sge": "slt", "sgt": "sle", "sle": "sgt", "eq": "ne", "ne": "eq"}
_ARITHMETIC = frozenset(("fadd", "fsub", "fmul", "fdiv"))
_CONVERSIONS = frozenset(("sitofp", "uitofp", "fptosi"))
_QUOTIENTS = frozenset(("udiv", "sdiv", "ashr", "lshr"))
_WORDS = {"double": "f64", "float": "f32"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """A comparison of two integers: its signed predicate, and the instructions that compute its operands, in order.

    unsigned: whether it compares them as such, which is the same while both are not negative. varying: the values that
    depend on the axis. A condition that does not depend on it is compared with true.
    """

    predicate: str
    unsigned: bool
    type: str
    operands: tuple[str, str]
    lines: tuple[str, ...]
    varying: frozenset[str]

    @property
    def everywhere(self) -> bool:
        """Whether the condition does not depend on the axis."""
        return self.operands[1] == _TRUE


def comparisons(
    condition: str, holds: bool, lines: Mapping[str, str], axis: Collection[str]
) -> tuple[Comparison, ...] | None:
    """Return the comparisons that make condition equal to holds if and only if all hold, or None.

    lines: the instructions by the names of their results. axis: what differs along a row.
    """
    found = parse(lines.get(condition, ""))
    if _is_opposite(found):
        return comparisons(found.values[0], not holds, lines, axis)
    if joined := _both(found) if holds else _either(found):
        parts = [comparisons(part, holds, lines, axis) for part in joined]
        return None if None in parts else tuple(one for part in parts for one in part or ())
    one = _comparison(condition, holds, lines, axis)
    return None if one is None else (one,)


def necessary(condition: str, holds: bool, lines: Mapping[str, str], axis: Collection[str]) -> tuple[Comparison, ...]:
    """Return comparisons that all hold wherever condition is equal to holds; the condition may ask for more."""
    found = parse(lines.get(condition, ""))
    if _is_opposite(found):
        return necessary(found.values[0], not holds, lines, axis)
    if joined := _both(found) if holds else _either(found):
        parts = (necessary(part, holds, lines, axis) for part in joined)
        return tuple(one for part in parts for one in part)
    one = _comparison(condition, holds, lines, axis)
    return () if one is None else (one,)


def _is_opposite(found: Instruction) -> bool:
    return (found.opcode, found.kind, found.values[1:]) == ("xor", "i1", ("true",))


def _both(found: Instruction) -> tuple[str, ...]:
    """Return the conditions that both have to hold; none if an instruction does not say so."""
    if found.opcode == "select" and found.kind == "i1" and found.operands[2:] == (Operand("i1", "false"),):
        return _of_select(found, 1)
    return found.values if (found.opcode, found.kind, len(found.values)) == ("and", "i1", 2) else ()


def _either(found: Instruction) -> tuple[str, ...]:
    """Return the conditions of which one has to hold; none if an instruction does not say so."""
    if found.opcode == "select" and found.kind == "i1" and found.operands[1:2] == (Operand("i1", "true"),):
        return _of_select(found, 2)
    return found.values if (found.opcode, found.kind, len(found.values)) == ("or", "i1", 2) else ()


def _of_select(found: Instruction, place: int) -> tuple[str, ...]:
    """Return the condition that an instruction chooses by, and the one at a place that it may choose."""
    return (found.values[0], found.values[place]) if found.operands[place].type == "i1" and not found.notes else ()


def _binary(line: str) -> Instruction | None:
    """Return an instruction's parts, if it is arithmetic on two integers; else None."""
    found = parse(line)
    return found if found.opcode in _OPERATIONS and found.kind.startswith("i") and found.is_binary else None


def _cast(line: str) -> Instruction | None:
    """Return an instruction's parts, if it widens or narrows an integer; else None."""
    found = parse(line)
    if found.opcode not in _CASTS or found.notes:
        return None
    return found if found.values[0].startswith("%") and found.kind.startswith("i") else None


def _comparison(condition: str, holds: bool, lines: Mapping[str, str], axis: Collection[str]) -> Comparison | None:
    made = _slice([condition], lines)
    varying = _varying(made, lines, axis)
    found = parse(lines.get(condition, ""))
    compares = found.opcode == "icmp" and found.kind.startswith("i") and found.is_binary
    if not compares or condition not in varying:
        if condition in varying:
            return None
        return _make("eq" if holds else "ne", False, "i1", (condition, _TRUE), made, varying, lines)
    inner = [name for name in made if name != condition]
    steps = _steps([(name, lines[name]) for name in inner if name in varying], varying)
    a, b = found.values
    if steps is None or (not steps.isdisjoint((a, b)) and {a, b} <= varying):
        return None
    predicate = found.predicate
    signed = predicate if predicate in ("eq", "ne") else f"s{predicate[1:]}"
    chosen = signed if holds else _OPPOSITE[signed]
    return _make(chosen, predicate[0] == "u", found.kind, (a, b), inner, varying, lines)


def _make(
    predicate: str,
    unsigned: bool,
    kind: str,
    operands: tuple[str, str],
    made: Iterable[str],
    varying: frozenset[str],
    lines: Mapping[str, str],
) -> Comparison:
    return Comparison(
        predicate=predicate,
        unsigned=unsigned,
        type=kind,
        operands=operands,
        lines=tuple(lines[name] for name in made),
        varying=varying,
    )


def _slice(names: Iterable[str], lines: Mapping[str, str]) -> list[str]:
    """Return the values of these names and all that they are made of, each after its operands."""
    order: dict[str, None] = {}

    def visit(name: str) -> None:
        if name in lines and name not in order:
            for part in sorted(used(lines[name])):
                visit(part)
            order[name] = None

    for name in names:
        visit(name)
    return list(order)


def _varying(made: Iterable[str], lines: Mapping[str, str], axis: Collection[str]) -> frozenset[str]:
    varying = set(axis)
    for name in made:
        if not varying.isdisjoint(used(lines[name])):
            varying.add(name)
    return frozenset(varying)


def _steps(made: Iterable[tuple[str, str]], varying: Collection[str]) -> set[str] | None:
    """Return which of the varying values are monotone without being linear; None if one is neither."""
    steps = set[str]()
    for name, line in made:
        mine = used(line).intersection(varying)
        if _is_linear(line, varying):
            if not steps.isdisjoint(mine):
                if len(mine) > 1:
                    return None
                steps.add(name)
        elif is_step(line, varying):
            steps.add(name)
        else:
            return None
    return steps


def _is_linear(line: str, varying: Collection[str]) -> bool:
    """Return whether an instruction makes a linear value of linear ones, unless it wraps around."""
    if _cast(line):
        return True
    found = _binary(line)
    if found is None:
        return False
    operation, (a, b) = found.opcode, found.values
    if operation == "mul":
        return not (a in varying and b in varying)
    if operation == "shl":
        return b.isdigit() and int(b) < int(found.kind[1:]) - 1
    return operation != "or" or "disjoint" in found.flags


def checked(one: Comparison) -> tuple[list[str], list[str]]:
    """Return the instructions that compute a comparison's operands, and the bits that say that something wrapped."""
    lines, bits = list[str](), list[str]()
    for line in one.lines:
        more, bit = _checked(line, one.varying)
        lines += more
        bits += bit
    if one.unsigned:
        for index, operand in enumerate(one.operands):
            bits.append(f"%gj.negative.{index}")
            lines.append(f"%gj.negative.{index} = icmp slt {one.type} {operand}, 0")
    return lines, bits


def _checked(line: str, varying: frozenset[str]) -> tuple[list[str], list[str]]:
    """Return an instruction without flags that make its result poison, with the bit that says that it wrapped."""
    binary, cast = _binary(line), _cast(line)
    if binary and binary.result in varying:
        return _checked_arithmetic(binary)
    if cast and cast.result in varying and cast.opcode != "sext":
        return _checked_cast(cast)
    if not varying.isdisjoint(used(line)) and (asked := asked_step(line)) is not None:
        return asked
    return [str(parse(line).without_poison())], []


def _checked_arithmetic(found: Instruction) -> tuple[list[str], list[str]]:
    operation, kind, (a, b) = found.opcode, found.kind, found.values
    if operation == "shl":
        operation, b = "mul", str(1 << int(b))
    verb = {"or": "add"}.get(operation, operation)
    name = found.result
    pair, bit = beside(name, "pair"), beside(name, "wraps")
    both = f"{{ {kind}, i1 }}"
    return [
        f"{pair} = call {both} @llvm.s{verb}.with.overflow.{kind}({kind} {a}, {kind} {b})",
        f"{name} = extractvalue {both} {pair}, 0",
        f"{bit} = extractvalue {both} {pair}, 1",
    ], [bit]


def _checked_cast(found: Instruction) -> tuple[list[str], list[str]]:
    name, kind, (a,), to = found.result, found.kind, found.values, found.type
    bit = beside(name, "wraps")
    if found.opcode == "zext":
        return [f"{name} = zext {kind} {a} to {to}", f"{bit} = icmp slt {kind} {a}, 0"], [bit]
    back = beside(name, "back")
    lines = [f"{name} = trunc {kind} {a} to {to}", f"{back} = sext {to} {name} to {kind}"]
    return [*lines, f"{bit} = icmp ne {kind} {back}, {a}"], [bit]


def is_step(line: str, varying: Collection[str]) -> bool:
    """Return whether an instruction makes a monotone value of a monotone one and values that do not vary."""
    found = parse(line)
    if _is_conversion(found):
        return True
    if _is_quotient(found):
        return int(found.values[1]) > 0
    if not _is_float_arithmetic(found) or all(one in varying for one in found.values):
        return False
    return found.opcode != "fdiv" or found.values[0] in varying


def asked_step(line: str) -> tuple[list[str], list[str]] | None:
    """Return such an instruction as it is asked at one place, with the bit that says that it cannot be; else None."""
    found = parse(line)
    if _is_quotient(found):
        plain = str(found.without_poison())
        return ([plain], []) if found.opcode in ("sdiv", "ashr") else _unless_negative(plain, found)
    if _is_conversion(found):
        return _asked_conversion(found)
    return ([line], []) if _is_float_arithmetic(found) else None


def _is_conversion(found: Instruction) -> bool:
    return found.opcode in _CONVERSIONS and not found.notes and found.values[0].startswith("%")


def _is_quotient(found: Instruction) -> bool:
    """Return whether an instruction divides an integer by a number, or shifts it to the right by one."""
    if found.opcode not in _QUOTIENTS or not found.is_binary:
        return False
    a, b = found.values
    return a.startswith("%") and b.isdecimal()


def _is_float_arithmetic(found: Instruction) -> bool:
    """Return whether an instruction computes with two floats as IEEE 754 says."""
    return found.opcode in _ARITHMETIC and found.kind in _WORDS and not (found.flags or found.notes)


def _asked_conversion(found: Instruction) -> tuple[list[str], list[str]]:
    name, kind, (a,), to = found.result, found.kind, found.values, found.type
    plain = str(found.without_poison())
    if found.opcode == "sitofp":
        return [plain], []
    if found.opcode == "uitofp":
        return _unless_negative(plain, found)
    size, bit = beside(name, "size"), beside(name, "wraps")
    return [
        f"{name} = call {to} @llvm.fptosi.sat.{to}.{_WORDS[kind]}({kind} {a})",
        f"{size} = call {kind} @llvm.fabs.{_WORDS[kind]}({kind} {a})",
        f"{bit} = fcmp uge {kind} {size}, {2.0 ** (int(to[1:]) - 1):.6e}",
    ], [bit]


def _unless_negative(plain: str, found: Instruction) -> tuple[list[str], list[str]]:
    bit = beside(found.result, "wraps")
    return [plain, f"{bit} = icmp slt {found.kind} {found.values[0]}, 0"], [bit]
