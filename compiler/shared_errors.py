"""SharedError: our errors and warnings that are also another library's, so that programs written for it catch them.

A class names the other library's classes in `also`. Those that are imported when it is raised become its bases. Nothing
is imported for that: whoever catches a class has imported it.
"""

from __future__ import annotations

import contextlib
import sys
from typing import Any, ClassVar, TypeVar, cast

from gridjit.interrupts import let_through

Ours = TypeVar("Ours", bound="SharedError")


class SharedError:
    """The first base of an exception class. also: what it also is, each as "module:Class".

    An instance's class is then made for it, of its own name. Its pickle has all of it that the other process can have.
    """

    also: ClassVar[tuple[str, ...]] = ()
    args: tuple[Any, ...]

    def __new__(cls: type[Ours], *args: Any, **_keywords: Any) -> Ours:
        # Keywords are for a subclass's __init__, as with any exception.
        wanted = cls if "plain" in vars(cls) else combined(cls, tuple(filter(None, map(_imported, cls.also))))
        return super().__new__(wanted, *args)

    def __init__(self, *args: Any) -> None:
        # Not the next base's, because another library's may take any arguments.
        BaseException.__init__(self, *args)  # type: ignore[arg-type]

    def __str__(self) -> str:
        return str(self.args[0]) if self.args else ""

    def __reduce__(self) -> tuple[Any, ...]:
        mine, taken = type(self), vars(self).get(_TAKEN, frozenset())
        left = {_TAKEN, "original", "functions", "answer", *taken}
        own = {name: value for name, value in vars(self).items() if name not in left}
        plain = vars(mine).get("plain")
        others = [] if plain is None else [_pickled(other) for other in mine.__bases__[1:]]
        attributes = {name: _pickled(vars(self)[name]) for name in sorted(taken & vars(self).keys())}
        return _again, (plain or mine, self.args, others, attributes), own


def _again(plain: type[Ours], args: tuple[Any, ...], others: list[bytes], attributes: dict[str, bytes]) -> Ours:
    """Return an error that was pickled, with those of the other library's classes and attributes that can be had."""
    made = plain(*args)
    classes = (*filter(None, map(_imported, plain.also)), *filter(None, map(_unpickled, others)))
    with contextlib.suppress(TypeError):  # they are laid out differently here, or derive from each other
        made = combined(plain, tuple(dict.fromkeys(classes)))(*args)
    vars(made).update({name: _unpickled(data) for name, data in attributes.items() if data})
    if taken := vars(made).keys() & attributes.keys():
        vars(made)[_TAKEN] = frozenset(taken)
    return made


def _pickled(value: object) -> bytes:
    """Return the pickle of what is another library's; b"" if it cannot be pickled, which may fail in any way."""
    import pickle

    try:
        return pickle.dumps(value)
    except Exception as error:
        let_through(error)
        return b""


def _unpickled(data: bytes) -> Any:
    """Return what was pickled; None if it cannot be had in this process."""
    import pickle

    try:
        return pickle.loads(data) if data else None
    except Exception as error:
        let_through(error)
        return None


def for_cause(ours: type[Ours], message: str, cause: BaseException) -> Ours:
    """Return one of gridjit's errors to raise from another library's: of both classes, with cause's attributes."""
    if isinstance(cause, StopIteration | StopAsyncIteration):
        return ours(message)  # a loop would take it for its end
    try:
        made = combined(ours, (type(cause),))(message)
    except TypeError:  # the two cannot be one: their instances are laid out differently
        return ours(message)
    vars(made).update(vars(cause), **{_TAKEN: frozenset(vars(cause))})
    return made


def combined(ours: type[Ours], others: tuple[type, ...]) -> type[Ours]:
    """Return ours as a class that is also each of others."""
    bases = (ours, *(other for other in others if not issubclass(ours, other)))
    if len(bases) == 1:
        return ours
    if bases not in _made:
        names = {name: getattr(ours, name) for name in ("__module__", "__qualname__", "__doc__")}
        _made[bases] = type(ours.__name__, bases, {**names, "plain": ours})
    return cast("type[Ours]", _made[bases])


# The attribute that names those taken from a cause.
_TAKEN = "_taken"
# Bases -> the class made of them.
_made: dict[tuple[type, ...], type] = {}


def _imported(name: str) -> type | None:
    module, _, attribute = name.partition(":")
    return getattr(sys.modules.get(module), attribute, None)
