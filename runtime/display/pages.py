"""pages: a kernel, a configured kernel and statistics as notebooks show them. Nothing is compiled or waited for."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gridjit.runtime.display.specialization_list import SpecializationList
from gridjit.runtime.display.table import Table, escaped

if TYPE_CHECKING:
    from gridjit.runtime.kernel import Kernel
    from gridjit.runtime.launch.configured import ConfiguredKernel
    from gridjit.runtime.specialize.statistics import Statistics

_COUNTS = ("compiles", "disk_hits", "disk_misses", "launches_needed", "generic_launches", "swaps")


def kernel_page(kernel: Kernel) -> str:
    """Return a kernel: its name and options, how often it was compiled, and its specializations."""
    options = ", ".join(f"{name}={value!r}" for name, value in kernel.targetoptions.items())
    head = f"<b>{escaped(kernel.name)}</b>({escaped(', '.join(kernel.parameter_names))})"
    origin = escaped(f"kernel of {kernel.py_func.__module__}{f', {options}' if options else ''}; {kernel.stats.told}")
    return f"<div>{head}<br>{origin}{SpecializationList(kernel.in_memory(), of=kernel.name)._repr_html_()}</div>"


def configured_page(configured: ConfiguredKernel) -> str:
    """Return a configured kernel: the shape of its launch, and the specializations that may serve it."""
    from gridjit.runtime.numba_names.specialized_signature import may_serve

    kernel, config = configured.dispatcher, configured.config
    default = configured.stream is None or (type(configured.stream) is int and configured.stream == 0)
    stream = "" if default else f", stream {configured.stream!r}"
    head = f"<b>{escaped(kernel.name)}</b> configured for {escaped(f'{config}{stream}')}"
    serving = (found for found in kernel.in_memory() if may_serve(found, config))
    return f"<div>{head}{SpecializationList(serving, of=kernel.name)._repr_html_()}</div>"


def statistics_page(stats: Statistics) -> str:
    """Return statistics: the counts, then hits and misses by signature."""
    counts = tuple((name.replace("_", " "), str(getattr(stats, name))) for name in _COUNTS)
    numbers = frozenset(("count",))
    whole = Table(title="in this process", columns=("what", "count"), rows=counts, numbers=numbers).html()
    return f"<div>{whole}{_by_signature(stats)}</div>"


def _by_signature(stats: Statistics) -> str:
    hits, misses = dict(stats.cache_hits), dict(stats.cache_misses)
    rows = tuple((str(one), str(hits.get(one, 0)), str(misses.get(one, 0))) for one in dict.fromkeys([*hits, *misses]))
    columns = ("signature", "hits", "misses")
    return Table(title="in the cache", columns=columns, rows=rows, numbers=frozenset(columns[1:])).html()
