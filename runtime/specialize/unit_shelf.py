"""UnitShelf: the store as compiles see it, where they find and leave the front end's compiled callees.

A compile's callees are put into the store once the compile has succeeded.
"""

from __future__ import annotations

from collections.abc import Callable

from gridjit.base.digests import utf8
from gridjit.cache.memory import MemoryStore
from gridjit.cache.store import Store
from gridjit.compiler.job import CompileJob
from gridjit.compiler.key.entry_points import current_extensions
from gridjit.compiler.source.code import digest_fields

SUFFIX = ".unit"


class UnitShelf:
    """The compiled callees under the circumstances of one job's compile. was_used: whether any was taken."""

    def __init__(self, store: Store, job: CompileJob) -> None:
        # Code of an extension may be part of a callee, whichever job it is for.
        surrounding = (*_installed(), *job.extensions, *job.toolchain, *job.environment, *job.target.fields)
        self.around = digest_fields(utf8(text) for field in surrounding for text in field)
        self.was_used = False
        self._leaves = True
        self._store = store
        self._left: dict[str, bytes] = {}
        self._to_do: list[Callable[[], None]] = []

    def get(self, key: str) -> bytes | None:
        """Return the data put under key, or None."""
        return self._store.get(key)

    def put(self, key: str, data: bytes) -> None:
        """Keep data under key, for compilations that begin later."""
        self._left[key] = data

    def leave_nothing(self) -> None:
        """Put nothing into the store at the end."""
        self._leaves = False

    def when_it_went_well(self, do: Callable[[], None]) -> None:
        """Do something once the compilation's code is made."""
        self._to_do.append(do)

    def end(self) -> None:
        """End a successful compile: put its callees into the store, and do the postponed work."""
        while self._to_do:
            self._to_do.pop()()
        left, self._left = self._left, {}
        if left and self._leaves:
            self._store.put_all(left, suffix=SUFFIX)


def _installed() -> tuple[tuple[str, str], ...]:
    if not current_extensions():
        return ()
    from gridjit.compiler.recorded.everybody import installed_identities

    return installed_identities()


def shelf_for(store: Store, job: CompileJob) -> UnitShelf | None:
    """Return the shelf of a job's compile; None if the store ends with the process, or the circumstances are not known.

    Compiled callees have no lines of source, so a job with lines in its code is compiled whole.
    """
    if isinstance(store, MemoryStore) or job.private or job.has_lines:
        return None
    return UnitShelf(store, job)
