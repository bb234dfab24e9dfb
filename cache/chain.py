"""ChainStore: a writable store over read-only stores, as a user's folder over folders baked into an image.

The first layer that has a key answers. An entry from a lower layer is copied into the top one, so that it is found
there next time and outlives the lower layer. That is right for artifacts, which are the same in every layer. Manifests
and histories, of which every layer has its own, are read from all `layers` and merged by their own modules.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from gridjit.cache.store import EntryInfo, Result, Store


class ChainStore:
    """A Store that reads through layers and writes to the first."""

    def __init__(self, overlay: Store, *bases: Store) -> None:
        self._overlay = overlay
        self._bases = tuple(layer for base in bases for layer in base.layers)

    @property
    def layers(self) -> tuple[Store, ...]:
        """The overlay's, then the bases'."""
        return (*self._overlay.layers, *self._bases)

    def get(self, key: str) -> bytes | None:
        """Return the entry's bytes from the first layer that has key, or None."""
        data = self._overlay.get(key)
        if data is not None:
            return data
        for base in self._bases:
            data = base.get(key)
            if data is not None:
                self._promote(key, data, base)
                return data
        return None

    def put(self, key: str, data: bytes, *, suffix: str) -> None:
        """Keep data under key in the top layer, which hides the others' entries."""
        self._overlay.put(key, data, suffix=suffix)

    def put_all(self, entries: Mapping[str, bytes], *, suffix: str) -> None:
        """Keep entries in the top layer."""
        self._overlay.put_all(entries, suffix=suffix)

    def together(self, work: Callable[[], Result]) -> Result:
        """Return work(), in which the top layer does the work that its puts share once."""
        return self._overlay.together(work)

    def find(self, key: str) -> EntryInfo | None:
        """Return the EntryInfo of key from the first layer that has it, or None."""
        return next((found for layer in self.layers if (found := layer.find(key)) is not None), None)

    def entries(self) -> Iterator[EntryInfo]:
        """Yield the entry that get would answer with, for every key of any layer."""
        seen: set[str] = set()
        for layer in self.layers:
            for info in layer.entries():
                if info.key not in seen:
                    seen.add(info.key)
                    yield info

    def remove(self, key: str) -> None:
        """Forget key in the top layer; a lower layer that has it answers again."""
        self._overlay.remove(key)

    def close(self) -> None:
        """Close every layer."""
        for layer in self.layers:
            layer.close()

    def _promote(self, key: str, data: bytes, base: Store) -> None:
        found = base.find(key)
        if found is not None:  # it may have gone meanwhile
            self._overlay.put(key, data, suffix=found.suffix)
