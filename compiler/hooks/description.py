"""Describes a function as a Hook, and finds code again by its qualified name. If one cannot be described, it says why.

The code of a function defined inside another is a constant of the outer one's code. It is found by importing the module
and following the names, and its digest shows that it is the same.
"""

from __future__ import annotations

import dis
import functools
import sys
from collections.abc import Callable, Iterable, Iterator
from types import BuiltinFunctionType, CodeType, FunctionType, MethodType, ModuleType
from typing import Any

from gridjit.compiler.hooks.hook import DEEPEST, LONGEST, Hook, Plain, is_scalar
from gridjit.compiler.hooks.sharing import (
    changes_elsewhere,
    shared_variable,
    shares_arguments,
    shares_defaults,
    shares_object,
)
from gridjit.compiler.source.code import plan_of, with_nested
from gridjit.compiler.source.objects import MISSING, cell_value, closure_of, defaults_of

_LOCALS = "<locals>"
# Attributes in which decorators keep the decorated function.
_INNER = ("__func__", "__wrapped__", "py_func", "func", "fget")
# Instructions by which code changes its closure's objects.
_WRITES = frozenset({"STORE_SUBSCR", "DELETE_SUBSCR", "STORE_ATTR", "DELETE_ATTR"})
_WRITERS = frozenset(
    ("append", "extend", "insert", "remove", "pop", "popitem", "clear", "sort", "reverse", "update", "setdefault")
)


class NotRepeatableError(Exception):
    """A function cannot be made again in another process; the message says why."""


def hook_of(callback: Callable[..., Any]) -> Hook:
    """Return callback as a hook that another process can make again; raises NotRepeatableError.

    It may be a function that importing its module and qualified name gives; a function defined inside a function, or a
    method bound to an object of a plain class, if all that it holds is plain; and a functools.partial of one of these
    over plain positional arguments. Plain are None, booleans, numbers, strings, these functions, and tuples, lists and
    dictionaries of plain values.
    """
    return _hook_of(callback, DEEPEST)


def storable_hook(callback: Callable[..., Any]) -> Hook | None:
    """Return callback as a hook that another process can make again, or None."""
    try:
        return hook_of(callback)
    except NotRepeatableError:
        return None


def described(kind: str, callbacks: Iterable[Callable[..., Any]]) -> tuple[tuple[Hook, ...], tuple[str, ...]]:
    """Return the callbacks that another process can make again, as hooks, and for each other callback the reason.

    kind: their name in messages. One look decides both, so that no callback is in neither.
    """
    found = [_hook_or_reason(kind, callback) for callback in callbacks]
    hooks = tuple(one for one in found if isinstance(one, Hook))
    return hooks, tuple(one for one in found if isinstance(one, str))


def _hook_or_reason(kind: str, callback: Callable[..., Any]) -> Hook | str:
    try:
        return hook_of(callback)
    except NotRepeatableError as reason:
        return f"the {kind} {callback!r} cannot be imported by name, or made again: {reason}"


def code_in(module: ModuleType, qualname: str, digest: str) -> CodeType | None:
    """Return the code of this digest that is defined in module under a name like "outer.<locals>.inner", or None."""
    parts = qualname.split(".")
    if _LOCALS not in parts:
        return None
    position = parts.index(_LOCALS)
    names = [name for name in parts[position:] if name != _LOCALS]
    found = (code for outer in _codes_of(_attribute(module, parts[:position])) for code in _inside(outer, names))
    return next((code for code in found if plan_of(code).digest == digest), None)


def holds(callback: Any, value: object, depth: int = 3) -> bool:
    """Return whether a function can use value: from its closure, defaults or arguments, or as bound to it."""
    if callback is value:
        return True
    if depth == 0:
        return False
    held = [getattr(callback, name, None) for name in ("__self__", "func", "__func__")]
    if isinstance(function := getattr(callback, "__func__", callback), FunctionType):
        held += [*closure_of(function).values(), *defaults_of(function).values()]
    if type(callback) is functools.partial:
        held += [*callback.args, *callback.keywords.values()]
    return any(holds(item, value, depth - 1) for item in held if item is not None)


