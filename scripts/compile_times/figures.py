"""The figures to reach: each with its bound, what was measured, and whether that is within it."""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from compile_times.processes import Times

# Of each case, by whose compiler and what it makes.
Results = Mapping[str, Mapping[tuple[str, str], Times]]
NUMBA, CUBIN, HOST = ("numba", "cubin"), ("gridjit", "cubin"), ("gridjit", "host")


@dataclass(frozen=True, slots=True, kw_only=True)
class Figure:
    """A ratio or an exponent, and how large it may be. detail: which case it is of."""

    what: str
    bound: float
    measured: float
    detail: str = ""

    def __str__(self) -> str:
        verdict = "reached" if self.measured <= self.bound else "MISSED"
        return f"{self.what:66} at most {self.bound:4.2f}   {self.measured:5.2f}   {verdict:8} {self.detail}".rstrip()


def figures(results: Results) -> Iterator[Figure]:
    """Yield the figures of single kernels, from CPU times."""
    cubin = _ratios(results, CUBIN, NUMBA)
    host = _ratios(results, HOST, CUBIN)
    if cubin:
        mean = statistics.geometric_mean(cubin.values())
        yield Figure(what="cold compile to a cubin / numba-cuda's, geometric mean", bound=0.8, measured=mean)
        yield _worst("cold compile to a cubin / numba-cuda's, the worst", 1.0, cubin)
    if host:
        yield _worst("host target / own cubin, the worst", 1.3, host)
    for shape in ("deep", "wide"):
        for kind in (NUMBA, CUBIN, HOST):
            if (exponent := _exponent(results, shape, kind)) is not None:
                what = f"exponent over 4 to 64 device functions, {shape}, {' '.join(kind)}"
                yield Figure(what=what, bound=1.1, measured=exponent)


def ratio(what: str, bound: float, times: tuple[float, float]) -> Figure:
    """Return the figure that a scenario's two times are."""
    return Figure(what=what, bound=bound, measured=times[0] / times[1], detail=f"{times[0]:.2f} s / {times[1]:.2f} s")


def _ratios(results: Results, ours: tuple[str, str], theirs: tuple[str, str]) -> dict[str, float]:
    return {name: of[ours].cpu / of[theirs].cpu for name, of in results.items() if ours in of and theirs in of}


def _worst(what: str, bound: float, ratios: dict[str, float]) -> Figure:
    name = max(ratios, key=lambda case: ratios[case])
    over = sorted(case for case, found in ratios.items() if found > bound and case != name)
    return Figure(what=what, bound=bound, measured=ratios[name], detail=", ".join((name, *over)))


def _exponent(results: Results, shape: str, kind: tuple[str, str]) -> float | None:
    """Return the power of the number of functions by which the time grows."""
    few, many = (results.get(f"{shape}_{count}", {}).get(kind) for count in (4, 64))
    return None if few is None or many is None else math.log(many.cpu / few.cpu) / math.log(64 / 4)
