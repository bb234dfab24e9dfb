"""Texts of the values that kernels refer to: equal texts mean that a compiler sees the same value.

No library is imported to look at a value: whoever made the value has imported its library already. Values that hide
what they are raise OpaqueValue.
"""

from __future__ import annotations

import enum
import functools
import sys
import types
from collections.abc import Callable, Iterable
from typing import Any

from gridjit.compiler.key.source.code import digest_fields
from gridjit.compiler.key.source.files import file_digest
from gridjit.compiler.key.source.libraries import is_library, is_library_module, is_namespace_of, name_of_module
from gridjit.compiler.key.source.opaque import OpaqueValue, article, unseen
from gridjit.compiler.key.source.scalars import scalar_text


class Visit:
    """What is told of the code that a value leads to. A walk follows it; this knows it by its name, and no objects."""

    def __call__(self, found: types.FunctionType | type) -> str:
        """Return the label that a user's function or class, found in a value, goes by in this fingerprint."""
        return found.__qualname__

    def installed(self, value: object) -> str | None:
        """Return the text of an object of an installed class, None for others; raises OpaqueValue."""
        return None

    def note(self, value: object) -> None:
        """Take note of a module, or of a library's function or class; raises OpaqueValue for what is not sure."""


def value_text(value: object, visit: Visit) -> str:
    """Return a text that is equal for values that a compiler cannot tell apart; raises OpaqueValue."""
    if (text := scalar_text(value)) is not None:
        return text
    if (describe := _EXACT.get(type(value))) is not None:
        return describe(value, visit)
    if hasattr(type(value), "__gridjit_fingerprint__"):
        return _own_text(value)
    for kind, describe in _KINDS:
        # A proxy says that it is of its object's class; type() knows better.
        if issubclass(type(value), kind):
            return describe(value, visit)
    for cls in type(value).__mro__:
        if (describe := _FOREIGN.get((cls.__module__, cls.__name__))) is not None:
            return describe(value, visit)
    if type(value).__name__ == "cython_function_or_method":
        return _native_text(value, visit)
    return _wrapper_text(value, visit)


def type_name(cls: type) -> str:
    """Return a class's name as people write it: stats.Model, int."""
    return cls.__qualname__ if cls.__module__ == "builtins" else f"{cls.__module__}.{cls.__qualname__}"


def module_name(function: types.FunctionType) -> str:
    """Return the module that function runs in; __module__ says something else below functools.wraps."""
    name = function.__globals__.get("__name__")
    return name if isinstance(name, str) else ""


def is_librarys(value: types.FunctionType | type) -> bool:
    """Return whether a function or class is a library's own; programs can give theirs a library's module."""
    if isinstance(value, types.FunctionType):
        name = module_name(value)
        return is_library(name) and is_namespace_of(name, value.__globals__)
    module = value.__module__
    if module != "builtins" and not is_library(module):
        return False
    # A class made in a namespace without a name says that it is of builtins, one made by a library's function that
    # it is of that library. Only classes of Python code are told where they are from that way.
    if not value.__flags__ & _HEAP_TYPE or module.partition(".")[0] not in sys.stdlib_module_names:
        return True
    return "<locals>" in value.__qualname__ or _is_found(value) or not _has_code(value)


_HEAP_TYPE = 1 << 9


def _is_found(value: type) -> bool:
    found: object = sys.modules.get(value.__module__)
    for name in value.__qualname__.split("."):
        found = getattr(found, "__dict__", {}).get(name)
    return found is value


def _has_code(value: type) -> bool:
    # What C defines keeps its methods in descriptors, and has no dictionary of its instances.
    return any(isinstance(item, _CODE_OF_CLASSES) or name == "__dict__" for name, item in vars(value).items())


_CODE_OF_CLASSES = (types.FunctionType, staticmethod, classmethod, property)


def function_of(value: object) -> types.FunctionType | None:
    """Return the Python function that value is or stands for, or None."""
    for _ in range(100):
        if value is None or type(value) is types.FunctionType:
            return value
        value = _inner(value)
    return None


def _inner(value: object) -> object:
    """Return what a wrapper has under `py_func` or `__wrapped__`, None if it has neither.

    Proxies and mocks answer every name with another of their kind: from those nothing but a function is taken.
    """
    for name in ("py_func", "__wrapped__"):
        try:
            found = object.__getattribute__(value, name)
        except Exception:
            found = _attribute(value, name) if hasattr(type(value), "__getattr__") else None
            found = found if type(found) is types.FunctionType else None
        if found is not None:
            return found
    return None


def _items_text(values: Iterable[object], visit: Visit) -> str:
    return "".join(f"{value_text(value, visit)}, " for value in values)


