"""registry_entries: extensions' entries of numba-cuda's registries as registrations.

A first look goes through thousands of entries of numba's own, so it recognizes them all at once.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cache
from itertools import chain
from types import BuiltinFunctionType, FunctionType, ModuleType
from typing import Any

from gridjit.compiler.key.registration import OWN, Registration, name_of
from gridjit.compiler.source.libraries import is_library, is_librarys, is_numbas, name_of_module
from gridjit.compiler.source.objects import MISSING, cell_values, code_behind

# numba's names of the targets whose overloads kernels may meet.
_FOR_US = (None, "cuda", "generic")


def registered_in(kind: str, entries: Sequence[Any]) -> list[Registration]:
    """Return the registrations in entries of a list of a kind ("typing global")."""
    if not entries:
        return []
    if not kind.startswith("typing"):
        read = [_lowering(kind, entries[place]) for place in sorted(_unclear([entry[0] for entry in entries]))]
        return [found for found in read if found is not None]
    # A global counts by its templates; one without templates may be an extension's for its value.
    given = [getattr(one[1], "templates", ()) if isinstance(one, tuple) else (one,) for one in entries]
    places = [place for place, templates in enumerate(given) for _ in templates]
    unclear = {places[at] for at in _unclear_templates([*chain.from_iterable(given)])}
    unclear.update([place for place, templates in enumerate(given) if not templates])
    return [found for place in sorted(unclear) if (found := _typing(kind, entries[place])) is not None]


def is_numbas_own(kind: str, entry: Any) -> bool:
    """Return whether an entry of a list is numba's own, or an extension's that kernels cannot meet."""
    # A global counts by its templates, most of which are entries, too.
    templates = getattr(entry[-1], "templates", ()) if isinstance(entry, tuple) else ()
    return not registered_in(kind, (entry, *templates))


def in_table(kind: str, table: Mapping[Any, Any]) -> list[Registration]:
    """Return the registrations in a table of types."""
    entries = [
        (key, value)
        for key, value in tuple(table.items())
        if not (isinstance(key, type) and isinstance(value, type))
        or not (_is_numbas(key.__module__) and _is_numbas(value.__module__))
    ]
    return [found for entry in entries if (found := _in_table(kind, *entry)) is not None]


def _in_table(kind: str, key: Any, value: Any) -> Registration | None:
    sources = (*_foreign_parts(value), *(_foreign_parts(key) if kind == "data model" else ()))
    return Registration(kind=kind, about=name_of(key), sources=sources, mentions=(key,)) if sources else None


def _lowering(kind: str, entry: tuple[Any, ...]) -> Registration | None:
    """Return the registration in (implementation, key, types) or (implementation, types)."""
    implementation, *keys = entry
    # An intrinsic's generator is registered under itself whenever the intrinsic is used, and is found through that.
    sources = () if implementation is keys[0] else _foreign_parts(implementation)
    if not sources:
        return None
    mentions = tuple(part for key in keys for part in (key if isinstance(key, tuple) else (key,)))
    return Registration(kind=kind, about=", ".join(map(name_of, mentions)), sources=sources, mentions=mentions)


def _typing(kind: str, entry: Any) -> Registration | None:
    """Return the registration in a template class, or in (value, type) of a global."""
    if isinstance(entry, tuple):
        value, type_ = entry
        templates = [template for template in getattr(type_, "templates", ()) if _implementation(template) is None]
        sources = tuple(part for template in templates for part in _template_parts(template))
        if not sources and not hasattr(type_, "templates") and is_foreign(value):
            sources = (repr(type_),)
        if not sources:
            return None
        return Registration(kind=kind, about=name_of(value), sources=sources, key=value, mentions=(value,))
    if not isinstance(entry, type):
        return None
    function = _implementation(entry)
    metadata = getattr(entry, "metadata", None)
    if isinstance(metadata, Mapping) and metadata.get("target") not in _FOR_US:
        return None
    key = getattr(entry, "key", None)
    if function is not None:
        return _overload(entry, function, key) if is_foreign(function) else None
    sources = _template_parts(entry)
    if not sources:
        return None
    return Registration(kind=kind, about=name_of(key), sources=sources, key=key, mentions=(key,))


def _overload(template: Any, function: Any, key: Any) -> Registration:
    """Return the registration of an implementation by @overload and its kin, or by @intrinsic."""
    attribute = getattr(template, "_attr", None)
    inline = getattr(getattr(template, "_inline", None), "value", None)
    options = getattr(template, "_jit_options", None), inline, getattr(template, "prefer_literal", None)
    settings = (attribute, *(option for option in options if option is not None))
    kind = "intrinsic" if hasattr(template, "_definition_func") else "overload"
    about = name_of(key) if attribute is None else f"{name_of(key)}.{attribute}"
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

    Only kernels that call this function can meet the template; a library's function, a class, an operator or an
    attribute may be in any kernel. numba's own templates (not numba-cuda's) are not seen when they are used.
    """
    if attribute is not None or not any(base.__module__.startswith("numba.cuda.") for base in template.__mro__):
        return ""
    function = key if type(key) is FunctionType else getattr(template, "_definition_func", None)
    return "" if function is None or is_library(_module(function)) else name_of(function)


