"""dependencies: a compile's dependencies that show only while it runs, read when it ends and again at a look-up.

A look-up imports nothing for this: an extension registers its implementations when it is imported, so in a process
without that import, the dependency does not hold.
"""

from __future__ import annotations

import importlib
import json
import os
import sys
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from types import FunctionType
from typing import TYPE_CHECKING

from gridjit.base.digests import utf8
from gridjit.base.interrupts import let_through
from gridjit.base.values import dataclass
from gridjit.compiler.key.entry_points import current_extensions
from gridjit.compiler.key.extensions import numbered, sources_fingerprint
from gridjit.compiler.key.linked_files import digest, link_fields, read_linked
from gridjit.compiler.key.registration import OWN, Registration
from gridjit.compiler.key.registrations import made_by_a_compile, registrations
from gridjit.compiler.key.toolchain import header_versions
from gridjit.compiler.source.code import digest_fields, lines_digest, with_nested
from gridjit.compiler.source.objects import function_of
from gridjit.compiler.values.dependency import (
    HEADERS,
    IMPORTING_OVERLOAD,
    LATER_SETTING,
    LIBRARY,
    LIBRARY_CODE,
    LINES,
    LINKED_FILE,
    LOADED_SETTING,
    OVERLOAD,
    SETTINGS,
    TOOLKIT,
    VALUE,
    Dependency,
    Parts,
    texts_of,
)
from gridjit.compiler.values.errors import CompileError
from gridjit.compiler.values.target import LinkedFile

if TYPE_CHECKING:
    from gridjit.compiler.job import CompileJob
    from gridjit.compiler.key.installed import Distribution
    from gridjit.compiler.recorded.reads import Reads

# Longer texts of values are kept by their beginning and a digest.
_LONGEST = 160
# Bytes; a larger file that a compile found by itself is not read again to look up its result.
_LARGEST_FILE = 1 << 30
# Stands for implementations where none is registered but by loading the installed extensions, which the key names.
_BY_LOADING: Parts = (("installed code", ""),)
# Stands for the digest of a missing header.
_ABSENT = "absent"


@dataclass(frozen=True, slots=True, kw_only=True)
class Discovered:
    """The dependencies of a compile, and why its artifact must not be stored, if one cannot be told."""

    dependencies: tuple[Dependency, ...] = ()
    private: tuple[str, ...] = ()


def discovered(
    functions: Iterable[Callable[..., object]], before: Sequence[Registration], loaded: Collection[str]
) -> Discovered:
    """Return the dependencies on functions of @overload and @intrinsic that a compile used.

    before, loaded: the registrations, and the names of the loaded modules, when the compile began. Implementations of
    anything but a user's function are in every kernel's key already (see extensions).
    """
    functions = tuple(functions)
    now = registrations()
    known = {id(found.sources[0]) for found in before}
    installed = _installed(functions)
    dependencies: dict[str, Dependency] = {}
    private: dict[str, None] = {}
    for function in functions:
        if id(function) not in known and function in installed:
            continue  # its distribution stands for it
        mine = [one for one in before if one.sources[0] is function]
        stubs = dict.fromkeys(one.stub for one in mine if one.stub)
        if not mine or any(_users(before, stub) != _users(now, stub) for stub in stubs):
            private[f"{_name(function)} was registered while the kernel was compiled"] = None
        for stub in stubs:
            implementations = _implementations(before, stub)
            found = sources_fingerprint(implementations)
            private.update(dict.fromkeys(found.opaque))
            imported = [name for name in found.imported if name not in loaded]
            dependencies[stub] = _overload(stub, imported, _parts(implementations))
    return Discovered(dependencies=tuple(dependencies.values()), private=tuple(private))


def _installed(functions: Collection[Callable[..., object]]) -> list[Callable[..., object]]:
    """Return the functions of installed code, and its generated functions if no user's code took part."""
    from gridjit.compiler.key.installed import generator_of, owner_of

    codes = {function: function_of(function) for function in functions}
    mine = [one for one, code in codes.items() if str(code.__module__).startswith(OWN) or owner_of(code) is not None]
    generated = [one for one in functions if one not in mine and generator_of(one) is not None]
    return [*mine, *generated] if len(mine) + len(generated) == len(functions) else mine


def _overload(stub: str, imported: Sequence[str], parts: Parts) -> Dependency:
    """Return the dependency on a function's implementations, which are known once the imported modules are loaded."""
    if imported:
        return Dependency(kind=IMPORTING_OVERLOAD, name=_json([stub, *imported]), parts=parts)
    return Dependency(kind=OVERLOAD, name=stub, parts=parts)


