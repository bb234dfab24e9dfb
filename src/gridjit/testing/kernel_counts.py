"""KernelCounts: which kernels of a test run are gridjit's and which are numba-cuda's, so that the run can report it."""

from __future__ import annotations

import functools
import gc
import importlib
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from types import ModuleType
from typing import Any

from gridjit.compiler.frontend.bootstrap import numba_cuda
from gridjit.runtime.kernel import Kernel

_LIBRARIES = ("numba.", "numba_cuda.", "gridjit.")
# Modules of numba-cuda that are programs, not the library.
_TESTS = "numba.cuda.tests."


@dataclass(slots=True)
class KernelCounts:
    """Kernels by name and line. ours: gridjit's, and whether any has code. numbas: numba-cuda's, and their launches."""

    ours: dict[str, bool] = field(default_factory=dict)
    numbas: dict[str, int] = field(default_factory=dict)

    def as_dict(self) -> dict[str, Any]:
        """Return the counts as what one process can send to another."""
        return {"ours": dict(self.ours), "numbas": dict(self.numbas)}

    def add(self, other: Mapping[str, Any]) -> None:
        """Add the counts that another process sent: a kernel that several made is one, its launches add up."""
        for name, used in other["ours"].items():
            self.ours[name] = used or self.ours.get(name, False)
        for name, launches in other["numbas"].items():
            self.numbas[name] = launches + self.numbas.get(name, 0)

    @property
    def lines(self) -> list[str]:
        """What there is to say: how many kernels went through gridjit, then each that did not."""
        used = sum(self.ours.values())
        launches = sum(self.numbas.values())
        first = f"kernels that went through gridjit: {used} (made and never compiled: {len(self.ours) - used})"
        plain = f"kernels of numba-cuda's own: {len(self.numbas)} (launches: {launches})"
        return [first, plain, *(f"  {name} (launches: {n})" for name, n in self.numbas.items())]


def count(counts: KernelCounts) -> None:
    """Note in counts each kernel that is made or launched from now on; once per process."""
    numba_cuda()
    dispatcher: Any = importlib.import_module("numba.cuda.dispatcher").CUDADispatcher

    def made(kernel: Kernel) -> None:
        if hasattr(kernel, "py_func"):
            counts.ours.setdefault(_name(kernel.py_func), False)

    def has_code(kernel: Kernel) -> None:
        if kernel.specializations:
            counts.ours[_name(kernel.py_func)] = True

    def numba_made(kernel: Any) -> None:
        if not getattr(kernel, "targetoptions", {"device": True}).get("device"):
            counts.numbas.setdefault(_name(kernel.py_func), 0)

    def numba_launched(kernel: Any) -> None:
        counts.numbas[_name(kernel.py_func)] = counts.numbas.get(_name(kernel.py_func), 0) + 1

    for owner, method, note in (
        (Kernel, "__init__", made),
        (Kernel, "_specialized", has_code),
        (dispatcher, "__init__", numba_made),
        (dispatcher, "call", numba_launched),
    ):
        setattr(owner, method, _noting(getattr(owner, method), note))


def made_before() -> list[str]:
    """Return what is numba-cuda's already, and cannot become gridjit's: kernels of programs, and names of its jit."""
    if "numba.cuda.dispatcher" not in sys.modules:
        return []
    dispatcher: Any = sys.modules["numba.cuda.dispatcher"].CUDADispatcher
    jit: Any = sys.modules["numba.cuda.decorators"].jit
    kernels = [found for found in gc.get_objects() if type(found) is dispatcher and hasattr(found, "targetoptions")]
    found = [f"the kernel {_name(k.py_func)}" for k in kernels if not k.targetoptions.get("device") and _is_user(k)]
    return found + [f"jit in {module.__name__}" for module in _programs() if _holds(module, jit)]


def _programs() -> Iterator[ModuleType]:
    for name, module in list(sys.modules.items()):
        if isinstance(module, ModuleType) and not f"{name}.".startswith(_LIBRARIES):
            yield module


def _holds(module: ModuleType, value: Any) -> bool:
    return any(held is value for held in list(vars(module).values()))


def _is_user(kernel: Any) -> bool:
    module = str(getattr(kernel.py_func, "__module__", ""))
    return module.startswith(_TESTS) or not f"{module}.".startswith(_LIBRARIES)


def _noting(method: Any, note: Any) -> Any:
    """Return a method that does the same, and records the call."""

    @functools.wraps(method)
    def noted(self: Any, *args: Any, **options: Any) -> Any:
        try:
            return method(self, *args, **options)
        finally:
            note(self)

    return noted


def _name(function: Any) -> str:
    return f"{function.__module__}.{function.__qualname__}:{function.__code__.co_firstlineno}"
