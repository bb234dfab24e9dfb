"""Surroundings: all that a compile depends on which no question of the front end asks for, as one object to compare.

The target, numba's settings, what extensions registered, and numba's own code, which programs patch.
"""

from __future__ import annotations

import functools
import gc
import operator
import sys
from collections.abc import Callable, Iterator, Mapping
from types import CodeType, FunctionType, ModuleType
from typing import Any

from gridjit.compiler.frontend.kept.apart import is_apart
from gridjit.compiler.frontend.kept.plain import Mark
from gridjit.compiler.frontend.kept.stamps import Stamps, of_codes, of_dictionaries
from gridjit.compiler.key.extensions import all_registrations
from gridjit.compiler.key.numba_settings import dumps, environment
from gridjit.compiler.key.registrations import Registration


class Surroundings:
    """What surrounds a compile; the same object for as long as all of it is the same.

    told: what of the target, of boundscheck and of numba's modules is the same in another process, as a text; None if
    a program's own code stands in numba's place.
    """

    def __init__(self, mark: Mark, registered: tuple[Registration, ...], tell: Callable[[], str | None]) -> None:
        self.mark = mark
        # Keeps alive what the mark names by identity.
        self._registered = registered
        self._tell = tell

    @property
    def told(self) -> str | None:
        return self._tell()

    @property
    def allow_keeping(self) -> bool:
        """Whether callees may be kept: nothing registered can alter them unseen, and nothing is to be printed."""
        return all(one.stub or is_apart(one) for one in self._registered) and not dumps()

    @property
    def hold(self) -> bool:
        """Whether nothing was registered meanwhile."""
        return _registered_marks(all_registrations()) == _registered_marks(self._registered)


# What was met last, the newest at the end.
_known: list[Surroundings] = []
_MOST = 16
# The names of numba's modules and classes, as they are and as they were when they were first looked at.
_numbas: dict[int, tuple[Mapping[str, object], dict[str, object]]] = {}
# The functions among them, and the code that each had then: a program may give one another code in place.
_functions: list[FunctionType] = []
_codes: list[CodeType] = []
# What tells at once whether any of both changed, made for as many as there were.
_stamps: dict[str, tuple[int, Stamps | None]] = {}
# What Python remembers of a class that was copied and of a module that warned, and how numba-cuda counts its shared
# arrays to give each a name.
_MEMORIES = frozenset({"__slotnames__", "__warningregistry__", "_unique_smem_id"})
# How many modules there were when they were last looked for.
_looked_at: list[int] = []
# The modules that were there when they were looked at first, the names in them, and those of what was imported since,
# in the middle of compiles; the texts of both, once they were asked for.
_first_modules: set[str] = set()
_first: list[tuple[Any, Mapping[str, object]]] = []
_later: list[tuple[Any, Mapping[str, object]]] = []
_texts: dict[int, str | None] = {}
_patched = 0
# What compiles callees. The driver's module is no part of it, and gridjit gives it a GPU that the host stands in for.
_FRONT_END = ("numba.", "llvmlite.")
_DRIVER = "numba.cuda.cudadrv.driver"


def surroundings(capability: tuple[Any, ...], boundscheck: bool) -> Surroundings:
    """Return what surrounds a compile that begins now; numba's own functions must be in place."""
    registered = all_registrations()
    mark = (capability, boundscheck, environment(), _config(), _registered_marks(registered), _patches())
    found = next((one for one in _known if one.mark == mark), None)
    if found is None:
        found = Surroundings(mark, registered, functools.partial(_told, capability, boundscheck))
        _known[:] = [*_known[1 - _MOST :], found]
    return found


def _told(capability: tuple[Any, ...], boundscheck: bool) -> str | None:
    first, later = _text_of(_first), _text_of(_later)
    return None if first is None or later is None else repr((capability, boundscheck, first))


def _text_of(owners: list[tuple[Any, Mapping[str, object]]]) -> str | None:
    from gridjit.compiler.frontend.kept.stored.around import numbas_text

    # Keyed by how many: of those that came later, more come.
    key = len(owners) if owners is _later else -1
    if key not in _texts:
        _texts[key] = numbas_text(owners, _MEMORIES)
    return _texts[key]


def _registered_marks(registered: tuple[Registration, ...]) -> Mark:
    return tuple((one.kind, one.about, id(one.sources[0])) for one in registered)


