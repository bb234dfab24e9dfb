"""Barriers: a kernel cut into regions, each of which every thread of a block can run to its end by itself.

cuda.syncthreads ends one region and begins the next: the driver runs a region for all threads of a block in one
loop, then the region they all wait for. What a thread still needs on the other side of a barrier is computed again
(coordinates, addresses), or kept once in the block's bank if all threads share it, or kept in the block's slab, one
array per value, so that the loop over the threads stays a plain, vectorizable loop. The kernel's own control flow
decides which region comes next.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

from gridjit.compiler.targets.host.body import Block, Body, arms, defined, opcode, rename, used
from gridjit.compiler.targets.host.coordinates import PLACE
from gridjit.compiler.targets.host.intrinsics import BARRIER
from gridjit.compiler.targets.host.uniform import uniform_values

# A region returns 0 when its thread has ended, the number of the barrier it waits at, or an exception code with
# this bit set.
FAILED = -(2**31)

_BARRIER_CALL = re.compile(rf'^(?:tail )?call void @"?{re.escape(BARRIER)}"?\(')
_ARRIVED = "gridjit.arrive "
_ARRIVAL = re.compile(rf"{re.escape(_ARRIVED)}(\d+), label (%\S+)")
# What is cheaper to compute again than to keep: integers, addresses, comparisons. Divisions could trap, loads
# could see another value.
_CHEAP = frozenset(
    [
        "add",
        "sub",
        "mul",
        "and",
        "or",
        "xor",
        "shl",
        "lshr",
        "ashr",
        "icmp",
        "select",
        "sext",
        "zext",
        "trunc",
        "getelementptr",
        "bitcast",
        "ptrtoint",
        "inttoptr",
    ]
)
_MOST_RECOMPUTED = 24


@dataclass(frozen=True, slots=True, kw_only=True)
class ValueType:
    """The LLVM type of a value kept in the slab, with its size and alignment in bytes."""

    text: str
    size: int
    align: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Slot:
    """Where a value is kept: in the slab at offset times the number of threads, or in the bank at offset itself.

    A uniform value comes to a region as a parameter (number is its place among them) and goes into the bank.
    """

    name: str
    type: ValueType
    offset: int
    number: int = -1

    @property
    def uniform(self) -> bool:
        """Whether all threads share the value."""
        return self.number >= 0

    @property
    def stored(self) -> str:
        """The type it has in memory and as a parameter: a bit is a byte there."""
        return "i8" if self.type.text == "i1" else self.type.text


@dataclass(frozen=True, slots=True, kw_only=True)
class Regions:
    """A kernel cut at its barriers. regions[0] starts the kernel; regions[k] goes on after barrier k.

    texts: one function definition per region. slab: bytes per thread. uniforms: the values in the bank, in the order
    of the regions' parameters. renewed: for each region, the uniforms it may leave changed in the bank. bank: its
    bytes. parallel: whether the threads' memory accesses may be told to LLVM as independent.
    """

    texts: tuple[str, ...]
    slab: int
    uniforms: tuple[Slot, ...]
    renewed: tuple[tuple[Slot, ...], ...]
    bank: int
    parallel: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class _Cut:
    """The kernel's blocks after cutting, and what is known of the values that cross a barrier."""

    body: Body
    blocks: Mapping[str, Block]
    starts: tuple[str, ...]
    live: tuple[frozenset[str], ...]
    again: Mapping[str, str]
    slots: Mapping[str, Slot]
    arrays: Mapping[str, Slot]

    @property
    def uniforms(self) -> list[Slot]:
        """The values kept in the bank, in order."""
        return sorted((slot for slot in self.slots.values() if slot.uniform), key=lambda slot: slot.number)


def region_name(number: int) -> str:
    """Return the name of a region's function."""
    return f"gridjit.region.{number}"


def count_barriers(body: Body) -> int:
    """Return how many barriers body has."""
    return sum(_BARRIER_CALL.match(line) is not None for block in body.blocks for line in block.lines)


