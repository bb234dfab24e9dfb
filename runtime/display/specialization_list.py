"""SpecializationList: a kernel's specializations as a tuple that people can read."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import TYPE_CHECKING

from gridjit.printable import printable
from gridjit.runtime.display.table import Table

if TYPE_CHECKING:
    from gridjit.runtime.specialize.table import Specialization

_COLUMNS = ("signature", "target", "depends on", "from", "ms", "registers", "shared", "local", "constant")
_NUMBERS = frozenset(("ms", "registers", "shared", "local", "constant"))
_WHY = "why"
# What an artifact calls the numbers of a table's row: registers of a thread, then bytes of a block, a thread, the code.
_RESOURCES = {
    "ptx": ("registers", "shared_bytes", "local_bytes", "constant_bytes"),
    "host": ("", "shared_bytes", "slab_bytes_per_thread", ""),
}


class SpecializationList(tuple["Specialization", ...]):
    """Specializations of one kernel: a short repr, a table where it is printed and in a notebook. of: its name."""

    of: str

    def __new__(cls, found: Iterable[Specialization] = (), of: str = "") -> SpecializationList:
        """Return the list of specializations of a kernel."""
        made = super().__new__(cls, found)
        made.of = of
        return made

    def __repr__(self) -> str:
        targets = Counter(str(found.target) for found in self)
        counts = ", ".join(f"{count} for {target}" for target, count in targets.items())
        return printable(f"<{self._title}{f': {counts}' if counts else ''}>")

    def __str__(self) -> str:
        return self._table().text() if self else self._title

    def _repr_html_(self) -> str:
        """Return the table as notebooks show it, with the reason for each specialization."""
        return self._table(_WHY).html()

    @property
    def _title(self) -> str:
        noun = "specialization" if len(self) == 1 else "specializations"
        return printable(f"{len(self) or 'no'} {noun} of {self.of or 'a kernel'}")

    def _table(self, *more: str) -> Table:
        rows = tuple((*_row(found), *(found.reason for _ in more)) for found in self)
        return Table(title=self._title, columns=(*_COLUMNS, *more), rows=rows, numbers=_NUMBERS)


def _row(found: Specialization) -> tuple[str, ...]:
    return (
        str(found.signature),
        str(found.target) + (f" ({found.tier})" if found.tier else ""),
        str(found.footprint),
        found.origin,
        f"{found.milliseconds:.1f}",
        *_resources(found),
    )


def _resources(found: Specialization) -> tuple[str, ...]:
    """Return the numbers that the artifact holds, "-" for those that it does not."""
    known = found.artifact.resources
    return tuple(str(known.get(name, "-")) for name in _RESOURCES.get(found.target.kind, ("",) * 4))
