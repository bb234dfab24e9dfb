"""LibraryWatch: the settings and code that installed code may read in one compile, and its registrations meanwhile.

The settings are noted when the compile begins, and count with these values. A setting that the compile itself changes
does not count, since the compile would change it in another process too. A module that is loaded only while the compile
runs counts as it is at the end.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterable, Iterator
from enum import Enum
from types import BuiltinFunctionType, FunctionType, ModuleType, TracebackType
from typing import TYPE_CHECKING, Any

from gridjit.base.forking import ThreadTimes, nobody_else_ran
from gridjit.base.interrupts import let_through
from gridjit.compiler.key.argument_classes import types_in
from gridjit.compiler.key.extensions import all_registrations, forget_in_keys
from gridjit.compiler.key.installed import Distribution, owner_of
from gridjit.compiler.key.registration import Registration
from gridjit.compiler.key.registrations import made_by_a_compile
from gridjit.compiler.recorded.dependencies import library_code_dependency, library_parts
from gridjit.compiler.recorded.library_code import names_text
from gridjit.compiler.recorded.library_reach import Reach, reach
from gridjit.compiler.recorded.library_settings import LibrarySetting, is_written_out
from gridjit.compiler.recorded.loading import as_loaded, roots
from gridjit.compiler.source.libraries import is_library
from gridjit.compiler.source.objects import code_behind, function_of
from gridjit.compiler.values.dependency import LATER_SETTING, LIBRARY, LOADED_SETTING, SETTINGS, Dependency
from gridjit.compiler.values.phases import phase
from gridjit.compiler.values.signature import Signature

if TYPE_CHECKING:
    from gridjit.compiler.job import CompileJob

# The reach of the last compile, and the registrations and loaded modules then.
_last_reach: list[tuple[object, Reach]] = []
# Settings that compiles changed, as they left them.
_left_by_compiles: dict[LibrarySetting, str] = {}


class LibraryWatch:
    """A block around one compile. If looking at installed code raises, the disk cache is lost, never the launch.

    others: how long other threads had run when the compile's job was made.
    """

    def __init__(self, others: ThreadTimes) -> None:
        self._others = others
        self._before: dict[LibrarySetting, str | None] = {}
        self._code_before: dict[LibrarySetting, str | None] = {}
        self._problem: Exception | None = None

    def __enter__(self) -> LibraryWatch:
        self._registered = all_registrations()
        try:
            known = next((found for state, found in _last_reach if state == _state(self._registered)), None)
            found = known or reach(roots(self._registered))
            self._before, self._code_before = found.texts(), found.code_texts()
        except Exception as error:
            let_through(error)
            self._problem = error
        return self

    def __exit__(self, *_: type[BaseException] | BaseException | TracebackType | None) -> None:
        # If another thread ran, it is unknown which thread made a registration, so all of them count.
        if nobody_else_ran(self._others):
            before = {(one.kind, one.identity) for one in self._registered}
            with phase("dependencies"):
                new = [one for one in all_registrations() if (one.kind, one.identity) not in before]
                forget_in_keys(one for one in new if one.owner is not None)

    def found(
        self, functions: Iterable[Callable[..., Any]], job: CompileJob, values: Iterable[object]
    ) -> tuple[tuple[Dependency, ...], tuple[str, ...]]:
        """Return the dependencies on installed code that a job's key does not have, and why some are unknown.

        functions: of @overload and @intrinsic, used by the compile. values: taken from Python by the compile.
        """
        try:
            if self._problem is None:
                return self._found(functions, job, values)
        except Exception as error:
            let_through(error)
            self._problem = error
        return (), (f"what installed code reads cannot be told ({type(self._problem).__name__}: {self._problem})",)

    def _found(
        self, functions: Iterable[Callable[..., Any]], job: CompileJob, values: Iterable[object]
    ) -> tuple[tuple[Dependency, ...], tuple[str, ...]]:
        used = {function_of(function) for function in functions}
        now = all_registrations()
        apart = [one for one in now if one.is_for_its_own and made_by_a_compile(one)]
        taking_part = [one for one in now if not one.stub or any(one.sources[0] is function for function in used)]
        reached = _reached(taking_part, apart, owners_met((*used, *values), job.signature))
        _last_reach[:] = [] if apart else [(_state(now), reached)]
        libraries = sorted(reached.distributions, key=lambda one: one.name)
        dependencies = (
            *(Dependency(kind=LIBRARY, name=one.name, parts=library_parts(one)) for one in libraries),
            *self._settings(reached),
            *self._code(reached),
        )
        return dependencies, (*reached.unseen(), *self._overtaken(reached))

    def _code(self, reached: Reach) -> Iterator[Dependency]:
        """Yield the dependencies on code under names, by module, less names that the compile itself changed."""
        names: dict[str, list[str]] = {}
        for (module, name), text in sorted(reached.code_texts().items()):
            if text is not None and self._code_before.get((module, name), text) == text:
                names.setdefault(module, []).append(name)
        for module, found in names.items():
            yield library_code_dependency(module, names_text(module, found), found)

    def _overtaken(self, reached: Reach) -> Iterator[str]:
        """Yield a sentence for each setting that another thread may have changed: the compile saw either value."""
        if not nobody_else_ran(self._others):
            for (module, path), text in reached.texts().items():
                if self._before.get((module, path), text) != text:
                    yield f"{module}.{path} changed while the kernel was compiled"

    def _settings(self, reached: Reach) -> Iterator[Dependency]:
        read: dict[str, dict[str, str]] = {}
        for (module, path), text in sorted(reached.texts().items()):
            before = self._before.get((module, path))
            if before is not None and text is not None and before != text:
                _left_by_compiles[module, path] = text
            if text is None or _left_by_compiles.get((module, path)) == text:
                continue
            if before is None or as_loaded((module, path)) == text == before:
                yield _later(module, path, text)
            elif before == text:
                read.setdefault(module, {})[path] = text
        for module, texts in read.items():
            yield Dependency(kind=SETTINGS, name=json.dumps([module, *texts]), parts=tuple(texts.items()))


def _reached(found: list[Registration], apart: list[Registration], met: Callable[[Distribution | None], bool]) -> Reach:
    """Return the reach of registrations. apart: registrations that count only if the compile met their owner."""
    while True:
        without = {*apart}
        reached = reach(roots(one for one in found if one not in without))
        left = [one for one in apart if not (one.owner in reached.distributions or met(one.owner))]
        if len(left) == len(apart):
            return reached
        apart = left


def _state(registered: Iterable[Registration]) -> object:
    """Return a state of registrations and loaded modules; while it is equal, so are the names that code may read."""
    return [(one.kind, one.sources[0]) for one in registered], len(sys.modules)


def _later(module: str, path: str, text: str) -> Dependency:
    """Return the dependency on a setting whose module may not be imported yet where it is looked up.

    If the module's source writes its value out, it will have that value. Otherwise it may differ by process, and its
    module is imported to find out.
    """
    if is_written_out(module, path):
        return Dependency(kind=LATER_SETTING, name=json.dumps([module, path, text]), parts=((path, text),))
    return Dependency(kind=LOADED_SETTING, name=json.dumps([module, path]), parts=((path, text),))


# How deep containers are looked into; deeper values may be anybody's.
_DEEPEST = 8
_CONTAINERS = (tuple, list, set, frozenset, dict)


def owners_met(values: Iterable[object], signature: Signature) -> Callable[[Distribution | None], bool]:
    """Return a predicate: whether a compile with these values and arguments met a distribution's code or objects."""
    types = (one for found in signature.foreign for one in types_in(found.numba))
    classes = (found.python for found in signature.classes)
    owners = {owner for value in (*values, *types, *classes) for owner in _owners(value, _DEEPEST)}
    return lambda owner: owner in owners or _ANYBODY in owners


# Stands for any owner: an object of the program's may hold any other, and its own code says of which type.
_ANYBODY = None


def _owners(value: object, depth: int) -> Iterator[Distribution | None]:
    value = code_behind(value)
    if isinstance(value, FunctionType | BuiltinFunctionType | ModuleType):
        owner = owner_of(value)
        yield from () if owner is None else (owner,)
        return
    yield from _owners_of_class(value)
    if isinstance(value, _CONTAINERS):
        for item in (*value, *value.values()) if isinstance(value, dict) else value:
            yield from _owners(item, depth - 1) if depth else (_ANYBODY,)


def _owners_of_class(value: object) -> Iterator[Distribution | None]:
    """Yield who has to do with a class, or with an object of one: the owners of all its bases."""
    for base in (value if isinstance(value, type) else type(value)).__mro__:
        if (owner := owner_of(base)) is not None:
            yield owner
        elif not (is_library(base.__module__) or isinstance(value, (type, Enum, *_CONTAINERS))):
            yield _ANYBODY
