"""Linked files: what a kernel is linked with - read, with its callbacks - and its part of the key."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from gridjit.compiler.errors import LinkError
from gridjit.compiler.options import Options
from gridjit.compiler.targets.base import LinkedFile
from gridjit.compiler.toolchain_environment import extra_include_directories
from gridjit.digests import sha256

# File suffix -> kind of LinkedFile.
KINDS = {
    ".ptx": "ptx",
    ".cubin": "cubin",
    ".ltoir": "ltoir",
    ".cu": "cu",
    ".o": "o",
    ".a": "a",
    ".lib": "a",
    ".fatbin": "fatbin",
}
# numba-cuda's classes for code in memory -> kind of LinkedFile.
_CLASSES = {
    "PTXSource": "ptx",
    "Cubin": "cubin",
    "LTOIR": "ltoir",
    "CUSource": "cu",
    "Object": "o",
    "Archive": "a",
    "Fatbin": "fatbin",
}
# An include in quotes or brackets, or one through a macro.
_INCLUDE = re.compile(rb'^[ \t]*#[ \t]*include[ \t]*(?:["<]([^">\n]+)[">]|(\w+))', re.MULTILINE)


def linked_files(options: Options) -> tuple[LinkedFile, ...]:
    """Return the files that options.link names, read now; raises LinkError naming a file that cannot be used."""
    return tuple(map(read_linked, options.link))


def read_linked(given: Any) -> LinkedFile:
    """Return a file by its path, or numba-cuda's object of code in memory (cuda.CUSource, cuda.PTXSource...).

    Raises LinkError naming what cannot be used.
    """
    if isinstance(given, LinkedFile):
        return given
    if isinstance(given, str | os.PathLike):
        return _read(os.fspath(given))
    kind = _CLASSES.get(type(given).__name__)
    if kind is None:
        raise LinkError(f"link={given!r}: give the path of a file, or an object like cuda.CUSource")
    data = given.data
    return LinkedFile(
        name=given.name,
        kind=kind,
        data=data.encode() if isinstance(data, str) else bytes(data),
        setup=_users(given.setup_callback),
        teardown=_users(given.teardown_callback),
        nrt=bool(given.nrt),
    )


def _users(callback: Callable[..., Any] | None) -> Callable[..., Any] | None:
    """Return a callback, less numba-cuda's own: they only warn of a linker without LTO, which gridjit does not need."""
    module = getattr(callback, "__module__", None) or ""
    return None if module.startswith("numba.cuda.") else callback


def _read(path: str) -> LinkedFile:
    kind = KINDS.get(Path(path).suffix)
    if kind is None:
        raise LinkError(f"link={path!r}: the suffix says what a file is; accepted are {', '.join(KINDS)}")
    try:
        return LinkedFile(name=os.path.abspath(path), kind=kind, data=Path(path).read_bytes())
    except OSError as error:
        raise LinkError(f"link={path!r}: {error.strerror or error}; give a file ({', '.join(KINDS)})") from error


def callbacks_of(files: Iterable[LinkedFile]) -> tuple[tuple[Callable[..., Any], ...], tuple[Callable[..., Any], ...]]:
    """Return the functions to call when code linked with files is loaded, and when it is unloaded, in order."""
    known = list(files)
    setup = tuple(file.setup for file in known if file.setup is not None)
    return setup, tuple(file.teardown for file in known if file.teardown is not None)


def link_fields(files: Sequence[LinkedFile]) -> tuple[tuple[str, str], ...]:
    """Return the files' part of a key: for each, in order, a label with its name and the digest of its bytes.

    A CUDA C++ file's headers beside it and in the extra folders count too; those of the toolkit are the toolkit's.
    Callbacks count by name: their code is not in the result. Raises LinkError for an include that only the
    preprocessor could follow.
    """
    return tuple(field for index, file in enumerate(files) for field in _fields(f"link.{index}", file))


def _fields(label: str, file: LinkedFile) -> Iterator[tuple[str, str]]:
    path = Path(file.name)
    needs = ", with numba-cuda's runtime" if file.nrt else ""
    yield f"{label}.{path.name}", f"{file.kind}:{_digest(file.data)}{needs}"
    for name, callback in (("setup", file.setup), ("teardown", file.teardown)):
        if callback is not None:
            yield f"{label}.{name}", callback_text(callback)
    if file.kind == "cu":
        for header, data in sorted(_headers(file).items()):
            shown = os.path.relpath(header, path.parent) if path.is_absolute() else header
            yield f"{label}.{shown}", _digest(data)


def callback_text(callback: Callable[..., Any]) -> str:
    """Return a callback as a key has it: what makes it again in another process; what nothing does is never stored."""
    from gridjit.compiler.hook_source import storable_hook

    hook = storable_hook(callback)
    return "not importable" if hook is None else str(hook)


def _headers(file: LinkedFile) -> dict[Path, bytes]:
    """Return the headers that file includes, directly or not: from its folder, an including header's, an extra one."""
    root = Path(file.name)
    own = (root.parent,) if root.is_absolute() else ()
    found: dict[Path, bytes] = {}
    waiting = [(root, file.data)]
    while waiting:
        path, data = waiting.pop()
        for match in _INCLUDE.finditer(data):
            if match[2]:
                raise LinkError(f"{path}: '#include {match[2].decode()}' names no file; write the name in quotes")
            beside = (path.parent,) if path.is_absolute() else ()
            for header in _places(os.fsdecode(match[1]), {*beside, *own, *map(Path, extra_include_directories())}):
                if header != root and header not in found and header.is_file():
                    found[header] = header.read_bytes()
                    waiting.append((header, found[header]))
    return found


def _places(name: str, folders: Iterable[Path]) -> set[Path]:
    """Return where an include of a name may be found; one of an absolute path is there, in any folder."""
    if os.path.isabs(name):
        return {Path(os.path.normpath(name))}
    return {Path(os.path.normpath(folder / name)) for folder in folders}


def _digest(data: bytes) -> str:
    return sha256(data).hex()
