"""The CUDA toolkit's compile-time parts, found without a driver: NVVM, nvJitLink, NVRTC, libdevice, cudadevrt, headers,
and nvdisasm.

Guarantees: nothing is imported or read before it is needed, and a part that cannot be found is a CompileError that
names it and the package that contains it. The bindings are untyped: their modules are handed out as Any, and only from
here.
"""

from __future__ import annotations

import functools
import importlib
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from gridjit.compiler.values.errors import CompileError, ConfigError

# Every name an architecture could have; each library is asked which of them it knows.
ARCH_NAMES = tuple(f"sm_{number}{suffix}" for number in range(50, 150) for suffix in ("", "a", "f"))
# The library that each binding module needs at run time, by its name for people.
LIBRARIES = {"nvvm": "NVVM", "nvjitlink": "nvJitLink", "nvrtc": "NVRTC"}


def library(name: str) -> Any:
    """Return the module cuda.bindings.<name> with its shared library loaded; raises CompileError if it is missing."""
    with _needed(LIBRARIES[name]):
        module = importlib.import_module(f"cuda.bindings.{name}")
        _pathfinder().load_nvidia_dynamic_lib("nvJitLink" if name == "nvjitlink" else name)
        return module


def linker_version() -> tuple[int, ...]:
    """Return the version of nvJitLink, such as (13, 5); raises CompileError if it is missing."""
    nvjitlink = library("nvjitlink")
    try:
        return tuple(nvjitlink.version())
    except RuntimeError:  # the first ones cannot be asked
        return (12, 0)


@functools.cache
def libdevice() -> bytes:
    """Return libdevice, NVIDIA's math functions as LLVM bitcode; raises CompileError if it is missing."""
    with _needed("libdevice"):
        return Path(_pathfinder().find_bitcode_lib("device")).read_bytes()


@functools.cache
def cudadevrt() -> bytes:
    """Return the static library cudadevrt, which grid-wide synchronization calls; raises CompileError if missing."""
    with _needed("cudadevrt"):
        return Path(_pathfinder().find_static_lib("cudadevrt")).read_bytes()


def include_directories() -> tuple[str, ...]:
    """Return the folders of CUDA's own headers that are installed, for NVRTC; a missing one is left out."""
    with _needed("the CUDA headers"):
        find = _pathfinder().find_nvidia_header_directory
        return tuple(str(path) for name in ("cudart", "cccl") if (path := find(name)) is not None)


def filled(module: Any, what: str, handle: int) -> bytes:
    """Return the bytes of get_<what> of NVVM or nvJitLink for a program or a linker, as many as its size says."""
    buffer = bytearray(getattr(module, f"get_{what}_size")(handle))
    getattr(module, f"get_{what}")(handle, buffer)
    return bytes(buffer)


def log_of(module: Any, what: str, handle: int) -> str:
    """Return the log of get_<what>, as text."""
    return log_text(filled(module, what, handle))


def log_text(log: bytes) -> str:
    """Return a log as text, without the zeros that it ends with."""
    return log.rstrip(b"\0").decode(errors="replace").strip()


def _pathfinder() -> Any:
    return importlib.import_module("cuda.pathfinder")


@contextmanager
def _needed(what: str) -> Iterator[None]:
    """Turn "not installed" into a CompileError; pathfinder's not-found errors are RuntimeErrors."""
    try:
        yield
    except (ImportError, RuntimeError, OSError) as error:
        reason = str(error).strip().splitlines()
        raise CompileError(
            f"{what} is needed to compile for CUDA but was not found: pip install 'numba-cuda[cu13]' "
            f"({reason[0] if reason else type(error).__name__})"
        ) from error


def disassembled(image: bytes, *flags: str) -> str:
    """Return a cubin's machine code as text; raises ConfigError if nvdisasm is missing, or refuses it."""
    tool = _nvdisasm()
    with tempfile.NamedTemporaryFile(suffix=".cubin") as file:
        file.write(image)
        file.flush()
        done = subprocess.run([tool, *flags, file.name], capture_output=True, text=True, check=False)
    if done.returncode:
        raise ConfigError(f"nvdisasm failed: {done.stderr.strip()}")
    return done.stdout


def _nvdisasm() -> str:
    if (on_path := shutil.which("nvdisasm")) is not None:
        return on_path
    from cuda import pathfinder

    found: str | None = pathfinder.find_nvidia_binary_utility("nvdisasm")
    if found is None or not Path(found).exists():
        raise ConfigError("nvdisasm, which shows machine code, is not installed here; install the CUDA toolkit")
    return found
