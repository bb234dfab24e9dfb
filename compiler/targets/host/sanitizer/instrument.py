"""instrument: a kernel's body with a call before each access to memory, and around whatever orders accesses."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from typing import NamedTuple

from gridjit.compiler.targets.host.analysis.barriers import waits_for_others
from gridjit.compiler.targets.host.analysis.memory_layout import SharedLayout
from gridjit.compiler.targets.host.analysis.pointers import (
    CONSTANT,
    LOCAL,
    PRIVATE,
    UNKNOWN,
    Argument,
    Roots,
    SharedRoot,
)
from gridjit.compiler.targets.host.ir import warp_kinds
from gridjit.compiler.targets.host.ir.accesses import Access, accesses, synchronizes
from gridjit.compiler.targets.host.ir.body import Block, Body, defined, definitions_of, opcode
from gridjit.compiler.targets.host.ir.debug_locations import without_debug_location
from gridjit.compiler.targets.host.ir.intrinsics import NAP, OUTSIDE, SHARED_ARRAY
from gridjit.compiler.targets.host.ir.parse import parse
from gridjit.compiler.targets.host.ir.warp_operations import read_call
from gridjit.compiler.targets.host.nvvm.retarget import LOCAL as LOCAL_ARRAY
from gridjit.compiler.targets.host.sanitizer.access_places import Places
from gridjit.compiler.targets.host.sanitizer.barrier_intervals import Position, quiet_reads
from gridjit.compiler.targets.host.sanitizer.epochs import BlockClocks, clock_after, clocks, is_clock, step
from gridjit.compiler.targets.host.sanitizer.private_items import Item, PrivateItems, private_arrays
from gridjit.compiler.targets.host.sanitizer.read_modify_write import Updates, updates
from gridjit.compiler.targets.host.sanitizer.routines import order as order_ir
from gridjit.compiler.targets.host.sanitizer.routines.access import access_name
from gridjit.compiler.targets.host.sanitizer.routines.fast import COUNT
from gridjit.compiler.targets.host.sanitizer.routines.fast_argument import ANY_READ
from gridjit.compiler.targets.host.sanitizer.routines.fast_code import fast_name
from gridjit.compiler.targets.host.sanitizer.routines.record import BLOCK_AT, BLOCK_BITS, GRID_JOIN, STATE, THREAD_AT
from gridjit.compiler.targets.host.sanitizer.shared_cells import SharedCells, shared_cells

# Who meets at barriers, by their kinds.
_MEETS = {
    **dict.fromkeys((warp_kinds.BARRIER, warp_kinds.COUNT, warp_kinds.AND, warp_kinds.OR), "block"),
    warp_kinds.WARP: "warp",
    warp_kinds.GRID: "grid",
}
_CLOCK, _WHO, _JOINS = "%gj.clock", "%gj.who", "%gj.joins"


@dataclass(slots=True, kw_only=True)
class Instrumenter:
    """Writes the calls of one kernel. accesses: whether accesses are looked at; else only indices out of bounds are.

    quiet: the instructions that read what nobody writes. written: whether reads of unwritten memory are looked for.
    orders: whether anything but barriers of whole blocks orders accesses; releases: whether atomic operations may.
    """

    places: Places
    roots: Roots
    shared: SharedCells
    quiet: frozenset[Position]
    accesses: bool
    written: bool
    orders: bool
    releases: bool
    clocks: BlockClocks
    updates: Updates
    lines: Mapping[str, tuple[str, ...]]
    writes: frozenset[int] | None
    own: Collection[int]
    now: str = ""
    fresh: int = 0

    def block(self, block: Block) -> Block:
        """Return a block with its calls."""
        phi = self.clocks.phis.get(block.label)
        lines = [phi] if phi and self.accesses and not self.orders else []
        self.now = self.clocks.entering.get(block.label, "0")
        for number, line in enumerate(block.lines):
            lines += self._line(line, (block.label, number))
        return Block(label=block.label, lines=tuple(lines))

    def _line(self, line: str, here: Position) -> list[str]:
        plain = without_debug_location(line)
        one = parse(plain)
        if one.callee_name == OUTSIDE:
            index, size = one.values
            return [f"call void @gridjit.check.outside(i64 {index}, i64 {size}, i64 %gj.block, i64 %gj.number)"]
        if one.callee_name == LOCAL_ARRAY:
            at, size = one.values
            return [f"call void @gridjit.check.local(ptr {at}, i64 {size})"] if self.accesses else []
        if not self.accesses:
            return [plain]
        if who := _meeting(plain):
            return self._meeting(who, plain, here)
        if _is_fence(plain):
            return [*([f"call void @gridjit.check.fence(ptr {_CLOCK})"] if self.releases else []), plain]
        told = [text for access in accesses(plain) for text in self._tell(access, line, here)]
        return [*told, plain, *self._synchronizes(plain)]

    def _meeting(self, who: str, plain: str, here: Position) -> list[str]:
        if not self.orders:
            before, self.now = self.now, clock_after(*here)
            return [plain, *step(before, self.now)]
        call = read_call(plain)
        lanes = call.mask if call and who == "warp" else "-1"
        lines, join = self._join(who, lanes)
        return [
            *lines,
            f"call void @gridjit.check.arrive(ptr {_CLOCK}, ptr {join}, i32 {lanes})",
            plain,
            # Again: a region that begins here does not see what comes before.
            *(again := self._join(who, lanes))[0],
            f"call void @gridjit.check.pass(ptr {_CLOCK}, ptr {again[1]}, i32 {lanes}, "
            f"i1 {_bit(who != 'warp')}, i1 {_bit(who == 'grid')})",
        ]

    def _join(self, who: str, lanes: str = "-1") -> tuple[list[str], str]:
        """Return where threads that meet note that they do; lanes: the mask of a warp's."""
        self.fresh += 1
        at, n = f"%gj.join.{self.fresh}", self.fresh
        if who == "grid":
            state = f"%gj.of.grid.{n}"
            return [f"{state} = load ptr, ptr @{STATE}", f"{at} = getelementptr i8, ptr {state}, i64 {GRID_JOIN}"], at
        base = [f'%gj.joins.{n} = call ptr @"{SHARED_ARRAY}{order_ir.JOINS.name}"()']
        if who == "block":
            return base, f"%gj.joins.{n}"
        return [
            *base,
            f"{at} = call ptr @gridjit.check.lanes(ptr %gj.joins.{n}, i32 %gj.thread, i32 {lanes})",
        ], at

    def _synchronizes(self, plain: str) -> list[str]:
        if not self.releases or (found := synchronizes(plain)) is None:
            return []
        at, lock = found
        self.fresh += 1
        word = f"%gj.word.{self.fresh}"
        return [
            *self._word(word, at),
            f"call void @gridjit.check.sync(ptr {word}, ptr {_CLOCK}, i1 {str(lock).lower()})",
        ]

    def _word(self, word: str, at: str) -> list[str]:
        """Return the code that finds the cell of an atomic operation."""
        space, start, shift = self._space(at)
        if space == "shared":
            lines, index = self._index(at, start, shift)
            return [*lines, f"{word} = call ptr @gj.word.shared(ptr {at}, i64 {index})"]
        if space == "unknown":
            return [f"{word} = call ptr @gj.word.unknown(ptr {at}, ptr %gj.shared, i64 {shift})"]
        return [f"{word} = call ptr @gj.word.{'paged' if space == 'paged' else 'global'}(ptr {at})"]

    def _space(self, at: str) -> tuple[str, int, int]:
        """Return the memory that an address is in; of shared memory, where its array begins and its cells' size."""
        roots = self.roots.of(at)
        if len(roots) == 1 and (only := next(iter(roots))) in (CONSTANT, LOCAL, PRIVATE):
            return str(only), 0, 0
        if all(isinstance(root, Argument) for root in roots):
            return "argument" if len(roots) == 1 else "global", 0, 0
        if all(isinstance(root, SharedRoot) for root in roots):
            return ("shared" if self.shared.dense else "paged", *self.shared.cells(roots))
        mixed = self.shared.dense and self.shared.any
        return ("unknown", 0, self.shared.shift) if mixed else ("global", 0, 0)

    def _kind(self, access: Access, here: Position, space: str) -> str:
        """Return the kind that an access is reported as to the checks; "" if it is reported together with another."""
        if here in self.updates.reads and self._is_fast(access, "read"):
            return ""
        if here in self.updates.writes and self._is_fast(access, "write"):
            return "update"
        quiet = here in self.quiet and access.kind == "read" and space in ("shared", "paged")
        return "look" if quiet else access.kind

    def _is_fast(self, access: Access, kind: str) -> bool:
        """Return whether an access is checked in the kernel's own code."""
        space, _, shift = self._space(access.at)
        if access.scalar != access.grain or not access.scalar or (kind in ("write", "update") and not access.bits):
            return False
        if space == "argument" and kind == "read":
            return self.writes is None or self._parameter(access.at) in self.writes
        return access.scalar == 1 << shift if space == "shared" else space == "argument" and kind != "atomic"

    def _tell(self, access: Access, line: str, here: Position) -> list[str]:
        """Return the code that reports an access to the checks."""
        space, start, shift = self._space(access.at)
        kind = self._kind(access, here, space)
        # Nobody writes constants; and a local array's zeros do not count as written.
        if space in (CONSTANT, PRIVATE) or (space == LOCAL and (kind == "atomic" or access.fill)):
            return []
        if not kind or (kind == "look" and not self.written):
            return []
        at = access.at
        site = self.places.update(line, self._line_of(here)) if kind == "update" else self.places.number(line)
        clock, now = self._clock()
        who = f"i64 {site}, i64 {_WHO}, {now}"
        if self._is_fast(access, kind):
            lines, new = self._new(access)
            flags = f"i1 {_bit(self.shared.atomic)}, i1 {_bit(self.shared.is_counted(start))}"
            rest = f"ptr %gj.shared, i64 {start}, i64 {shift}, {flags}"
            more = rest if space == "shared" else f"i64 {self._parameter(at)}"
            name = fast_name(kind, "own" if self._parameter(at) in self.own else space, access.scalar)
            return [*clock, *lines, f"call void @{name}(ptr {at}, {new}{who}, {more})"]
        if space == "argument" and kind == "read":
            return [*clock, f"call void @{ANY_READ}(ptr {at}, i64 {access.size}, {who}, i64 {self._parameter(at)})"]
        return [*clock, *self._looked_at(access, kind, who)]

    def _clock(self) -> tuple[list[str], str]:
        """Return the code that finds the thread's clock and what is ordered before it, and these as arguments."""
        if not self.orders:
            return [], f"i32 {self.now}, i32 {self.now}, i64 0"
        self.fresh += 1
        clock, past, known = (f"%gj.{word}.{self.fresh}" for word in ("now", "past", "known"))
        return [
            f"{clock} = load i32, ptr {_CLOCK}",
            f"{past}.at = getelementptr i8, ptr {_CLOCK}, i64 {order_ir.PAST}",
            f"{past} = load i32, ptr {past}.at",
            f"{known}.at = getelementptr i8, ptr {_CLOCK}, i64 {order_ir.KNOWN}",
            f"{known} = load i64, ptr {known}.at, align 4",
        ], f"i32 {clock}, i32 {past}, i64 {known}"

    def _line_of(self, write: Position) -> str:
        """Return the instruction that reads the value written by another."""
        label, number = self.updates.writes[write]
        return self.lines[label][number]

    def _looked_at(self, access: Access, kind: str, who: str) -> list[str]:
        """Return the call of the function that handles every case."""
        space, start, shift = self._space(access.at)
        lines, more = list[str](), ""
        if kind == "write":
            lines, same = self._comparison(access, space)
            more = f", i1 {same}"
        if space == "shared":
            found, index = self._index(access.at, start, shift)
            counted = start if self.shared.is_counted(start) else -1
            lines, more = [*lines, *found], f"{more}, i64 {index}, i64 {shift}, i64 {counted}"
        if space == "unknown":
            more = f"{more}, ptr %gj.shared, i64 {shift}"
        name = access_name(kind, "global" if space == "argument" else space)
        return [*lines, f"call void @{name}(ptr {access.at}, i64 {access.size}, {who}{more})"]

    def _parameter(self, at: str) -> int:
        root = self.roots.only(at)
        return root.number if isinstance(root, Argument) else -1

    def _new(self, access: Access) -> tuple[list[str], str]:
        """Return the code that makes an integer of the value that is written, and the argument that passes it."""
        if access.kind != "write":
            return [], ""
        self.fresh += 1
        new = f"%gj.new.{self.fresh}"
        return [f"{new} = bitcast {access.value} to {access.bits}"], f"{access.bits} {new}, "

    def _comparison(self, access: Access, space: str) -> tuple[list[str], str]:
        """Return the code that compares the stored value with the value in memory, and its result."""
        if not access.bits or space == LOCAL:
            return [], "false"
        self.fresh += 1
        there, new, same = (f"%gj.{word}.{self.fresh}" for word in ("there", "new", "same"))
        return [
            f"{there} = load {access.bits}, ptr {access.at}, align 1",
            f"{new} = bitcast {access.value} to {access.bits}",
            f"{same} = icmp eq {access.bits} {there}, {new}",
        ], same

    def _index(self, at: str, start: int, shift: int) -> tuple[list[str], str]:
        """Return the code that finds an address's place in the tables of shared memory, and that place."""
        self.fresh += 1
        names = [f"%gj.{word}.{self.fresh}" for word in ("at", "base", "offset", "inside", "cells", "index")]
        wide, base, offset, inside, cells, index = names
        return [
            f"{wide} = ptrtoint ptr {at} to i64",
            f"{base} = ptrtoint ptr %gj.shared to i64",
            f"{offset} = sub i64 {wide}, {base}",
            f"{inside} = sub i64 {offset}, {start}",
            f"{cells} = lshr i64 {inside}, {shift}",
            f"{index} = add i64 {cells}, {start}",
        ], index


