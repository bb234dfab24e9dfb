"""Registrations: extensions' entries in numba-cuda's registries, found without importing anything; rewrites are apart.

Registries only grow, so each look reads the entries since the last; a process without numba-cuda has none.
"""

from __future__ import annotations

import dataclasses
import operator
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from types import BuiltinFunctionType, FunctionType, ModuleType
from typing import Any, TypeAlias

from gridjit.base.forking import lock, section
from gridjit.compiler.key.registration import Registration, name_of
from gridjit.compiler.source.libraries import in_loaded
from gridjit.compiler.source.objects import code_behind

# The registries of types and of implementations that numba-cuda's two contexts install: module and name.
_REGISTRIES = (
    ("numba.cuda.core.imputils", "builtin_registry"),
    ("numba.cuda.core.optional", "registry"),
    ("numba.cuda.typing.templates", "builtin_registry"),
    *((f"numba.cuda.{name}", "registry") for name in ("cudadecl", "cudaimpl", "cudamath", "libdevicedecl")),
    *((f"numba.cuda.{name}", "registry") for name in ("libdeviceimpl", "mathimpl", "printimpl", "misc.cffiimpl")),
    *((f"numba.cuda.{name}", "typing_registry") for name in ("vector_types", "fp16", "bf16", "fp8")),
    *((f"numba.cuda.{name}", "target_registry") for name in ("fp16", "bf16", "fp8")),
    ("numba.cuda.vector_types", "impl_registry"),
    *((f"numba.cuda.typing.{name}", "registry") for name in ("arraydecl", "builtins", "cffi_utils", "cmathdecl")),
    *((f"numba.cuda.typing.{name}", "registry") for name in ("collections", "enumdecl", "npdatetime", "npydecl")),
    *((f"numba.cuda.cpython.{name}", "registry") for name in ("builtins", "charseq", "cmathimpl", "enumimpl")),
    *((f"numba.cuda.cpython.{name}", "registry") for name in ("iterators", "listobj", "mathimpl", "numbers")),
    *((f"numba.cuda.cpython.{name}", "registry") for name in ("rangeobj", "slicing", "tupleobj", "unicode")),
    *((f"numba.cuda.np.{name}", "registry") for name in ("arraymath", "arrayobj", "npdatetime", "polynomial")),
    ("numba.core.imputils", "builtin_registry"),
    ("numba.core.typing.templates", "builtin_registry"),
)
# Tables of types: module, names that lead to the table, and words for an entry.
_TABLES = (
    ("numba.cuda.models", "cuda_data_manager._handlers", "data model"),
    ("numba.core.datamodel", "default_manager._handlers", "data model"),
    ("numba.cuda.datamodel", "default_manager._handlers", "data model"),
    ("numba.cuda.typing.typeof", "typeof_impl.registry", "type of value"),
    ("numba.core.typing.typeof", "typeof_impl.registry", "type of value"),
    ("numba.cuda.typing.asnumbatype", "as_numba_type.lookup", "type of annotation"),
)
# A list of a registry -> words for its entries.
_LISTS = {
    "functions": "implementation",
    "getattrs": "attribute",
    "setattrs": "attribute",
    "casts": "cast",
    "constants": "constant",
    "attributes": "attribute",
    "globals": "global",
}


def registrations() -> tuple[Registration, ...]:
    """Return extensions' registrations until now, in the order of registration within each registry."""
    return _registered()[1]


def made_by_a_compile(found: Registration) -> bool:
    """Return whether installed code registered it while a kernel was compiled, or before the first compile."""
    return found.identity in made_by_compiles


# By the identity of the registration, whose source is kept alive.
made_by_compiles: dict[object, object] = {}


def places_of_alike() -> Mapping[int, str]:
    """Return by identity which registrations each function or class has, if others of its name have any."""
    return _registered()[2]


def _registered() -> _Registered:
    if "numba.cuda" not in sys.modules:
        return _NOTHING
    with section(), _lock:
        scans = tuple(_scans())
        if _last[0][0] != scans:
            found = tuple(one for scan in scans for one in scan)
            _last[0] = (scans, found, _places(found))
        return _last[0]


def _places(found: Iterable[Registration]) -> dict[int, str]:
    by_name: dict[str, dict[int, list[int]]] = {}
    for one in found:
        for value in {id(value): value for value in one.mentions if isinstance(value, FunctionType | type)}.values():
            alike = by_name.setdefault(name_of(value), {})
            alike.setdefault(id(value), []).append(sum(map(len, alike.values())))
    return {key: str(places) for alike in by_name.values() if len(alike) > 1 for key, places in alike.items()}


# The registrations of each list and table, and all of them; the places of functions and classes that share a name.
_Registered: TypeAlias = "tuple[tuple[tuple[Registration, ...], ...], tuple[Registration, ...], Mapping[int, str]]"
_NOTHING: _Registered = ((), (), {})
_last = [_NOTHING]
_lock = lock()
_CODE = type | FunctionType | BuiltinFunctionType | ModuleType
# The lists of all registries, each with words for its entries; by the stamp of the look that collected them.
_watched: dict[object, tuple[tuple[list[Any], str], ...]] = {}
# Registry list -> the list, how many entries were read, the last of them, and the registrations.
_lists: dict[int, tuple[list[Any], int, object, tuple[Registration, ...]]] = {}
_UNREAD: tuple[list[Any], int, object, tuple[Registration, ...]] = ([], -1, None, ())
# Table -> its entries when it was read, and the registrations.
_tables: dict[tuple[str, str], tuple[tuple[Any, ...], tuple[Registration, ...]]] = {}


