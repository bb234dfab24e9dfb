"""Row values: the values that a region knows before a row of its threads is run, and the code that computes them."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass

from gridjit.compiler.targets.host.analysis.affine import ONE, PLACE, Affine
from gridjit.compiler.targets.host.analysis.barriers import arrival
from gridjit.compiler.targets.host.ir.body import Block, Parameter, defined, definitions_of, lines_of, opcode, used
from gridjit.compiler.targets.host.ir.instructions import Instruction
from gridjit.compiler.targets.host.ir.parse import parse

# No sum of an index of a row's first thread below this and a way along the row wraps around.
FAR = 1 << 61
# The types of values that are copied; a boolean is kept as another type.
_INTEGERS = frozenset(("i16", "i32", "i64"))


@dataclass(frozen=True, slots=True, kw_only=True)
class RegionValues:
    """A region's blocks, its rematerialized values, and values of earlier regions; of these, the shared ones.

    shared: parameters with their types, by the name of the value.
    """

    blocks: Mapping[str, Block]
    again: Mapping[str, str]
    live: Collection[str]
    shared: Mapping[str, Parameter]


class RowWriter:
    """Writes the tests of a row from %gj.from to before %gj.to. all: whether those written so far hold.

    given: the parameters of the region, which it and the function of the tests have.
    """

    def __init__(self, region: RegionValues, given: Sequence[Parameter]) -> None:
        own = definitions_of(lines_of(region.blocks.values()))
        self.made, self.region, self.given = {**region.again, **own}, region, given
        self._next = frozenset(_made_for_the_next(region))
        self.text = ["%gj.place = zext i32 %gj.from to i64", "%gj.end = zext i32 %gj.to to i64"]
        self.text.append("%gj.last = sub i64 %gj.end, 1")
        # Whether a value that was written may differ in another turn of a loop.
        self.changes: dict[str, bool] = dict.fromkeys((one.name for one in given), False)
        self._unknown = set[str]()
        self.all, self._fresh = "true", 0

    def index(self, value: Affine) -> bool:
        """Write the test that a value is not negative in any thread of the row; return whether that is possible."""
        least = "%gj.place" if value.get(PLACE, 0) > 0 else "%gj.last"
        if (total := self.total(value, least)) is None:
            return False
        self.holds(f"icmp ult i64 {total}, {FAR}")
        return True

    def total(self, value: Affine, place: str) -> str | None:
        """Write the code of a value at a place of the row; return its name, or None if that is not possible."""
        total = str(value.get(ONE, 0))
        for part, times in value.items():
            if part == ONE:
                continue
            if (one := place if part == PLACE else self._part(part)) is None:
                return None
            total = self.new(f"add i64 {total}, {self.new(f'mul i64 {one}, {times}')}")
        return total

    def holds(self, test: str) -> None:
        """Write one more test."""
        self.all = self.new(f"and i1 {self.all}, {self.new(test)}")

    def new(self, made: str) -> str:
        """Write an instruction; return the name of its result."""
        self._fresh += 1
        self.text.append(f"%gj.test.{self._fresh} = {made}")
        return f"%gj.test.{self._fresh}"

    def function(self, name: str, result: str, value: str) -> str:
        """Return the function of all that was written, which returns a value.

        LLVM would copy the loops over parts, rows and planes for each outcome of each test that is constant in them,
        and would spend most of its time on that. It copies no loop that contains a call marked `noduplicate`.
        """
        declared = ", ".join(f"{one.type} {one.name}" for one in self.given)
        head = f"define internal {result} @{name}(i32 %gj.from, i32 %gj.to, {declared}) alwaysinline nounwind {{"
        wide = value if result == "i32" else self.new(f"zext {result} {value} to i32")
        once = self.new(f'call i32 asm "", "=r,0"(i32 {wide}) noduplicate nounwind memory(none)')
        told = once if result == "i32" else self.new(f"trunc i32 {once} to {result}")
        return "\n  ".join([f"{head}\ngj.ask:", *self.text, f"ret {result} {told}"]) + "\n}\n"

    def _part(self, part: str) -> str | None:
        how, _, name = part.rpartition(" ")
        if not self._compute(name):
            return None
        return self.new(f"{how} i32 {name} to i64") if how else name

    def _compute(self, name: str) -> bool:
        """Write the code of a value as it is when the region begins; return whether that is known."""
        if name in self._unknown:
            return False
        if name in self.changes or not name.startswith("%"):
            return True
        if name not in self.made:
            return self._copy(name, name)
        line = self.made[name]
        made = parse(line)
        if name in self._next and name in self.region.live:
            return self._copy(name, name)
        if made.opcode == "phi":
            return self._from_one_way(made)
        parts = sorted(used(line))
        if not made.known or not all(map(self._compute, parts)):
            return False
        self.changes[name] = any(self.changes.get(part, False) for part in parts)
        self.text.append(str(made.without_poison()))
        # Where a region makes a value anew that it was left, the name stands for two values.
        if self.changes[name] and name in self.region.live:
            self._unknown.add(name)
        return name not in self._unknown

    def _from_one_way(self, phi: Instruction) -> bool:
        """Write a phi as a copy of its value when the region begins."""
        ways = [value for value, label in phi.arms if label in self.region.blocks]
        return len(ways) == 1 and phi.result not in self.region.live and self._copy(phi.result, ways[0], phi.type)

    def _copy(self, name: str, value: str, kind: str = "") -> bool:
        """Write a copy of a number of a type, or of a value that all threads share."""
        if value.startswith("%"):
            shared = self.region.shared.get(value) if value in self.region.live else None
            kind, value = (shared.type, shared.name) if shared else ("", "")
        if kind not in _INTEGERS:
            return False
        self.text.append(f"{name} = add {kind} {value}, 0")
        self.changes[name] = True
        return True


def _made_for_the_next(region: RegionValues) -> Iterator[str]:
    """Yield the values that a region makes where it ends, and does not read: values of a loop's next iteration."""
    for block in region.blocks.values():
        *lines, last = block.lines
        if arrival(last) is not None and all(opcode(line) == "phi" for line in lines):
            yield from (name for line in lines if (name := defined(line)))
