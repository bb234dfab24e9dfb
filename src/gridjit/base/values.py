"""The `dataclass` of gridjit's values: the standard library's, without compiling code when a module is imported.

`@dataclass(frozen=True, slots=True, kw_only=True)` costs 0.4 ms a class; with sixty classes, that is a third of a
warm start. Here the fields are the standard library's own (`fields`, `replace` and `asdict` work), but the methods are
closures over them instead of compiled text: 0.03 ms. Modules that only a compile imports use the original.
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
            raise TypeError(
                "gridjit.base.values.dataclass: frozen=True, slots=True and kw_only=True, or use dataclasses"
            )
        return lambda plain: _value_class(plain, eq)


__all__ = ["dataclass", "field"]


def _value_class(plain: type, eq: bool) -> type:
    """Return plain with slots and a frozen dataclass's methods; the methods that it defines itself stay its own."""
    body = {name: item for name, item in vars(plain).items() if not _is_of_the_plain_class(name, item)}
    own = [_field(plain, name, kind, body.pop(name, dataclasses.MISSING)) for name, kind in _annotated(plain)]
    fields = _with_inherited(plain, own)
    methods = {"__repr__": _repr([f.name for f in fields if f.repr]), **_FROZEN}
    if eq:
        methods |= _comparison([f.name for f in fields if f.compare])
    known = {_FIELDS: {f.name: f for f in fields}, "__dataclass_params__": _PARAMETERS}
    slots = {"__slots__": tuple(f.name for f in own), "__match_args__": (), "__qualname__": plain.__qualname__}
    # All at once: each attribute that is set on a class has Python look its methods up anew.
    made: Any = type(plain)(plain.__name__, plain.__bases__, methods | known | body | slots)
    if "__init__" not in body:
        made.__init__ = _init(made, fields)
    return made  # type: ignore[no-any-return]


def _is_of_the_plain_class(name: str, item: object) -> bool:
    # A field may have a name of these: `__weakref__: Any = field(init=False)` lets values be referred to weakly.
    return name in _OF_THE_PLAIN_CLASS and not isinstance(item, dataclasses.Field)


def _annotated(plain: type) -> list[tuple[str, Any]]:
    """Return the fields' names and types; raises TypeError for kinds that only the standard decorator knows."""
    given = plain.__annotations__.items()
    found = [(name, kind) for name, kind in given if not str(kind).startswith(("ClassVar", "typing.ClassVar"))]
    kinds = " ".join([str(kind) for _, kind in found])
    if "ClassVar" in kinds or "InitVar" in kinds or "KW_ONLY" in kinds:
        raise TypeError(f"gridjit.base.values.dataclass: {plain.__qualname__} has more than fields; use dataclasses")
    return found


def _with_inherited(plain: type, own: list[Any]) -> list[Any]:
    """Return a class's fields, after its bases' fields; raises TypeError for a field that a base has."""
    inherited = {name: f for base in reversed(plain.__mro__) for name, f in vars(base).get(_FIELDS, {}).items()}
    if again := inherited.keys() & {f.name for f in own}:
        raise TypeError(
            f"gridjit.base.values.dataclass: {plain.__qualname__} has {sorted(again)} again; use dataclasses"
        )
    return [*inherited.values(), *own]


def _field(plain: type, name: str, kind: Any, given: Any) -> Any:
    """Return the standard library's field for an annotated name and the value that it was set to."""
    made: Any = given if isinstance(given, dataclasses.Field) else field(default=given)
    if type(made.default).__hash__ is None:
        kinds = f"mutable default {type(made.default)} for field {name}"
        raise ValueError(f"{kinds} of {plain.__qualname__}: use default_factory")
    made.name, made.type, made.kw_only, made._field_type = name, kind, True, _KIND
    return made


def _init(made: Any, fields: Sequence[Any]) -> Callable[..., None]:
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
            wrong = (("it needs", missing), ("it does not have", unknown))
            said = [f"{what} {', '.join(map(repr, found))}" for what, found in wrong if found]
            raise TypeError(f"{made.__qualname__}(): {'; '.join(said)}")
        return whole

    def init(self: Any, /, *unnamed: Any, **given: Any) -> None:
        if unnamed:
            way = f"; {made.__qualname__}.of(...) takes the first ones in order" if hasattr(made, "of") else ""
            raise TypeError(f"{made.__qualname__}(): arguments are named, {', '.join(f.name for f in settable)}{way}")
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


class _Sample:
    """A dataclass of one field, to take the standard library's parameters and kind of field from."""

    sample: None


_FIELDS = "__dataclass_fields__"
_SAMPLE: Any = dataclasses.dataclass(init=False, repr=False, eq=False, kw_only=True)(_Sample)
_PARAMETERS, _KIND = _SAMPLE.__dataclass_params__, _SAMPLE.__dataclass_fields__["sample"]._field_type
_PARAMETERS.frozen = True
_OF_THE_PLAIN_CLASS = frozenset({"__dict__", "__weakref__"})


def _refuse_set(self: Any, name: str, value: object) -> None:
    raise dataclasses.FrozenInstanceError(f"cannot assign to field {name!r} of a {type(self).__qualname__}")


def _refuse_delete(self: Any, name: str) -> None:
    raise dataclasses.FrozenInstanceError(f"cannot delete field {name!r} of a {type(self).__qualname__}")


def _state(self: Any) -> list[Any]:
    """The state of a value that copy and pickle keep."""
    return [getattr(self, f.name) for f in dataclasses.fields(self)]


def _restore(self: Any, state: list[Any]) -> None:
    for f, value in zip(dataclasses.fields(self), state, strict=True):
        object.__setattr__(self, f.name, value)


def _replaced(self: Any, /, **changes: Any) -> Any:
    """The result of copy.replace, from Python 3.13 on."""
    return dataclasses.replace(self, **changes)


_FROZEN: dict[str, Any] = {
    "__replace__": _replaced,
    "__setattr__": _refuse_set,
    "__delattr__": _refuse_delete,
    "__getstate__": _state,
    "__setstate__": _restore,
}