class Instrumented(NamedTuple):
    """A body with its calls. writes: the numbers of the parameters to whose memory it writes; None if any memory.

    clocks: the values that are clocks. own: the parameters whose arrays' items may each be one thread's own.
    """

    body: Body
    writes: frozenset[int] | None
    clocks: frozenset[str]
    own: dict[int, PrivateItems]


def instrument(
    body: Body, places: Places, checks: Collection[str], layout: SharedLayout, there: Mapping[str, Item]
) -> Instrumented:
    """Return body with the calls that checks need, and without debug locations.

    layout: where shared arrays lie in a block's shared memory. there: the items that are at addresses.
    """
    bare = replace(body, blocks=tuple(_bare(block) for block in body.blocks))
    lines = list(bare.lines)
    arrays = frozenset(one.values[0] for one in map(parse, lines) if one.callee_name == LOCAL_ARRAY)
    roots = Roots(definitions=definitions_of(lines), offsets=layout.offsets, arrays=arrays)
    found = [access for line in lines for access in accesses(line)]
    quiet = quiet_reads(bare, roots)
    mine = private_arrays(found, roots, there)
    writer = Instrumenter(
        places=places,
        roots=roots,
        shared=shared_cells(found, roots, _looked_at(bare, quiet), layout, dense=not waits_for_others(bare)),
        quiet=quiet,
        accesses=bool({"races", "uninitialized"} & set(checks)),
        written="uninitialized" in checks,
        orders=_orders(lines),
        releases=_releases(lines),
        clocks=clocks(bare, lambda line: bool(_meeting(line))),
        updates=updates(bare, roots.definitions),
        writes=_written(found, roots),
        own=mine.keys(),
        lines={block.label: block.lines for block in body.blocks},
    )
    first, *others = (writer.block(block) for block in body.blocks)
    made = replace(body, blocks=(_begun(first, writer), *others))
    own = (defined(line) or "" for line in made.lines)
    named = frozenset(name for name in own if is_clock(name))
    return Instrumented(made, writer.writes, named, mine)


