"""Registrations: what extensions registered with numba-cuda besides rewrites, found without importing anything.

Registries only grow, so each look reads what is new since the last; a process without numba-cuda has none.
"""

from __future__ import annotations

import dataclasses
import operator
import sys
from collections.abc import Callable, Iterator, Mapping
from functools import cache
from types import FunctionType, ModuleType
from typing import TYPE_CHECKING, Any

from gridjit.compiler.key.source.libraries import in_loaded, is_library, is_numbas, name_of_module
from gridjit.compiler.key.source.objects import MISSING, cell_value
from gridjit.forking import lock, section
from gridjit.values import dataclass

if TYPE_CHECKING:
    from gridjit.compiler.key.installed import Distribution

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
# Tables from a type to what stands for it: module, names that lead to the table, and what an entry is.
_TABLES = (
    ("numba.cuda.models", "cuda_data_manager._handlers", "data model"),
    ("numba.core.datamodel", "default_manager._handlers", "data model"),
    ("numba.cuda.datamodel", "default_manager._handlers", "data model"),
    ("numba.cuda.typing.typeof", "typeof_impl.registry", "type of value"),
    ("numba.core.typing.typeof", "typeof_impl.registry", "type of value"),
    ("numba.cuda.typing.asnumbatype", "as_numba_type.lookup", "type of annotation"),
)
# A list of a registry -> what its entries are.
_LISTS = {
    "functions": "implementation",
    "getattrs": "attribute",
    "setattrs": "attribute",
    "casts": "cast",
    "constants": "constant",
    "attributes": "attribute",
    "globals": "global",
}
# Whose code counts by gridjit's own files, and by llvmlite's version.
OWN = ("gridjit.", "llvmlite.")
_FOR_US = (None, "cuda", "generic")


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Registration:
    """One thing that an extension registered.

    kind: what it is ("lowering attribute"). about: what it is for. sources: the extension's functions and classes in
    it, and the plain values beside them. stub: the user's function that it implements for kernels that call it, as
    module.name; "" for what may reach kernels that never heard of the extension. owner: the installed distribution
    that all of it is from; None if any is the user's own. key: the very object that it is for. mentions: functions and
    types, all of which code must have to do with to meet it; none where that is not known.
    """

    kind: str
    about: str
    sources: tuple[object, ...]
    stub: str = ""
    owner: Distribution | None = None
    key: object = None
    mentions: tuple[object, ...] = ()

    @property
    def name(self) -> str:
        """The name of the function or class that was registered."""
        return _name(self.sources[0])


def registrations() -> tuple[Registration, ...]:
    """Return what extensions have registered until now, in the order of registration within each registry."""
    if "numba.cuda" not in sys.modules:
        return ()
    with section(), _lock:
        return tuple(found for scan in _scans() for found in scan)


_lock = lock()
# The lists of all registries, each with what its entries are; under what they were collected for.
_watched: dict[object, tuple[tuple[list[Any], str], ...]] = {}
# Registry list -> the list, how many entries were read, the last of them, and what was found.
_lists: dict[int, tuple[list[Any], int, object, tuple[Registration, ...]]] = {}
_UNREAD: tuple[list[Any], int, object, tuple[Registration, ...]] = ([], -1, None, ())
# Table -> its entries when it was read, and what was found.
_tables: dict[tuple[str, str], tuple[tuple[Any, ...], tuple[Registration, ...]]] = {}


def _scans() -> Iterator[tuple[Registration, ...]]:
    yield from _in_lists(lists_of_registries())
    for module, path, kind in _TABLES:
        if (table := in_loaded(module, path)) is not None:
            yield _table_scan((module, path), table, kind)


class _Look:
    """What was found in lists, and how they ended then."""

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
    """Return what is in lists; a compile asks a dozen times, and hardly ever has one grown."""
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
        lists = tuple(found for registry in registries.values() for found in _lists_of(registry))
        if not complete:
            return lists
        _watched[stamp] = lists
    return _watched[stamp]


def _lists_of(registry: Any) -> Iterator[tuple[list[Any], str]]:
    role = "typing" if hasattr(registry, "globals") else "lowering"
    for name, entries in vars(registry).items():
        if name in _LISTS and type(entries) is list:
            yield entries, f"{role} {_LISTS[name]}"


def _installed_registries() -> tuple[Any, ...]:
    """Return the registries that the contexts have; looking must not make the contexts, which takes long."""
    target = in_loaded("numba.cuda.descriptor", "cuda_target")
    contexts = getattr(target, "_typingctx", None), getattr(target, "_targetctx", None)
    return tuple(registry for context in contexts for registry in tuple(getattr(context, "_registries", ())))


