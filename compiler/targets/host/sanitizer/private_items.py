"""Private items: the arrays in which each thread accesses only items of its own, whatever it does to them.

That is known of arrays that every access indexes in the same way, along some of their axes, by the thread's position.
Whether these axes distinguish all threads of a launch depends on the launch: on its grid and the strides of the array.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, replace

from gridjit.compiler.targets.host.analysis.pointers import UNKNOWN, Argument, Roots, argument_number
from gridjit.compiler.targets.host.ir.accesses import Access
from gridjit.compiler.targets.host.ir.body import Block, Body
from gridjit.compiler.targets.host.ir.instructions import Instruction
from gridjit.compiler.targets.host.ir.intrinsics import ITEM
from gridjit.compiler.targets.host.ir.parse import parse
from gridjit.compiler.targets.host.sanitizer.index_forms import Forms, IndexForm, is_shared_part

# A larger factor might wrap around together with the number of a thread.
_MOST = 1 << 20


@dataclass(frozen=True, slots=True, kw_only=True)
class Item:
    """An item of a parameter's array whose address a kernel computes: the array's number, and the indices."""

    number: int
    indices: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class OwnIndex:
    """An index that no two threads share which differ in some coordinates.

    tells: the coordinates. form: the same for indices that are made in the same way. most: an axis, and the most
    threads that a block may have along it; 0 if that does not matter.
    """

    tells: frozenset[str]
    form: tuple[object, ...]
    most: tuple[str, int] = ("x", 0)


@dataclass(frozen=True, slots=True, kw_only=True)
class PrivateItems:
    """The conditions under which each thread has its own items of an array.

    tells: the coordinates ("tid.x") that tell threads from each other. most: the most threads of a block along an axis.
    beside: the other parameters through which the kernel accesses memory, which must not be the array's.
    """

    tells: frozenset[str]
    most: dict[str, int]
    beside: frozenset[int] = frozenset()

    def as_json(self) -> list[object]:
        """Return the conditions as a value that json can write."""
        return [sorted(self.tells), self.most, sorted(self.beside)]


def without_items(body: Body) -> Body:
    """Return a body without the calls that say which items it accesses."""
    return replace(
        body,
        blocks=tuple(
            Block(label=block.label, lines=tuple(line for line in block.lines if ITEM not in line))
            for block in body.blocks
        ),
    )


def items(body: Body) -> dict[str, Item]:
    """Return the items of parameters' arrays by the values that are their addresses."""
    calls = (one for line in body.lines if ITEM in line and (one := parse(line)).callee_name.startswith(ITEM))
    return {call.values[0]: item for call in calls if (item := _read(call)) is not None}


def _read(call: Instruction) -> Item | None:
    """Return the item at a call's first argument, if its array is a parameter's own and not a view of it."""
    axes = int(call.callee_name.removeprefix(ITEM))
    _, base, *numbers = call.values
    indices, layout = numbers[:axes], numbers[axes:]
    number = argument_number(base)
    if number is None or layout != [f"%arg.{number + 1 + n}" for n in range(2 * axes)]:
        return None
    return Item(number=number, indices=tuple(indices))


def private_arrays(found: Collection[Access], roots: Roots, there: Mapping[str, Item]) -> dict[int, PrivateItems]:
    """Return the parameters whose arrays are each thread's own, if the launch is such. there: the kernel's items."""
    forms = Forms(roots.definitions)
    touched: dict[int, list[Item | None]] = {}
    for access in found:
        of = roots.of(access.at)
        if UNKNOWN in of:
            return {}
        item = there.get(access.at) if access.kind in ("read", "write") and access.scalar and len(of) == 1 else None
        for root in of:
            if isinstance(root, Argument):
                same = item is not None and item.number == root.number
                touched.setdefault(root.number, []).append(item if same else None)
    owned = {number: _own(its, forms) for number, its in touched.items()}
    every = frozenset(touched)
    return {number: replace(own, beside=every - {number}) for number, own in owned.items() if own is not None}


def _own(its: Collection[Item | None], forms: Forms) -> PrivateItems | None:
    known = [item.indices for item in its if item is not None]
    if len(known) < len(its):
        return None
    keys = [key for axis in zip(*known, strict=True) if (key := _common(axis, forms)) is not None]
    limits = [key.most for key in keys if key.most[1]]
    most = {axis: min(threads for other, threads in limits if other == axis) for axis, _ in limits}
    return PrivateItems(tells=frozenset[str]().union(*(key.tells for key in keys)), most=most) if keys else None


def _common(indices: Iterable[str], forms: Forms) -> OwnIndex | None:
    """Return the index of all accesses along an axis, if they have one and the same."""
    found = {_own_index(forms.of(index)) for index in set(indices)}
    return found.pop() if len(found) == 1 else None


def _own_index(form: IndexForm) -> OwnIndex | None:
    rest = {part: count for part, count in form.items() if all(map(is_shared_part, part))}
    telling = {part: count for part, count in form.items() if part not in rest}
    shared = frozenset(rest.items())
    for axis in "xyz":
        thread, block, wide = (f"tid.{axis}",), (f"ctaid.{axis}",), (f"ctaid.{axis}", f"ntid.{axis}")
        both, times = frozenset((*thread, *block)), telling.get(thread, 0)
        if set(telling) == {thread} and _fits(times):
            return OwnIndex(frozenset(thread), ("block", axis, times, shared))
        if set(telling) == {block} and _fits(telling[block]):
            return OwnIndex(frozenset(block), ("blocks", axis, telling[block], shared))
        if telling == {thread: times, wide: times} and _fits(times):
            return OwnIndex(both, ("grid", axis, times, shared))
        if set(telling) == {thread, block} and _fits(times) and telling[block] % times == 0:
            many = telling[block] // times
            return OwnIndex(both, ("cut", axis, times, many, shared), (axis, many)) if 0 < many < _MOST else None
        for kind, tells in (("grid", both), ("block", frozenset(thread)), ("blocks", frozenset(block))):
            if telling == {(f"turn.{kind}.{axis}",): 1}:
                return OwnIndex(tells, (kind, axis, 1, shared))
    return None


def _fits(times: int) -> bool:
    return 0 < abs(times) < _MOST