def _dict_text(value: Any, visit: Visit) -> str:
    items = (f"{value_text(key, visit)}: {value_text(item, visit)}, " for key, item in value.items())
    return f"{type(value).__name__}{{{''.join(items)}}}"


def _set_text(value: Any, visit: Visit) -> str:
    visit.note(value)
    return f"{type(value).__name__}{{{', '.join(sorted(value_text(item, visit) for item in value))}}}"


def _function_text(value: types.FunctionType, visit: Visit) -> str:
    if not is_librarys(value):
        return f"function {visit(value)}"
    visit.note(value)
    text = f"library function {module_name(value)}.{value.__qualname__}"
    # A library's decorator made it around somebody's function: contextlib.contextmanager(f), say.
    held = [_held_text(cell.cell_contents, visit) for cell in value.__closure__ or () if cell != types.CellType()]
    held.append(_held_text(value.__dict__.get("__wrapped__"), visit))
    return text + "".join(f" of {one}" for one in held if one)


def _held_text(value: object, visit: Visit) -> str:
    """Describe a value inside a library's function; what is the library's own needs no description."""
    try:
        return "" if value is None else value_text(value, visit)
    except OpaqueValue:
        if is_library(type(value).__module__):
            return ""
        raise


def _class_text(value: type, visit: Visit) -> str:
    if is_librarys(value):
        visit.note(value)
        return f"library class {type_name(value)}"
    return f"class {visit(value)}"


def _module_text(value: types.ModuleType, visit: Visit) -> str:
    visit.note(value)
    return f"{'library ' if is_library_module(value) else ''}module {name_of_module(value)}"


def _enum_text(value: Any, visit: Visit) -> str:
    text = f"{type_name(type(value))}.{value._name_} = {value_text(value._value_, visit)}"
    return text if is_librarys(type(value)) else f"{text} of class {visit(type(value))}"


def _tuple_text(value: Any, visit: Visit) -> str:
    if not isinstance(getattr(value, "_fields", None), tuple):
        raise unseen(value)
    fields = (f"{n}={value_text(item, visit)}, " for n, item in zip(value._fields, value, strict=True))
    text = f"{type_name(type(value))}({''.join(fields)})"
    return text if is_librarys(type(value)) else f"{text} of class {visit(type(value))}"


def _partial_text(value: Any, visit: Visit) -> str:
    return (
        f"partial({value_text(value.func, visit)}, {_items_text(value.args, visit)}{_dict_text(value.keywords, visit)})"
    )


def _method_text(value: types.MethodType, visit: Visit) -> str:
    visit.note(value)
    return f"method {value_text(value.__func__, visit)} of {value_text(value.__self__, visit)}"


def _builtin_text(value: types.BuiltinFunctionType, visit: Visit) -> str:
    owner = value.__self__
    visit.note(value)
    if owner is not None and not isinstance(owner, types.ModuleType):
        return f"builtin {value.__name__} of {value_text(owner, visit)}"
    return _native_text(value, visit)


def _native_text(value: Any, _: Visit) -> str:
    module = value.__module__ or "builtins"
    text = f"builtin {module}.{value.__qualname__}"
    return text if is_library(module) else f"{text}, {_module_version(module)}"


def _module_version(module: str) -> str:
    """Return what tells one build of an extension module from another: its bytes."""
    loaded = sys.modules.get(module)
    digest = file_digest(getattr(loaded, "__file__", None) or "")
    if digest is None:
        raise OpaqueValue(f"comes from module {module!r}, which does not have a file that tells its builds apart")
    return f"file {digest}"


def _descriptor_text(value: Any, visit: Visit) -> str:
    return f"{value.__name__} of {value_text(value.__objclass__, visit)}"


def _own_text(value: Any) -> str:
    try:
        text = value.__gridjit_fingerprint__()
    except Exception as error:
        # Whatever the user's method raises, the launch goes on without the disk cache and explain() says why.
        reason = f"{type(error).__name__}: {error}"
        raise OpaqueValue(f"is {article(value)} object, whose __gridjit_fingerprint__ raised {reason}") from error
    if not isinstance(text, str):
        found = type(text).__qualname__
        raise OpaqueValue(f"is {article(value)} object, whose __gridjit_fingerprint__ returned {found}, not str")
    return f"{type_name(type(value))} {text!r}"