def _hook_of(callback: Any, depth: int) -> Hook:
    if type(callback) is functools.partial:
        return _of_partial(callback, depth)
    name, qualname = getattr(callback, "__module__", None), getattr(callback, "__qualname__", None)
    if not isinstance(name, str) or not isinstance(qualname, str):
        raise NotRepeatableError("it does not have a module and name")
    module = sys.modules.get(name)
    if name == "__main__" or module is None:
        raise NotRepeatableError(f"its module is {name}, which another process does not import")
    if _is_same(_attribute(module, qualname.split(".")), callback):
        return Hook(module=name, qualname=qualname)
    if type(callback) is FunctionType:
        return _of_nested(callback, module, depth)
    if type(callback) is MethodType:
        return _of_method(callback, depth)
    raise NotRepeatableError(f"{name}.{qualname} is something else")


def _of_partial(callback: functools.partial[Any], depth: int) -> Hook:
    inner = _hook_of(callback.func, depth)
    if callback.keywords or vars(callback):
        raise NotRepeatableError("it is a partial with keywords")
    if inner.arguments:
        raise NotRepeatableError("it is a partial of a partial")
    if shares_arguments(callback):
        raise NotRepeatableError("its arguments are held by something else too, which may change them")
    values = {f: getattr(inner, f) for f in ("module", "qualname", "code", "cells", "defaults", "keywords", "instance")}
    return Hook(**values, arguments=_all_plain(callback.args, "its arguments", depth))


def _of_nested(function: FunctionType, module: ModuleType, depth: int) -> Hook:
    plan = plan_of(function.__code__)
    if function.__globals__ is not vars(module) or plan.strange:
        raise NotRepeatableError("its module holds other code under its name")
    if code_in(module, function.__qualname__, plan.digest) is None:
        raise NotRepeatableError(f"its code is not found as {function.__qualname__}")
    if vars(function):
        raise NotRepeatableError("it has attributes of its own")
    _refuse_to_write(function.__code__, _held_by(function))
    _refuse_shared(function, module)  # before a name here refers to its contents
    keywords = function.__kwdefaults__ or {}
    return Hook(
        module=module.__name__,
        qualname=function.__qualname__,
        code=plan.digest,
        cells=tuple(
            _plain(_content(cell, name), f"its variable {name!r}", depth)
            for name, cell in zip(function.__code__.co_freevars, function.__closure__ or (), strict=True)
        ),
        defaults=_all_plain(function.__defaults__ or (), "a default argument", depth),
        keywords=tuple((name, _plain(value, f"its default of {name!r}", depth)) for name, value in keywords.items()),
    )


def _of_method(method: MethodType, depth: int) -> Hook:
    module = _module_of_method(method)
    if shares_object(method):  # before a name here refers to the object
        what = type(method.__self__).__qualname__
        raise NotRepeatableError(f"its {what} is held by something else too, which may change it")
    owner: Any = method.__self__
    _refuse_to_write(method.__func__.__code__, (vars(owner),))
    state = tuple((name, _plain(value, f"its object's {name!r}", depth)) for name, value in vars(owner).items())
    return Hook(module=module.__name__, qualname=f"{type(owner).__qualname__}.{method.__name__}", instance=state)


def _module_of_method(method: MethodType) -> ModuleType:
    """Return the module of a method's class; raises NotRepeatableError if the class is not a plain class of it."""
    cls = type(method.__self__)
    module = None if cls.__module__ == "__main__" else sys.modules.get(cls.__module__)
    if module is None or not is_plain_class(cls) or _attribute(module, cls.__qualname__.split(".")) is not cls:
        raise NotRepeatableError(f"it is bound to a {cls.__qualname__}, which is not a plain class of its module")
    if getattr(cls, method.__name__, None) is not method.__func__:
        raise NotRepeatableError(f"{cls.__qualname__} has another {method.__name__}")
    return module


def _held_by(function: FunctionType) -> list[object]:
    cells = [_content(cell, "a variable") for cell in function.__closure__ or ()]
    return [*cells, *(function.__defaults__ or ()), *(function.__kwdefaults__ or {}).values()]


