"""MemoryStore: entries of this process, the least recently used dropped first; a forked child starts with a copy."""

from __future__ import annotations

import time
from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping

from gridjit.base.forking import lock, section
from gridjit.cache.store import EntryInfo, Result, check_key, check_suffix


class MemoryStore:
    """A Store in memory, bounded in entries and in bytes of data; safe to use from many threads."""

    def __init__(self, *, max_entries: int = 4096, max_bytes: int = 256 << 20) -> None:
        self._max_entries = max_entries
        self._max_bytes = max_bytes
        self._held: OrderedDict[str, tuple[EntryInfo, bytes]] = OrderedDict()
        self._bytes = 0
        self._lock = lock()

    @property
    def layers(self) -> tuple[MemoryStore, ...]:
        """This store alone."""
        return (self,)

    def get(self, key: str) -> bytes | None:
        """Return the bytes put under key, or None; makes the entry the most recently used."""
        check_key(key)
        with section(), self._lock:
            held = self._held.get(key)
            if held is None:
                return None
            self._held.move_to_end(key)
            return held[1]

    def put(self, key: str, data: bytes, *, suffix: str) -> None:
        """Keep data under key; data larger than the whole store is not kept."""
        check_key(key)
        check_suffix(suffix)
        info = EntryInfo(key=key, suffix=suffix, size=len(data), stored=time.time())
        with section(), self._lock:
            self._drop(key)
            if len(data) > self._max_bytes:
                return
            self._held[key] = (info, data)
            self._bytes += len(data)
            while len(self._held) > self._max_entries or self._bytes > self._max_bytes:
                self._drop(next(iter(self._held)))

    def put_all(self, entries: Mapping[str, bytes], *, suffix: str) -> None:
        """Put entries one after the other, if all keys are ones."""
        for key in entries:
            check_key(key)
        for key, data in entries.items():
            self.put(key, data, suffix=suffix)

    def together(self, work: Callable[[], Result]) -> Result:
        """Return work(): puts share no work."""
        return work()

    def find(self, key: str) -> EntryInfo | None:
        """Return the EntryInfo of key, or None."""
        check_key(key)
        with section(), self._lock:
            held = self._held.get(key)
            return held[0] if held else None

    def entries(self) -> Iterator[EntryInfo]:
        """Yield every entry, the least recently used first."""
        with section(), self._lock:
            infos = [info for info, _ in self._held.values()]
        yield from infos

    def remove(self, key: str) -> None:
        """Forget key, if it is there."""
        check_key(key)
        with section(), self._lock:
            self._drop(key)

    def close(self) -> None:
        """Do nothing: the store does not hold resources, and its entries stay."""

    def _drop(self, key: str) -> None:
        held = self._held.pop(key, None)
        if held is not None:
            self._bytes -= held[0].size
