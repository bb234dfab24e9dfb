"""NVRTC: a CUDA C++ file to link, compiled to PTX or LTO-IR."""

from __future__ import annotations

import functools
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

from gridjit.compiler.errors import LinkedSourceError, LinkError
from gridjit.compiler.options import Options
from gridjit.compiler.targets.base import LinkedFile
from gridjit.compiler.targets.ptx_toolkit import include_directories, library
from gridjit.compiler.toolchain_environment import extra_include_directories
from gridjit.messages import warn

_LTO, _DEBUG, _LINES = "--dlink-time-opt", "--device-debug", "--generate-line-info"


class LinkedCodeWarning(UserWarning):
    """NVRTC compiled a CUDA C++ file that a kernel is linked with, and had something to say about it."""


def compile_cuda(file: LinkedFile, flags: Sequence[str]) -> LinkedFile:
    """Return the CUDA C++ file as PTX, or as LTO-IR if flags say so; raises LinkedSourceError with its messages.

    What the compiler says of a file that it accepts is a LinkedCodeWarning.
    """
    nvrtc = library("nvrtc")
    with _program(nvrtc, file, _name(file, flags)) as program:
        (status,) = nvrtc.nvrtcCompileProgram(program, len(flags), [flag.encode() for flag in flags])
        if status != nvrtc.nvrtcResult.NVRTC_SUCCESS:
            raise LinkedSourceError(f"NVRTC: {file.name}: {status.name}\n{_log(nvrtc, program)}")
        if log := _log(nvrtc, program):
            warn(LinkedCodeWarning(f"{file.name}, NVRTC log messages:\n{log}"), stacklevel=2)
        if _LTO in flags:
            return replace(file, kind="ltoir", data=_output(nvrtc, program, "LTOIR"))
        return replace(file, kind="ptx", data=_output(nvrtc, program, "PTX").rstrip(b"\0"))


@functools.lru_cache(maxsize=8)
def compile_once(file: LinkedFile, flags: tuple[str, ...]) -> LinkedFile:
    """Return what compile_cuda does, kept for the process; for a file that includes nothing but the toolkit's."""
    return compile_cuda(file, flags)


def nvrtc_flags(file: LinkedFile, arch: str, options: Options, *, lto: bool) -> tuple[str, ...]:
    """Return NVRTC's command-line flags; relocatable code, or functions that only the kernel calls would be dropped."""
    flags = [f"--gpu-architecture={arch.replace('sm_', 'compute_')}", "--relocatable-device-code=true"]
    # A file known by a bare name has no folder: its includes must not depend on where the process runs.
    own = (str(Path(file.name).parent),) if Path(file.name).is_absolute() else ()
    folders = (*own, *include_directories(), *extra_include_directories())
    flags += [f"--include-path={folder}" for folder in folders]
    if lto:
        flags.append(_LTO)
    if options.debug:
        flags.append(_DEBUG)
    elif options.lineinfo:
        flags.append(_LINES)
    return tuple(flags)


def _name(file: LinkedFile, flags: Sequence[str]) -> str:
    """Return what the code calls its file: the path only in debug information, as it is not in the key."""
    return file.name if {_DEBUG, _LINES} & set(flags) else Path(file.name).name


@contextmanager
def _program(nvrtc: Any, file: LinkedFile, name: str) -> Iterator[Any]:
    status, program = nvrtc.nvrtcCreateProgram(file.data, name.encode(), 0, [], [])
    if status != nvrtc.nvrtcResult.NVRTC_SUCCESS:
        raise LinkError(f"NVRTC: {file.name}: {status.name}")
    try:
        yield program
    finally:
        nvrtc.nvrtcDestroyProgram(program)


def _output(nvrtc: Any, program: Any, what: str) -> bytes:
    _, size = getattr(nvrtc, f"nvrtcGet{what}Size")(program)
    buffer = bytearray(size)
    getattr(nvrtc, f"nvrtcGet{what}")(program, buffer)
    return bytes(buffer)


def _log(nvrtc: Any, program: Any) -> str:
    _, size = nvrtc.nvrtcGetProgramLogSize(program)
    buffer = bytearray(size)
    nvrtc.nvrtcGetProgramLog(program, buffer)
    return buffer.rstrip(b"\0").decode(errors="replace").strip()