def _numba_type_text(value: Any, visit: Visit) -> str:
    if (dispatcher := getattr(value, "dispatcher", None)) is not None:
        return f"type of {value_text(dispatcher, visit)}"
    text = f"numba type {type_name(type(value))} {_stable_repr(value)}"
    if (cls := getattr(value, "instance_class", None)) is not None:
        text = f"{text} of {value_text(cls, visit)}"
    if is_library(type(value).__module__):
        return text
    # A type of the user's own: its name need not tell all that its class keeps in it.
    state = {name: item for name, item in vars(value).items() if name not in ("_code", "name")}
    return f"{text} of {value_text(type(value), visit)} {_dict_text(state, visit)}"


def _stable_repr(value: object) -> str:
    text = repr(value)
    if " at 0x" in text:
        raise OpaqueValue(f"is {article(value)} object known only by its address")
    return text


def _signature_text(value: object, _: Visit) -> str:
    return f"signature {_stable_repr(value)}"


def _extern_text(value: Any, visit: Visit) -> str:
    """Describe what cuda.declare_device made: numba-cuda's context holds what it is called by and linked with."""
    context = getattr(getattr(sys.modules.get("numba.cuda.descriptor"), "cuda_target", None), "_targetctx", None)
    found = getattr(context, "_defns", {}).get(value)
    if found is None:
        raise OpaqueValue(f"is the external function {value.name!r}, which numba-cuda does not know")
    (_, implementation), *_ = found.versions
    (descriptor,) = implementation.__defaults__
    abi = type_name(type(descriptor.call_conv))
    links = (_link_text(file, visit) for library in implementation.libs for file in library._linking_files)
    cooperative = any(library.use_cooperative for library in implementation.libs)
    signature = value_text(value.sig, visit)
    return f"external function {value.name} {signature} {abi} {cooperative} {', '.join(sorted(links))}"


def _link_text(file: Any, visit: Visit) -> str:
    return f"{file} {file_digest(file)}" if isinstance(file, str) else value_text(file, visit)


def _linkable_text(value: Any, visit: Visit) -> str:
    data = value.data
    data = data.encode() if isinstance(data, str) else bytes(data)
    callbacks = (getattr(value, "setup_callback", None), getattr(value, "teardown_callback", None))
    return f"{type_name(type(value))} {value.name} {digest_fields([data])} {_items_text(callbacks, visit)}"


def _wrapper_text(value: object, visit: Visit) -> str:
    """Describe an object that stands for a function: a dispatcher with py_func, or anything with __wrapped__."""
    inner = _inner(value)
    if not callable(inner):
        text = visit.installed(value)
        if text is None:
            raise unseen(value)
        return str(text)
    if is_library(type(value).__module__):
        visit.note(value)
        state, of = {**(_attribute(value, "targetoptions") or {}), **_declared(value)}, type(value).__name__
    else:
        from gridjit.compiler.key.source.state import state_of  # few kernels refer to such

        # What it does when it is called, and what else it holds, is its class's to say.
        state = {k: v for k, v in state_of(value).items() if k not in _WRAPPER_NAMES}
        of = f"{type_name(type(value))} object of {_class_or_owner(type(value), visit)}"
    return f"{of} of {value_text(inner, visit)} {_options_text(state, visit)}"


def _class_or_owner(cls: type, visit: Visit) -> str:
    from gridjit.compiler.key.installed import owner_of  # few kernels refer to such objects

    owner = owner_of(cls)
    return value_text(cls, visit) if owner is None else owner.identity


def _declared(value: Any) -> dict[str, object]:
    """Return the signatures that numba-cuda's function was declared with; others come and go with its calls."""
    if _attribute(value, "_can_compile") is not False:
        return {}
    found = (_attribute(value, "overloads") or {}).items()
    return {"declared": tuple(f"{_attribute(one, 'signature')} {arguments}" for arguments, one in found)}


def _options_text(options: Any, visit: Visit) -> str:
    if all(type(item) in (bool, int, str, type(None)) or item == () for item in options.values()):
        key = tuple((name, type(item), item) for name, item in options.items())
        if key not in _option_texts:
            _option_texts[key] = _dict_text(options, visit)
        if "link" not in options or not options["link"]:
            return _option_texts[key]
    files = options.get("link") or ()
    digests = [file_digest(path) for path in ([files] if isinstance(files, str) else files) if isinstance(path, str)]
    return f"{_dict_text(options, visit)}{_items_text(digests, visit) if digests else ''}"


# Texts of the options of functions, most of which have the same.
_option_texts: dict[tuple[object, ...], str] = {}
_WRAPPER_NAMES = {*functools.WRAPPER_ASSIGNMENTS, "py_func", "__wrapped__"}


def _attribute(value: object, name: str) -> Any:
    try:
        return getattr(value, name, None)
    except Exception:
        # A user's property may raise anything; then the value does not stand for a function.
        return None


