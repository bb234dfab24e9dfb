"""The `dataclass` of gridjit's values: the standard library's, without compiling code when a module is imported.

`@dataclass(frozen=True, slots=True, kw_only=True)` costs 0.4 ms a class, which sixty classes turn into a third of a
warm start. Here the standard library still collects the fields (`fields`, `replace` and `asdict` work), but the methods
are closures over them instead of text that is compiled: 0.04 ms. What only a compile imports uses the original.
"""

from __future__ import annotations

import dataclasses
from dataclasses import field
from operator import attrgetter
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from dataclasses import dataclass
else:

    def dataclass(*, frozen: bool, slots: bool, kw_only: bool, eq: bool = True) -> Any:
        """Return a decorator that makes a class a frozen, slotted dataclass with keyword-only fields.

        The options are those of `dataclasses.dataclass`; the first three have to be True.
        """
        if not (frozen and slots and kw_only):
            raise TypeError("gridjit.values.dataclass: frozen=True, slots=True and kw_only=True, or use dataclasses")
        return lambda plain: _value_class(plain, eq)


__all__ = ["dataclass", "field"]


def _value_class(plain: type, eq: bool) -> type:
    """Return plain with slots and a frozen dataclass's methods; those that it defines itself stay its own."""
    made: type = dataclasses.dataclass(init=False, repr=False, eq=False, kw_only=True, slots=True)(plain)
    fields = dataclasses.fields(made)
    methods = {"__init__": _init(made, fields), "__repr__": _repr([f.name for f in fields if f.repr]), **_FROZEN}
    if eq:
        methods |= _comparison([f.name for f in fields if f.compare])
    for name, method in methods.items():
        if name not in plain.__dict__:
            setattr(made, name, method)
    return made


def _init(made: Any, fields: Sequence[dataclasses.Field[Any]]) -> Callable[..., None]:
    """Return an __init__ that sets each field from its keyword or its default, then calls __post_init__."""
    settable = [f for f in fields if f.init]
    names = {f.name for f in settable}
    puts = [(f.name, getattr(made, f.name).__set__) for f in settable]
    defaults = {f.name: f.default for f in settable if f.default is not dataclasses.MISSING}
    factories = {f.name: f.default_factory for f in settable if f.default_factory is not dataclasses.MISSING}
    check = getattr(made, "__post_init__", None)

    def complete(given: dict[str, Any]) -> dict[str, Any]:
        whole = {**defaults, **given}
        for name, make in factories.items():
            if name not in given:
                whole[name] = make()
        if whole.keys() != names:
            missing, unknown = sorted(names - whole.keys()), sorted(whole.keys() - names)
            raise TypeError(f"{made.__qualname__}(): missing arguments {missing}, unknown arguments {unknown}")
        return whole

    def init(self: Any, **given: Any) -> None:
        whole = given if given.keys() == names else complete(given)
        for name, put in puts:
            put(self, whole[name])
        if check is not None:
            check(self)

    return init


def _comparison(names: Sequence[str]) -> dict[str, Callable[..., Any]]:
    """Return __eq__ and __hash__ by the values of the named fields."""
    values = attrgetter(*names) if names else type

    def equal(self: Any, other: object) -> Any:
        return values(self) == values(other) if other.__class__ is self.__class__ else NotImplemented

    def hashed(self: Any) -> int:
        return hash(values(self))

    return {"__eq__": equal, "__hash__": hashed}


def _repr(names: Sequence[str]) -> Callable[[Any], str]:
    def text(self: Any) -> str:
        return f"{type(self).__qualname__}({', '.join(f'{name}={getattr(self, name)!r}' for name in names)})"

    return text


def _refuse_set(self: Any, name: str, value: object) -> None:
    raise dataclasses.FrozenInstanceError(f"cannot assign to field {name!r} of a {type(self).__qualname__}")


def _refuse_delete(self: Any, name: str) -> None:
    raise dataclasses.FrozenInstanceError(f"cannot delete field {name!r} of a {type(self).__qualname__}")


def _state(self: Any) -> list[Any]:
    """What copy and pickle keep of a value."""
    return [getattr(self, f.name) for f in dataclasses.fields(self)]


def _restore(self: Any, state: list[Any]) -> None:
    for f, value in zip(dataclasses.fields(self), state, strict=True):
        object.__setattr__(self, f.name, value)


_FROZEN = {
    "__setattr__": _refuse_set,
    "__delattr__": _refuse_delete,
    "__getstate__": _state,
    "__setstate__": _restore,
}