def _config() -> Mark:
    """Return every setting of numba's as it stands, besides those that the environment was asked for."""
    modules = (sys.modules.get(name) for name in ("numba.core.config", "numba.cuda.core.config"))
    return tuple(
        (name, repr(value)) for one in modules if one is not None for name, value in vars(one).items() if name.isupper()
    )


def _patches() -> int:
    """Return a number that is another once a name of numba's modules or classes stands for something else."""
    global _patched
    if not _names_are_the_same() or not _codes_are_the_same():
        _patched += 1
        for known in (_numbas, _functions, _codes, _stamps, _looked_at, _first, _later, _texts):
            known.clear()
    if len(sys.modules) not in _looked_at:
        _looked_at[:] = [len(sys.modules)]
        new: list[tuple[Any, Mapping[str, object]]] = []
        for owner in _owners():
            if id(owner) not in _numbas:
                _numbas[id(owner)] = (vars(owner), dict(vars(owner)))
                new.append((owner, _numbas[id(owner)][1]))
                _functions.extend(_functions_of(vars(owner)))
        _codes.extend(map(_code_of, _functions[len(_codes) :]))
        _first_modules.update(() if _first_modules else map(_module_of, (owner for owner, _ in new)))
        for owner, then in new:
            (_first if _module_of(owner) in _first_modules else _later).append((owner, then))
    return _patched


def _names_are_the_same() -> bool:
    """Return whether all names stand for what they did; of those that were compared before, only changed ones are."""
    tables = [*_numbas.values()]
    stamps = _stamps_for("names", len(tables), lambda: of_dictionaries([_dictionary(names) for names, _ in tables]))
    if stamps is None:
        return all(_same(names, then) for names, then in tables)
    now = stamps.read()  # before they are compared: what changes meanwhile is compared again
    if not all(_same(*tables[index]) for index in stamps.changed(now)):
        return False
    stamps.settle(now)
    return True


def _codes_are_the_same() -> bool:
    stamps = _stamps_for("codes", len(_functions), lambda: of_codes(_functions))
    if stamps is None:
        return [*map(_code_of, _functions)] == _codes
    now = stamps.read()
    if stamps.changed(now):
        if [*map(_code_of, _functions)] != _codes:
            return False
        stamps.settle(now)
    return True


def _stamps_for(what: str, count: int, make: Callable[[], Stamps | None]) -> Stamps | None:
    """Return the stamps of names or codes, made anew where there are more of them than there were."""
    if what not in _stamps or _stamps[what][0] != count:
        _stamps[what] = count, make()
    return _stamps[what][1]


def _dictionary(names: Mapping[str, object]) -> dict[Any, Any]:
    """Return the dictionary of a module's or a class's names; a class shows it through a proxy."""
    found: dict[Any, Any] = names if isinstance(names, dict) else gc.get_referents(names)[0]
    return found


_code_of: Callable[[FunctionType], CodeType] = operator.attrgetter("__code__")


def _functions_of(names: Mapping[str, Any]) -> Iterator[FunctionType]:
    for value in [*names.values()]:
        kind: Any = type(value)
        if kind is FunctionType:
            yield value
        elif _is_method(kind) and type(value.__func__) is FunctionType:
            yield value.__func__


# Of each class once: there are thousands of values.
@functools.cache
def _is_method(kind: Any) -> bool:
    return issubclass(kind, staticmethod | classmethod)


@functools.cache
def _is_of_classes(kind: Any) -> bool:
    return issubclass(kind, type)


def _same(names: Mapping[str, object], then: dict[str, object]) -> bool:
    """Return whether names stand for what they did then, and note what was added that changes nothing."""
    try:
        if names == then:
            return True
        changed = {name for name in {*names, *then} if names.get(name) is not then.get(name)} - _MEMORIES
        # A module that was imported from a package is a name of it from then on.
        same = all(name not in then and type(names[name]) is ModuleType for name in changed)
    except Exception:  # arrays among them are compared item by item
        return False
    if same:
        then.update(names)
    return same


def _module_of(owner: Any) -> str:
    return str(owner.__name__ if type(owner) is ModuleType else owner.__module__)


def _owners() -> Iterator[Any]:
    """Yield numba's modules and their classes, llvmlite's too."""
    for name, module in list(sys.modules.items()):
        if name.startswith(_FRONT_END) and name != _DRIVER and type(module) is ModuleType and module.__name__ == name:
            yield module
            values: list[Any] = [*vars(module).values()]
            kinds: list[Any] = [*map(type, values)]
            yield from (
                one for one, kind in zip(values, kinds, strict=True) if _is_of_classes(kind) and one.__module__ == name
            )