def _field_text(value: Any, visit: Visit) -> str:
    """Describe a field of a dataclass."""
    parts = (value.name, value.type, value.default, value.default_factory, value.metadata, value._field_type)
    flags = (value.init, value.repr, value.hash, value.compare, getattr(value, "kw_only", None))
    return f"field({_items_text((*parts, *flags), visit)})"


def _alias_text(value: Any, visit: Visit) -> str:
    """Describe a type as annotations have it: list[int], Literal[3]."""
    return f"{type(value).__name__} {value_text(value.__origin__, visit)}[{_items_text(value.__args__, visit)}]"


def _array_text(value: Any, _: Visit) -> str:
    from gridjit.compiler.key.source.arrays import array_text  # few kernels refer to NumPy's values

    return array_text(value)


def _numpy_scalar_text(value: Any, _: Visit) -> str:
    from gridjit.compiler.key.source.arrays import numpy_scalar_text

    return numpy_scalar_text(value)


def _ufunc_text(value: Any, _: Visit) -> str:
    from gridjit.compiler.key.source.arrays import ufunc_text

    return ufunc_text(value)


_Describe = Callable[[Any, Visit], str]

_EXACT: dict[type, _Describe] = {
    types.FunctionType: _function_text,
    types.ModuleType: _module_text,
    tuple: lambda value, visit: f"({_items_text(value, visit)})",
    list: lambda value, visit: f"[{_items_text(value, visit)}]",
    dict: _dict_text,
    types.MappingProxyType: _dict_text,
    set: _set_text,
    frozenset: _set_text,
    range: lambda value, visit: repr(value),
    slice: lambda value, visit: f"slice({_items_text((value.start, value.stop, value.step), visit)})",
    bytearray: lambda value, visit: repr(value),
    functools.partial: _partial_text,
    types.GenericAlias: _alias_text,
    types.UnionType: lambda value, visit: f"union {_items_text(value.__args__, visit)}",
    types.MethodType: _method_text,
    types.BuiltinFunctionType: _builtin_text,
    types.MethodDescriptorType: _descriptor_text,
    types.WrapperDescriptorType: _descriptor_text,
    types.ClassMethodDescriptorType: _descriptor_text,
    types.GetSetDescriptorType: _descriptor_text,
    types.MemberDescriptorType: _descriptor_text,
    functools.cached_property: lambda value, visit: f"cached_property {value_text(value.func, visit)}",
    staticmethod: lambda value, visit: f"staticmethod {value_text(value.__func__, visit)}",
    classmethod: lambda value, visit: f"classmethod {value_text(value.__func__, visit)}",
    property: lambda value, visit: f"property {_items_text((value.fget, value.fset, value.fdel), visit)}",
}

_KINDS: tuple[tuple[type, _Describe], ...] = (
    (type, _class_text),
    (types.ModuleType, _module_text),
    (enum.Enum, _enum_text),
    (tuple, _tuple_text),
)

# Classes of libraries that must not be imported here, by where they are defined.
_FOREIGN: dict[tuple[str, str], _Describe] = {
    # What is logged and who waits for whom decides nothing about code.
    ("logging", "Logger"): lambda value, _: f"logger {value.name}",
    ("_thread", "lock"): lambda _value, _: "lock",
    ("_thread", "RLock"): lambda _value, _: "lock",
    ("_collections", "_tuplegetter"): lambda value, _: f"field {value.__reduce__()[1][0]}",
    ("dataclasses", "Field"): _field_text,
    # There is one of each, or few that are told by their names.
    ("dataclasses", "_MISSING_TYPE"): lambda _value, _: "missing",
    ("dataclasses", "_HAS_DEFAULT_FACTORY_CLASS"): lambda _value, _: "a default factory's",
    ("dataclasses", "_FIELD_BASE"): lambda value, _: f"dataclasses.{value.name}",
    ("typing", "_GenericAlias"): _alias_text,
    ("typing", "_SpecialForm"): lambda value, _: repr(value),
    ("numpy", "ndarray"): _array_text,
    ("numpy", "generic"): _numpy_scalar_text,
    ("numpy", "dtype"): lambda value, visit: repr(value),
    ("numpy", "ufunc"): _ufunc_text,
    ("numba.core.types.abstract", "Type"): _numba_type_text,
    ("numba.cuda.types.abstract", "Type"): _numba_type_text,
    ("numba.core.typing.templates", "Signature"): _signature_text,
    ("numba.cuda.typing.templates", "Signature"): _signature_text,
    ("numba.cuda.compiler", "ExternFunction"): _extern_text,
    ("numba.cuda.cudadrv.linkable_code", "LinkableCode"): _linkable_text,
}
