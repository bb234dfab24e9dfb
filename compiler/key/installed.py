"""Installed distributions: the owner of each module, and the identity of each installation.

A file belongs to the distribution that lists it, in the folder on sys.path that both are in. Editable installations
that extend numba count as well, by the files of their packages as they are; other editable installations, and files
that no distribution lists, are the user's own code. Nothing is imported to find out, importlib.metadata least of all,
which takes longer than everything else here.
"""

from __future__ import annotations

import operator
import os
import sys
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import cache
from types import BuiltinFunctionType, CodeType, FunctionType, ModuleType
from typing import Any

from gridjit.base import forking
from gridjit.base.digests import utf8
from gridjit.base.values import dataclass
from gridjit.compiler.key.entry_points import WorkingCopy, is_editable_origin, working_copies
from gridjit.compiler.key.record import is_made, listed_name, read_record
from gridjit.compiler.key.site_folders import described_by, descriptions, normalized
from gridjit.compiler.source.code import digest_fields
from gridjit.compiler.source.files import absolute, import_path, read_regular
from gridjit.compiler.source.libraries import (
    file_of,
    is_library,
    is_library_module,
    is_librarys,
    is_module,
    methods_of,
    name_of_module,
    namespace_of,
)
from gridjit.compiler.source.objects import closure_of, code_behind

_SITES = ("site-packages", "dist-packages")
# Files in a package for people and type checkers only; its code may read any other.
_FOR_PEOPLE = (".md", ".rst", ".html", ".pyi")
_PLAIN = (str, bytes, int, float, complex, type(None), CodeType)


@dataclass(frozen=True, slots=True, kw_only=True)
class Distribution:
    """One installed distribution: its name, version, the folder it is in, and its folder of metadata.

    package: the name, in that folder, of a package that is a working copy; "" for an ordinary installation.
    """

    name: str
    version: str
    site: str
    metadata: str
    package: str = ""

    @property
    def identity(self) -> str:
        """A digest of version, metadata, and the contents of the files, or their times where no record lists them.

        Looked up once per process: loaded code does not change when an installation does.
        """
        return _identity(self)

    @property
    def overtaken(self) -> bool:
        """Whether a file of it was written since this process began, so that loaded code may be older."""
        return _newest(self) > began()


def distribution_of(module: str) -> Distribution | None:
    """Return the installed distribution that the loaded module of that name is a file of, or None."""
    return distribution_of_file(file_of(sys.modules.get(module)))


def owner_of(value: object) -> Distribution | None:
    """Return the installed distribution that defines a function, class or module; None for the user's own code."""
    if is_module(value):
        return _owner_of_namespace(namespace_of(value))
    if isinstance(value, FunctionType):
        return _owner_of_namespace(value.__globals__)
    if type(value) is BuiltinFunctionType and value.__module__ is not None:
        return distribution_of(value.__module__)
    cls = value if isinstance(value, type) else type(value)
    found = distribution_of(cls.__module__)
    # A class can say that it is another module's; its methods cannot.
    return None if found is None or any(_is_users(method, cls.__module__) for method in methods_of(cls)) else found


def is_generated(value: Any) -> bool:
    """Return whether exec made a function, or all methods of a class, in a namespace that is not a user's module's."""
    if isinstance(value, type):
        functions = [one for one in vars(value).values() if isinstance(one, FunctionType)]
        return bool(functions) and all(map(is_generated, functions))
    if not isinstance(value, FunctionType):
        return False
    file, home = value.__globals__.get("__file__"), sys.modules.get(str(value.__globals__.get("__name__")))
    is_modules = isinstance(home, ModuleType) and vars(home) is value.__globals__
    return not is_modules and (file is None or distribution_of_file(file) is not None)


def generator_of(value: object) -> Distribution | None:
    """Return the distribution that generated a function: the only distribution whose code the function can reach.

    None for functions that are not generated, and for functions that hold an object which may be of the user's.
    """
    found = code_behind(value)
    if not isinstance(found, FunctionType) or not is_generated(found):
        return None
    owners = set(_owners(found))
    return owners.pop() if len(owners) == 1 else None


def _owners(function: FunctionType) -> Iterator[Distribution | None]:
    """Yield whose the objects are that a function's namespace and closure hold, without Python's and numba's code."""
    held = {**function.__globals__, **closure_of(function)}
    for value in (code_behind(one) for name, one in held.items() if name != "__builtins__"):
        if isinstance(value, type | FunctionType) and is_librarys(value):
            continue
        if isinstance(value, ModuleType) and is_library_module(value):
            continue
        if isinstance(value, BuiltinFunctionType) and is_library(str(value.__module__)):
            continue
        if value is not function and type(value) not in _PLAIN:
            yield owner_of(value)


