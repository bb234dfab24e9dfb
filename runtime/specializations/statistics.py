"""Statistics: how often a kernel was compiled, and found or missed on disk; BySignature: values by signature."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar, overload

from gridjit.base.forking import lock, section
from gridjit.compiler.values.errors import ConfigError
from gridjit.compiler.values.signature import Signature

if TYPE_CHECKING:
    from gridjit.runtime.accepted import SignatureLike

Value = TypeVar("Value")
Default = TypeVar("Default")


class BySignature(dict[Signature, Value]):
    """A dict by Signature. A key may also be a tuple of numba's types, a numba signature or a text of one."""

    if TYPE_CHECKING:

        def __getitem__(self, key: SignatureLike, /) -> Value: ...

    def __missing__(self, key: Any) -> Value:
        if (found := as_signature(key)) is None or not super().__contains__(found):
            raise KeyError(key)
        return self[found]

    def __contains__(self, key: object) -> bool:
        return super().__contains__(as_signature(key))

    @overload
    def get(self, key: SignatureLike, default: None = None) -> Value | None: ...
    @overload
    def get(self, key: SignatureLike, default: Value | Default) -> Value | Default: ...
    def get(self, key: Any, default: Any = None) -> Any:
        """Return the value of a signature, or default."""
        try:
            return self[key]
        except KeyError:
            return default

    def __repr__(self) -> str:
        return f"{{{', '.join(f'{signature}: {value!r}' for signature, value in self.items())}}}"


def as_signature(key: Any) -> Signature | None:
    """Return what numba's types stand for; None for something that is not a signature."""
    if isinstance(key, Signature):
        return key
    from gridjit.compiler.frontend.bindings.types import parse_signature

    try:
        return parse_signature(key)
    except ConfigError:
        return None


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
        """Count the origin of code for signature: "disk" and "remote" are hits, others misses."""
        counts = self.cache_hits if origin in ("disk", "remote") else self.cache_misses
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
        from gridjit.runtime.specializations.display import statistics_page

        return statistics_page(self)
