"""What a module's tests register with numba-cuda, taken away again: no kernel of another module may meet it."""

from __future__ import annotations

import gc
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from types import MappingProxyType

from gridjit.compiler.frontend.narrow import contexts
from gridjit.compiler.key import registrations, registry_entries
from gridjit.compiler.source.libraries import in_loaded


@contextmanager
def taken_away_after() -> Iterator[None]:
    """Take away the extensions that were registered since."""
    lists = {id(entries): list(entries) for entries, _ in _lists()}
    tables = {key for table in _tables() for key in table}
    yield
    changed = False
    for entries, kind in _lists():
        known = lists.get(id(entries), [])
        kept = [
            one for n, one in enumerate(entries) if n < len(known) or not registry_entries.registered_in(kind, [one])
        ]
        changed |= len(kept) < len(entries)
        entries[:] = kept
    for table in _tables():
        for key in [key for key in table if key not in tables and registry_entries.is_foreign(key)]:
            del table[key]
            changed = True
    if changed:
        for name in ("numba.cuda.typing.typeof", "numba.core.typing.typeof"):
            if (clear := in_loaded(name, "typeof_impl._clear_cache")) is not None:
                clear()
        # The contexts remember how far they have read each list.
        contexts.contexts_may_be_half_read()
        contexts.mend_contexts()


def _lists() -> list[tuple[list[object], str]]:
    return list(registrations.lists_of_registries()) if "numba.cuda" in sys.modules else []


def _tables() -> list[dict[object, object]]:
    found = [in_loaded(module, path) for module, path, _ in registrations._TABLES]
    # What functools.singledispatch shows of its table is a proxy of it.
    return [gc.get_referents(table)[0] if isinstance(table, MappingProxyType) else table for table in found if table]