def named(name: str) -> Distribution | None:
    """Return the installed distribution of a normalized name: the one that is loaded from, or would be."""
    loaded = (found for found in [*_by_file.values()] if found is not None and found.name == name)
    places = (one for path in import_path() for one in _distributions_in(path or ".", _stamp(path or ".")))
    wanted = (one for one in (*places, *worked_on()) if one.name == name and (one.package or not _is_editable(one)))
    return next(loaded, None) or next(wanted, None)


def installed_as(name: str) -> tuple[Distribution, ...]:
    """Return the distribution of a normalized name, or the packages of a working copy of that name."""
    found = named(name)
    if found is not None and found.package:
        return tuple(one for one in worked_on() if one.name == name)
    return () if found is None else (found,)


def worked_on() -> tuple[Distribution, ...]:
    """Return the editable installations that extend numba."""
    return tuple(map(_worked_on, working_copies()))


def _worked_on(copy: WorkingCopy) -> Distribution:
    site, package = os.path.split(absolute(copy.package))
    return Distribution(name=copy.name, version=copy.version, site=site, metadata=copy.metadata, package=package)


def installed_modules() -> tuple[ModuleType, ...]:
    """Return the loaded modules of installed distributions, less the libraries that the toolchain's versions tell.

    Looked through again when other modules are loaded than last time, but not within one look.
    """
    if _look.modules is not None:
        return _look.modules
    loaded = tuple(sys.modules.values())
    known = next(iter(_modules), None)
    if known is None or len(known[0]) != len(loaded) or not all(map(operator.is_, known[0], loaded)):
        modules = [module for module in loaded if is_module(module)]
        known = loaded, tuple(one for one in modules if not is_library(name_of_module(one)) and owner_of(one))
        _modules[:] = [known]
    if _look.is_one:
        _look.modules = known[1]
    return known[1]


@contextmanager
def one_look() -> Iterator[None]:
    """Look at the loaded modules once: until the block ends, this thread's looks find the modules of its first look."""
    outer, _look.is_one = _look.is_one, True
    try:
        yield
    finally:
        _look.is_one = outer
        if not outer:
            _look.modules = None


class _Look(threading.local):
    """Whether the calling thread is in one look, and the modules that it has found."""

    is_one = False
    modules: tuple[ModuleType, ...] | None = None


_look = _Look()
# The last look's loaded modules and its result.
_modules: list[tuple[tuple[object, ...], tuple[ModuleType, ...]]] = []


def _is_users(method: FunctionType, module: str) -> bool:
    # A library's function made with exec has no file, and a namespace of another name.
    home = method.__globals__.get("__name__")
    if "__file__" not in method.__globals__ and home != module:
        return False
    return not is_librarys(method) and _owner_of_namespace(method.__globals__) is None


def _owner_of_namespace(namespace: Mapping[str, Any]) -> Distribution | None:
    name, file = namespace.get("__name__"), namespace.get("__file__")
    # Another namespace of the same name was filled by exec, or is another file's.
    loaded = sys.modules.get(name) if isinstance(name, str) else None
    return distribution_of_file(file) if is_module(loaded) and namespace_of(loaded) is namespace else None


_by_file: dict[str, Distribution | None] = {}
_by_folder: dict[str, Distribution] = {}


def distribution_of_file(file: object) -> Distribution | None:
    """Return the installed distribution that lists a file, by its path; None for the user's own code."""
    if not isinstance(file, str):
        return None
    if file not in _by_file:
        path = absolute(file)
        # A file beside it is most likely of the same distribution.
        beside = _by_folder.get(os.path.dirname(path))
        known = beside is not None and path[len(beside.site) + 1 :] in _files(beside)
        found = beside if known else next(_listing(path), None) or next(_editing(path), None)
        _by_file[file] = found
        if found is not None:
            _by_folder[os.path.dirname(path)] = found
    return _by_file[file]


def _listing(file: str) -> Iterator[Distribution]:
    """Yield the distributions that list a file."""
    known = {absolute(path) for path in import_path()}
    site = os.path.dirname(file)
    while (parent := os.path.dirname(site)) != site:
        if site in known or os.path.basename(site) in _SITES:
            inside = file[len(site) + 1 :]
            yield from (one for one in _candidates(site, inside) if not _is_editable(one) and _lists(one, inside))
        site = parent


def _editing(file: str) -> Iterator[Distribution]:
    """Yield the working copies whose package a file is in."""
    return (one for one in worked_on() if file[len(one.site) + 1 :] in _files(one))


