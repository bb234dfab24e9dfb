"""Dependency: something that a compile was found to depend on only while it ran.

It is recorded beside the footprint and checked when an artifact is looked up, without importing anything: what an
extension implements is registered by whoever imported it, so in a process that did not, nothing holds.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from gridjit.compiler.errors import CompileError
from gridjit.compiler.extensions import numbered, sources_fingerprint
from gridjit.compiler.frontend.registrations import Registration, registrations
from gridjit.compiler.linked_files import digest, link_fields, read_linked
from gridjit.compiler.source import function_of
from gridjit.compiler.targets.base import LinkedFile
from gridjit.compiler.toolchain import header_versions
from gridjit.values import dataclass

OVERLOAD, LINKED_FILE, HEADERS, TOOLKIT = "overload", "linked file", "headers", "CUDA headers"
_KINDS = (OVERLOAD, LINKED_FILE, HEADERS, TOOLKIT)
# What stands for the digest of a header where there was none.
_ABSENT = "absent"


@dataclass(frozen=True, slots=True, kw_only=True)
class Dependency:
    """A function or a file outside the kernel's own call graph that shaped its code.

    kind: "overload" (@intrinsic included), "linked file", "headers" or "CUDA headers". name: the user's function that
    is implemented, as module.name; the file's path; the file that included the headers.
    parts: (name, digest) of every implementation that is registered for the function, in their order; of the file and
    its headers; of headers by their paths, "absent" where there was none; of the packages that bring CUDA's.
    """

    kind: str
    name: str
    parts: tuple[tuple[str, str], ...]

    @property
    def label(self) -> str:
        """What it is called where it is recorded: "math_ext.gamma by math_ext.implement_gamma", or the file."""
        if self.kind == OVERLOAD:
            return f"{self.name} by {', '.join(name for name, _ in self.parts)}"
        return f"headers of {self.name}" if self.kind == HEADERS else self.name

    def as_dict(self) -> dict[str, Any]:
        """Return the dependency as plain JSON values."""
        return {"kind": self.kind, "name": self.name, "parts": [list(part) for part in self.parts]}

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Dependency:
        """Return the dependency that as_dict described; raises ValueError for anything else."""
        try:
            parts = tuple((name, digest) for name, digest in values["parts"])
            texts = (values["kind"], values["name"], *(text for part in parts for text in part))
        except (KeyError, TypeError, ValueError) as error:
            raise ValueError(f"{values!r} describes no dependency") from error
        if not all(isinstance(text, str) for text in texts) or texts[0] not in _KINDS:
            raise ValueError(f"{values!r} describes no dependency")
        return cls(kind=texts[0], name=texts[1], parts=parts)


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


def file_dependencies(
    found: Iterable[LinkedFile], known: Sequence[LinkedFile], consumed: Iterable[LinkedFile] = ()
) -> tuple[Dependency, ...]:
    """Return the dependencies on the files that a compile found it has to link, besides those in its key.

    consumed: the CUDA C++ among them as it was compiled. The bytes that were compiled count, whatever is on disk now.
    What has no path was in memory, or is numba-cuda's own: its headers alone count.
    """
    keyed = {file.name: file for file in found if file in set(known) or os.path.isabs(file.name)}
    files = {file.name: file for file in found if file not in set(known) and os.path.isabs(file.name)}
    linked = [Dependency(kind=LINKED_FILE, name=name, parts=link_fields([file])) for name, file in files.items()]
    compiled = list(consumed)
    headers = (_header_parts(made, keyed.get(made.name)) for made in compiled)
    read = [Dependency(kind=HEADERS, name=m.name, parts=p) for m, p in zip(compiled, headers, strict=True) if p]
    # One of the key's, or of the files', says already which headers the toolkit has.
    told = any(file.kind == "cu" for file in (*known, *files.values()))
    toolkit = [] if told or not compiled else [Dependency(kind=TOOLKIT, name=TOOLKIT, parts=header_versions())]
    return (*linked, *read, *toolkit)


def _header_parts(made: LinkedFile, keyed: LinkedFile | None) -> tuple[tuple[str, str], ...]:
    """Return the headers that were compiled into a file, and where there were none, less those that a key has."""
    headers, absent = (set(keyed.headers), set(keyed.absent)) if keyed else (set(), set())
    read = ((header.path, digest(header.data)) for header in made.headers if header not in headers)
    return (*read, *((path, _ABSENT) for path in made.absent if path not in absent))


def holds(dependency: Dependency) -> bool:
    """Return whether a compile today would find the same; False if that cannot be told."""
    if dependency.kind == OVERLOAD:
        parts = _parts(_implementations(registrations(), dependency.name))
    elif dependency.kind == LINKED_FILE:
        parts = _file_parts(dependency.name)
    elif dependency.kind == TOOLKIT:
        parts = header_versions()
    else:
        return all(_header_digest(path) == text for path, text in dependency.parts)
    return bool(parts) and parts == dependency.parts


def _header_digest(path: str) -> str:
    from gridjit.compiler.headers import read_header

    data = read_header(path)
    return _ABSENT if data is None else digest(data)


def _implementations(registered: Iterable[Registration], stub: str) -> list[Registration]:
    return [found for found in registered if found.stub == stub]


def _parts(implementations: Iterable[Registration]) -> tuple[tuple[str, str], ...]:
    return numbered((found.name, sources_fingerprint([found]).digest) for found in implementations)


def _file_parts(path: str) -> tuple[tuple[str, str], ...]:
    try:
        return link_fields([read_linked(path)])
    except CompileError:
        return ()


def _name(function: Callable[..., object]) -> str:
    inner = function_of(function)
    return repr(function) if inner is None else f"{inner.__module__}.{inner.__qualname__}"