def file_dependencies(
    found: Iterable[LinkedFile], known: Sequence[LinkedFile], consumed: Iterable[LinkedFile] = ()
) -> tuple[Dependency, ...]:
    """Return the dependencies on the files that a compile found it has to link, besides the files in its key.

    consumed: the CUDA C++ among them as it was compiled. The compiled bytes count, not the file on disk now. A file
    without a path was in memory, or is numba-cuda's own: its headers alone count.
    """
    keyed = {file.name: file for file in found if file in set(known) or os.path.isabs(file.name)}
    files = {file.name: file for file in found if file not in set(known) and os.path.isabs(file.name)}
    linked = [Dependency(kind=LINKED_FILE, name=name, parts=link_fields([file])) for name, file in files.items()]
    compiled = list(consumed)
    headers = (_header_parts(made, keyed.get(made.name)) for made in compiled)
    read = [
        Dependency(kind=HEADERS, name=_json([made.name, *(path for path, _ in parts)]), parts=parts)
        for made, parts in zip(compiled, headers, strict=True)
        if parts
    ]
    # The key's or the files' CUDA C++ already counts the toolkit's headers.
    told = any(file.kind == "cu" for file in (*known, *files.values()))
    toolkit = [] if told or not compiled else [Dependency(kind=TOOLKIT, name=TOOLKIT, parts=header_versions())]
    return (*linked, *read, *toolkit)


def _header_parts(made: LinkedFile, keyed: LinkedFile | None) -> tuple[tuple[str, str], ...]:
    """Return the headers that were compiled into a file, and paths without a file, less the entries of a key."""
    headers, absent = (set(keyed.headers), set(keyed.absent)) if keyed else (set(), set())
    read = ((header.path, digest(header.data)) for header in made.headers if header not in headers)
    return (*read, *((path, _ABSENT) for path in made.absent if path not in absent))


def value_dependencies(reads: Reads) -> tuple[Dependency, ...]:
    """Return the dependencies on the values that a compile took and that its job's key does not cover."""
    from gridjit.compiler.recorded.value_path import shown

    return tuple(
        Dependency(kind=VALUE, name=_json(path), parts=((shown(path), _brief(text)),)) for path, text in reads.taken()
    )


def line_dependencies(places: Collection[tuple[object, object]], job: CompileJob) -> Discovered:
    """Return the dependency on the lines of the source, if code that ran in a compile asked for places.

    A distribution stands for the lines of installed code. Lines of code outside the source keep an artifact private.
    """
    from gridjit.compiler.key.installed import distribution_of_file

    private = tuple(
        f"code that ran while it was compiled asked for a line of {file}, which is not in the kernel's source"
        for file, line in places
        if not any(_stands_at(function, file, line) for function in job.source.functions)
        and distribution_of_file(file) is None
    )
    lines = (Dependency(kind=LINES, name=job.kernel, parts=_lines_parts("", job)),) if places else ()
    return Discovered(dependencies=lines, private=tuple(dict.fromkeys(private)))


def _stands_at(function: FunctionType, file: object, line: object) -> bool:
    code = function.__code__
    if code.co_filename != file or not isinstance(line, int):
        return False
    last = max(number or 0 for nested in with_nested(code) for *_, number in nested.co_lines())
    return code.co_firstlineno <= line <= last


def _lines_parts(_: str, job: CompileJob) -> Parts:
    digests = (utf8(lines_digest(function.__code__)) for function in job.source.functions)
    return (("lines of the source", digest_fields(digests)),)


def library_code_dependency(module: str, text: str, names: Sequence[str]) -> Dependency:
    """Return the dependency on the code under names of a module. text: of that code."""
    return Dependency(kind=LIBRARY_CODE, name=_json([module, text, *names]), parts=((f"code of {module}", text),))


def holds(dependency: Dependency, job: CompileJob) -> bool:
    """Return whether a compile of job today would find the same; False if that is unknown."""
    return current(dependency.kind, dependency.name, job) == dependency.parts


def current(kind: str, name: str, job: CompileJob) -> Parts | None:
    """Return the parts that a dependency of job has today; None if they are unknown."""
    try:
        return _CURRENT[kind](name, job) or None
    except Exception as error:
        # An entry read back may hold anything, and looking at values runs the program's code.
        let_through(error)
        return None


def _value_parts(name: str, job: CompileJob) -> Parts:
    # Few artifacts depend on a value that their key does not cover, so a warm start does without these.
    from gridjit.compiler.recorded.reads import taken_text
    from gridjit.compiler.recorded.value_path import follow, shown

    path = texts_of(name)
    return ((shown(path), _brief(taken_text(follow(path, job.function), lines=job.has_lines))),)


def _importing_parts(name: str, _: CompileJob) -> Parts:
    """Return the parts of an overload's implementations, after importing the modules that these import."""
    from gridjit.compiler.source.dynamic import load

    stub, *modules = texts_of(name)
    load(modules)
    return _parts(_implementations(registrations(), stub))


