"""change_texts: texts that tell one change of numba's code from another in any process, and what they leave out."""

from __future__ import annotations

from types import FunctionType

from gridjit.compiler.key.installed import owner_of
from gridjit.compiler.key.put.own import is_own_function, is_python_code, parts_of
from gridjit.compiler.key.source.code import plan_of
from gridjit.compiler.key.source.fingerprint import fingerprint_values
from gridjit.compiler.key.source.libraries import home_of
from gridjit.compiler.key.source.objects import MISSING, closure_of
from gridjit.compiler.key.source.opaque import of_kind

Told = tuple[str, tuple[str, ...]]


def put_text(label: str, value: object, called: tuple[str, ...]) -> Told:
    """Return the text of what a name stands for. called: numba's own names for that; none if it is not numba's."""
    if value is MISSING:
        return "deleted", ()
    if called:
        return f"numba's own {', '.join(called)}", ()
    if isinstance(value, FunctionType) and is_own_function(value):
        return function_text(label, value)
    if isinstance(value, (FunctionType, type)) and (owner := owner_of(value)) is not None:
        late = f"{owner.name} was modified after this process began, so what is loaded may be older"
        return f"{owner.identity} {home_of(value)}.{value.__qualname__}", (late,) if owner.overtaken else ()
    if (parts := parts_of(value)) != (value,) and not any(map(is_python_code, parts)):
        return _holder_text(label, value, parts)
    found = fingerprint_values([(label, value)], running=True)
    return found.digest, found.opaque


def function_text(label: str, function: FunctionType) -> Told:
    """Return the text of one of numba's functions whose code or defaults are not those that numba gave it."""
    given = {"defaults": function.__defaults__, "by keyword": function.__kwdefaults__, **closure_of(function)}
    held = fingerprint_values([(f"{label}, {name}", value) for name, value in given.items()], running=True)
    return f"{plan_of(function.__code__).digest} {held.digest}", held.opaque


def _holder_text(label: str, holder: object, parts: tuple[object, ...]) -> Told:
    """Return the text of a property, a partial or the like that holds libraries' functions."""
    texts: list[str] = [type(holder).__qualname__]
    hidden: list[str] = []
    for part in parts:
        text, why = function_text(label, part) if of_kind(part, FunctionType) else (str(part), ())
        texts.append(text)
        hidden += why
    given = [getattr(holder, name, None) for name in ("args", "keywords")]
    found = fingerprint_values([(f"{label}, given", given)], running=True)
    return " ".join((*texts, found.digest)), (*hidden, *found.opaque)