def _implementation(template: Any) -> Any:
    """Return the function that @overload or @intrinsic decorated, None for other templates."""
    return getattr(template, "_overload_func", None) or getattr(template, "_definition_func", None)


def is_an_extensions(template: Any) -> bool:
    """Return whether a template class is an extension's, or numba-cuda's around an extension's function."""
    function = _implementation(template)
    return is_foreign(function) if function is not None else bool(_template_parts(template))


def _template_parts(template: Any) -> tuple[object, ...]:
    """Return the extension's parts of a template class, around which numba-cuda may have made it."""
    if not _unclear_templates([template]):
        return ()
    if is_foreign(template):
        return (template,)
    closures = [value for value in vars(template).values() if type(value) is FunctionType and value.__closure__]
    held = [part for value in closures for part in _held(value)]
    key = getattr(template, "key", None)
    parts = [part for part in (*template.__bases__, *held) if is_foreign(part)]
    # One that a call made claims to be of the module of its metaclass.
    made = [base for base in (template, *template.__bases__) if not is_foreign(base)]
    methods = (one for base in made for one in vars(base).values() if type(one) is FunctionType and one is not key)
    parts += filter(is_foreign, methods)
    if isinstance(key, type) and is_foreign(key):
        # make_attribute_wrapper: the names of the attribute and of the member are held by numba's functions.
        parts += [key, *(part for part in held if isinstance(part, str))]
    return tuple(parts)


def _foreign_parts(value: object) -> tuple[object, ...]:
    """Return value if it is an extension's, or the extension's parts that one of numba's functions holds."""
    if is_foreign(value):
        return (value,)
    if type(value) is FunctionType and value.__closure__:
        return tuple(part for part in _held(value) if is_foreign(part))
    return ()


def _held(function: FunctionType, depth: int = 3) -> Iterator[object]:
    for value in cell_values(function.__closure__ or ()):
        if value is MISSING:
            continue
        yield value
        if depth and type(value) is FunctionType and not is_foreign(value):
            yield from _held(value, depth - 1)


def is_foreign(value: Any) -> bool:
    """Return whether value is code from outside numba, gridjit and Python."""
    if type(value) is not FunctionType:
        if not (callable(value) or isinstance(value, ModuleType)):
            return False
        value = code_behind(value)
    module = _module(value)
    # Looked up, as the first look goes through 17,000 objects of numba's.
    if _is_numbas(module) or module.startswith(OWN):
        return False
    # A namespace that exec fills may have no name, or claim one of Python's.
    return not (is_librarys(value) if isinstance(value, FunctionType) else is_library(module))


def _unclear(functions: Iterable[Any], depth: int = 3) -> set[int]:
    """Return the places of functions that may be, or may hold, an extension's."""
    found: set[int] = set()
    level = [*enumerate(functions)]
    for _ in range(depth + 1):
        if not level:
            break
        holding = []
        for place, one in level:
            if type(one) is not FunctionType or not _is_numbas(one.__globals__.get("__name__")):
                found.add(place)
            elif one.__closure__:
                holding.append((place, one.__closure__))
        held = cell_values(chain.from_iterable([cells for _, cells in holding]))
        places = [place for place, cells in holding for _ in cells]
        level = []
        for place, value in zip(places, held, strict=True):
            if (kind := type(value)) is FunctionType:
                level.append((place, value))
            elif (
                value is not MISSING
                and kind not in _NO_CODE
                and not _is_known(_module_of(value if issubclass(kind, type) else kind))
            ):
                found.add(place)
    return found.union([place for place, _ in level])


def _unclear_templates(templates: Iterable[Any]) -> set[int]:
    """Return the places of templates that may be, or may hold, an extension's."""
    found: set[int] = set()
    held: list[tuple[int, FunctionType]] = []
    for place, one in enumerate(templates):
        if not isinstance(one, type):
            found.add(place)
            continue
        if (function := getattr(one, "_overload_func", None) or getattr(one, "_definition_func", None)) is not None:
            held.append((place, function))
            continue
        key: Any = getattr(one, "key", None)
        parts = (one, *one.__bases__, key) if isinstance(key, type) else (one, *one.__bases__)
        if all(map(_is_numbas, map(_module_of, parts))):
            held += [(place, part) for part in vars(one).values() if type(part) is FunctionType]
        else:
            found.add(place)
    return found.union([held[index][0] for index in _unclear([function for _, function in held])])


_module_of: Callable[[Any], object] = operator.attrgetter("__module__")


# Classes of most values in numba's closures, besides numba's own functions and types.
_NO_CODE = frozenset({bool, int, str, float, tuple, list, dict, type(None)})


@cache
def _is_numbas(module: object) -> bool:
    return isinstance(module, str) and is_numbas(module)


@cache
def _is_known(module: object) -> bool:
    return module == "numpy" or _is_numbas(module)


def _module(value: Any) -> str:
    if type(value) is FunctionType:
        return str(value.__globals__.get("__name__", ""))
    if isinstance(value, ModuleType):
        return name_of_module(value)
    if type(value) is BuiltinFunctionType:
        return str(value.__module__ or type(value.__self__).__module__)
    owner = value if isinstance(value, type) else type(value)
    return str(owner.__module__)
