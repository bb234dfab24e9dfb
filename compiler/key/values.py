"""Texts of the values that kernels refer to: equal texts mean that a compiler sees the same value.

No library is imported to look at a value: the code that made the value has imported its library. A value with hidden
state raises OpaqueValue.
"""

from __future__ import annotations

import enum
import functools
import sys
import types
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Generic, TypeAlias

from gridjit.base.interrupts import let_through
from gridjit.base.values import dataclass
from gridjit.compiler.source.code import plan_of
from gridjit.compiler.source.files import file_digest
from gridjit.compiler.source.libraries import (
    file_of,
    home_of,
    is_library,
    is_library_module,
    is_librarys,
    name_of_module,
)
from gridjit.compiler.source.objects import (
    OpaqueValue,
    article,
    closure_of,
    options_of,
    state_of,
    type_name,
    unseen,
    wrapped_in,
)
from gridjit.compiler.source.scalars import scalar_text


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class InstalledText:
    """An object of an installed class with its text, and the user's functions and classes that it led to."""

    value: object
    text: str
    led_to: tuple[types.FunctionType | type, ...]


# By the identity of each object.
InstalledTexts: TypeAlias = "Mapping[int, InstalledText]"


class Visit:
    """Texts of the code that a value leads to. A walk follows the code; here it is known by its name."""

    def __call__(self, found: types.FunctionType | type) -> str:
        """Return the label that a user's function or class, found in a value, has in this fingerprint."""
        return found.__qualname__

    def module(self, found: types.ModuleType) -> str:
        """Return the name that a module has in this fingerprint."""
        return name_of_module(found)

    def again(self, value: object) -> str:
        """Return words for a value that is the same object as an earlier one; "" if no code may ask."""
        return ""

    def installed(self, value: object) -> str | None:
        """Return the text of an object of an installed class, None for others; raises OpaqueValue."""
        return None

    def running(self, what: str, value: object) -> str:
        """Return the text of code that runs while kernels are compiled; raises OpaqueValue. what: words for it."""
        raise OpaqueValue(f"has a {what}, which runs while kernels are compiled")

    def note(self, value: object) -> None:
        """Note a module, or a library's function or class; raises OpaqueValue if its use cannot be followed."""


def value_text(value: object, visit: Visit) -> str:
    """Return a text that is equal for values that a compiler cannot tell apart; raises OpaqueValue."""
    if (text := scalar_text(value)) is not None:
        return text
    if type(value).__hash__ is None or type(value) is functools.partial:
        return f"{_whole_text(value, visit)}{visit.again(value)}"
    return _whole_text(value, visit)


def _whole_text(value: object, visit: Visit) -> str:
    if (describe := _EXACT.get(type(value))) is not None:
        return describe(value, visit)
    if hasattr(type(value), "__gridjit_fingerprint__"):
        return _own_text(value)
    for kind, describe in _KINDS:
        # A proxy claims to be of its object's class; type() knows better.
        if issubclass(type(value), kind):
            return describe(value, visit)
    if (text := _foreign_text(value, visit)) is not None:
        return text
    if type(value).__name__ == "cython_function_or_method":
        return _native_text(value, visit)
    return _wrapper_text(value, visit)


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
    text = f"library function {home_of(value)}.{value.__qualname__}"
    # A library's decorator may have made it around another function, as contextlib.contextmanager(f) does.
    held = [_held_text(held, visit) for held in closure_of(value).values()]
    held.append(_held_text(value.__dict__.get("__wrapped__"), visit))
    return text + "".join(f" of {one}" for one in held if one)


def _held_text(value: object, visit: Visit) -> str:
    """Describe a value inside a library's function; "" for the library's own."""
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
    return f"{'library ' if is_library_module(value) else ''}module {visit.module(value)}"


def _enum_text(value: Any, visit: Visit) -> str:
    text = f"{type_name(type(value))}.{value._name_} = {value_text(value._value_, visit)}"
    return text if is_librarys(type(value)) else f"{text} of class {visit(type(value))}"


def _tuple_text(value: Any, visit: Visit) -> str:
    if not isinstance(getattr(value, "_fields", None), tuple):
        raise unseen(value)
    fields = (f"{n}={value_text(item, visit)}, " for n, item in zip(value._fields, value, strict=True))
    text = f"{type_name(type(value))}({''.join(fields)})"
    if held := getattr(value, "__dict__", None):
        text = f"{text} {_dict_text(held, visit)}"
    return text if is_librarys(type(value)) else f"{text} of class {visit(type(value))}"


def _partial_text(value: Any, visit: Visit) -> str:
    held = f"{_items_text(value.args, visit)}{_dict_text(value.keywords, visit)}"
    return f"partial({value_text(value.func, visit)}, {held}){_put_text(vars(value), visit)}"


def _put_text(held: Mapping[str, object], visit: Visit) -> str:
    return f" with {_dict_text(held, visit)}" if held else ""


def _memo_text(value: Any, visit: Visit) -> str:
    parameters: dict[str, object] = getattr(value, "cache_parameters", dict)()
    return f"{_wrapper_text(value, visit)}{_put_text(parameters, visit)}"


def _method_of_class_text(value: Any, visit: Visit) -> str:
    put = {name: item for name, item in vars(value).items() if name not in _WRAPPER_NAMES}
    return f"{type(value).__name__} {value_text(value.__func__, visit)}{_put_text(put, visit)}"


def _method_text(value: types.MethodType, visit: Visit) -> str:
    visit.note(value)
    return f"method {value_text(value.__func__, visit)} of {value_text(value.__self__, visit)}"


