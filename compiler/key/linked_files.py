"""Linked files: the files that a kernel is linked with, read, with their callbacks, and their part of the key."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from gridjit.base.digests import sha256
from gridjit.compiler.key.toolchain import header_versions
from gridjit.compiler.source.files import absolute, read_regular
from gridjit.compiler.source.libraries import is_numbas
from gridjit.compiler.values.errors import LinkError
from gridjit.compiler.values.options import Options
from gridjit.compiler.values.target import LinkedFile

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
    ".ll": "ll",
    ".bc": "bc",
    ".c": "c",
}
# Kinds of files for a GPU; then suffixes of files beside them, under the same name, for the host.
_FOR_A_GPU = frozenset(["ptx", "cubin", "ltoir", "cu", "fatbin", "o", "a"])
_FOR_THE_HOST = (".ll", ".bc", ".c")
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

# How the tempfile module names files.
_TEMPORARY = r"^tmp[a-z0-9_]{8}"  # compiled when first used


def linked_files(options: Options, kind: str = "ptx") -> tuple[LinkedFile, ...]:
    """Return the files that options.link names, read now; raises LinkError naming a file that cannot be used.

    kind: of the target that they are for.
    """
    return tuple(read_linked(one if kind == "ptx" else for_the_host(one)) for one in options.link)


def for_the_host(given: Any) -> Any:
    """Return the file for the host beside a GPU's file, under the same name; the file itself if there is none.

    Raises LinkError if there are several.
    """
    if not isinstance(given, str | os.PathLike) or KINDS.get(Path(given).suffix) not in _FOR_A_GPU:
        return given
    beside = [path for suffix in _FOR_THE_HOST if (path := Path(given).with_suffix(suffix)).is_file()]
    if len(beside) > 1:
        names = " and ".join(path.name for path in beside)
        raise LinkError(f"link={os.fspath(given)!r}: {names} are beside it; keep the one that the host is to use")
    return os.fspath(beside[0]) if beside else given


def read_linked(given: Any) -> LinkedFile:
    """Return a file by its path, or numba-cuda's object of code in memory (cuda.CUSource, cuda.PTXSource...).

    Raises LinkError for other objects and for unknown suffixes.
    """
    if isinstance(given, LinkedFile):
        return given
    if isinstance(given, str | os.PathLike):
        return _read(os.fspath(given))
    kind = _CLASSES.get(type(given).__name__)
    if kind is None:
        raise LinkError(f"link={given!r}: give the path of a file, or an object such as cuda.CUSource")
    data = given.data
    file = LinkedFile(
        name=given.name,
        kind=kind,
        data=data.encode() if isinstance(data, str) else bytes(data),
        setup=_users(given.setup_callback),
        teardown=_users(given.teardown_callback),
        nrt=bool(given.nrt),
    )
    return _whole(file)


def _whole(file: LinkedFile) -> LinkedFile:
    """Return file with its headers, if it is CUDA C++; most kernels are linked with none, and read nothing of this."""
    if file.kind != "cu":
        return file
    from gridjit.compiler.key.headers import with_headers

    return with_headers(file)


def _users(callback: Callable[..., Any] | None) -> Callable[..., Any] | None:
    """Return a callback, less numba-cuda's own: they only warn of a linker without LTO, which gridjit does not need."""
    return None if is_numbas(getattr(callback, "__module__", None) or "") else callback


def _read(path: str) -> LinkedFile:
    kind = KINDS.get(Path(path).suffix)
    if kind is None:
        suffix = Path(path).suffix
        what = f"file with extension {suffix}" if suffix else "file with no extension"
        raise LinkError(f"link={path!r}: Don't know how to link {what}; accepted are {', '.join(KINDS)}")
    try:
        file = LinkedFile(name=absolute(path), kind=kind, data=read_regular(path))
    except OSError as error:
        # Also numba-cuda's words for a file that is missing: programs look for them in args.
        said = (f"{path} not found",) if isinstance(error, FileNotFoundError) else ()
        message = f"link={path!r}: {error.strerror or error}; give a file ({', '.join(KINDS)})"
        raise LinkError(message, *said) from error
    return _whole(file)


def callbacks_of(files: Iterable[LinkedFile]) -> tuple[tuple[Callable[..., Any], ...], tuple[Callable[..., Any], ...]]:
    """Return the functions to call when code linked with files is loaded, and when it is unloaded, in order."""
    known = list(files)
    setup = tuple(file.setup for file in known if file.setup is not None)
    return setup, tuple(file.teardown for file in known if file.teardown is not None)


def link_fields(files: Sequence[LinkedFile]) -> tuple[tuple[str, str], ...]:
    """Return the files' part of a key: for each, in order, a label with its name and the digest of its bytes.

    A CUDA C++ file's headers count too, the toolkit's by their versions. Callbacks count by name: their code is not
    in the result. The linked files are not read again.
    """
    fields = tuple(field for index, file in enumerate(files) for field in _fields(f"link.{index}", file))
    return fields + (header_versions() if any(file.kind == "cu" for file in files) else ())


def _fields(label: str, file: LinkedFile) -> Iterator[tuple[str, str]]:
    needs = ", with numba-cuda's runtime" if file.nrt else ""
    # A temporary file has another name in each process; its bytes count.
    name = re.sub(_TEMPORARY, "temporary file", Path(file.name).name)
    yield f"{label}.{name}", f"{file.kind}:{digest(file.data)}{needs}"
    for name, callback in (("setup", file.setup), ("teardown", file.teardown)):
        if callback is not None:
            yield f"{label}.{name}", callback_text(callback)
    yield from sorted((f"{label}.{shown_path(file, header.path)}", digest(header.data)) for header in file.headers)


def shown_path(file: LinkedFile, path: str) -> str:
    """Return a header's path as a key and messages have it: from the linked file's folder, wherever that is."""
    return os.path.relpath(path, os.path.dirname(file.name)) if os.path.isabs(file.name) else path


def callback_text(callback: Callable[..., Any]) -> str:
    """Return a callback's text in a key: its importable description, or "not importable", which is never stored."""
    from gridjit.compiler.hooks.description import storable_hook

    hook = storable_hook(callback)
    return "not importable" if hook is None else str(hook)


def digest(data: bytes) -> str:
    """Return the digest that stands for a file's bytes."""
    return sha256(data).hex()
