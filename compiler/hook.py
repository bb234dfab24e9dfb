"""Hook: a function that an artifact wants called, in words that another process can make it again from. No pickle."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeAlias

from gridjit.values import dataclass

# None, bool, int, float, str, Hook, and tuples, lists and dicts of those.
Plain: TypeAlias = Any


@dataclass(frozen=True, slots=True, kw_only=True)
class Hook:
    """A function: by module and qualified name alone if importing gives it, else with what to make it again from.

    arguments: what it is called with first, as of a functools.partial.
    code: the digest of its code, if it was defined inside another function ("outer.<locals>.inner").
    cells, defaults, keywords: what such a function's closure holds, and its default arguments.
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


HOOK_FIELDS = ("module", "qualname", "arguments", "code", "cells", "defaults", "keywords", "instance")


def hook_as_json(hook: Hook) -> list[Any]:
    """Return a hook as lists, dictionaries and what else JSON has."""
    return [_to_json(getattr(hook, name)) for name in HOOK_FIELDS]


def hook_from_json(values: Sequence[Any]) -> Hook:
    """Return the hook that hook_as_json made; raises ValueError or TypeError for anything else."""
    found = {name: _from_json(value) for name, value in zip(HOOK_FIELDS, values, strict=True)}
    if not all(type(found[name]) is str for name in ("module", "qualname", "code")):
        raise ValueError("a hook has a module, a name and a digest")
    if not all(type(found[name]) is tuple for name in ("arguments", "cells", "defaults", "keywords")):
        raise ValueError("what a hook holds are tuples")
    return Hook(**found)


# A list is its own JSON; of whatever else JSON has no form for, the form is a dictionary with one entry, its kind's.


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
        case _:
            return value


def _from_json(value: Any) -> Plain:
    match value:
        case list():
            return [_from_json(item) for item in value]
        case {"hook": list() as fields, **rest} if not rest:
            return hook_from_json(fields)
        case {"tuple": list() as items, **rest} if not rest:
            return tuple(_from_json(item) for item in items)
        case {"dict": list() as items, **rest} if not rest:
            return {_from_json(key): _from_json(item) for key, item in items}
        case dict():
            raise ValueError(f"{value!r} is not a value of a hook")
        case _:
            return value