def _builtin_text(value: types.BuiltinFunctionType, visit: Visit) -> str:
    owner = value.__self__
    visit.note(value)
    if owner is not None and not isinstance(owner, types.ModuleType):
        return f"builtin {value.__name__} of {value_text(owner, visit)}"
    return _native_text(value, visit)


def _code_text(value: types.CodeType) -> str:
    plan = plan_of(value)
    if plan.strange:
        raise OpaqueValue(f"is code with a constant of type {plan.strange[0]}, which gridjit cannot see")
    return f"code {value.co_name} {plan.digest}"


def _native_text(value: Any, _: Visit) -> str:
    module = value.__module__ or "builtins"
    text = f"builtin {module}.{value.__qualname__}"
    return text if is_library(module) else f"{text}, {_module_version(module)}"


def _module_version(module: str) -> str:
    """Return the text of an extension module's build: the digest of its bytes."""
    loaded = sys.modules.get(module)
    digest = file_digest(file_of(loaded) or "")
    if digest is None:
        raise OpaqueValue(f"comes from module {module!r}, which does not have a file that tells its builds apart")
    return f"file {digest}"


def _descriptor_text(value: Any, visit: Visit) -> str:
    return f"{value.__name__} of {value_text(value.__objclass__, visit)}"


def _own_text(value: Any) -> str:
    try:
        text = value.__gridjit_fingerprint__()
    except Exception as error:
        # If the user's method raises, the launch goes on without the disk cache and explain() says why.
        let_through(error)
        reason = f"{type(error).__name__}: {error}"
        raise OpaqueValue(f"is {article(value)} object, whose __gridjit_fingerprint__ raised {reason}") from error
    if not isinstance(text, str):
        found = type(text).__qualname__
        raise OpaqueValue(f"is {article(value)} object, whose __gridjit_fingerprint__ returned {found}, not str")
    return f"{type_name(type(value))} {text!r}"


def _foreign_text(value: object, visit: Visit) -> str | None:
    if not any(str(cls.__module__).partition(".")[0] in FOREIGN for cls in type(value).__mro__ if cls is not Generic):
        return None
    from gridjit.compiler.key.foreign import foreign_text  # few kernels refer to such values

    return foreign_text(value, lambda inner: value_text(inner, visit))


def _wrapper_text(value: object, visit: Visit) -> str:
    """Describe an object that stands for a function: a dispatcher with py_func, or anything with __wrapped__."""
    inner = wrapped_in(value)
    if not callable(inner):
        text = visit.installed(value)
        if text is not None:
            return str(text)
        from gridjit.compiler.key.foreign import standard_text  # few kernels refer to such objects

        return standard_text(value, lambda part: value_text(part, visit))
    if is_library(type(value).__module__):
        visit.note(value)
        state, of = options_of(value), type(value).__name__
    else:
        # Its class has the text of its code and of its other attributes.
        state = {k: v for k, v in state_of(value).items() if k not in _WRAPPER_NAMES}
        of = f"{type_name(type(value))} object of {_class_or_owner(type(value), visit)}"
    return f"{of} of {value_text(inner, visit)} {_options_text(state, visit)}"


def _class_or_owner(cls: type, visit: Visit) -> str:
    from gridjit.compiler.key.installed import owner_of  # few kernels refer to such objects

    owner = owner_of(cls)
    return value_text(cls, visit) if owner is None else owner.identity


def _options_text(options: Any, visit: Visit) -> str:
    if all(type(item) in (bool, int, str, type(None)) or item == () for item in options.values()):
        key = tuple((name, type(item), item) for name, item in options.items())
        if key not in _option_texts:
            _option_texts[key] = _dict_text(options, visit)
        if "link" not in options or not options["link"]:
            return _option_texts[key]
    if callable(model := options.get("inline")):
        options = {**options, "inline": visit.running("cost model", model)}
    files = options.get("link") or ()
    digests = [file_digest(path) for path in ([files] if isinstance(files, str) else files) if isinstance(path, str)]
    return f"{_dict_text(options, visit)}{_items_text(digests, visit) if digests else ''}"


# Texts of functions' options, which are the same for most.
_option_texts: dict[tuple[object, ...], str] = {}
_WRAPPER_NAMES = {*functools.WRAPPER_ASSIGNMENTS, "py_func", "__wrapped__"}


# The libraries whose values `foreign` describes.
FOREIGN = frozenset({"_thread", "logging", "numba", "numpy", "typing"})

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
    types.CodeType: lambda value, visit: _code_text(value),
    functools.partial: _partial_text,
    types.UnionType: lambda value, visit: f"union {_items_text(value.__args__, visit)}",
    types.MethodType: _method_text,
    types.BuiltinFunctionType: _builtin_text,
    types.MethodDescriptorType: _descriptor_text,
    types.WrapperDescriptorType: _descriptor_text,
    types.ClassMethodDescriptorType: _descriptor_text,
    types.GetSetDescriptorType: _descriptor_text,
    types.MemberDescriptorType: _descriptor_text,
    functools.cached_property: lambda value, visit: f"cached_property {value_text(value.func, visit)}",
    functools._lru_cache_wrapper: _memo_text,
    staticmethod: _method_of_class_text,
    classmethod: _method_of_class_text,
    property: lambda value, visit: f"property {_items_text((value.fget, value.fset, value.fdel), visit)}",
}

_KINDS: tuple[tuple[type, _Describe], ...] = (
    (type, _class_text),
    (types.ModuleType, _module_text),
    (enum.Enum, _enum_text),
    (tuple, _tuple_text),
)