def _meeting(line: str) -> str:
    """Return who meets at an instruction: a block, a warp or a grid; "" for another instruction."""
    call = read_call(line)
    return _MEETS.get(call.kind, "") if call else ""


def _looked_at(body: Body, quiet: Collection[Position]) -> list[Access]:
    """Return the accesses of quiet instructions."""
    lines = {(block.label, number): line for block in body.blocks for number, line in enumerate(block.lines)}
    return [access for here in quiet for access in accesses(lines[here])]


def _bare(block: Block) -> Block:
    return Block(label=block.label, lines=tuple(without_debug_location(line) for line in block.lines))


def _written(found: Collection[Access], roots: Roots) -> frozenset[int] | None:
    """Return the parameters to whose memory some accesses write."""
    written = {root for access in found if access.kind != "read" for root in roots.of(access.at)}
    return None if UNKNOWN in written else frozenset(root.number for root in written if isinstance(root, Argument))


def _orders(lines: Collection[str]) -> bool:
    """Return whether anything but barriers of whole blocks orders accesses."""
    return _releases(lines) or any(_meeting(line) in ("warp", "grid") for line in lines)


def _releases(lines: Collection[str]) -> bool:
    """Return whether an atomic operation may release what came before it: as locks do, or after a fence."""
    atomic = [found for line in lines if (found := synchronizes(line))]
    return any(lock for _, lock in atomic) or (bool(atomic) and any(map(_is_fence, lines)))


