"""Conditions: a branch's condition as comparisons that all have to hold, each monotone along one axis of a block.

If both sides of a comparison are a multiple of the place along the axis plus something that does not depend on it, the
comparison holds for the threads at one end of a row, unless something wraps around. The same is true if one side is the
same along the row and the other is monotone: it only rises or only falls, by steps (`int(i / 5)`, `i // 4`, `i >> 2`).
Where this is used, the ends of the row are tested for wrapping around, and for what says there that a value is not
monotone after all: a NaN, a number that is too large, or a negative one that is taken for unsigned. Floats are rounded
as in the kernel, so none counts that LLVM may round in another way.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass

from gridjit.base.regexes import regex
from gridjit.compiler.targets.host.ir.body import NAME, used
from gridjit.compiler.targets.host.ir.instructions import Instruction, instruction

_OPERATIONS = frozenset(("add", "sub", "mul", "shl", "or"))
_CASTS = frozenset(("sext", "zext", "trunc"))
_FLAGS = regex(r" (?:nuw|nsw|nneg|samesign|exact|disjoint|inbounds)(?= )")
# What a condition is compared with that does not depend on the axis.
_TRUE = "true"
_OPPOSITE = {"slt": "sge", "sge": "slt", "sgt": "sle", "sle": "sgt", "eq": "ne", "ne": "eq"}
_FLOAT = r"(?P<type>double|float) (?P<a>\S+), (?P<b>\S+)$"
_ARITHMETIC = regex(rf"(?P<name>{NAME}) = (?P<operation>fadd|fsub|fmul|fdiv) {_FLOAT}")
_CONVERSION = regex(
    rf"(?P<name>{NAME}) = (?P<operation>sitofp|uitofp|fptosi) (?:nneg )?(?P<type>\S+) (?P<a>{NAME}) to (?P<to>\S+)$"
)
_QUOTIENT = regex(
    rf"(?P<name>{NAME}) = (?P<operation>[su]div|[al]shr) (?:exact )?(?P<type>i\d+) (?P<a>{NAME}), (?P<b>\d+)$"
)
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
    found = instruction(lines.get(condition, ""))
    if found and _is_opposite(found):
        return comparisons(found.operands[0], not holds, lines, axis)
    if found and (joined := _both(found) if holds else _either(found)):
        parts = [comparisons(part, holds, lines, axis) for part in joined]
        return None if None in parts else tuple(one for part in parts for one in part or ())
    one = _comparison(condition, holds, lines, axis)
    return None if one is None else (one,)


def necessary(condition: str, holds: bool, lines: Mapping[str, str], axis: Collection[str]) -> tuple[Comparison, ...]:
    """Return comparisons that all hold wherever condition is equal to holds; the condition may ask for more."""
    found = instruction(lines.get(condition, ""))
    if found and _is_opposite(found):
        return necessary(found.operands[0], not holds, lines, axis)
    if found and (joined := _both(found) if holds else _either(found)):
        parts = (necessary(part, holds, lines, axis) for part in joined)
        return tuple(one for part in parts for one in part)
    one = _comparison(condition, holds, lines, axis)
    return () if one is None else (one,)


def _is_opposite(found: Instruction) -> bool:
    return (found.operation, found.type, found.operands[1:]) == ("xor", "i1", ("true",))


def _both(found: Instruction) -> tuple[str, ...]:
    """Return the conditions that both have to hold; none if an instruction does not say so."""
    if found.operation == "select" and found.type == "i1" and found.operands[2:] == ("i1 false",):
        return _of_select(found, 1)
    return found.operands if (found.operation, found.type, len(found.operands)) == ("and", "i1", 2) else ()


def _either(found: Instruction) -> tuple[str, ...]:
    """Return the conditions of which one has to hold; none if an instruction does not say so."""
    if found.operation == "select" and found.type == "i1" and found.operands[1:2] == ("i1 true",):
        return _of_select(found, 2)
    return found.operands if (found.operation, found.type, len(found.operands)) == ("or", "i1", 2) else ()


def _of_select(found: Instruction, place: int) -> tuple[str, ...]:
    """Return the condition that an instruction chooses by, and the one at a place that it may choose."""
    if len(found.operands) != 3 or not found.operands[place].startswith("i1 "):
        return ()
    return found.operands[0], found.operands[place].removeprefix("i1 ")


def _binary(line: str) -> Instruction | None:
    """Return an instruction's parts, if it is arithmetic on two integers; else None."""
    found = instruction(line)
    of_integers = found is not None and found.operation in _OPERATIONS and found.type.startswith("i")
    return found if found and of_integers and found.is_binary else None


def _cast(line: str) -> Instruction | None:
    """Return an instruction's parts, if it widens or narrows an integer; else None."""
    found = instruction(line)
    if found is None or found.operation not in _CASTS or len(found.operands) != 1:
        return None
    return found if found.operands[0].startswith("%") and found.type.startswith("i") else None


