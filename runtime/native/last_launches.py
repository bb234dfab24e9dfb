"""LastLaunches: the last launch in each stream, by any caller, for errors that are only found later.

Machine code only leaves the number of a launch in its table; a query looks through the tables. This is a best effort.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Protocol

from gridjit.base.forking import WeakList
from gridjit.base.values import dataclass
from gridjit.compiler.values.launch_config import LaunchConfig
from gridjit.runtime.native.placement import environment


@dataclass(frozen=True, slots=True, kw_only=True)
class PastLaunch:
    """A launch. number: the larger, the later. device: its number; None on the host."""

    number: int
    kernel: str
    config: LaunchConfig
    stream: int
    device: int | None = None


class LaunchTables(Protocol):
    """A function that launches by tables."""

    def past_launches(self) -> Iterator[PastLaunch]:
        """Yield the last launch of each table."""


class LastLaunches:
    """The last launch of each stream of each device; bounded, as streams come and go."""

    LIMIT = 4096

    def __init__(self) -> None:
        self._noted: dict[tuple[int | None, int], PastLaunch] = {}
        self._tables: WeakList[LaunchTables] = WeakList()

    def watch(self, tables: LaunchTables) -> None:
        """Look through these too, as long as they live."""
        self._tables.add(tables)

    def note(self, kernel: str, config: LaunchConfig, stream: int, device: int | None = None) -> None:
        """Keep a launch that was made just now."""
        environment.launches += 1
        self.keep([PastLaunch(number=environment.launches, kernel=kernel, config=config, stream=stream, device=device)])

    def keep(self, launches: Iterable[PastLaunch]) -> None:
        """Keep launches that nobody else does; takes no lock, as objects that go call it."""
        for one in launches:
            if len(self._noted) >= self.LIMIT:
                self._noted = {}
            known = self._noted.get((one.device, one.stream))
            if known is None or known.number < one.number:
                self._noted[one.device, one.stream] = one

    def of(self, stream: int | None = None, device: int | None = None) -> list[PastLaunch]:
        """Return the last launch of each stream, the latest last; only in this stream, on this device, if given."""
        last: dict[tuple[int | None, int], PastLaunch] = {}
        for one in sorted(self._all(), key=lambda launched: launched.number):
            if stream in (None, one.stream) and (device is None or device == one.device):
                last.pop((one.device, one.stream), None)
                last[one.device, one.stream] = one
        return list(last.values())

    def _all(self) -> list[PastLaunch]:
        return [*list(self._noted.values()), *(one for each in self._tables.list() for one in each.past_launches())]


last_launches = LastLaunches()
