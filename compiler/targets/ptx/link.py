"""Linking: PTX or LTO-IR and the files linked with it made into a cubin by nvJitLink.

nvJitLink assembles each PTX on its own, before it is known where variables will lie and who calls its functions. The
code is as fast as a whole program's if the PTX says how variables are aligned, and kernels get copies of the functions
that they call, such as the assembler's for divisions.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from gridjit.base.regexes import regex
from gridjit.base.values import dataclass, field
from gridjit.compiler.targets.ptx.cubin import check_definitions
from gridjit.compiler.targets.ptx.toolkit import cudadevrt, filled, library, linker_version, log_of
from gridjit.compiler.targets.refusals import of_shared_memory, of_undefined
from gridjit.compiler.values.errors import LinkError
from gridjit.compiler.values.options import Options
from gridjit.compiler.values.phases import phase
from gridjit.compiler.values.target import LinkedFile

# Kind -> name of nvJitLink's InputType.
_INPUT_TYPES = {
    "ptx": "PTX",
    "cubin": "CUBIN",
    "ltoir": "LTOIR",
    "o": "OBJECT",
    "a": "LIBRARY",
    "fatbin": "FATBIN",
}
# The arrays of bytes that PTX defines, and the alignment in bytes that the widest loads need.
_ARRAY = regex(
    rb"^([ \t]*(?:\.(?:visible|weak) )?\.(?:shared|const|global) \.align )(\d+)( \.b8 [\w$]+\[(\d+)\])",
    re.MULTILINE,
    (b" .b8 ",),
)
_WIDEST = 16
# Gives each kernel a copy of each function that it calls, and the first nvJitLink whose code gets better by it.
_CLONES, _CLONE = (13, 3), "-Xptxas=-enable-func-clone-sc=true"


def uses_lto(files: Sequence[LinkedFile], arch: str, options: Options) -> bool:
    """Return whether the kernel itself goes to the linker as LTO-IR: when asked, and when it calls into LTO-IR.

    Not with debug: its information is per module, and LTO-IR has one.
    """
    return not options.debug and (options.lto or any(_holds_ltoir(file, arch) for file in files))


def _holds_ltoir(file: LinkedFile, arch: str) -> bool:
    """Return whether file is or contains LTO-IR, which nvJitLink takes only with -lto."""
    if file.kind not in ("o", "a", "fatbin"):
        return file.kind == "ltoir"
    nvjitlink = library("nvjitlink")
    with _linker(nvjitlink, (f"-arch={arch}",)) as linker:
        try:
            _add(nvjitlink, linker, file)
        except nvjitlink.nvJitLinkError as error:
            return int(error.status) == int(nvjitlink.Result.ERROR_LTO_NOT_ENABLED)
    return False


@dataclass(frozen=True, slots=True, kw_only=True)
class Linked:
    """A cubin, and the CUDA C++ files in it, compiled, each with the headers that were."""

    image: bytes = field(repr=False)
    consumed: tuple[LinkedFile, ...] = ()


def link(
    code: Sequence[LinkedFile],
    files: Sequence[LinkedFile],
    arch: str,
    options: Options,
    *,
    cooperative: bool = False,
) -> Linked:
    """Return the cubin of code (PTX or LTO-IR texts of one kernel) linked with files.

    cooperative: also link cudadevrt, which grid-wide synchronization calls. Raises LinkError with the linker's log.
    """
    lto = any(_holds_ltoir(piece, arch) for piece in (*code, *files))
    compiled = [_compiled(file, arch, options, lto=lto) for file in files]
    inputs = [*code, *compiled]
    if cooperative:
        inputs.append(LinkedFile(name="cudadevrt", kind="a", data=cudadevrt()))
    check_definitions(inputs)
    consumed = tuple(made for file, made in zip(files, compiled, strict=True) if file.kind == "cu")
    return Linked(image=_link(inputs, link_flags(arch, options, lto=lto), "cubin"), consumed=consumed)


def linked_ptx(code: Sequence[LinkedFile], files: Sequence[LinkedFile], arch: str, options: Options) -> str:
    """Return the PTX that link-time optimization makes of code and files, for people; both go in as LTO-IR."""
    inputs = [*code, *(_compiled(file, arch, options, lto=True) for file in files)]
    return _link(inputs, (*link_flags(arch, options, lto=True), "-ptx"), "ptx").rstrip(b"\0").decode()


def link_flags(arch: str, options: Options, *, lto: bool) -> tuple[str, ...]:
    """Return nvJitLink's command-line flags."""
    flags = [f"-arch={arch}"]
    if options.max_registers:
        flags.append(f"-maxrregcount={options.max_registers}")
    if linker_version() >= _CLONES:
        flags.append(_CLONE)
    if options.lineinfo:
        flags.append("-lineinfo")
    if options.debug:
        flags.append("-g")
    if options.tiered:  # NVVM's code forbids fusion for most of its operations; inline PTX does not
        flags += ["-fma=0"] if lto else ["-Xptxas=-fmad=false"]
    if lto:
        flags.append("-lto")
        if options.fastmath:
            flags += ["-ftz=1", "-fma=1", "-prec-div=0", "-prec-sqrt=0"]
    return tuple(flags)


