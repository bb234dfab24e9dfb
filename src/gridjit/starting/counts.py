"""KernelCounts: which kernels of a program are gridjit's and which are numba-cuda's, in words and as values."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

# More are named in the values.
_NAMED = 5


@dataclass(slots=True)
class KernelCounts:
    """Kernels by name and line. ours: gridjit's, and whether any has code. numbas: numba-cuda's, and their launches.

    why: the reason for each kernel that did not go through gridjit. compiled, found: how often code was made, and taken
    from the cache. findings: what debug kernels found.
    """

    ours: dict[str, bool] = field(default_factory=dict)
    numbas: dict[str, int] = field(default_factory=dict)
    why: dict[str, str] = field(default_factory=dict)
    compiled: int = 0
    found: int = 0
    findings: list[str] = field(default_factory=list)

    def as_dict(self) -> dict[str, Any]:
        """Return the counts as JSON values, which one process can send to another."""
        return asdict(self)

    def add(self, other: Mapping[str, Any]) -> None:
        """Add counts, of another process or of this one: a kernel that several made is one, its launches add up."""
        for name, used in other.get("ours", {}).items():
            self.ours[name] = used or self.ours.get(name, False)
        for name, launches in other.get("numbas", {}).items():
            self.numbas[name] = launches + self.numbas.get(name, 0)
        for name, why in other.get("why", {}).items():
            self.why.setdefault(name, why)
        self.compiled += other.get("compiled", 0)
        self.found += other.get("found", 0)
        self.findings += [one for one in other.get("findings", ()) if one not in self.findings]

    @property
    def used(self) -> list[str]:
        """The kernels that went through gridjit."""
        return [name for name, used in self.ours.items() if used]

    @property
    def others(self) -> dict[str, str]:
        """The kernels that did not, each with the reason: kernels that gridjit could not compile, and numba-cuda's."""
        refused = {name: self.why[name] for name, used in self.ours.items() if not used and name in self.why}
        return refused | {name: self.why.get(name, "numba-cuda's own") for name in self.numbas}

    @property
    def unused(self) -> list[str]:
        """The kernels of gridjit's that were made and never needed code."""
        return [name for name, used in self.ours.items() if not used and name not in self.why]

    @property
    def lines(self) -> list[str]:
        """The lines of the report: how many kernels went through gridjit, then each of numba-cuda's."""
        made = f"kernels that went through gridjit: {len(self.used)}"
        first = f"{made} (made and never compiled: {len(self.ours) - len(self.used)})"
        plain = f"kernels of numba-cuda's own: {len(self.numbas)} (launches: {sum(self.numbas.values())})"
        return [first, plain, *(f"  {name} (launches: {n})" for name, n in self.numbas.items())]

    @property
    def line(self) -> str:
        """The report in one line."""
        used, others, unused = self.used, self.others, self.unused
        said = f"{_kernels(len(used))} went through gridjit ({self.compiled} compiled, {self.found} found)"
        named = "; ".join(f"{name}: {why}" for name, why in list(others.items())[:_NAMED])
        rest = f"; and {len(others) - _NAMED} more" * (len(others) > _NAMED)
        return f"{said}, {len(others)} did not{f' ({named}{rest})' * bool(others)}" + (
            f", {len(unused)} never needed code" if unused else ""
        )

    @property
    def values(self) -> dict[str, Any]:
        """The same for programs, with all names."""
        return {
            "kernels": self.used,
            "others": [{"kernel": name, "why": why} for name, why in self.others.items()],
            "unused": self.unused,
            "compiled": self.compiled,
            "found": self.found,
            "findings": self.findings,
        }


def _kernels(number: int) -> str:
    return f"{number or 'no'} kernel{'s' * (number > 1)}"