def cut(body: Body, types: Mapping[str, ValueType], arrays: Mapping[str, ValueType]) -> Regions:
    """Return body cut into regions; types are those of its values, arrays those of its local arrays."""
    blocks, starts = _split(body)
    live = _live_in(blocks)
    crossing = sorted(set().union(*(live[start] for start in starts[1:])) - _given(body))
    again = _recomputed(body, crossing, frozenset(arrays))
    kept = [name for name in crossing if name not in again and name not in arrays]
    in_slab = arrays if len(starts) > 1 else {}
    same = uniform_values(body) if kept else frozenset()
    apart = {name: types[name] for name in kept if name not in same}
    slots, slab = _lay_out({**apart, **in_slab})
    shared, bank = _lay_out({name: types[name] for name in kept if name in same})
    slots |= {name: replace(slot, number=number) for number, (name, slot) in enumerate(shared.items())}
    whole = _Cut(
        body=body,
        blocks=blocks,
        starts=starts,
        live=tuple(live[start] for start in starts),
        again=again,
        slots={name: slots[name] for name in kept},
        arrays={name: slots[name] for name in in_slab},
    )
    writers = [_RegionWriter(whole=whole, number=number) for number in range(len(starts))]
    uniforms = tuple(whole.uniforms)
    return Regions(
        texts=tuple(writer.text() for writer in writers),
        slab=slab,
        uniforms=uniforms,
        renewed=tuple(tuple(slot for slot in uniforms if writer.defines(slot.name)) for writer in writers),
        bank=bank,
        parallel=len(starts) > 1 or not arrays,
    )


def _given(body: Body) -> set[str]:
    return {parameter.name for parameter in (*PLACE, *body.parameters)}


def _split(body: Body) -> tuple[dict[str, Block], tuple[str, ...]]:
    """Return the blocks by label, cut after every barrier, and the label that each region starts at."""
    blocks: dict[str, Block] = {}
    starts = [body.blocks[0].label]
    last: dict[str, str] = {}
    for block in body.blocks:
        label, lines = block.label, list[str]()
        for line in block.lines:
            if _BARRIER_CALL.match(line):
                after = f"%gj.after.{len(starts)}"
                lines.append(f"{_ARRIVED}{len(starts)}, label {after}")
                blocks[label] = Block(label=label, lines=tuple(lines))
                starts.append(after)
                label, lines = after, []
            else:
                lines.append(line)
        blocks[label] = Block(label=label, lines=tuple(lines))
        last[block.label] = label
    return {label: _with_predecessors(block, last) for label, block in blocks.items()}, tuple(starts)


def _with_predecessors(block: Block, last: Mapping[str, str]) -> Block:
    """Return block with its phis naming the last piece of each block they come from."""

    def arm(found: re.Match[str]) -> str:
        return f"[ {found[1]}, {last[found[2]]} ]"

    return Block(
        label=block.label,
        lines=tuple(_PHI_ARM.sub(arm, line) if opcode(line) == "phi" else line for line in block.lines),
    )


_PHI_ARM = re.compile(r'\[ (\S.*?), (%(?:"[^"]*"|[-a-zA-Z$._0-9]+)) \]')


def _live_in(blocks: dict[str, Block]) -> dict[str, frozenset[str]]:
    """Return the values each block needs from before it (values that phis take count for their predecessor)."""
    reads = {label: _upward(block) for label, block in blocks.items()}
    writes = {label: {name for line in block.lines if (name := defined(line))} for label, block in blocks.items()}
    sends: dict[str, set[str]] = {label: set() for label in blocks}
    for block in blocks.values():
        for phi in block.phis:
            for value, predecessor in arms(phi):
                if value.startswith("%"):
                    sends[predecessor].add(value)
    live: dict[str, frozenset[str]] = {label: frozenset() for label in blocks}
    changed = True
    while changed:
        changed = False
        for label in reversed(blocks):
            out = sends[label].union(*(live[after] for after in blocks[label].successors))
            new = frozenset(reads[label] | (out - writes[label]))
            changed |= new != live[label]
            live[label] = new
    return live


def _upward(block: Block) -> set[str]:
    """Return the values block reads before it defines them; labels are no values."""
    names: set[str] = set()
    mine: set[str] = set()
    for line in block.lines:
        if opcode(line) != "phi":
            names |= used(_without_labels(line)) - mine
        if name := defined(line):
            mine.add(name)
    return names


def _without_labels(line: str) -> str:
    return re.sub(r'label %(?:"[^"]*"|[-a-zA-Z$._0-9]+)', "", line)


def _recomputed(body: Body, crossing: Iterable[str], arrays: frozenset[str]) -> dict[str, str]:
    """Return name -> instruction, in order, of the values that regions compute again, with all they are made of."""
    lines = {name: line for block in body.blocks for line in block.lines if (name := defined(line))}
    given = _given(body) | arrays
    known: dict[str, tuple[str, ...] | None] = dict.fromkeys(given, ())

    def recipe(name: str) -> tuple[str, ...] | None:
        """Return the names to compute, in order, for name; None if it has to be kept."""
        if name in known:
            return known[name]
        known[name] = None
        line = lines.get(name, "")
        if line and opcode(line) in _CHEAP:
            parts = [recipe(part) for part in sorted(used(line))]
            if None not in parts:
                steps = dict.fromkeys(step for part in parts for step in part or ())
                if len(steps) < _MOST_RECOMPUTED:
                    known[name] = (*steps, name)
        return known[name]

    chosen = dict.fromkeys(step for name in crossing for step in recipe(name) or ())
    return {name: lines[name] for name in chosen}


