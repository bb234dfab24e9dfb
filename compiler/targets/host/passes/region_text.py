"""Region text: a region as an LLVM function, with every value that crosses a barrier read and written through memory.

LLVM turns that memory back into values, so that only what really crosses is left in the slab.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from gridjit.compiler.targets.graph import reached
from gridjit.compiler.targets.host.analysis.barriers import arrival, passage
from gridjit.compiler.targets.host.ir.body import Block, Parameter, arms, defined, opcode, rename, used
from gridjit.compiler.targets.host.ir.contexts import Slot
from gridjit.compiler.targets.host.ir.parse import parse
from gridjit.compiler.targets.host.passes.forward_progress import progress
from gridjit.compiler.targets.host.passes.row_values import RegionValues

# A region returns 0 when its thread has ended, the number of the barrier it waits at, or an exception code with
# this bit set.
FAILED = -(2**31)


def region_name(number: int) -> str:
    """Return the name of a region's function."""
    return f"gridjit.region.{number}"


@dataclass(frozen=True, slots=True, kw_only=True)
class CutKernel:
    """The kernel's blocks after cutting, and properties of the values that cross a barrier.

    starts, live: of each region, and behind them of each function that regions share (outlining.py); cuts: how many
    regions there are.
    arrays: the local arrays of which each thread has its own in the slab; in_turn: those in the bank, for one thread
    after the other. first_turn: the number of the first cut that ends an iteration of a spin loop. progress: where in
    the bank a thread notes, where it ends a region, that it changed something on its way there. mentioned, made: the
    names in each block, and those of them that get a value there: many regions may go through one block.
    """

    parameters: tuple[Parameter, ...]
    blocks: Mapping[str, Block]
    starts: tuple[str, ...]
    cuts: int
    live: tuple[frozenset[str], ...]
    again: Mapping[str, str]
    slots: Mapping[str, Slot]
    arrays: Mapping[str, Slot]
    in_turn: Mapping[str, Slot]
    first_turn: int
    progress: int
    mentioned: Mapping[str, frozenset[str]]
    made: Mapping[str, frozenset[str]]

    @property
    def takes_turns(self) -> bool:
        """Whether there is a spin loop."""
        return self.first_turn < self.cuts

    @property
    def uniforms(self) -> tuple[Slot, ...]:
        """The values kept in the bank, in order."""
        return tuple(sorted((slot for slot in self.slots.values() if slot.uniform), key=lambda slot: slot.number))

    @property
    def every(self) -> tuple[Parameter, ...]:
        """The parameters of a region: where a thread is, the kernel's own, and the values kept in the bank."""
        own = (Parameter(type=slot.stored, name=_parameter(slot)) for slot in self.uniforms)
        return (*self.parameters, *own)


def names_made(blocks: Mapping[str, Block]) -> dict[str, frozenset[str]]:
    """Return the names that get a value in each block."""
    return {
        label: frozenset(name for line in block.lines if (name := defined(line))) for label, block in blocks.items()
    }


def names_used(blocks: Mapping[str, Block]) -> dict[str, frozenset[str]]:
    """Return the names that are read in each block."""
    return {label: frozenset().union(*map(used, block.lines)) for label, block in blocks.items()}


