"""NVRTC: a CUDA C++ file to link, compiled to PTX or LTO-IR."""

from __future__ import annotations

import functools
import os
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

from gridjit.base.messages import warn
from gridjit.base.regexes import regex
from gridjit.base.values import dataclass
from gridjit.compiler.key.headers import look, unseen, with_header
from gridjit.compiler.source.files import read_regular
from gridjit.compiler.targets.ptx.program import Program, legible, program
from gridjit.compiler.targets.ptx.toolkit import include_directories, library, log_text
from gridjit.compiler.values.errors import LinkedSourceError, LinkError
from gridjit.compiler.values.options import Options
from gridjit.compiler.values.target import LinkedFile

_LTO, _DEBUG, _LINES = "--dlink-time-opt", "--device-debug", "--generate-line-info"
# NVRTC's words for a header that it cannot find, and a listing's line for a file that is entered.
_ASKED = regex(r'^(?P<includer>.*?)\(\d+\): [^\n]*?open source file "(?P<name>[^"\n]+)"', re.MULTILINE)
# A name, the header it stands for, and where there was none.
_Wanted = tuple[str, str, tuple[str, ...]]
_ENTERED = regex(rb'^L \d+ "([^\n]*)" 1$', re.MULTILINE)


class LinkedCodeWarning(UserWarning):
    """NVRTC compiled a CUDA C++ file that a kernel is linked with, and had something to say about it."""

    __module__ = "gridjit"  # as users, tracebacks and pickles name it


def compile_cuda(file: LinkedFile, flags: Sequence[str]) -> LinkedFile:
    """Return the CUDA C++ file as PTX, or as LTO-IR if flags say so; raises LinkedSourceError with its messages.

    NVRTC sees the file and its headers as they were read, the toolkit's, and nothing else. The result has the compiled
    headers: of file, and headers that only the preprocessor could name. The compiler's messages on an accepted file are
    a LinkedCodeWarning.
    """
    nvrtc = library("nvrtc")
    aliases: dict[str, str] = {}
    while True:
        given = program(file, include_directories(), aliases, paths=bool({_DEBUG, _LINES} & set(flags)))
        outcome = _compile(nvrtc, given, flags)
        wanted = _wanted(file, given, outcome, include_directories())
        if wanted is None or aliases.get(wanted[0]) == wanted[1]:
            return _result(file, outcome, wanted, _LTO in flags)
        name, path, absent = wanted
        file, aliases = with_header(file, path, absent), {**aliases, name: path}


@functools.lru_cache(maxsize=8)
def compile_once(file: LinkedFile, flags: tuple[str, ...]) -> LinkedFile:
    """Return compile_cuda's result, kept for the process; for a file that includes only the toolkit's headers."""
    return compile_cuda(file, flags)


def nvrtc_flags(file: LinkedFile, arch: str, options: Options, *, lto: bool) -> tuple[str, ...]:
    """Return NVRTC's command-line flags; relocatable code, or functions that only the kernel calls would be dropped."""
    flags = [f"--gpu-architecture={arch.replace('sm_', 'compute_')}", "--relocatable-device-code=true"]
    flags += [f"--include-path={folder}" for folder in include_directories()]
    if lto:
        flags.append(_LTO)
    if options.debug:
        flags.append(_DEBUG)
    elif options.lineinfo:
        flags.append(_LINES)
    return tuple(flags)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Outcome:
    """NVRTC's output for a program, and its log; entered: the files that it read, None if it cannot tell."""

    status: str
    log: str
    ptx: bytes = b""
    ltoir: bytes = b""
    entered: tuple[str, ...] | None = ()

    @property
    def good(self) -> bool:
        return self.status == "NVRTC_SUCCESS"


def _compile(nvrtc: Any, given: Program, flags: Sequence[str]) -> _Outcome:
    flags = [*flags, *(f"--include-path={folder}" for folder in given.folders)]
    if not given.computed:
        return _run(nvrtc, given, flags)
    with _listing() as listing:
        outcome = _run(nvrtc, given, [*flags, f"-Xcudafe=--list={listing}"]) if listing else None
        if outcome is not None and (entered := _entered(listing)):
            return replace(outcome, entered=entered)
    return replace(_run(nvrtc, given, flags), entered=None)


