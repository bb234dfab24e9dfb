"""Dependency: something that a compile was found to depend on only while it ran.

It is recorded beside the footprint and checked when an artifact is looked up, without importing anything: what an
extension implements is registered by whoever imported it, so in a process that did not, nothing holds.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any

from gridjit import reading
from gridjit.compiler.errors import CompileError
from gridjit.compiler.extensions import numbered, sources_fingerprint
from gridjit.compiler.frontend.registrations import Registration, registrations
from gridjit.compiler.linked_files import link_fields, read_linked
from gridjit.compiler.source import function_of
from gridjit.compiler.targets.base import LinkedFile
from gridjit.values import dataclass

if TYPE_CHECKING:
    from gridjit.compiler.job import CompileJob

OVERLOAD, LINKED_FILE = "overload", "linked file"
KINDS = (OVERLOAD, LINKED_FILE)
# Bytes; a larger file that a compile found by itself is not read again to look up its result.
_LARGEST_FILE = 1 << 30


@dataclass(frozen=True, slots=True, kw_only=True)
class Dependency:
    """A function or a file outside the kernel's own call graph that shaped its code.

    kind: "overload" (@intrinsic included) or "linked file". name: the user's function that is implemented, as
    module.name; the file's path.
    parts: (name, digest) of every implementation that is registered for the function, in their order; of the file and
    its headers.
    """

    kind: str
    name: str
    parts: tuple[tuple[str, str], ...]

    @property
    def identity(self) -> tuple[str, str]:
        """What it is a dependency on, whatever that is like today: (kind, name)."""
        return self.kind, self.name

    @property
    def label(self) -> str:
        """What it is called where it is recorded: "math_ext.gamma by math_ext.implement_gamma", or the file."""
        return self.name if self.kind == LINKED_FILE else f"{self.name} by {', '.join(name for name, _ in self.parts)}"

    def as_dict(self) -> dict[str, Any]:
        """Return the dependency as plain JSON values."""
        return {"kind": self.kind, "name": self.name, "parts": [list(part) for part in self.parts]}

    @classmethod
    def from_dict(cls, values: Any) -> Dependency:
        """Return the dependency that as_dict described; raises Unreadable, a ValueError, for anything else."""
        given = reading.fields(values, ("kind", "name", "parts"))
        if reading.text(given["kind"]) not in KINDS:
            raise reading.Unreadable(f"{given['kind']!r} is no kind of dependency")
        parts = reading.items(given["parts"], _part)
        return cls(kind=given["kind"], name=reading.text(given["name"]), parts=parts)


@dataclass(frozen=True, slots=True, kw_only=True)
class Discovered:
    """The dependencies of a compile, and why its artifact must not be stored, if one cannot be told."""

    dependencies: tuple[Dependency, ...] = ()
    private: tuple[str, ...] = ()


def discovered(functions: Iterable[Callable[..., object]], before: Sequence[Registration]) -> Discovered:
    """Return the dependencies on functions of @overload and @intrinsic that a compile used.

    before: what was registered when the compile began. What implements anything but a user's function is part of every
    kernel's key already (see extensions).
    """
    now = registrations()
    dependencies: dict[str, Dependency] = {}
    private: dict[str, None] = {}
    for function in functions:
        mine = [found for found in before if found.sources[0] is function]
        stubs = dict.fromkeys(found.stub for found in mine if found.stub)
        if not mine or any(_implementations(before, stub) != _implementations(now, stub) for stub in stubs):
            private[f"{_name(function)} was registered while the kernel was compiled"] = None
        for stub in stubs:
            implementations = _implementations(before, stub)
            private.update(dict.fromkeys(sources_fingerprint(implementations).opaque))
            dependencies[stub] = Dependency(kind=OVERLOAD, name=stub, parts=_parts(implementations))
    return Discovered(dependencies=tuple(dependencies.values()), private=tuple(private))


def file_dependencies(found: Iterable[LinkedFile], known: Iterable[LinkedFile]) -> tuple[Dependency, ...]:
    """Return the dependencies on the files that a compile found it has to link, besides those in its key.

    What has no path was in memory, or is numba-cuda's own.
    """
    files = {file.name: file for file in found if file not in set(known) and os.path.isabs(file.name)}
    return tuple(Dependency(kind=LINKED_FILE, name=name, parts=link_fields([file])) for name, file in files.items())


def holds(dependency: Dependency, job: CompileJob | None = None) -> bool:
    """Return whether a compile today would find the same; False if that cannot be told."""
    return current(dependency.kind, dependency.name, job) == dependency.parts


def current(kind: str, name: str, job: CompileJob | None = None) -> tuple[tuple[str, str], ...] | None:
    """Return the parts that a dependency of job would have if the compile were today; None if that cannot be told."""
    if kind == OVERLOAD:
        return _parts(_implementations(registrations(), name)) or None
    return (_file_parts(name) or None) if kind == LINKED_FILE else None


def _implementations(registered: Iterable[Registration], stub: str) -> list[Registration]:
    return [found for found in registered if found.stub == stub]


def _parts(implementations: Iterable[Registration]) -> tuple[tuple[str, str], ...]:
    return numbered((found.name, sources_fingerprint([found]).digest) for found in implementations)


def _file_parts(path: str) -> tuple[tuple[str, str], ...]:
    # What is read back may name anything: a pipe would be waited for, and a relative path is of no one place.
    try:
        if not os.path.isabs(path) or not os.path.isfile(path) or os.path.getsize(path) > _LARGEST_FILE:
            return ()
        return link_fields([read_linked(path)])
    except (CompileError, OSError, ValueError):
        return ()


def _part(value: Any) -> tuple[str, str]:
    name, digest = reading.row(value, 2)
    return reading.text(name), reading.text(digest)


def _name(function: Callable[..., object]) -> str:
    inner = function_of(function)
    return repr(function) if inner is None else f"{inner.__module__}.{inner.__qualname__}"