def _refuse_shared(function: FunctionType, module: ModuleType) -> None:
    """Raise NotRepeatableError for a function that holds objects which something else may change."""
    parts = function.__qualname__.split(".")
    outer = tuple(_codes_of(_attribute(module, parts[: parts.index(_LOCALS)])))
    variables = function.__code__.co_freevars
    name = shared_variable(function) or next((one for one in variables if changes_elsewhere(one, outer)), None)
    if name is not None:
        raise NotRepeatableError(f"its variable {name!r} is held by something else too, which may change it")
    if shares_defaults(function):
        raise NotRepeatableError("a default argument is held by something else too, which may change it")


def _refuse_to_write(code: CodeType, held: Iterable[object]) -> None:
    """Raise NotRepeatableError for code that changes its own objects: made again, it would start afresh."""
    changeable = any(isinstance(value, list | dict | MethodType) or (type(value) is tuple and value) for value in held)
    for nested in with_nested(code):
        for instruction in dis.get_instructions(nested):
            name, value = instruction.opname, instruction.argval
            writes = name in _WRITES or (value in _WRITERS and isinstance(value, str))
            if (changeable and writes) or (name == "STORE_DEREF" and value in code.co_freevars):
                raise NotRepeatableError("it may change what it holds")


def is_plain_class(cls: type) -> bool:
    """Return whether an object of cls is nothing but its attributes, and no code runs when one is made or freed."""
    own = [vars(base) for base in cls.__mro__[:-1]]
    special = ("__new__", "__del__", "__slots__", "__setstate__", "__reduce__", "__reduce_ex__")
    return type(cls) is type and not any(name in names for names in own for name in special)


def _content(cell: Any, name: str) -> object:
    if (value := cell_value(cell)) is MISSING:
        raise NotRepeatableError(f"its variable {name!r} has no value yet")
    return value


def _plain(value: Any, what: str, depth: int) -> Plain:
    """Return value if it is plain, with functions in it as hooks; raises NotRepeatableError."""
    kind = type(value)
    if is_scalar(value):
        return value
    if depth == 0 or (kind in (tuple, list, dict) and len(value) > LONGEST):
        raise NotRepeatableError(f"{what} is too large")
    if kind in (tuple, list):
        return kind(_plain(item, what, depth - 1) for item in value)
    if kind is dict:
        if not all(map(is_scalar, value)):
            raise NotRepeatableError(f"{what} is a dict with keys that are not plain")
        return {key: _plain(item, what, depth - 1) for key, item in value.items()}
    if kind in (FunctionType, MethodType, functools.partial):
        return _hook_of(value, depth - 1)
    raise NotRepeatableError(f"{what} is a {kind.__module__}.{kind.__qualname__}")


def _all_plain(values: tuple[Any, ...], what: str, depth: int) -> tuple[Plain, ...]:
    if len(values) > LONGEST:
        raise NotRepeatableError(f"{what} are too many")
    return tuple(_plain(value, what, depth) for value in values)


def _attribute(value: Any, names: list[str]) -> Any:
    for name in names:
        value = getattr(value, name, None)
    return value


def _is_same(found: Any, callback: Any) -> bool:
    """Return whether an attribute is the function itself; methods of classes are made again at each access."""
    if found is callback:
        return callable(found)
    return type(found) is type(callback) is MethodType and isinstance(found.__self__, type) and bool(found == callback)


def _codes_of(value: Any) -> Iterator[CodeType]:
    """Yield the code of a function, and of the functions that it decorates."""
    seen: set[int] = set()
    waiting = [value]
    while waiting:
        found = waiting.pop()
        if found is None or id(found) in seen or isinstance(found, BuiltinFunctionType):
            continue
        seen.add(id(found))
        code = getattr(found, "__code__", None)
        if type(code) is CodeType:
            yield code
        waiting += [getattr(found, name, None) for name in _INNER]


def _inside(code: CodeType, names: list[str]) -> Iterator[CodeType]:
    if not names:
        yield code
        return
    for constant in code.co_consts:
        if type(constant) is CodeType and constant.co_name == names[0]:
            yield from _inside(constant, names[1:])
