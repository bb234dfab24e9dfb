"""Registration: one thing that an extension registered with numba-cuda."""

from __future__ import annotations

import abc
from types import BuiltinFunctionType, FunctionType, ModuleType
from typing import TYPE_CHECKING

from gridjit.base.values import dataclass
from gridjit.compiler.source.libraries import is_library, name_of_module
from gridjit.compiler.source.objects import code_behind

if TYPE_CHECKING:
    from gridjit.compiler.key.installed import Distribution

# Whose code counts by gridjit's own files, and by llvmlite's version.
OWN = ("gridjit.", "llvmlite.")


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Registration:
    """One thing that an extension registered.

    kind: its registry's word ("lowering attribute"). about: the names of its key and attribute, or of its types; "" for
    a rewrite. sources: the extension's functions and classes in it, and the plain values beside them. stub: the user's
    function that it implements for kernels that call it, as module.name; "" if it may reach kernels that never heard of
    the extension. owner: the installed distribution that all of it is from; None if any part is the user's own. key:
    the very object that it is for. mentions: functions and types, all of which code must use to meet it; empty if
    unknown.
    """

    kind: str
    about: str
    sources: tuple[object, ...]
    stub: str = ""
    owner: Distribution | None = None
    key: object = None
    mentions: tuple[object, ...] = ()

    @property
    def name(self) -> str:
        """The name of the function or class that was registered."""
        return name_of(code_behind(self.sources[0]))

    @property
    def identity(self) -> object:
        """The same for the same registration, however often it is read: its source may have no hash."""
        source = self.sources[0]
        return source if isinstance(source, str) else id(source)

    @property
    def is_for_its_own(self) -> bool:
        """Whether it is for a function or a type of the very distribution that registered it."""
        return self.owner is not None and any(_is_of(one, self.owner) for one in self.mentions)


def _is_of(mention: object, owner: Distribution) -> bool:
    """Return whether only code that uses a distribution can meet its registration for an object."""
    from gridjit.compiler.key.installed import generator_of, owner_of

    value = code_behind(mention)
    if isinstance(value, FunctionType | BuiltinFunctionType):
        return (owner_of(value) or generator_of(value)) == owner
    cls = value if isinstance(value, type) else type(value)
    return owner_of(cls) == owner and not _may_stand_for_others(cls, owner)


def _may_stand_for_others(cls: type, owner: Distribution) -> bool:
    """Return whether a class may count values or types that are not its own: by equality, or as subclasses."""
    from gridjit.compiler.key.installed import owner_of

    own = [base for base in cls.__mro__ if owner_of(base) == owner or not is_library(base.__module__)]
    if not is_library(type(cls).__module__) or any({*vars(base)} & _ANSWERS for base in own):
        return True
    return isinstance(cls, abc.ABCMeta) and bool(abc._get_dump(cls)[0])  # type: ignore[attr-defined]


# How a class answers for others.
_ANSWERS = frozenset({"__eq__", "__subclasshook__"})


def name_of(value: object) -> str:
    """Return a name that is the same in every process."""
    if isinstance(value, ModuleType):
        return name_of_module(value)
    qualname = getattr(value, "__qualname__", None)
    if isinstance(qualname, str):
        return f"{getattr(value, '__module__', '')}.{qualname}"
    text = value if isinstance(value, str) else repr(value)
    return name_of(type(value)) if " at 0x" in text else text