def is_numbas_own(kind: str, entry: Any) -> bool:
    """Return whether an entry of such a list is not an extension's that kernels may meet."""
    read = _reader(kind)
    # A global counts by its templates, most of which are entries, too.
    templates = getattr(entry[-1], "templates", ()) if isinstance(entry, tuple) else ()
    return all(read(kind, one) is None for one in (entry, *templates))


def _read_list(entries: list[Any], kind: str) -> None:
    _, count, last, found = _lists.get(id(entries), (entries, 0, None, ()))
    if len(entries) < count or (count and entries[count - 1] is not last):
        count, found = 0, ()
    read = _reader(kind)
    found += tuple(_owned(one) for entry in entries[count:] if (one := read(kind, entry)) is not None)
    _lists[id(entries)] = (entries, len(entries), entries[-1] if entries else None, found)


def _reader(kind: str) -> Callable[[str, Any], Registration | None]:
    return _typing if kind.startswith("typing") else _lowering


def _table_scan(name: tuple[str, str], table: Mapping[Any, Any], kind: str) -> tuple[Registration, ...]:
    values = tuple(table.values())
    known, found = _tables.get(name, ((), ()))
    if values != known:
        found = tuple(
            _owned(Registration(kind=kind, about=_name(key), sources=sources, mentions=(key,)))
            for key, value in tuple(table.items())
            if (sources := (*_foreign_parts(value), *(_foreign_parts(key) if kind == "data model" else ())))
        )
        _tables[name] = (values, found)
    return found


def _owned(found: Registration) -> Registration:
    from gridjit.compiler.key.installed import owner_of  # a process without extensions does not need it

    code = [source for source in found.sources if isinstance(source, type | FunctionType | ModuleType)]
    owners = [owner_of(source) for source in code or found.sources[:1]]
    return found if None in owners else dataclasses.replace(found, owner=owners[0])


def _lowering(kind: str, entry: tuple[Any, ...]) -> Registration | None:
    """Return the registration in (implementation, key, types) or (implementation, types)."""
    if _is_numbas_alone(entry[0]):
        return None
    implementation, *keys = entry
    # An intrinsic's generator is registered under itself whenever the intrinsic is used, and is found through that.
    sources = () if implementation is keys[0] else _foreign_parts(implementation)
    if not sources:
        return None
    mentions = tuple(part for key in keys for part in (key if isinstance(key, tuple) else (key,)))
    return Registration(kind=kind, about=", ".join(map(_name, mentions)), sources=sources, mentions=mentions)


def _typing(kind: str, entry: Any) -> Registration | None:
    """Return the registration in a template class, or in (value, type) of a global."""
    if isinstance(entry, tuple):
        value, type_ = entry
        if (given := tuple(getattr(type_, "templates", ()))) and all(map(_is_template_of_numba_alone, given)):
            return None
        templates = [template for template in given if _implementation(template) is None]
        sources = tuple(part for template in templates for part in _template_parts(template))
        if not sources and not hasattr(type_, "templates") and _is_foreign(value):
            sources = (repr(type_),)
        if not sources:
            return None
        return Registration(kind=kind, about=_name(value), sources=sources, key=value, mentions=(value,))
    if not isinstance(entry, type):
        return None
    function = _implementation(entry)
    if _is_numbas(_module(function)) if function is not None else _is_template_of_numba_alone(entry):
        return None
    metadata = getattr(entry, "metadata", None)
    if isinstance(metadata, Mapping) and metadata.get("target") not in _FOR_US:
        return None
    key = getattr(entry, "key", None)
    if function is not None:
        return _overload(entry, function, key) if _is_foreign(function) else None
    sources = _template_parts(entry)
    if not sources:
        return None
    return Registration(kind=kind, about=_name(key), sources=sources, key=key, mentions=(key,))


def _overload(template: Any, function: Any, key: Any) -> Registration:
    """Return the registration of an implementation by @overload and its kin, or by @intrinsic."""
    attribute = getattr(template, "_attr", None)
    inline = getattr(getattr(template, "_inline", None), "value", None)
    options = getattr(template, "_jit_options", None), inline, getattr(template, "prefer_literal", None)
    settings = (attribute, *(option for option in options if option is not None))
    kind = "intrinsic" if hasattr(template, "_definition_func") else "overload"
    about = _name(key) if attribute is None else f"{_name(key)}.{attribute}"
    return Registration(
        kind=kind,
        about=about,
        sources=(function, *settings),
        stub=_stub(template, key, attribute),
        key=key,
        mentions=(key,),
    )


