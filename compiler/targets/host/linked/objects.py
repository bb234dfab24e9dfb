"""objects: object files and archives for this processor: what they define, and a kernel's object with them in it."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from gridjit.compiler.values.elf import defined_symbols, runs_here
from gridjit.compiler.values.errors import LinkError
from gridjit.compiler.values.target import LinkedFile

_ARCHIVE = b"!<arch>\n"
_MEMBER_HEAD, _SIZE = 60, slice(48, 58)


def defined_by(file: LinkedFile) -> frozenset[str]:
    """Return the symbols that an object file or archive defines; raises LinkError if it is neither."""
    members = list(_members(file))
    if not members or not all(map(runs_here, members)):
        raise LinkError(f"{file.name} is not an object file or archive for this computer's processor; compile it here")
    return frozenset(name for member in members for name in defined_symbols(member))


def merged(image: bytes, files: Sequence[LinkedFile]) -> bytes:
    """Return an object file with the parts of others that it needs, by the system's linker."""
    linker = shutil.which("ld")
    if linker is None:
        names = ", ".join(file.name for file in files)
        raise LinkError(f"linking {names} on the host needs the system's linker, ld: install binutils, or link LLVM IR")
    with tempfile.TemporaryDirectory() as folder:
        paths = [os.path.join(folder, f"{number}.{file.kind}") for number, file in enumerate(files)]
        kernel, made = os.path.join(folder, "kernel.o"), os.path.join(folder, "made.o")
        for path, data in zip((kernel, *paths), (image, *(file.data for file in files)), strict=True):
            Path(path).write_bytes(data)
        command = [linker, "-r", "-o", made, kernel, *paths]
        done = subprocess.run(command, capture_output=True, text=True, errors="replace", check=False)
        if done.returncode != 0:
            raise LinkError(f"the linker does not accept {', '.join(file.name for file in files)}:\n{done.stderr}")
        return Path(made).read_bytes()


def _members(file: LinkedFile) -> Iterable[bytes]:
    if not file.data.startswith(_ARCHIVE):
        return (file.data,)
    return _archived(file.data)


def _archived(data: bytes) -> Iterator[bytes]:
    """Yield the files in an archive, without its tables of symbols and of long names."""
    at = len(_ARCHIVE)
    while at + _MEMBER_HEAD <= len(data):
        head = data[at : at + _MEMBER_HEAD]
        size = int(head[_SIZE]) if head[_SIZE].strip().isdigit() else 0
        at += _MEMBER_HEAD
        if head[:2] not in (b"/ ", b"//") and not head.startswith(b"/SYM64/"):
            yield data[at : at + size]
        at += size + size % 2