def _scans() -> Iterator[tuple[Registration, ...]]:
    yield from _in_lists(lists_of_registries())
    for module, path, kind in _TABLES:
        if (table := in_loaded(module, path)) is not None:
            yield _table_scan((module, path), table, kind)


class _Look:
    """The registrations in lists, and the lists' ends when they were read."""

    def __init__(self, lists: tuple[tuple[list[Any], str], ...]) -> None:
        self.lists = lists
        self._entries = [entries for entries, _ in lists]
        self._each = [_in_list(entries, kind) for entries, kind in lists]
        self._settle([*map(len, self._entries)])

    def _settle(self, lengths: list[int]) -> None:
        self._lengths = lengths
        self._filled = [entries for entries in self._entries if entries]
        self._last = [*map(_end, self._filled)]
        self.found = tuple(filter(None, self._each))

    def holds(self) -> bool:
        """Return whether each list is as long as then, with the same entry at its end."""
        # There are hundreds, so they are compared all at once.
        return [*map(len, self._entries)] == self._lengths and all(
            map(operator.is_, map(_end, self._filled), self._last)
        )

    def look_again(self) -> None:
        """Look at the lists that ended otherwise."""
        then = iter(self._last)
        for index, (entries, length) in enumerate(zip(self._entries, self._lengths, strict=True)):
            last = next(then) if length else None
            if len(entries) != length or (length and entries[-1] is not last):
                self._each[index] = _in_list(*self.lists[index])
        self._settle([*map(len, self._entries)])


_end: Callable[[list[Any]], Any] = operator.itemgetter(-1)
# The look before.
_last_look: list[_Look] = []


def _in_lists(lists: tuple[tuple[list[Any], str], ...]) -> tuple[tuple[Registration, ...], ...]:
    """Return the registrations in lists; a compile asks a dozen times, and lists hardly ever grow."""
    if not _last_look or _last_look[0].lists is not lists:
        _last_look[:] = [_Look(lists)]
    elif not _last_look[0].holds():
        _last_look[0].look_again()
    return _last_look[0].found


def _in_list(entries: list[Any], kind: str) -> tuple[Registration, ...]:
    _, count, last, found = _lists.get(id(entries), _UNREAD)
    if len(entries) != count or (count and entries[-1] is not last):
        _read_list(entries, kind)
        found = _lists[id(entries)][3]
    return found


def lists_of_registries() -> tuple[tuple[list[Any], str], ...]:
    """Return every list of every registry; they are collected again when a module was imported or a context made."""
    installed = _installed_registries()
    stamp = (len(sys.modules), len(installed))
    if stamp not in _watched:
        _watched.clear()
        known = [(module, getattr(sys.modules.get(module), name, None)) for module, name in _REGISTRIES]
        # One that another thread is importing does not have a registry yet.
        complete = all(registry is not None or module not in sys.modules for module, registry in known)
        registries = {id(found): found for found in (*(r for _, r in known), *installed) if found is not None}
        lists = tuple([found for registry in registries.values() for found in _lists_of(registry)])
        if not complete:
            return lists
        _watched[stamp] = lists
    return _watched[stamp]


def _lists_of(registry: Any) -> list[tuple[list[Any], str]]:
    role = "typing" if hasattr(registry, "globals") else "lowering"
    lists = [(entries, name) for name, entries in vars(registry).items() if name in _LISTS and type(entries) is list]
    return [(entries, f"{role} {_LISTS[name]}") for entries, name in lists]


def _installed_registries() -> tuple[Any, ...]:
    """Return the registries that the contexts have; looking must not make the contexts, which takes long."""
    target = in_loaded("numba.cuda.descriptor", "cuda_target")
    contexts = getattr(target, "_typingctx", None), getattr(target, "_targetctx", None)
    return tuple([registry for context in contexts for registry in tuple(getattr(context, "_registries", ()))])


def _read_list(entries: list[Any], kind: str) -> None:
    _, count, last, found = _lists.get(id(entries), (entries, 0, None, ()))
    if len(entries) < count or (count and entries[count - 1] is not last):
        count, found = 0, ()
    from gridjit.compiler.key.registry_entries import registered_in  # a process that compiles nothing does not need it

    found += tuple(map(_owned, registered_in(kind, entries[count:])))
    _lists[id(entries)] = (entries, len(entries), entries[-1] if entries else None, found)


def _table_scan(name: tuple[str, str], table: Mapping[Any, Any], kind: str) -> tuple[Registration, ...]:
    values = tuple(table.values())
    known, found = _tables.get(name, ((), ()))
    if values != known:
        from gridjit.compiler.key.registry_entries import in_table

        found = tuple(map(_owned, in_table(kind, table)))
        _tables[name] = (values, found)
    return found


def _owned(found: Registration) -> Registration:
    # A process without extensions does not need these.
    from gridjit.compiler.key.installed import generator_of, owner_of

    key, *sources = map(code_behind, (found.key, *found.sources))
    parts = [one for one in (*sources, key) if isinstance(one, _CODE)]
    code = [one for one in parts if one is not key or len(parts) == 1]
    owners = [owner_of(source) or generator_of(source) for source in code or found.sources[:1]]
    return found if None in owners else dataclasses.replace(found, owner=owners[0])
