"""told: values that code took, as texts that mean the same in another process; None for a value without such a text.

Equal texts stand for values from which the same code is made, as equal marks do within a process.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from types import BuiltinFunctionType, FunctionType, ModuleType
from typing import Any

from gridjit.base.digests import utf8
from gridjit.compiler.frontend.kept.plain import ValueMark, is_numbas, mark_of
from gridjit.compiler.recorded.value_path import follow
from gridjit.compiler.source.code import digest_fields, plan_of
from gridjit.compiler.source.libraries import name_of_module
from gridjit.compiler.source.objects import cell_value, defaults_of

# How texts begin whose values have a further question: a callee's return type, an array's content.
_ASKED_FURTHER = ("callee ", "array ")
# The homes of classes whose objects stand for functions that kernels call.
_CALLEES = ("gridjit.", "numba.")


def told(value: object, mark: ValueMark | None) -> str | None:
    """Return the text of a value that has that mark."""
    if mark is None:
        return None
    match mark:
        case ("scalar", text):
            return f"scalar {text}"
        case ("tuple", marks):
            return f"tuple {marks!r}"
        case ("type" | "numpy" as kind, cls, text):
            return f"{kind} {_class_text(cls)} {text}"
        case ("array", _, text, strides):
            return f"array {text} {strides}"
        case ("the very", _, None):
            return _very(value)
        case ("the very", _, _):
            return _callee(value)
    return None


def told_among(value: object, mark: ValueMark | None, before: Sequence[object]) -> str | None:
    """Return the text of a value; where a further question is asked, with its place among the values taken before.

    The question is asked once of an object, whatever names it has.
    """
    text = told(value, mark)
    if text is None or tells_all(text):
        return text
    itself = dispatcher_of(value) or value
    return f"{text} {next((place for place, one in enumerate(before) if (dispatcher_of(one) or one) is itself), '')}"


def told_now(value: object) -> str | None:
    """Return the text of a value as it is now."""
    return told(value, mark_of(value))


def told_function(function: FunctionType, *, whole: bool) -> str | None:
    """Return a digest of a function: its names, its code, and plain values in its closure.

    whole: with all values in its closure and its defaults; None where one has no complete text.
    """
    names = (str(function.__module__), function.__qualname__, function.__name__)
    cells = [told_now(cell_value(cell)) for cell in function.__closure__ or ()]
    defaults = [(name, told_now(value)) for name, value in defaults_of(function).items()] if whole else []
    if whole and not all(map(tells_all, (*cells, *(text for _, text in defaults)))):
        return None
    closure = [text if text is not None and (whole or text.startswith(("scalar", "tuple"))) else "" for text in cells]
    return digest_texts((*names, plan_of(function.__code__).digest, repr(closure), repr(defaults)))


def tells_all(text: str | None) -> bool:
    """Return whether a text covers its value completely, without a further question."""
    return text is not None and not text.startswith(_ASKED_FURTHER)


def digest_texts(texts: Sequence[str]) -> str:
    """Return the digest of texts, in their order."""
    return digest_fields(utf8(text) for text in texts)


def dispatcher_of(value: object) -> Any:
    """Return numba-cuda's dispatcher that a value stands for in calls; None if there is none."""
    return getattr(getattr(value, "_numba_type_", None), "dispatcher", None)


def calls_others(function: FunctionType) -> bool:
    """Return whether a function's code names a function with its own unit, itself or as an attribute of a module."""
    names = function.__code__.co_names
    found = [function.__globals__.get(name) for name in names]
    found += [vars(one).get(name) for one in found if type(one) is ModuleType for name in names]
    found += [cell_value(cell) for cell in function.__closure__ or ()]
    return any(type(one).__module__.startswith(_CALLEES) and dispatcher_of(one) is not None for one in found)


def _callee(value: Any) -> str | None:
    """Return the text of an object that stands for a function with its own unit, whose use covers the code."""
    dispatcher = dispatcher_of(value)
    if dispatcher is None or getattr(value, "py_func", None) is not dispatcher.py_func:
        return None
    return f"callee {_class_text(type(value))} {_class_text(type(value._numba_type_))} {_class_text(type(dispatcher))}"


def _very(value: Any) -> str | None:
    """Return the name under which any process finds this very value."""
    if type(value) is ModuleType:
        name = name_of_module(value)
        return f"module {name}" if sys.modules.get(name) is value else None
    path = _named(value)
    return None if path is None or follow(_steps(*path), None) is not value else "name " + " ".join(path)


def _named(value: Any) -> tuple[str, str] | None:
    """Return the module and the qualified name by which a value goes."""
    if isinstance(value, type) or type(value) in (FunctionType, BuiltinFunctionType):
        home, name = value.__module__, value.__qualname__
    elif type(value).__module__ == "gridjit.compiler.view.static":
        home, name = type(value).__module__, value._name
    elif type(value).__module__ == "numpy":
        home, name = "numpy", value.__name__
    elif type(defined := getattr(value, "_defn", None)) is FunctionType and is_numbas(defined):
        home, name = defined.__module__, defined.__qualname__
    else:
        return None
    return (home, name) if isinstance(home, str) and isinstance(name, str) else None


def _steps(module: str, name: str) -> tuple[str, ...]:
    return (f"module {module}", *(f"attribute {part}" for part in name.split(".")))


def _class_text(cls: Any) -> str:
    return f"{cls.__module__}.{cls.__qualname__}"
