"""Access places: where in the source a kernel accesses memory, read from the debug locations of its LLVM IR."""

from __future__ import annotations

from dataclasses import dataclass, field

from gridjit.compiler.targets.host.ir.debug_locations import DEBUG_LOCATION
from gridjit.compiler.targets.host.ir.metadata import MetadataNode, nodes
from gridjit.compiler.targets.host.ir.module import name_of
from gridjit.compiler.targets.host.sanitizer.routines.record import MOST_SITES, UPDATES

# The folder of a file that is an array's name.
ARRAY_MARK = "gridjit.array"

# Instructions that come from implementations in numba itself are at the line of the user's that calls them.
_NUMBAS = ("/numba/", "/numba_cuda/")


@dataclass(frozen=True, slots=True, kw_only=True)
class AccessPlace:
    """A place in the source: file, line, the function it is in, and the array that is accessed there."""

    file: str
    line: int
    function: str
    array: str

    def as_json(self) -> list[str | int]:
        """Return the place as a value that json can write."""
        return [self.file, self.line, self.function, self.array]


UNKNOWN = AccessPlace(file="", line=0, function="", array="")


@dataclass(slots=True)
class Places:
    """The places of a kernel, numbered from 1 as its accesses name them."""

    nodes: dict[str, MetadataNode]
    numbers: dict[AccessPlace, int] = field(default_factory=dict)
    updates: dict[tuple[AccessPlace, AccessPlace], int] = field(default_factory=dict)

    def number(self, line: str) -> int:
        """Return the number of the place of an instruction; those beyond the last number share it."""
        return self.numbers.setdefault(self._of(line), min(len(self.numbers) + 1, UPDATES - 1))

    def update(self, write: str, read: str) -> int:
        """Return the number of the place of a write that is reported together with a read."""
        pair = self._of(write), self._of(read)
        return self.updates.setdefault(pair, min(UPDATES + 2 * len(self.updates), MOST_SITES - 2))

    def by_number(self) -> dict[int, AccessPlace]:
        """Return the places by their numbers."""
        pairs = [(number + second, pair[second]) for pair, number in self.updates.items() for second in (0, 1)]
        # Of those that share a number, the first.
        return dict(reversed([*((number, place) for place, number in self.numbers.items()), *pairs]))

    def _of(self, line: str) -> AccessPlace:
        found = DEBUG_LOCATION.search(line)
        return self._place(found[1]) if found else UNKNOWN

    def _place(self, location: str) -> AccessPlace:
        """Return the innermost place that is not numba's own."""
        array, found = "", UNKNOWN
        while location in self.nodes:
            fields = self.nodes[location].fields
            name, file, function = self._scope(fields.get("scope", ""))
            array = array or name
            found = AccessPlace(file=file, line=int(fields.get("line", "0")), function=function, array=array)
            if found.line and not any(folder in file.replace("\\", "/") for folder in _NUMBAS):
                return found
            location = fields.get("inlinedAt", "")
        return found

    def _scope(self, scope: str) -> tuple[str, str, str]:
        """Return the array that a scope names, and its function's file and name."""
        array = file = ""
        while scope in self.nodes:
            kind, fields = self.nodes[scope]
            folder, name = self._file(fields.get("file", ""))
            if folder == ARRAY_MARK:
                array = name
            else:
                file = file or (f"{folder}/{name}" if folder else name)
            if kind == "DISubprogram":
                return array, file, _plain(fields.get("name", ""))
            scope = fields.get("scope", "")
        return array, "", ""

    def _file(self, file: str) -> tuple[str, str]:
        fields = self.nodes[file].fields if file in self.nodes else {}
        return name_of(fields.get("directory", "")), name_of(fields.get("filename", ""))


def read_places(metadata: str) -> Places:
    """Return the places that a module's metadata describes."""
    return Places(nodes=nodes(metadata))


def _plain(quoted: str) -> str:
    """Return a function's name without the types that numba adds."""
    return name_of(quoted).partition("[")[0]
