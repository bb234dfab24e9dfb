"""Objects that LLVM made before in this run of the tests: equal texts for an equal target are given to it once.

What LLVM does to a kernel's final text is half of a small kernel's compile, and many tests begin with a kernel that
another test compiled before. All that is gridjit's own is done each time: the text is made; the object is kept, loaded
and launched. Tests of forks, interrupts and leaks, and those that look at LLVM's functions, see it at work each time.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from gridjit.compiler.target import Target
from gridjit.compiler.targets.host import generate, llvm

# The variable that names a run's folder of objects to its processes; where it is not set, LLVM makes all of them.
FOLDER = "TESTS_KNOWN_OBJECTS"

_final, _optimize, _emit, _assembly = generate._final, llvm.optimize, llvm.emit, llvm.assembly


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


def use_known_objects() -> None:
    """Have this process take objects from the run's folder, if there is one, and add those that it makes."""
    generate._final, llvm.emit, llvm.assembly = final, emit, assembly


def final(text: str, target: Target, level: int, *, abreast: bool) -> Any:
    """Return the module of a text, as the host's generator does; a test that replaces LLVM's functions has its own."""
    folder = os.environ.get(FOLDER)
    if not folder or (llvm.optimize, llvm.emit) != (_optimize, emit):
        return _final(text, target, level, abreast=abreast)
    name = hashlib.sha256(repr((text, target, level, abreast)).encode()).hexdigest()
    return Final(text=text, target=target, level=level, abreast=abreast, path=Path(folder, name))


def emit(module: Any, target: Target) -> bytes:
    """Return the object file of a module, as LLVM makes it or has made it."""
    if not isinstance(module, Final):
        return _emit(module, target)
    with contextlib.suppress(OSError):
        return module.path.read_bytes()
    made = _emit(module.module(), target)
    with contextlib.suppress(OSError):  # a test may have left no room, or no descriptors
        draft = module.path.with_suffix(f".{os.getpid()}.{id(module)}")
        draft.write_bytes(made)
        draft.rename(module.path)
    return made


def assembly(module: Any, target: Target) -> str:
    """Return the assembly text of a module."""
    return _assembly(module.module() if isinstance(module, Final) else module, target)