def _library_parts(name: str, _: CompileJob) -> Parts:
    from gridjit.compiler.key.installed import named

    found = named(name)
    return () if found is None or found.overtaken else library_parts(found)


def library_parts(library: Distribution) -> Parts:
    """Return the parts of the dependency on a distribution: its identity, and of the extensions that may set it up."""
    identity = ("identity", library.identity)
    if not current_extensions():
        return (identity,)
    from gridjit.compiler.recorded.everybody import set_up_by

    return identity, *((f"set up by {name}", text) for name, text in set_up_by(library.name))


def _settings_parts(name: str, _: CompileJob) -> Parts | None:
    from gridjit.compiler.recorded.library_settings import setting_now

    module, *paths = texts_of(name)
    texts = [(path, setting_now(module, path)) for path in paths]
    parts = tuple((path, text) for path, text in texts if text is not None)
    return parts if len(parts) == len(texts) else None


def _later_setting_parts(name: str, _: CompileJob) -> Parts:
    """Return the recorded text of a setting whose module the compile imported, if it holds or is not imported yet."""
    from gridjit.compiler.recorded.library_code import NOT_LOADED
    from gridjit.compiler.recorded.library_settings import setting_now

    module, path, then = texts_of(name)
    return ((path, then),) if setting_now(module, path) in (then, NOT_LOADED) else ()


def _library_code_parts(name: str, _: CompileJob) -> Parts:
    """Return the recorded text of a module's names, if it holds or the module is not imported yet."""
    from gridjit.compiler.recorded.library_code import NOT_LOADED, names_text

    module, then, *names = texts_of(name)
    return ((f"code of {module}", then),) if names_text(module, names) in (then, NOT_LOADED) else ()


def _loaded_setting_parts(name: str, _: CompileJob) -> Parts | None:
    """A setting that its module works out when it is imported may be another in each process: so it is imported."""
    from gridjit.compiler.recorded.library_settings import setting_now

    module, path = texts_of(name)
    if module not in sys.modules:
        from gridjit.compiler.frontend.bindings.bootstrap import load_installed_extensions

        load_installed_extensions()
        importlib.import_module(module)
    text = setting_now(module, path)
    return None if text is None else ((path, text),)


def _json(values: Iterable[str]) -> str:
    return json.dumps(list(values), separators=(",", ":"))


def _brief(text: str) -> str:
    """Return a text, or the beginning of a long one and the digest of all of it."""
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST // 2]}... {digest_fields([utf8(text)])}"


def _headers_today(name: str, _: CompileJob) -> Parts:
    _file, *paths = texts_of(name)
    return tuple((path, _header_digest(path)) for path in paths)


def _header_digest(path: str) -> str:
    from gridjit.compiler.key.headers import read_header

    data = read_header(path)
    return _ABSENT if data is None else digest(data)


def _implementations(registered: Iterable[Registration], stub: str) -> list[Registration]:
    return [found for found in registered if found.stub == stub and not made_by_a_compile(found)]


def _users(registered: Iterable[Registration], stub: str) -> list[int]:
    """Return users' registrations for a function, by the identity of their code: entries are read more than once."""
    return [id(found.sources[0]) for found in _implementations(registered, stub) if found.owner is None]


def _parts(implementations: Iterable[Registration]) -> Parts:
    return numbered((found.name, sources_fingerprint([found]).digest) for found in implementations) or _BY_LOADING


def _file_parts(path: str) -> Parts:
    # A path read back may name anything: a pipe would be waited for, and a relative path is of no one place.
    try:
        if not os.path.isabs(path) or not os.path.isfile(path) or os.path.getsize(path) > _LARGEST_FILE:
            return ()
        return link_fields([read_linked(path)])
    except (CompileError, OSError, ValueError):
        return ()


def _name(function: Callable[..., object]) -> str:
    inner = function_of(function)
    return repr(function) if inner is None else f"{inner.__module__}.{inner.__qualname__}"


_CURRENT: Mapping[str, Callable[[str, CompileJob], Parts | None]] = {
    OVERLOAD: lambda name, _: _parts(_implementations(registrations(), name)),
    IMPORTING_OVERLOAD: _importing_parts,
    LINKED_FILE: lambda name, _: _file_parts(name),
    VALUE: _value_parts,
    HEADERS: _headers_today,
    TOOLKIT: lambda _name, _job: header_versions(),
    LIBRARY: _library_parts,
    SETTINGS: _settings_parts,
    LATER_SETTING: _later_setting_parts,
    LOADED_SETTING: _loaded_setting_parts,
    LIBRARY_CODE: _library_code_parts,
    LINES: _lines_parts,
}