def _lay_out(types: Mapping[str, ValueType]) -> tuple[dict[str, Slot], int]:
    """Return a slot for each value and the slab's bytes per thread; the strictest alignment comes first."""
    slots: dict[str, Slot] = {}
    offset = 0
    for name, kind in sorted(types.items(), key=lambda item: -item[1].align):
        slots[name] = Slot(name=name, type=kind, offset=offset)
        offset += -(-kind.size // kind.align) * kind.align
    return slots, -(-offset // 16) * 16


@dataclass(slots=True)
class _RegionWriter:
    """Writes one region: its blocks, with every value that crosses a barrier read and written through memory.

    LLVM turns that memory back into values; only what really crosses is left in the slab.
    """

    whole: _Cut
    number: int
    fresh: int = 0

    def text(self) -> str:
        start = self.whole.starts[self.number]
        labels = self._reachable(start)
        kept = {name for name in self.whole.slots if self._mentions(labels, name)}
        written = {name for name in kept if self._defines(labels, name)}
        blocks = [self._block(self.whole.blocks[label], set(labels), kept, written) for label in labels]
        own = [f"{slot.stored} {_parameter(slot)}" for slot in self.whole.uniforms]
        parameters = ", ".join([*(f"{p.type} {p.name}" for p in (*PLACE, *self.whole.body.parameters)), *own])
        lines = [f"define internal i32 @{region_name(self.number)}({parameters}) nounwind {{", "gj.start:"]
        lines += self._prologue(labels, kept)
        lines += [f"  br label {start}", *(line for block in blocks for line in block), "}"]
        return "\n".join(lines) + "\n"

    def _reachable(self, start: str) -> list[str]:
        seen, waiting = {start: None}, [start]
        while waiting:
            block = self.whole.blocks[waiting.pop()]
            if not block.lines[-1].startswith(_ARRIVED):
                for label in block.successors:
                    if label not in seen:
                        seen[label] = None
                        waiting.append(label)
        return list(seen)

    def _mentions(self, labels: Iterable[str], name: str) -> bool:
        if name in self.whole.live[self.number]:
            return True
        return any(name in used(line) or name == defined(line) for la in labels for line in self.whole.blocks[la].lines)

    def defines(self, name: str) -> bool:
        """Return whether the region gives name a new value."""
        return self._defines(self._reachable(self.whole.starts[self.number]), name)

    def _defines(self, labels: Iterable[str], name: str) -> bool:
        return any(name == defined(line) for label in labels for line in self.whole.blocks[label].lines)

    def _prologue(self, labels: Iterable[str], kept: Iterable[str]) -> list[str]:
        lines = ["  %gj.t = zext i32 %gj.thread to i64"] if self.whole.slots or self.whole.arrays else []
        for name, slot in self.whole.arrays.items():
            lines += self._address(name, slot)
        lines += [f"  {line}" for line in self.whole.again.values()]
        for name in sorted(kept):
            slot = self.whole.slots[name]
            lines.append(f"  {_box(name)} = alloca {slot.type.text}")
            if slot.uniform:
                lines.append(f"  {_cell(name)} = getelementptr inbounds i8, ptr %gj.bank, i64 {slot.offset}")
            else:
                lines += self._address(_cell(name), slot)
            if name in self.whole.live[self.number]:
                lines += self._load_cell(slot)
        return lines

    def _address(self, result: str, slot: Slot) -> list[str]:
        base, array = self._name("base"), self._name("array")
        stride = -(-slot.type.size // slot.type.align) * slot.type.align
        return [
            f"  {base} = mul i64 %gj.threads, {slot.offset}",
            f"  {array} = getelementptr inbounds i8, ptr %gj.slab, i64 {base}",
            f"  {result} = getelementptr inbounds [{stride} x i8], ptr {array}, i64 %gj.t",
        ]

    def _load_cell(self, slot: Slot) -> list[str]:
        lines, value = list[str](), _parameter(slot)
        if not slot.uniform:
            value = self._name("in")
            lines.append(f"  {value} = load {slot.stored}, ptr {_cell(slot.name)}")
        if slot.stored != slot.type.text:
            narrow = self._name("in")
            lines.append(f"  {narrow} = trunc {slot.stored} {value} to {slot.type.text}")
            value = narrow
        return [*lines, f"  store {slot.type.text} {value}, ptr {_box(slot.name)}"]

    def _store_cell(self, slot: Slot) -> list[str]:
        value, kind = self._name("out"), slot.type.text
        lines = [f"  {value} = load {kind}, ptr {_box(slot.name)}"]
        if kind != "i1":
            return [*lines, f"  store {kind} {value}, ptr {_cell(slot.name)}"]
        wide = self._name("out")
        return [*lines, f"  {wide} = zext i1 {value} to i8", f"  store i8 {wide}, ptr {_cell(slot.name)}"]

    def _block(self, block: Block, labels: set[str], kept: set[str], written: set[str]) -> list[str]:
        lines = [f"{block.label[1:]}:"]
        after_phis: list[str] = []
        for line in block.lines[:-1]:
            name = defined(line)
            if name in self.whole.again or name in self.whole.arrays:
                continue
            if opcode(line) == "phi":
                lines.append("  " + self._phi(line, labels, kept))
                after_phis += self._save(name, kept)
                continue
            lines += after_phis
            after_phis = []
            lines += self._with_loads(line, kept) + self._save(name, kept)
        lines += after_phis
        return lines + self._for_phis(block, labels, kept) + self._end(block.lines[-1], kept, written)

    def _phi(self, line: str, labels: set[str], kept: set[str]) -> str:
        """Return the phi with the arms of this region's own blocks; kept values come through their names there."""
        head = line[: line.index("[")]
        pairs = [
            f"[ {_sent(value, defined(line) or '', label) if value in kept else value}, {label} ]"
            for value, label in arms(line)
            if label in labels and not self.whole.blocks[label].lines[-1].startswith(_ARRIVED)
        ]
        return head + ", ".join(pairs)

    def _for_phis(self, block: Block, labels: set[str], kept: set[str]) -> list[str]:
        """Return the loads, at block's end, of the kept values that phis of its successors take from it."""
        lines: dict[str, None] = {}
        if block.lines[-1].startswith(_ARRIVED):
            return []
        for label in block.successors:
            for phi in self.whole.blocks[label].phis if label in labels else ():
                for value, predecessor in arms(phi):
                    if predecessor == block.label and value in kept:
                        sent = _sent(value, defined(phi) or "", block.label)
                        lines[f"  {sent} = load {self.whole.slots[value].type.text}, ptr {_box(value)}"] = None
        return list(lines)

    def _save(self, name: str | None, kept: set[str]) -> list[str]:
        if name is None or name not in kept:
            return []
        return [f"  store {self.whole.slots[name].type.text} {name}, ptr {_box(name)}"]

    def _with_loads(self, line: str, kept: set[str]) -> list[str]:
        names: dict[str, str] = {}
        lines = []
        for name in sorted(used(line) & kept):
            names[name] = self._name("use")
            lines.append(f"  {names[name]} = load {self.whole.slots[name].type.text}, ptr {_box(name)}")
        result = defined(line)
        names.pop(result or "", None)
        return [*lines, f"  {rename(line, names)}"]

    def _end(self, line: str, kept: set[str], written: set[str]) -> list[str]:
        if arrival := _ARRIVAL.match(line):
            number = int(arrival[1])
            alive = sorted(self.whole.live[number] & written)
            stores = [text for name in alive for text in self._store_cell(self.whole.slots[name])]
            return [*stores, f"  ret i32 {number}"]
        if opcode(line) != "ret":
            return self._with_loads(line, kept)
        *loads, ret = self._with_loads(line, kept)
        code = ret.split()[-1]
        if code == "0":
            return ["  ret i32 0"]
        none, marked, state = self._name("none"), self._name("marked"), self._name("state")
        return [
            *loads,
            f"  {none} = icmp eq i32 {code}, 0",
            f"  {marked} = or i32 {code}, {FAILED}",
            f"  {state} = select i1 {none}, i32 0, i32 {marked}",
            f"  ret i32 {state}",
        ]

    def _name(self, stem: str) -> str:
        self.fresh += 1
        return f"%gj.{stem}.{self.fresh}"


def _parameter(slot: Slot) -> str:
    return f"%gj.uniform.{slot.number}"


def _bare(name: str) -> str:
    return name[1:].strip('"')


def _box(name: str) -> str:
    return f'%"gj.box.{_bare(name)}"'


def _cell(name: str) -> str:
    return f'%"gj.cell.{_bare(name)}"'


def _sent(value: str, phi: str, label: str) -> str:
    return f'%"gj.sent.{_bare(value)}.{_bare(phi)}.{_bare(label)}"'