def _comparison(condition: str, holds: bool, lines: Mapping[str, str], axis: Collection[str]) -> Comparison | None:
    made = _slice([condition], lines)
    varying = _varying(made, lines, axis)
    found = instruction(lines.get(condition, ""))
    compares = found is not None and found.operation == "icmp" and found.type.startswith("i") and found.is_binary
    if found is None or not compares or condition not in varying:
        if condition in varying:
            return None
        return _make("eq" if holds else "ne", False, "i1", (condition, _TRUE), made, varying, lines)
    inner = [name for name in made if name != condition]
    steps = _steps([(name, lines[name]) for name in inner if name in varying], varying)
    a, b = found.operands
    if steps is None or (not steps.isdisjoint((a, b)) and {a, b} <= varying):
        return None
    predicate = found.flags[-1]
    signed = predicate if predicate in ("eq", "ne") else f"s{predicate[1:]}"
    chosen = signed if holds else _OPPOSITE[signed]
    return _make(chosen, predicate[0] == "u", found.type, (a, b), inner, varying, lines)


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
    operation, (a, b) = found.operation, found.operands
    if operation == "mul":
        return not (a in varying and b in varying)
    if operation == "shl":
        return b.isdigit() and int(b) < int(found.type[1:]) - 1
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
    if binary and binary.name in varying:
        return _checked_arithmetic(binary)
    if cast and cast.name in varying and cast.operation != "sext":
        return _checked_cast(cast)
    if not varying.isdisjoint(used(line)) and (asked := asked_step(line)) is not None:
        return asked
    return [_FLAGS.sub("", line)], []


def _checked_arithmetic(found: Instruction) -> tuple[list[str], list[str]]:
    operation, kind, (a, b) = found.operation, found.type, found.operands
    if operation == "shl":
        operation, b = "mul", str(1 << int(b))
    verb = {"or": "add"}.get(operation, operation)
    name = found.name
    pair, bit = beside(name, "pair"), beside(name, "wraps")
    both = f"{{ {kind}, i1 }}"
    return [
        f"{pair} = call {both} @llvm.s{verb}.with.overflow.{kind}({kind} {a}, {kind} {b})",
        f"{name} = extractvalue {both} {pair}, 0",
        f"{bit} = extractvalue {both} {pair}, 1",
    ], [bit]


def _checked_cast(found: Instruction) -> tuple[list[str], list[str]]:
    name, kind, (a,), to = found.name, found.type, found.operands, found.to
    bit = beside(name, "wraps")
    if found.operation == "zext":
        return [f"{name} = zext {kind} {a} to {to}", f"{bit} = icmp slt {kind} {a}, 0"], [bit]
    back = beside(name, "back")
    lines = [f"{name} = trunc {kind} {a} to {to}", f"{back} = sext {to} {name} to {kind}"]
    return [*lines, f"{bit} = icmp ne {kind} {back}, {a}"], [bit]


def is_step(line: str, varying: Collection[str]) -> bool:
    """Return whether an instruction makes a monotone value of a monotone one and values that do not vary."""
    if _CONVERSION.match(line):
        return True
    if found := _QUOTIENT.match(line):
        return int(found["b"]) > 0
    found = _ARITHMETIC.match(line)
    if found is None or (found["a"] in varying and found["b"] in varying):
        return False
    return found["operation"] != "fdiv" or found["a"] in varying


def asked_step(line: str) -> tuple[list[str], list[str]] | None:
    """Return such an instruction as it is asked at one place, with the bit that says that it cannot be; else None."""
    if found := _QUOTIENT.match(line):
        signed = found["operation"] in ("sdiv", "ashr")
        plain = f"{found['name']} = {found['operation']} {found['type']} {found['a']}, {found['b']}"
        return ([plain], []) if signed else _unless_negative(plain, found)
    if found := _CONVERSION.match(line):
        return _asked_conversion(found)
    return ([line], []) if _ARITHMETIC.match(line) else None


def _asked_conversion(found: re.Match[str]) -> tuple[list[str], list[str]]:
    name, operation, kind, a, to = found["name"], found["operation"], found["type"], found["a"], found["to"]
    plain = f"{name} = {operation} {kind} {a} to {to}"
    if operation == "sitofp":
        return [plain], []
    if operation == "uitofp":
        return _unless_negative(plain, found)
    size, bit = beside(name, "size"), beside(name, "wraps")
    return [
        f"{name} = call {to} @llvm.fptosi.sat.{to}.{_WORDS[kind]}({kind} {a})",
        f"{size} = call {kind} @llvm.fabs.{_WORDS[kind]}({kind} {a})",
        f"{bit} = fcmp uge {kind} {size}, {2.0 ** (int(to[1:]) - 1):.6e}",
    ], [bit]


def _unless_negative(plain: str, found: re.Match[str]) -> tuple[list[str], list[str]]:
    bit = beside(found["name"], "wraps")
    return [plain, f"{bit} = icmp slt {found['type']} {found['a']}, 0"], [bit]


def beside(name: str, word: str) -> str:
    """Return a name for a value that is computed beside another."""
    return f'%"gj.{word}.{name[1:].strip(chr(34))}"'
