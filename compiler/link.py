"""Linking: the files a kernel is linked with, and PTX or LTO-IR with them made into a cubin by nvJitLink."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from gridjit.compiler.errors import CompileError
from gridjit.compiler.options import Options
from gridjit.compiler.targets.base import LinkedFile
from gridjit.compiler.targets.ptx_nvrtc import compile_cuda
from gridjit.compiler.targets.ptx_toolkit import cudadevrt, library

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
# Kind -> name of nvJitLink's InputType.
_INPUT_TYPES = {
    "ptx": "PTX",
    "cubin": "CUBIN",
    "ltoir": "LTOIR",
    "o": "OBJECT",
    "a": "LIBRARY",
    "fatbin": "FATBIN",
}


def linked_files(options: Options) -> tuple[LinkedFile, ...]:
    """Return the files that options.link names, read now; raises CompileError naming a file that cannot be used."""
    return tuple(_read(path) for path in options.link)


def _read(path: str) -> LinkedFile:
    kind = KINDS.get(Path(path).suffix)
    if kind is None:
        raise CompileError(f"link={path!r}: the suffix says what a file is; accepted are {', '.join(KINDS)}")
    try:
        return LinkedFile(name=path, kind=kind, data=Path(path).read_bytes())
    except OSError as error:
        raise CompileError(f"link={path!r}: {error.strerror or error}; give a file ({', '.join(KINDS)})") from error


def link_fields(files: Sequence[LinkedFile]) -> tuple[tuple[str, str], ...]:
    """Return the files' part of a key: for each, in order, a label with its name and the digest of its bytes."""
    return tuple((f"link.{index}.{Path(file.name).name}", _digest(file)) for index, file in enumerate(files))


def _digest(file: LinkedFile) -> str:
    return f"{file.kind}:{hashlib.sha256(file.data).hexdigest()}"


def uses_lto(files: Sequence[LinkedFile], options: Options) -> bool:
    """Return whether the kernel itself goes to the linker as LTO-IR: when asked, and when it calls into LTO-IR.

    Not with debug, whose information NVVM cannot carry through LTO-IR.
    """
    return not options.debug and (options.lto or any(file.kind == "ltoir" for file in files))


def link(
    code: Sequence[LinkedFile],
    files: Sequence[LinkedFile],
    arch: str,
    options: Options,
    *,
    cooperative: bool = False,
) -> bytes:
    """Return the cubin of code (PTX or LTO-IR texts of one kernel) linked with files.

    cooperative: also link cudadevrt, which grid-wide synchronization calls. Raises CompileError with the linker's log.
    """
    lto = any(piece.kind == "ltoir" for piece in (*code, *files))
    inputs = [*code, *(_compiled(file, arch, options, lto=lto) for file in files)]
    if cooperative:
        inputs.append(LinkedFile(name="cudadevrt", kind="a", data=cudadevrt()))
    return _link(inputs, link_flags(arch, options, lto=lto))


def link_flags(arch: str, options: Options, *, lto: bool) -> tuple[str, ...]:
    """Return nvJitLink's command-line flags."""
    flags = [f"-arch={arch}"]
    if options.max_registers:
        flags.append(f"-maxrregcount={options.max_registers}")
    if options.lineinfo:
        flags.append("-lineinfo")
    if options.debug:
        flags.append("-g")
    if lto:
        flags.append("-lto")
        if options.fastmath:
            flags += ["-ftz=1", "-fma=1", "-prec-div=0", "-prec-sqrt=0"]
    return tuple(flags)


def _compiled(file: LinkedFile, arch: str, options: Options, *, lto: bool) -> LinkedFile:
    """Return the file as nvJitLink takes it: CUDA C goes through NVRTC first."""
    return compile_cuda(file, arch, options, lto=lto) if file.kind == "cu" else file


def _link(inputs: Sequence[LinkedFile], flags: Sequence[str]) -> bytes:
    nvjitlink = library("nvjitlink")
    with _linker(nvjitlink, flags) as linker:
        try:
            for piece in inputs:
                kind = getattr(nvjitlink.InputType, _INPUT_TYPES[piece.kind])
                nvjitlink.add_data(linker, kind, piece.data, len(piece.data), piece.name)
            nvjitlink.complete(linker)
        except nvjitlink.nvJitLinkError as error:
            raise CompileError(f"nvJitLink: {_log(nvjitlink, linker) or error}") from error
        cubin = bytearray(nvjitlink.get_linked_cubin_size(linker))
        nvjitlink.get_linked_cubin(linker, cubin)
    return bytes(cubin)


@contextmanager
def _linker(nvjitlink: Any, flags: Sequence[str]) -> Iterator[int]:
    try:
        linker: int = nvjitlink.create(len(flags), list(flags))
    except nvjitlink.nvJitLinkError as error:
        raise CompileError(f"nvJitLink refused {' '.join(flags)}: {error}") from error
    try:
        yield linker
    finally:
        nvjitlink.destroy(linker)


def _log(nvjitlink: Any, linker: int) -> str:
    buffer = bytearray(nvjitlink.get_error_log_size(linker))
    nvjitlink.get_error_log(linker, buffer)
    return buffer.rstrip(b"\0").decode(errors="replace").strip()
