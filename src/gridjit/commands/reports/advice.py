"""advice: the remedies for slow launches that a report's data calls for, each with the page that explains it.

Only data that was seen counts: of what a cache or a trace does not tell, nothing is said.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from gridjit.base.values import dataclass
from gridjit.commands.printing import count, milliseconds, share_text, size_text
from gridjit.commands.reports.facts import Form, Report, splits
from gridjit.commands.reports.occupancy import Occupancy, own_occupancy
from gridjit.runtime.traced.tracer import PASSING

# From how many launches, and from how many values of a fact, a remedy is worth its words.
_MANY_LAUNCHES, _MANY_VALUES = 10, 8
# Half of the full occupancy is enough for many kernels.
_LOW_OCCUPANCY = 0.5
# A GPU is badly filled if it would run so many times the blocks at once. Milliseconds: of the host's short launches.
_ROOM, _LONG = 4, 1.0
_LIMITS = {
    "registers": "registers ({registers} a thread)",
    "shared memory": "shared memory ({shared} a block)",
    "blocks": "the number of blocks that a multiprocessor holds, which are small",
    "threads": "the size of the block, as no other fits beside those that run",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Advice:
    """A remedy for a kernel. about: its kind in a word or two. text: the finding and the cure. page: explains them."""

    kernel: str
    about: str
    text: str
    page: str


def advice(report: Report) -> list[Advice]:
    """Return the remedies that a report's data calls for, those of launches first."""
    of_kernels: tuple[Callable[[str, list[Form]], Iterator[Advice]], ...] = (_few_blocks, _occupancy, _spills, _splits)
    found = [one for made in of_kernels for kernel, forms in report.kernels.items() for one in made(kernel, forms)]
    return [*_launches(report), *found]


def _launches(report: Report) -> Iterator[Advice]:
    """Yield the reasons why launches go through Python each time, with the kernels that this took longest for."""
    others: dict[str, list[str]] = {}
    for (kernel, why), (times, _) in report.launches.items():
        if times >= _MANY_LAUNCHES:
            others.setdefault(why, []).append(kernel)
    on_gpus = {one.name for one in report.slices if one.group == "launch" and one.target.startswith("sm_")}
    for (kernel, why), (times, spent) in sorted(report.launches.items(), key=lambda one: -one[1][1]):
        seen = f"{times} seen, {milliseconds(spent * 1e3)}"
        if kernel in on_gpus and "(ndarray)" in why:
            text = f"NumPy arrays are copied there and back at each launch ({seen}): {why}. Use cuda.to_device once"
            yield Advice(kernel=kernel, about="copies", text=text, page="docs/performance.md#copies")
        elif times >= _MANY_LAUNCHES and not why.startswith(PASSING) and (alike := others.pop(why, [])):
            too = f"; so do those of {count('other kernel', len(alike) - 1)}" if len(alike) > 1 else ""
            text = f"launches go through Python each time ({seen}{too}): {why}"
            page = "docs/tutorials/fast-launches.md#launches-that-do-not-run-python"
            yield Advice(kernel=kernel, about="launches", text=text, page=page)


def _few_blocks(kernel: str, forms: list[Form]) -> Iterator[Advice]:
    """Yield the largest grid of a kernel if it leaves most of the device idle, for long enough on the host."""
    seen = [(shape, form) for form in forms for shape in form.shapes if shape.count and shape.room]
    if not seen:
        return
    largest, form = max(seen, key=lambda one: one[0].blocks)
    idle = largest.blocks < (largest.room or 0) / (1 if form.target == "host" else _ROOM)
    if idle and (form.target != "host" or (largest.median_ms or 0) >= _LONG):
        text = (
            f"its largest grid seen has {count('block', largest.blocks)} of {count('thread', largest.threads)}, and "
            f"{largest.room} such blocks run at once. Launch more blocks, each with less work"
        )
        yield Advice(kernel=kernel, about="few blocks", text=text, page="docs/performance.md#launches")


def _occupancy(kernel: str, forms: list[Form]) -> Iterator[Advice]:
    found = [(one, form) for form in forms if (one := own_occupancy(form)) is not None and one.share < _LOW_OCCUPANCY]
    if not found:
        return
    least, form = min(found, key=lambda one: one[0].share)
    threads = form.shape.threads if form.shape else 0
    text = (
        f"{share_text(least.share)} of a multiprocessor's threads run at once, in blocks of {threads}"
        f"{_others(found)}: limited by {_limits(least, form)}"
    )
    yield Advice(kernel=kernel, about="occupancy", text=text, page="docs/performance.md#how-much-of-the-gpu")


def _limits(found: Occupancy, form: Form) -> str:
    shared = form.resources.get("shared_bytes", 0) + (form.shape.sharedmem if form.shape else 0)
    known = {"registers": str(form.resources.get("registers", 0)), "shared": size_text(shared)}
    return " and by ".join(_LIMITS[name].format(**known) for name in found.limits)


def _spills(kernel: str, forms: list[Form]) -> Iterator[Advice]:
    sizes = [(form.resources.get("local_bytes", 0), form) for form in forms if form.target.startswith("sm_")]
    found = [one for one in sizes if one[0]]
    if found:
        most = size_text(max(size for size, _ in found))
        text = (
            f"{most} of local memory a thread{_others(found)}: registers did not suffice, or a cuda.local.array is "
            "indexed by a variable. Raise max_registers or lower launch_bounds if the kernel has them, give constant "
            "indices, or split the kernel"
        )
        yield Advice(kernel=kernel, about="local memory", text=text, page="docs/performance.md#how-much-of-the-gpu")


def _splits(kernel: str, forms: list[Form]) -> Iterator[Advice]:
    for what, values in splits(forms).items():
        if len(values) >= _MANY_VALUES and what != "target":
            from gridjit.runtime.specializations.explain import cure_of  # few kernels have so many

            spent = milliseconds(sum(form.compile_ms or 0.0 for form in forms))
            text = f"{len(forms)} specializations, which took {spent} to compile, for {len(values)} values of {what}. "
            of_types = what == "argument types"
            page = "performance.md#compile-once" if of_types else "sensitivity.md#ask-for-the-launch-in-a-library"
            yield Advice(kernel=kernel, about="specializations", text=text + cure_of(what), page=f"docs/{page}")


def _others(found: Iterable[object]) -> str:
    """Return how many other specializations are like the one that is told of."""
    others = len(list(found)) - 1
    return f" (and in {count('other specialization', others)})" if others else ""