@dataclass(slots=True)
class RegionWriter:
    """Writes one region of a kernel."""

    whole: CutKernel
    number: int
    fresh: int = 0

    def text(self, name: str = "") -> str:
        """Return the definition of the region's function, under another name if it is given."""
        start = self.whole.starts[self.number]
        labels = self._reachable()
        mentioned = self.whole.live[self.number].union(*(self.whole.mentioned[label] for label in labels))
        kept = {name for name in self.whole.slots if name in mentioned}
        written = kept & self.makes()
        blocks = [self._block(self.whole.blocks[label], set(labels), kept, written) for label in labels]
        parameters = ", ".join(f"{p.type} {p.name}" for p in self.whole.every)
        alone = "noinline " if self.number >= self.whole.cuts else ""
        name = name or region_name(self.number)
        lines = [f"define internal i32 @{name}({parameters}) {alone}nounwind {{", "gj.start:"]
        lines += self._prologue(kept)
        lines += [f"  br label {start}", *(line for block in blocks for line in block), "}"]
        return "\n".join(lines) + "\n"

    def makes(self) -> frozenset[str]:
        """Return the names that the region gives new values."""
        return frozenset[str]().union(*(self.whole.made[label] for label in self._reachable()))

    def passes_to(self) -> set[int]:
        """Return the numbers of the functions that the region may go on with."""
        ends = (passage(self.whole.blocks[label].lines[-1]) for label in self._reachable())
        return {number for number in ends if number is not None}

    def values(self) -> RegionValues:
        """Return the values that are known in the region before any of its threads is run."""
        shared = {slot.name: Parameter(type=slot.stored, name=_parameter(slot)) for slot in self.whole.uniforms}
        blocks = {label: self.whole.blocks[label] for label in self._reachable()}
        live = self.whole.live[self.number]
        return RegionValues(blocks=blocks, again=self.whole.again, live=live, shared=shared)

    def _reachable(self) -> list[str]:
        """Return the labels of the region's blocks."""
        return list(reached([self.whole.starts[self.number]], lambda label: self._successors(self.whole.blocks[label])))

    def _successors(self, block: Block) -> tuple[str, ...]:
        ends = arrival(block.lines[-1]) is not None or passage(block.lines[-1]) is not None
        return () if ends else block.successors

    def _prologue(self, kept: Iterable[str]) -> list[str]:
        lines = ["  %gj.t = zext i32 %gj.thread to i64"] if self.whole.slots or self.whole.arrays else []
        if self.whole.takes_turns:
            lines += ["  %gj.moved = alloca i32", "  store i32 0, ptr %gj.moved"]
        for name, slot in self.whole.arrays.items():
            lines += self._address(name, slot)
        for name, slot in self.whole.in_turn.items():
            lines.append(f"  {name} = getelementptr inbounds i8, ptr %gj.bank, i64 {slot.offset}")
        lines += [f"  {line}" for line in self.whole.again.values()]
        for name in sorted(kept):
            lines += self._box_and_cell(self.whole.slots[name])
        return lines

    def _box_and_cell(self, slot: Slot) -> list[str]:
        """Return the code that makes a kept value's box in the region, finds its cell in memory, and fills the box."""
        lines = [f"  {_box(slot.name)} = alloca {slot.type.text}"]
        if slot.uniform:
            lines.append(f"  {_cell(slot.name)} = getelementptr inbounds i8, ptr %gj.bank, i64 {slot.offset}")
        else:
            lines += self._address(_cell(slot.name), slot)
        return lines + (self._load_cell(slot) if slot.name in self.whole.live[self.number] else [])

    def _address(self, result: str, slot: Slot) -> list[str]:
        base, array = self._name("base"), self._name("array")
        return [
            f"  {base} = mul i64 %gj.threads, {slot.offset}",
            f"  {array} = getelementptr inbounds i8, ptr %gj.slab, i64 {base}",
            f"  {result} = getelementptr inbounds [{slot.type.stride} x i8], ptr {array}, i64 %gj.t",
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
        lines, value = self._load_box(slot)
        return [*lines, f"  store {slot.stored} {value}, ptr {_cell(slot.name)}"]

    def _load_box(self, slot: Slot) -> tuple[list[str], str]:
        """Return the code that loads a kept value as its cell has it, and the name of the loaded value."""
        value, kind = self._name("out"), slot.type.text
        lines = [f"  {value} = load {kind}, ptr {_box(slot.name)}"]
        if kind == slot.stored:
            return lines, value
        wide = self._name("out")
        return [*lines, f"  {wide} = zext {kind} {value} to {slot.stored}"], wide

    def _block(self, block: Block, labels: set[str], kept: set[str], written: set[str]) -> list[str]:
        lines = [f"{block.label[1:]}:"]
        after_phis: list[str] = []
        for line in block.lines[:-1]:
            name = defined(line)
            if name in self.whole.again or name in self.whole.arrays or name in self.whole.in_turn:
                continue
            if opcode(line) == "phi":
                lines.append("  " + self._phi(line, labels, kept))
                after_phis += self._save(name, kept)
                continue
            lines += after_phis
            after_phis = []
            done = self._with_loads(line, kept)
            lines += done + self._note_progress(done[-1]) + self._save(name, kept)
        lines += after_phis
        return lines + self._for_phis(block, labels, kept) + self._end(block.lines[-1], kept, written)

    def _phi(self, line: str, labels: set[str], kept: set[str]) -> str:
        """Return the phi with the arms from this region's own blocks; kept values come through their names there."""
        phi = parse(line)
        pairs = (
            (_sent(value, phi.result, label) if value in kept else value, label)
            for value, label in phi.arms
            if label in labels and arrival(self.whole.blocks[label].lines[-1]) is None
        )
        return str(phi.with_arms(pairs))

    def _for_phis(self, block: Block, labels: set[str], kept: set[str]) -> list[str]:
        """Return the loads, at block's end, of the kept values that phis of its successors take from it."""
        lines: dict[str, None] = {}
        for label in self._successors(block):
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

    def _note_progress(self, line: str) -> list[str]:
        """Return the code that notes whether an instruction that was just written made progress."""
        if not self.whole.takes_turns:
            return []
        code, answer = progress(line.strip(), self._name("changed"), self.whole.arrays)
        if not answer:
            return []
        old, bit, new = self._name("moved"), self._name("moved"), self._name("moved")
        return [
            *(f"  {part}" for part in code),
            f"  {old} = load i32, ptr %gj.moved",
            f"  {bit} = select i1 {answer}, i32 1, i32 0",
            f"  {new} = or i32 {old}, {bit}",
            f"  store i32 {new}, ptr %gj.moved",
        ]

    def _end(self, line: str, kept: set[str], written: set[str]) -> list[str]:
        """Return a block's end: a barrier becomes a return, and a return says whether an exception was raised."""
        if (barrier := arrival(line)) is not None:
            return [*self._leave(barrier, written), f"  ret i32 {barrier}"]
        if (function := passage(line)) is not None:
            return [*self._leave(function, written), *self._pass(function, written)]
        if opcode(line) != "ret":
            return self._with_loads(line, kept)
        *loads, ret = self._with_loads(line, kept)
        (code,) = parse(ret.strip()).values
        ended = ["  ret i32 0"] if code == "0" else [*loads, *self._raise(code)]
        return [*self._tell_progress(), *ended]

    def _leave(self, number: int, written: set[str]) -> list[str]:
        """Return the code that keeps the values that are needed where the thread goes on."""
        alive = sorted(self.whole.live[number] & written)
        stores = [text for name in alive for text in self._store_cell(self.whole.slots[name])]
        return [*stores, *self._tell_progress()]

    def _pass(self, number: int, written: set[str]) -> list[str]:
        """Return the code that goes on with a function that regions share; what the bank keeps, it is given."""
        lines, own, result = list[str](), list[str](), self._name("passed")
        for slot in self.whole.uniforms:
            value = _parameter(slot)
            if slot.name in written:
                loaded, value = self._load_box(slot)
                lines += loaded
            own.append(f"{slot.stored} {value}")
        passed = ", ".join([*(f"{p.type} {p.name}" for p in self.whole.parameters), *own])
        # Called so, functions that go on with each other in a loop need no more of the stack.
        call = f"  {result} = musttail call i32 @{region_name(number)}({passed})"
        return [*lines, call, f"  ret i32 {result}"]

    def _tell_progress(self) -> list[str]:
        """Return the code that tells the block whether the thread changed something in this region."""
        if not self.whole.takes_turns:
            return []
        moved, at, old, new = self._name("moved"), self._name("at"), self._name("old"), self._name("new")
        return [
            f"  {moved} = load i32, ptr %gj.moved",
            f"  {at} = getelementptr inbounds i8, ptr %gj.bank, i64 {self.whole.progress}",
            f"  {old} = load i32, ptr {at}",
            f"  {new} = or i32 {old}, {moved}",
            f"  store i32 {new}, ptr {at}",
        ]

    def _raise(self, code: str) -> list[str]:
        none, marked, state = self._name("none"), self._name("marked"), self._name("state")
        return [
            f"  {none} = icmp eq i32 {code}, 0",
            f"  {marked} = or i32 {code}, {FAILED}",
            f"  {state} = select i1 {none}, i32 0, i32 {marked}",
            f"  ret i32 {state}",
        ]

    def _name(self, stem: str) -> str:
        self.fresh += 1
        return f"%gj.cut.{stem}.{self.fresh}"  # checks, which come before, have names alike


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