def _is_fence(line: str) -> bool:
    """Return whether an instruction orders a thread's accesses for other threads, too."""
    return opcode(line) == "fence" and not line.startswith(NAP)


def _bit(value: bool) -> str:
    return str(value).lower()


def _begun(block: Block, writer: Instrumenter) -> Block:
    """Return a kernel's first block, begun with the thread's clock and who it is."""
    joins, at = writer._join("block")
    begun = [
        f"{_CLOCK} = alloca {order_ir.CLOCK}, align 8",
        *joins,
        f"call void @gridjit.check.begin(ptr {_CLOCK}, ptr {at}, i32 %gj.thread)",
    ]
    lines = [
        *(f"%gj.wide.{name} = zext i32 %gj.{name} to i64" for name in _WIDE),
        "%gj.plane = mul i64 %gj.wide.ctaid.z, %gj.wide.nctaid.y",
        "%gj.row = add i64 %gj.plane, %gj.wide.ctaid.y",
        "%gj.rows = mul i64 %gj.row, %gj.wide.nctaid.x",
        "%gj.block = add i64 %gj.rows, %gj.wide.ctaid.x",
        "%gj.number = zext i32 %gj.thread to i64",
        f"%gj.block.low = and i64 %gj.block, {(1 << BLOCK_BITS) - 1}",
        f"%gj.block.bits = shl i64 %gj.block.low, {BLOCK_AT}",
        f"%gj.thread.bits = shl i64 %gj.number, {THREAD_AT}",
        f"{_WHO} = or i64 %gj.block.bits, %gj.thread.bits",
        *(begun if writer.orders else []),
        *(
            f"call void @{COUNT}(i32 %gj.thread, i64 {start}, i64 {shift}, i64 {size})"
            for start, shift, size in writer.shared.counters()
        ),
    ]
    return Block(label=block.label, lines=(*lines, *block.lines))


_WIDE = ("ctaid.x", "ctaid.y", "ctaid.z", "nctaid.x", "nctaid.y")
