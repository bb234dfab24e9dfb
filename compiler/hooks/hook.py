"""Hook: a function that an artifact wants called, described so that another process can make it again. Not a pickle."""

from __future__ import annotations

import math
from typing import Any, TypeAlias

from gridjit.base import reading
from gridjit.base.values import dataclass

# None, bool, int, float, str, Hook, or a tuple, list or dict of plain values.
Plain: TypeAlias = Any


@dataclass(frozen=True, slots=True, kw_only=True)
class Hook:
    """A function: its module and qualified name if importing gives it, else also the parts to make it again.

    arguments: the first arguments of each call, as of a functools.partial.
    code: the digest of its code, if it was defined inside another function ("outer.<locals>.inner").
    cells, defaults, keywords: the values in an inner function's closure, and its default arguments.
    instance: the attributes of the object that a method is bound to; None if it is not bound to one.
    """

    module: str
    qualname: str
    arguments: tuple[Plain, ...] = ()
    code: str = ""
    cells: tuple[Plain, ...] = ()
    defaults: tuple[Plain, ...] = ()
    keywords: tuple[tuple[str, Plain], ...] = ()
    instance: tuple[tuple[str, Plain], ...] | None = None

    def __str__(self) -> str:
        held = [self.arguments, self.cells, self.defaults, self.keywords, self.instance]
        return f"{self.module}.{self.qualname}" + "".join(f" {part!r}" for part in (*held, self.code) if part)


# Bounds of written and read hooks: of whole numbers, items of one value, and values within values, where a function in
# a value begins with the next level. A larger value is not a setting.
LARGEST, LONGEST, DEEPEST = reading.LARGEST, 10_000, 8
HOOK_FIELDS = ("module", "qualname", "arguments", "code", "cells", "defaults", "keywords", "instance")


def is_scalar(value: object) -> bool:
    """Return whether a value holds no other values, and may be a dictionary's key."""
    kind = type(value)
    return value is None or kind in (bool, float, str) or (kind is int and abs(value) <= LARGEST)  # type: ignore[arg-type]


def hook_as_json(hook: Hook) -> list[Any]:
    """Return a hook as JSON's lists, dictionaries and scalars."""
    return [_to_json(getattr(hook, name)) for name in HOOK_FIELDS]


def hook_from_json(values: Any, depth: int = DEEPEST) -> Hook:
    """Return the hook that hook_as_json made; raises ValueError or TypeError for anything else."""
    module, qualname, arguments, code, cells, defaults, keywords, instance = reading.row(values, len(HOOK_FIELDS))
    return Hook(
        module=reading.dotted(module),
        qualname=reading.dotted(qualname),
        arguments=_values(arguments, depth),
        code=reading.text(code),
        cells=_values(cells, depth),
        defaults=_values(defaults, depth),
        keywords=_named(keywords, depth),
        instance=None if instance is None else _named(instance, depth),
    )


# A list is its own JSON; a value without a form in JSON becomes a dictionary with one entry, its kind's.


def _to_json(value: Plain) -> Any:
    match value:
        case Hook():
            return {"hook": hook_as_json(value)}
        case tuple():
            return {"tuple": [_to_json(item) for item in value]}
        case list():
            return [_to_json(item) for item in value]
        case dict():
            return {"dict": [[_to_json(key), _to_json(item)] for key, item in value.items()]}
        case float() if not math.isfinite(value):
            return {"float": repr(value)}
        case _:
            return value


def _from_json(value: Any, depth: int) -> Plain:
    match value:
        case {"float": "inf" | "-inf" | "nan" as text, **rest} if not rest:
            return float(text)
        case list() | dict() if depth == 0:
            raise reading.Unreadable("a value is nested too deeply")
        case list():
            return list(_items(value, depth - 1))
        case {"hook": fields, **rest} if not rest:
            return hook_from_json(fields, depth - 1)
        case {"tuple": items, **rest} if not rest:
            return _items(items, depth - 1)
        case {"dict": items, **rest} if not rest:
            return dict(reading.items(items, lambda item: _entry(item, depth - 1), most=LONGEST))
        case _:
            return reading.plain(value, 0)


def _items(values: Any, depth: int) -> tuple[Plain, ...]:
    return reading.items(values, lambda value: _from_json(value, depth), most=LONGEST)


def _entry(item: Any, depth: int) -> tuple[Plain, Plain]:
    key, value = reading.row(item, 2)
    return _from_json(key, 0), _from_json(value, depth)


def _values(tagged: Any, depth: int) -> tuple[Plain, ...]:
    """Return the values of a hook's field, which are of depth."""
    return _items(reading.fields(tagged, ["tuple"])["tuple"], depth)


def _named(tagged: Any, depth: int) -> tuple[tuple[str, Plain], ...]:
    """Return the pairs of a hook's field, whose values are of depth."""

    def pair(item: Any) -> tuple[str, Plain]:
        name, value = reading.row(reading.fields(item, ["tuple"])["tuple"], 2)
        return reading.text(name), _from_json(value, depth)

    return reading.items(reading.fields(tagged, ["tuple"])["tuple"], pair, most=LONGEST)
