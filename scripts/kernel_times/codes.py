"""codes: what NVRTC makes of a kernel in CUDA C, and gridjit of the same in Python, without a GPU."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import Any

import numba

import gridjit
from gridjit.compiler.targets.ptx.toolkit import disassembled, include_directories, library, log_text
from gridjit.compiler.values.errors import ConfigError
from gridjit.runtime.environment.settings import use_settings
from kernel_times.inner_loops import Loop, inner_loop
from kernel_times.kernel import Kernel

# What gridjit's jit is told, by the name of a mode.
MODES: dict[str, dict[str, Any]] = {
    "default": {},
    "auto": {"specialize": "auto"},
    "launch": {"specialize": ("griddim", "blockdim")},
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Code:
    """What a compiler made of a kernel: a cubin, the name of its function, and PTX."""

    image: bytes
    entry: str
    ptx: str

    def loop(self, work: str) -> tuple[Loop, str]:
        """Return the innermost loop in SASS, or in PTX without the toolkit's nvdisasm, and which it is."""
        try:
            return inner_loop(disassembled(self.image), work), "SASS"
        except ConfigError:
            return inner_loop(self.ptx, work), "PTX"


def cuda_code(text: str, arch: str) -> Code:
    """Return what NVRTC makes of a function named "kernel" in CUDA C; raises ValueError with its messages."""
    nvrtc = library("nvrtc")
    flags = [f"--gpu-architecture={arch}", *(f"--include-path={folder}" for folder in include_directories())]
    _, program = nvrtc.nvrtcCreateProgram(text.encode(), b"kernel.cu", 0, [], [])
    (status,) = nvrtc.nvrtcCompileProgram(program, len(flags), [os.fsencode(flag) for flag in flags])

    def output(what: str) -> bytes:
        buffer = bytearray(getattr(nvrtc, f"nvrtcGet{what}Size")(program)[1])
        getattr(nvrtc, f"nvrtcGet{what}")(program, buffer)
        return bytes(buffer)

    if status:
        raise ValueError(log_text(output("ProgramLog")))
    return Code(image=output("CUBIN"), entry="kernel", ptx=output("PTX").rstrip(b"\0").decode())


def way(codegen: str, mode: str) -> str:
    """Return the name of gridjit with a generator in a mode."""
    return codegen if mode == "default" else f"{codegen} {mode}"


def choose_generator(codegen: str) -> None:
    """Have gridjit's compiles to come made by a generator: nvvm or llvm."""
    os.environ["GRIDJIT_CODEGEN"] = codegen
    use_settings(None)


def gridjit_code(kernel: Kernel, codegen: str, mode: str, arch: str | None, size: int) -> Code:
    """Return what gridjit makes of a kernel for an architecture; None: for the current device."""
    choose_generator(codegen)
    types = tuple(map(numba.typeof, kernel.arguments(kernel.sizes[1])))
    made = gridjit.jit(**MODES[mode])(kernel.function).compile(types, config=kernel.launch(size), target=arch)
    return Code(image=made.image, entry=made.entry, ptx=made.assembly)
