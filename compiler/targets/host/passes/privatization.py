"""Privatization: arrays that a kernel uses only by atomic operations on integers whose results it does not use.

No thread of the launch can tell when such an operation is done, and any order of them leaves the same value. So blocks
that run one after the other may do them in a copy. What the kernel reads or writes besides must be other memory: where
it is that of other arrays, their places are compared at each launch (entry.py); where it is not known, nothing is
gathered. Nor is it in kernels with fences, which may have somebody watch, or with linked code.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from gridjit.compiler.targets.host.analysis.pointers import UNKNOWN, Argument, Roots
from gridjit.compiler.targets.host.ir.body import Body, Parameter, definitions_of, used
from gridjit.compiler.targets.host.ir.instructions import Instruction, is_value
from gridjit.compiler.targets.host.ir.opcodes import may_wait
from gridjit.compiler.targets.host.ir.parse import parse

# Whether the addresses of the privatized arrays are those of copies that nobody else has.
ALONE = Parameter(type="i1", name="%gj.alone")
# What the operations on privatized arrays carry until they are written out.
MARK = ", !gridjit.gathered !{}"
_SIZES = {"i32": 4, "i64": 8}
# Operations of one kind may be done in any order.
_KINDS = {
    "add": "add",
    "sub": "add",
    **{name: name for name in ("and", "or", "xor", "max", "min", "umax", "umin")},
}
_ACCESSES = frozenset(("load", "store", "atomicrmw", "cmpxchg"))


@dataclass(frozen=True, slots=True, kw_only=True)
class PrivatizedArray:
    """An array: the number of the parameter that is its address, the kind of operations on it, its items' type."""

    address: int
    kind: str
    type: str

    @property
    def size(self) -> int:
        """The bytes of an item."""
        return _SIZES[self.type]

    @property
    def neutral(self) -> int:
        """The value that an operation with another leaves as that."""
        bits = 8 * self.size
        signed = {"max": -(1 << bits - 1), "min": (1 << bits - 1) - 1}
        return {"and": -1, "umin": -1, **signed}.get(self.kind, 0)


@dataclass(frozen=True, slots=True, kw_only=True)
class Privatization:
    """A body whose operations on privatized arrays are marked, and these arrays; none if there are none.

    others: the parameters that are the addresses of arrays which the kernel uses otherwise, with their dimensions.
    """

    body: Body
    arrays: tuple[PrivatizedArray, ...] = ()
    others: tuple[tuple[int, int], ...] = ()


def privatized(body: Body, arrays: Mapping[int, int], shared: Mapping[str, int]) -> Privatization:
    """Return body with its operations on privatized arrays marked, and one more parameter, if it has any.

    arrays: the parameters that are arrays' addresses, with the arrays' dimensions. shared: where shared arrays start.
    """
    lines = list(body.lines)
    found = _candidates(lines, arrays)
    if not found or any(map(may_wait, lines)):
        return Privatization(body=body)
    addresses = {at for one in found for at in one.places}
    others = _others([line for line in lines if not _is_operation_at(line, addresses)], lines, shared)
    if others is None or not others <= set(arrays):
        return Privatization(body=body)
    blocks = tuple(
        replace(block, lines=tuple(line + MARK if _is_operation_at(line, addresses) else line for line in block.lines))
        for block in body.blocks
    )
    return Privatization(
        body=replace(body, blocks=blocks, parameters=(*body.parameters, ALONE)),
        arrays=tuple(one.array for one in found),
        others=tuple((number, arrays[number]) for number in sorted(others)),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Candidate:
    """An array that only operations of one kind are done on, and the addresses that these are given."""

    array: PrivatizedArray
    places: frozenset[str]


def _candidates(lines: Sequence[str], arrays: Mapping[int, int]) -> list[_Candidate]:
    """Return the arrays that nothing but such operations is done on."""
    operations = [made for line in lines if (made := _operation(line)) is not None]
    if not operations:
        return []
    seen = frozenset[str]().union(*map(used, lines))
    operations = [made for made in operations if made.result not in seen]
    return [one for number in arrays if (one := _candidate(number, operations, lines)) is not None]


def _operation(line: str) -> Instruction | None:
    """Return an operation that may be privatized, whatever array it is on."""
    made = parse(line)
    if made.opcode != "atomicrmw" or made.is_volatile or made.predicate not in _KINDS:
        return None
    at, value = made.operands
    is_aligned = made.alignment and made.alignment == _SIZES.get(value.type)
    return made if is_aligned and at.is_place and is_value(value.value) else None


def _candidate(number: int, operations: Sequence[Instruction], lines: Sequence[str]) -> _Candidate | None:
    """Return the array whose address is the parameter of a number, if there are such operations on it and no other."""
    places = {f"%arg.{number}"}
    steps = list[Instruction]()
    for made in map(parse, lines):
        if made.moved_by and made.operands[1].type == "i64" and made.pointer in places:
            places.add(made.result)
            steps.append(made)
    own = [one for one in operations if one.pointer in places]
    sorts = {(_KINDS[one.predicate], one.operands[1].type) for one in own}
    if len(sorts) != 1:
        return None
    kind, item = next(iter(sorts))
    if not all(_is_whole(step, item) for step in steps):
        return None
    texts = {str(one) for one in (*own, *steps)}
    if any(used(line) & places for line in lines if line not in texts):
        return None
    return _Candidate(array=PrivatizedArray(address=number, kind=kind, type=item), places=frozenset(places))


def _is_whole(step: Instruction, item: str) -> bool:
    """Return whether a step from one address to another is one over whole items."""
    is_number = step.moved_by.removeprefix("-").isdecimal()
    return step.type == item or (step.type == "i8" and is_number and int(step.moved_by) % _SIZES[item] == 0)


def _is_operation_at(line: str, addresses: set[str]) -> bool:
    found = _operation(line)
    return found is not None and found.pointer in addresses


def _others(lines: Sequence[str], all_lines: Sequence[str], shared: Mapping[str, int]) -> set[int] | None:
    """Return the parameters to whose memory lines have access; None if some of that memory is not known."""
    roots = Roots(definitions=definitions_of(all_lines), offsets=shared, arrays=frozenset())
    found = set[int]()
    for line in lines:
        for at in _accessed(line):
            of = roots.of(at) if at else frozenset([UNKNOWN])
            if UNKNOWN in of:
                return None
            found |= {root.number for root in of if isinstance(root, Argument)}
    return found


def _accessed(line: str) -> Iterator[str]:
    """Yield the addresses to whose memory an instruction has access; "" if that is not known."""
    made = parse(line)
    pointers = [one for one in made.operands if "ptr" in one.type]
    if not made.known:
        yield ""
    elif made.opcode in _ACCESSES or made.fills:
        yield from (one.value if one.type == "ptr" and one.is_place else "" for one in pointers)
    elif made.opcode == "call" and pointers:
        yield ""
