"""An interpreter of as much PTX as our copy kernels use, on memory of this process: all threads of a block in step."""

from __future__ import annotations

import ctypes
import re
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

Lanes = Any  # an array of one number a thread
_SIZES = {"u8": 1, "u16": 2, "u32": 4, "u64": 8}


def run_ptx(text: str, blocks: int, shape: Sequence[int], parameters: bytes) -> None:
    """Run the one kernel in text over a grid of so many blocks. shape: threads of a block, along x and y."""
    declared = re.search(r"given\[(\d+)\]", text)
    assert declared is not None and int(declared[1]) == len(parameters)
    body = text[text.index("{\n") + 2 : text.rindex("}")]
    lines = [part.strip() for part in re.split(r"[;\n]", body) if part.strip() and not part.strip().startswith(".reg")]
    for block in range(blocks):
        _Block(lines, block, blocks, shape, parameters).run()


class _Block:
    """A block of threads at work."""

    def __init__(self, lines: list[str], number: int, blocks: int, shape: Sequence[int], parameters: bytes) -> None:
        width, height = shape
        lanes = np.arange(width * height, dtype=np.uint64)
        self.count = width * height
        self.parameters = parameters
        self.registers: dict[str, Lanes] = {
            "%tid.x": lanes % np.uint64(width),
            "%tid.y": lanes // np.uint64(width),
            "%ctaid.x": self.all(number),
            "%nctaid.x": self.all(blocks),
            "items": self.all(0),
        }
        self.shared: Any = np.zeros(0, np.uint8)
        self.lines: list[str] = []
        self.labels: dict[str, int] = {}
        for line in lines:
            if line.endswith(":"):
                self.labels[line[:-1]] = len(self.lines)
            elif line.startswith(".shared"):
                found = re.search(r"items\[(\d+)\]", line)
                assert found is not None
                self.shared = np.zeros(int(found[1]), np.uint8)
            else:
                self.lines.append(line)

    def all(self, value: int) -> Lanes:
        return np.full(self.count, value & (1 << 64) - 1, np.uint64)

    def run(self) -> None:
        at = 0
        while (line := self.lines[at]) != "ret":
            at = self.step(line, at + 1)

    def step(self, line: str, following: int) -> int:
        """Do what a line says; return the number of the line that comes next."""
        active = np.ones(self.count, bool)
        if line.startswith("@"):
            predicate, line = line[1:].split(" ", 1)
            active = self.registers[predicate].astype(bool)
        name, _, rest = line.partition(" ")
        operands = re.findall(r"\{[^}]*\}|\[[^\]]*\]|[^,\s]+", rest)
        if name == "bra":
            assert active.all() or not active.any(), "the threads of a block part"
            return self.labels[operands[0]] if active.all() else following
        kind = name.split(".")[0]
        if kind in ("ld", "st"):
            self.access(name.split("."), operands, active)
        elif kind != "bar":
            assert active.all()
            self.registers[operands[0]] = self.computed(name, [self.value(one) for one in operands[1:]])
        return following

    def value(self, operand: str) -> Lanes:
        return self.registers[operand] if operand in self.registers else self.all(int(operand))

    def computed(self, name: str, given: list[Lanes]) -> Lanes:
        parts = name.split(".")
        bits = int(parts[-1][1:]) if parts[0] != "cvt" else 64
        with np.errstate(over="ignore"):
            made = _OPERATIONS[parts[0]](parts, given)
        return made if made.dtype == bool else made & np.uint64((1 << bits) - 1)

    def access(self, name: list[str], operands: list[str], active: Lanes) -> None:
        """Load or store. name: as ["ld", "global", "v2", "u64"]."""
        vector = "v2" in name
        size = _SIZES[name[-1]]
        place, values = (operands[1], operands[0]) if name[0] == "ld" else (operands[0], operands[1])
        base, _, more = place[1:-1].partition("+")
        for number, register in enumerate(values.strip("{}").replace(" ", "").split(",") if vector else [values]):
            offset = int(more or 0) + size * number
            if name[1] == "param":
                self.registers[register] = self.all(int.from_bytes(self.parameters[offset : offset + size], "little"))
                continue
            places = self.registers[base] + np.uint64(offset)
            if name[0] == "ld":
                self.registers.setdefault(register, self.all(0))
                for lane in np.flatnonzero(active):
                    self.registers[register][lane] = self.load(name[1], int(places[lane]), size)
            else:
                for lane in np.flatnonzero(active):
                    self.store(name[1], int(places[lane]), size, int(self.registers[register][lane]))

    def load(self, where: str, place: int, size: int) -> int:
        assert place % size == 0, "misaligned"
        if where == "shared":
            assert 0 <= place <= len(self.shared) - size
            return int.from_bytes(self.shared[place : place + size].tobytes(), "little")
        return int.from_bytes(ctypes.string_at(place, size), "little")

    def store(self, where: str, place: int, size: int, value: int) -> None:
        assert place % size == 0, "misaligned"
        data = (value & (1 << 8 * size) - 1).to_bytes(size, "little")
        if where == "shared":
            assert 0 <= place <= len(self.shared) - size
            self.shared[place : place + size] = np.frombuffer(data, np.uint8)
        else:
            ctypes.memmove(place, data, size)


def _compared(parts: list[str], given: list[Lanes]) -> Lanes:
    result = {"ge": np.greater_equal, "le": np.less_equal, "lt": np.less}[parts[1]](given[0], given[1])
    return result & given[2].astype(bool) if "and" in parts else result


_OPERATIONS: dict[str, Callable[[list[str], list[Lanes]], Lanes]] = {
    "mov": lambda parts, given: given[0],
    "cvt": lambda parts, given: given[0],
    "add": lambda parts, given: given[0] + given[1],
    "mul": lambda parts, given: given[0] * given[1],
    "mad": lambda parts, given: given[0] * given[1] + given[2],
    "div": lambda parts, given: given[0] // given[1],
    "rem": lambda parts, given: given[0] % given[1],
    "shl": lambda parts, given: given[0] << given[1],
    "setp": _compared,
}
