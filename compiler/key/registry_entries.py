"""registry_entries: what is an extension's in an entry of numba-cuda's registries, as a registration.

A first look goes through thousands of entries of numba's own, so those are told at a glance.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import cache
from types import BuiltinFunctionType, FunctionType, ModuleType
from typing import Any

from gridjit.compiler.key.registration import OWN, Registration, name_of
from gridjit.compiler.source.libraries import is_library, is_librarys, is_numbas, name_of_module
from gridjit.compiler.source.objects import MISSING, cell_value, code_behind

# What numba calls the targets whose overloads kernels may meet.
_FOR_US = (None, "cuda", "generic")


def reader_of(kind: str) -> Callable[[str, Any], Registration | None]:
    """Return what reads the entries of a list of a kind ("typing global"): called with the kind and an entry."""
    return _typing if kind.startswith("typing") else _lowering


def is_numbas_own(kind: str, entry: Any) -> bool:
    """Return whether an entry of such a list is not an extension's that kernels may meet."""
    read = reader_of(kind)
    # A global counts by its templates, most of which are entries, too.
    templates = getattr(entry[-1], "templates", ()) if isinstance(entry, tuple) else ()
    return all(read(kind, one) is None for one in (entry, *templates))


def in_table(kind: str, key: Any, value: Any) -> Registration | None:
    """Return the registration in an entry of a table from types to what stands for them."""
    sources = (*_foreign_parts(value), *(_foreign_parts(key) if kind == "data model" else ()))
    return Registration(kind=kind, about=name_of(key), sources=sources, mentions=(key,)) if sources else None


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
    return Registration(kind=kind, about=", ".join(map(name_of, mentions)), sources=sources, mentions=mentions)


def _typing(kind: str, entry: Any) -> Registration | None:
    """Return the registration in a template class, or in (value, type) of a global."""
    if isinstance(entry, tuple):
        value, type_ = entry
        if (given := tuple(getattr(type_, "templates", ()))) and all(map(_is_template_of_numba_alone, given)):
            return None
        templates = [template for template in given if _implementation(template) is None]
        sources = tuple(part for template in templates for part in _template_parts(template))
        if not sources and not hasattr(type_, "templates") and is_foreign(value):
            sources = (repr(type_),)
        if not sources:
            return None
        return Registration(kind=kind, about=name_of(value), sources=sources, key=value, mentions=(value,))
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

    Only kernels that call such a function can meet the template; a library's function, a class, an operator or an
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
    """Return whether a template class is an extension's, or numba-cuda's around what is."""
    function = _implementation(template)
    return is_foreign(function) if function is not None else bool(_template_parts(template))


def _template_parts(template: Any) -> tuple[object, ...]:
    """Return what is the extension's in a template class, which numba-cuda may have made around it."""
    if _is_template_of_numba_alone(template):
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
    """Return value if it is an extension's, or what one of numba's functions holds that is."""
    if is_foreign(value):
        return (value,)
    if type(value) is FunctionType and value.__closure__:
        return tuple(part for part in _held(value) if is_foreign(part))
    return ()


def _held(function: FunctionType, depth: int = 3) -> Iterator[object]:
    if not function.__closure__:
        return
    for cell in function.__closure__:
        if (value := cell_value(cell)) is MISSING:
            continue
        yield value
        if depth and type(value) is FunctionType and not is_foreign(value):
            yield from _held(value, depth - 1)


def is_foreign(value: Any) -> bool:
    """Return whether value is code from outside numba, gridjit and Python."""
    if type(value) is not FunctionType and not (callable(value) or isinstance(value, ModuleType)):
        return False
    value = code_behind(value)
    module = _module(value)
    # Looked up, as the first look goes through 17,000 objects of numba's.
    if _is_numbas(module) or module.startswith(OWN):
        return False
    # A namespace that exec fills may have no name, or claim one of Python's.
    return not (is_librarys(value) if isinstance(value, FunctionType) else is_library(module))


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
    if type(value) is BuiltinFunctionType:
        return str(value.__module__ or type(value.__self__).__module__)
    owner = value if isinstance(value, type) else type(value)
    return str(owner.__module__)