def _run(nvrtc: Any, given: Program, flags: Sequence[str]) -> _Outcome:
    with _program(nvrtc, given) as made:
        (status,) = nvrtc.nvrtcCompileProgram(made, len(flags), [os.fsencode(flag) for flag in flags])
        outcome = _Outcome(status=status.name, log=legible(log_text(_output(nvrtc, made, "ProgramLog"))))
        if not outcome.good:
            return outcome
        if _LTO in flags:
            return replace(outcome, ltoir=_output(nvrtc, made, "LTOIR"))
        return replace(outcome, ptx=_output(nvrtc, made, "PTX").rstrip(b"\0"))


@contextmanager
def _listing() -> Iterator[str]:
    """Yield the path of a file in memory in which NVRTC lists the files that it reads; "" where there cannot be one."""
    try:
        descriptor = os.memfd_create("listing", os.MFD_CLOEXEC)
    except (AttributeError, OSError):
        yield ""
        return
    try:
        yield f"/proc/self/fd/{descriptor}"
    finally:
        os.close(descriptor)


def _entered(listing: str) -> tuple[str, ...]:
    """Return the names of the files that a listing says were read; none without a listing."""
    try:
        text = read_regular(listing)
    except OSError:
        return ()
    return tuple(dict.fromkeys(os.fsdecode(name) for name in _ENTERED.findall(text)))


def _wanted(file: LinkedFile, given: Program, outcome: _Outcome, toolkit: Sequence[str]) -> _Wanted | None:
    """Return the header to give the next compile: a name, the header it stands for, and the paths without one.

    A macro named it: NVRTC asked for it, or read it from where it is. None if no header is needed.
    """
    if not outcome.good and (asked := _ASKED.search(outcome.log)):
        found = look(file, asked["name"], given.shown.get(asked["includer"], file.name))
        return (asked["name"], *found) if found else None
    known = {name for name, _ in given.headers} | {given.name}
    for entered in outcome.entered or ():
        inside = [folder for folder in toolkit if os.path.normpath(entered).startswith(os.path.join(folder, ""))]
        if not (entered in known or entered.startswith("__nv_") or inside or _is_open(given, entered)):
            prefix = next((folder for folder in toolkit if entered.startswith(os.path.join(folder, ""))), "")
            return entered[len(prefix) :].lstrip("/") if prefix else entered, os.path.normpath(entered), ()
    return None


def _is_open(given: Program, entered: str) -> bool:
    """Return whether a file was read from a folder that is open to NVRTC: then nothing of the kernel is stored."""
    return any(os.path.normpath(entered).startswith(os.path.join(folder, "")) for folder in given.folders)


def _result(file: LinkedFile, outcome: _Outcome, escaped: _Wanted | None, lto: bool) -> LinkedFile:
    if not outcome.good:
        raise LinkedSourceError(f"NVRTC: {file.name}: {outcome.status}\n{outcome.log}{_searched(file, outcome.log)}")
    if outcome.log:
        warn(LinkedCodeWarning(f"{file.name}, NVRTC log messages:\n{outcome.log}"))
    reasons = unseen(file)
    if escaped is not None:
        reasons += (f"NVRTC read {escaped[1]} itself for {file.name}",)
    if outcome.entered is None:
        reasons += (f"this NVRTC cannot tell what the macros in the includes of {file.name} stand for",)
    if lto:
        return replace(file, kind="ltoir", data=outcome.ltoir, unseen=reasons)
    return replace(file, kind="ptx", data=outcome.ptx, unseen=reasons)


def _searched(file: LinkedFile, log: str) -> str:
    """Return where a header was looked for that was not found, as people are told; "" if all were."""
    if not _ASKED.search(log):
        return ""
    own = [os.path.dirname(file.name)] if os.path.isabs(file.name) else []
    folders = [*own, *include_directories(), *file.folders]
    return f"\nlooked for beside the file that includes it, and in {', '.join(folders)}"


@contextmanager
def _program(nvrtc: Any, given: Program) -> Iterator[Any]:
    names = [os.fsencode(name) for name, _ in given.headers]
    texts = [text for _, text in given.headers]
    status, made = nvrtc.nvrtcCreateProgram(given.text, os.fsencode(given.name), len(names), texts, names)
    if status != nvrtc.nvrtcResult.NVRTC_SUCCESS:
        raise LinkError(f"NVRTC: {legible(given.name)}: {status.name}")
    try:
        yield made
    finally:
        nvrtc.nvrtcDestroyProgram(made)


def _output(nvrtc: Any, program: Any, what: str) -> bytes:
    _, size = getattr(nvrtc, f"nvrtcGet{what}Size")(program)
    buffer = bytearray(size)
    getattr(nvrtc, f"nvrtcGet{what}")(program, buffer)
    return bytes(buffer)