def _stub(template: Any, key: Any, attribute: Any) -> str:
    """Return the name of the user's function that a template implements, "" for anything else.

    Only kernels that call such a function can meet the template; a library's function, a class, an operator or an
    attribute may be in any kernel. numba's own templates (not numba-cuda's) are not seen when they are used.
    """
    if attribute is not None or not any(base.__module__.startswith("numba.cuda.") for base in template.__mro__):
        return ""
    function = key if type(key) is FunctionType else getattr(template, "_definition_func", None)
    return "" if function is None or is_library(_module(function)) else _name(function)


def _implementation(template: Any) -> Any:
    """Return the function that @overload or @intrinsic decorated, None for other templates."""
    return getattr(template, "_overload_func", None) or getattr(template, "_definition_func", None)


def is_an_extensions(template: Any) -> bool:
    """Return whether a template class is an extension's, or numba-cuda's around what is."""
    function = _implementation(template)
    return _is_foreign(function) if function is not None else bool(_template_parts(template))


def _template_parts(template: Any) -> tuple[object, ...]:
    """Return what is the extension's in a template class, which numba-cuda may have made around it."""
    if _is_template_of_numba_alone(template):
        return ()
    if _is_foreign(template):
        return (template,)
    closures = [value for value in vars(template).values() if type(value) is FunctionType and value.__closure__]
    held = [part for value in closures for part in _held(value)]
    key = getattr(template, "key", None)
    parts = [part for part in (*template.__bases__, *held) if _is_foreign(part)]
    if isinstance(key, type) and _is_foreign(key):
        # make_attribute_wrapper: the names of the attribute and of the member are held by numba's functions.
        parts += [key, *(part for part in held if isinstance(part, str))]
    return tuple(parts)


def _foreign_parts(value: object) -> tuple[object, ...]:
    """Return value if it is an extension's, or what one of numba's functions holds that is."""
    if _is_foreign(value):
        return (value,)
    if type(value) is FunctionType and value.__closure__:
        return tuple(part for part in _held(value) if _is_foreign(part))
    return ()


def _held(function: FunctionType, depth: int = 3) -> Iterator[object]:
    if not function.__closure__:
        return
    for cell in function.__closure__:
        if (value := cell_value(cell)) is MISSING:
            continue
        yield value
        if depth and type(value) is FunctionType and not _is_foreign(value):
            yield from _held(value, depth - 1)


def _is_foreign(value: object) -> bool:
    """Return whether value is code from outside numba, gridjit and Python."""
    if type(value) is not FunctionType and not (callable(value) or isinstance(value, ModuleType)):
        return False
    module = _module(value)
    # Looked up, as the first look goes through 17,000 objects of numba's.
    return bool(module) and not (_is_numbas(module) or module.startswith(OWN) or is_library(module))


def _is_numbas_alone(value: object, depth: int = 3) -> bool:
    """Return True where it is quickly seen that a function is numba's, and that what it holds is, or is not code.

    A first look goes through 6,000 entries, all of which are so if no extension registered any.
    """
    if type(value) is not FunctionType or not _is_numbas(value.__globals__.get("__name__")):
        return False
    for cell in value.__closure__ or ():
        if (held := cell_value(cell)) is MISSING or type(held) in _NO_CODE:
            continue
        if type(held) is FunctionType:
            if not depth or not _is_numbas_alone(held, depth - 1):
                return False
        elif not _is_known((held if isinstance(held, type) else type(held)).__module__):
            return False
    return True


def _is_template_of_numba_alone(template: Any) -> bool:
    """Return True where it is quickly seen that a template class is numba's, and that all that is in it is."""
    if not _is_numbas(template.__module__):
        return False
    key = getattr(template, "key", None)
    for part in (*template.__bases__, key if isinstance(key, type) else template):
        if not _is_numbas(part.__module__):
            return False
    for value in vars(template).values():
        if type(value) is FunctionType and value.__closure__ and not _is_numbas_alone(value):
            return False
    return True


# What closures of numba's hold most, besides numba's own functions and types.
_NO_CODE = frozenset({bool, int, str, float, tuple, list, dict, type(None)})


@cache
def _is_numbas(module: object) -> bool:
    return isinstance(module, str) and is_numbas(module)


def _is_known(module: object) -> bool:
    return module == "numpy" or _is_numbas(module)


def _module(value: Any) -> str:
    if type(value) is FunctionType:
        return str(value.__globals__.get("__name__", ""))
    if isinstance(value, ModuleType):
        return name_of_module(value)
    owner = value if isinstance(value, type) else type(value)
    return str(owner.__module__)


def _name(value: object) -> str:
    """Return a name that is the same in every process."""
    if isinstance(value, ModuleType):
        return name_of_module(value)
    qualname = getattr(value, "__qualname__", None)
    if isinstance(qualname, str):
        return f"{getattr(value, '__module__', '')}.{qualname}"
    text = value if isinstance(value, str) else repr(value)
    return _name(type(value)) if " at 0x" in text else text