def _compiled(file: LinkedFile, arch: str, options: Options, *, lto: bool) -> LinkedFile:
    """Return the file as nvJitLink takes it: CUDA C goes through NVRTC first."""
    if file.kind != "cu":
        return file
    from gridjit.compiler.targets.ptx.nvrtc import compile_cuda, compile_once, nvrtc_flags  # most kernels need none

    with phase("NVRTC"):
        return (compile_once if file.toolkit else compile_cuda)(file, nvrtc_flags(file, arch, options, lto=lto))


def _link(inputs: Sequence[LinkedFile], flags: Sequence[str], wanted: str) -> bytes:
    """Return the linked inputs: their "cubin", or their "ptx" if flags ask for that."""
    nvjitlink = library("nvjitlink")
    with _linker(nvjitlink, flags) as linker:
        try:
            for piece in inputs:
                _add(nvjitlink, linker, piece)
            nvjitlink.complete(linker)
        except nvjitlink.nvJitLinkError as error:
            words = log_of(nvjitlink, "error_log", linker) or f"{piece.name}: {error}"
            raise LinkError(of_shared_memory(words) or of_undefined(words) or f"nvJitLink: {words}") from error
        return filled(nvjitlink, f"linked_{wanted}", linker)


def _add(nvjitlink: Any, linker: int, piece: LinkedFile) -> None:
    if piece.kind not in _INPUT_TYPES:
        raise LinkError(f"{piece.name} is for kernels on the host; a GPU takes {', '.join(_INPUT_TYPES)} and CUDA C++")
    kind = getattr(nvjitlink.InputType, _INPUT_TYPES[piece.kind])
    data = aligned(piece.data) if piece.kind == "ptx" else piece.data
    nvjitlink.add_data(linker, kind, data, len(data), piece.name)


def aligned(ptx: bytes) -> bytes:
    """Return PTX with its arrays aligned for the widest loads, as far as their sizes are multiples of the alignment.

    So they take no more memory: nvJitLink lays out the variables of larger alignments first.
    """
    return _ARRAY.sub(_widely, ptx)


def _widely(array: re.Match[bytes]) -> bytes:
    size = int(array[4])
    return b"%b%d%b" % (array[1], max(int(array[2]), min(_WIDEST, size & -size)), array[3])


@contextmanager
def _linker(nvjitlink: Any, flags: Sequence[str]) -> Iterator[int]:
    try:
        linker: int = nvjitlink.create(len(flags), list(flags))
    except nvjitlink.nvJitLinkError as error:
        raise LinkError(_refusal(nvjitlink, flags, error)) from error
    try:
        yield linker
    finally:
        nvjitlink.destroy(linker)


def _refusal(nvjitlink: Any, flags: Sequence[str], error: Any) -> str:
    """Return why nvJitLink would not start; for an unknown architecture, with the known ones."""
    statuses = nvjitlink.Result
    if int(error.status) not in (int(statuses.ERROR_UNRECOGNIZED_ARCH), int(statuses.ERROR_UNSUPPORTED_ARCH)):
        return f"nvJitLink refused {' '.join(flags)}: {error}"
    names = (f"sm_{number}{suffix}" for number in range(50, 150) for suffix in ("", "a", "f"))
    known = ", ".join(name for name in names if _knows(nvjitlink, name))
    return (
        f"architecture {flags[0].removeprefix('-arch=')!r} is not known to the installed nvJitLink; known are {known}"
    )


def _knows(nvjitlink: Any, arch: str) -> bool:
    try:
        nvjitlink.destroy(nvjitlink.create(1, [f"-arch={arch}"]))
    except nvjitlink.nvJitLinkError:
        return False
    return True
