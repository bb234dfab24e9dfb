"""Statistics: how often a kernel was compiled, and found or missed on disk."""

from __future__ import annotations

from typing import Any

from gridjit.compiler.signature import Signature
from gridjit.forking import lock, section
from gridjit.runtime.numba_names.by_signature import BySignature


class Statistics:
    """Counts of one kernel in this process.

    compiles: how often code was made. cache_hits, cache_misses: how often the cache had it, or not, by signature.
    generic_launches: how many launches of a kernel made with jit(tiered=True) used generic code, while specialized code
    was compiled. swaps: how often specialized code replaced generic code.
    launches_needed: how often there was no code without a launch, by the cache or by a compile that ended so.
    """

    __slots__ = ("_lock", "cache_hits", "cache_misses", "compiles", "generic_launches", "launches_needed", "swaps")

    def __init__(self) -> None:
        self.compiles = self.generic_launches = self.swaps = self.launches_needed = 0
        self.cache_hits: BySignature[int] = BySignature()
        self.cache_misses: BySignature[int] = BySignature()
        self._lock = lock()

    @property
    def disk_hits(self) -> int:
        """How often the cache had the code."""
        return sum(list(self.cache_hits.values()))

    @property
    def disk_misses(self) -> int:
        """How often the cache did not have the code."""
        return sum(list(self.cache_misses.values()))

    @property
    def told(self) -> str:
        """The numbers of compiles and of disk hits, in words."""
        needed = f", {self.launches_needed} without code as a launch is needed" if self.launches_needed else ""
        return f"{self.compiles} compiled, {self.disk_hits} from the cache{needed}"

    def count(self, name: str) -> None:
        """Add one to a count; safe from any thread."""
        with section(), self._lock:
            setattr(self, name, getattr(self, name) + 1)

    def note(self, origin: str, signature: Signature) -> None:
        """Count the origin of code for signature: "disk" is a hit, "compiled" and "served" are misses."""
        counts = {"disk": self.cache_hits}.get(origin, self.cache_misses)
        with section(), self._lock:
            counts[signature] = counts.get(signature, 0) + 1

    def __getstate__(self) -> dict[str, Any]:
        """Return the counts, for a pickle or a copy."""
        with section(), self._lock:
            return {name: getattr(self, name) for name in self.__slots__ if name != "_lock"}

    def __setstate__(self, counts: dict[str, Any]) -> None:
        self.__init__()  # type: ignore[misc]
        for name, count in counts.items():
            setattr(self, name, count)

    def __repr__(self) -> str:
        counts = ", ".join(f"{name}={getattr(self, name)}" for name in ("compiles", "disk_hits", "disk_misses"))
        return f"Statistics({counts})"

    def _repr_html_(self) -> str:
        """Return the counts for notebooks."""
        from gridjit.runtime.display import statistics_page

        return statistics_page(self)