def _candidates(site: str, inside: str) -> list[Distribution]:
    """Return the distributions in a folder, names like the file's first: so few are read."""
    top = normalized(inside.partition(os.sep)[0].partition(".")[0])
    return sorted(_distributions_in(site, _stamp(site)), key=lambda one: (one.name != top, top not in one.name))


@cache
def _distributions_in(site: str, _: tuple[int, int, int]) -> tuple[Distribution, ...]:
    return tuple(
        Distribution(name=described[0], version=described[1], site=site, metadata=os.path.join(site, entry))
        for entry in descriptions(site)
        if (described := described_by(entry)) is not None
    )


def _is_editable(found: Distribution) -> bool:
    # A development's own egg-info stands beside its sources, in a folder that nobody installed into.
    developed = found.metadata.endswith(".egg-info") and os.path.basename(found.site) not in _SITES
    return developed or is_editable_origin(_read(found, "direct_url.json") or b"")


def _lists(found: Distribution, inside: str) -> bool:
    # A record is long, and most are not the right one: only a record that holds the file's name is taken apart.
    record = _read(found, "RECORD")
    return (record is None or inside.replace(os.sep, "/").encode() in record) and inside in _files(found)


@cache
def _files(found: Distribution) -> frozenset[str]:
    """Return the files that a distribution lists, from its folder on; without a list, all code of its packages."""
    if found.package:
        return frozenset(_walked(found.site, found.package))
    if (record := _read(found, "RECORD")) is not None:
        rows = record.decode(errors="replace").splitlines()
        return frozenset(map(listed_name, rows))
    if (listed := _read(found, "installed-files.txt")) is not None:
        lines = (os.path.join(found.metadata, line) for line in listed.decode(errors="replace").splitlines())
        return frozenset(os.path.relpath(os.path.normpath(line), found.site) for line in lines)
    tops = (_read(found, "top_level.txt") or b"").decode(errors="replace").split()
    return frozenset(file for top in tops for file in _walked(found.site, top))


def _walked(site: str, top: str) -> Iterator[str]:
    yield top if top.endswith(".py") else f"{top}.py"
    for folder, _, names in () if "\0" in top else os.walk(os.path.join(site, top)):
        yield from (os.path.join(folder, name)[len(site) + 1 :] for name in names)


@cache
def _identity(found: Distribution) -> str:
    metadata = digest_fields(_read(found, name) or b"" for name in ("METADATA", "PKG-INFO"))
    stamps = [stamp[:3] for stamp in _stamps(found)]
    if not found.package and (record := read_record(found.metadata)) is not None and record.rows:
        files = digest_fields(map(utf8, (*record.parts(), *record.changed(found.site, stamps))))
    else:
        files = digest_fields(utf8(" ".join(map(str, stamp))) for stamp in stamps)
    return f"{found.name} {found.version}, metadata {metadata}, files {files}"


@cache
def _newest(found: Distribution) -> int:
    return max((changed for *_, changed in _stamps(found)), default=0)


@cache
def _stamps(found: Distribution) -> tuple[tuple[str, int, int, int], ...]:
    """Return name, time of writing, size and time of change of each code or data file of a distribution.

    Missing files are included; the metadata beside them counts by its content.
    """
    files = sorted(file for file in _files(found) if not file.endswith(_FOR_PEOPLE) and not is_made(file))
    return tuple((file, *_stamp(os.path.join(found.site, file))) for file in files)


def installed_at(path: str) -> int:
    """Return when a file's or folder's entry last changed: unlike the time of writing, no tool sets it back.

    In nanoseconds since 1970; 0 if it is gone.
    """
    return _stamp(path)[2]


def _stamp(path: str) -> tuple[int, int, int]:
    try:
        status = os.stat(path)
    except (OSError, ValueError):  # ValueError: a name that no file can have
        return (0, 0, 0)
    return (status.st_mtime_ns, status.st_size, status.st_ctime_ns)


@cache
def began() -> int:
    """Return when this process began, or gridjit was imported if that is unknown or was before it, as before a fork."""
    try:
        with open("/proc/self/stat", "rb") as file:
            ticks = int(file.read().rpartition(b")")[2].split()[19])
    except (OSError, ValueError, IndexError):
        return forking.IMPORTED_NS
    # A tick later: nothing is imported that soon, and a file may have been written in the tick before.
    age = time.clock_gettime_ns(time.CLOCK_BOOTTIME) - (ticks + 1) * 1_000_000_000 // os.sysconf("SC_CLK_TCK")
    return min(time.time_ns() - age, forking.IMPORTED_NS)


@cache
def _read(found: Distribution, name: str) -> bytes | None:
    try:
        return read_regular(os.path.join(found.metadata, name))
    except (OSError, ValueError):
        return None
