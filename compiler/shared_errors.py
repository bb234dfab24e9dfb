"""SharedError: our errors and warnings that are also another library's, so that programs written for it catch them.

A class names the other library's classes in `also`. Those that are imported when it is raised become its bases. Nothing
is imported for that: whoever catches a class has imported it.
"""

from __future__ import annotations

import sys
from typing import Any, ClassVar, TypeVar, cast

Ours = TypeVar("Ours", bound="SharedError")


class SharedError:
    """The first base of an exception class. also: what it also is, each as "module:Class".

    An instance's class is then made for it, of its own name. It pickles as the class that was called.
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
        # What was taken from another library's error stays here, and so does that error: it may not pickle.
        left = {_TAKEN, "original", "functions", "answer", *vars(self).get(_TAKEN, ())}
        own = {name: value for name, value in vars(self).items() if name not in left}
        return vars(type(self)).get("plain", type(self)), self.args, own


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
