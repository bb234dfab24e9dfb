"""Objects that LLVM made before for the tests of this checkout: equal texts for an equal target are given to it once.

What LLVM does to a kernel's final text is half of a small kernel's compile, and many tests begin with a kernel that
another test compiled before. The native functions take as long again in each program whose cache is empty. All that is
gridjit's own is done each time: the text is made; the object is kept, loaded and launched. Tests of forks, interrupts
and leaks, and those that look at LLVM's functions, see it at work each time.

The processes of a run share them, and so do runs: they are in pytest's cache for a week after their last use. Another
LLVM, or a change in the code that calls it, makes all of them anew, and so does `pytest --cache-clear`.
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
import os
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import llvmlite.binding

from gridjit.compiler.targets.host import optimizing
from gridjit.compiler.targets.host.analysis import (
    vectorizer_chains,
    vectorizer_lines,
    vectorizer_roots,
    vectorizer_ways,
)
from gridjit.compiler.targets.host.ir import cold_code
from gridjit.compiler.targets.host.library import libmvec
from gridjit.compiler.targets.host.library.narrow_floats import half_calls
from gridjit.compiler.targets.host.llvm import modules as llvm
from gridjit.compiler.values.target import Target
from gridjit.runtime.native import object_code

# The variable that names a run's folder of objects to its processes; where it is not set, LLVM makes all of them.
FOLDER = "TESTS_KNOWN_OBJECTS"
_WEEK_S = 7 * 24 * 3600.0

_final, _optimize, _emit, _assembly = optimizing._final, llvm.optimize, llvm.emit, llvm.assembly
_compile_text = object_code.compile_text


@dataclass(frozen=True, kw_only=True)
class Final:
    """The module of a final text, which LLVM makes if somebody looks at it; path: of its object, once it is made."""

    text: str
    target: Target
    level: int
    abreast: bool
    path: Path

    def module(self) -> llvm.Module:
        """Return what LLVM makes of the text."""
        return _final(self.text, self.target, self.level, abreast=self.abreast)


def forget_unused(folder: Path) -> None:
    """Remove what no run has used for a week."""
    for path in folder.iterdir():
        with contextlib.suppress(OSError):
            if path.stat().st_mtime < time.time() - _WEEK_S:
                path.unlink()


def use_known_objects() -> None:
    """Have this process take objects from the run's folder, if there is one, and add those that it makes."""
    _makers()  # once for all that are forked from this one
    optimizing._final, llvm.emit, llvm.assembly = final, emit, assembly
    object_code.compile_text = compile_text


def final(text: str, target: Target, level: int, *, abreast: bool) -> Any:
    """Return the module of a text, as the host's generator does; a test that replaces LLVM's functions has its own."""
    if (path := _path(text, target, level, abreast)) is None:
        return _final(text, target, level, abreast=abreast)
    return Final(text=text, target=target, level=level, abreast=abreast, path=path)


def compile_text(text: str) -> bytes:
    """Return the object file of a native function's text, as LLVM makes it or has made it."""
    path = _path(text, "native")
    return _compile_text(text) if path is None else _known_or_made(path, lambda: _compile_text(text))


def _path(*made_of: object) -> Path | None:
    """Return where the object that is made of these is kept; None if LLVM is to make it."""
    folder = os.environ.get(FOLDER)
    if not folder or (llvm.optimize, llvm.emit) != (_optimize, emit):
        return None
    return Path(folder, hashlib.sha256(repr((_makers(), *made_of)).encode()).hexdigest())


@functools.cache
def _makers() -> tuple[object, ...]:
    """Return what says which LLVM makes the objects, and what code tells it how."""
    makers = (
        half_calls,
        libmvec,
        llvm,
        object_code,
        optimizing,
        cold_code,
        vectorizer_chains,
        vectorizer_lines,
        vectorizer_roots,
        vectorizer_ways,
    )
    files = [Path(str(module.__file__)).read_bytes() for module in makers]
    version = llvmlite.binding.llvm_version_info
    return llvmlite.__version__, version, *(hashlib.sha256(text).hexdigest() for text in files)


def emit(module: Any, target: Target) -> bytes:
    """Return the object file of a module, as LLVM makes it or has made it."""
    if not isinstance(module, Final):
        return _emit(module, target)
    return _known_or_made(module.path, lambda: _emit(module.module(), target))


def _known_or_made(path: Path, make: Callable[[], bytes]) -> bytes:
    if (known := found(path)) is not None:
        return known
    made = make()
    with contextlib.suppress(OSError):  # a test may have left no room, or no descriptors
        keep(path, made)
    return made


def found(path: Path) -> bytes | None:
    """Return the object that is kept there, whole, or None."""
    with contextlib.suppress(OSError):
        digest, kept = (text := path.read_bytes())[:32], text[32:]
        if hashlib.sha256(kept).digest() == digest:
            os.utime(path)
            return kept
    return None


def keep(path: Path, made: bytes) -> None:
    """Keep an object there."""
    draft = path.with_suffix(f".{os.getpid()}.{id(made)}")
    draft.write_bytes(hashlib.sha256(made).digest() + made)
    draft.rename(path)


def assembly(module: Any, target: Target) -> str:
    """Return the assembly text of a module."""
    return _assembly(module.module() if isinstance(module, Final) else module, target)
