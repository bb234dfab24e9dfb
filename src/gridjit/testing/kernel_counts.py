"""KernelCounts: which kernels of a test run are gridjit's and which are numba-cuda's, so that the run can report it."""

from __future__ import annotations

import functools
import importlib
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from gridjit.compiler.frontend.bootstrap import numba_cuda
from gridjit.runtime.installed import taken
from gridjit.runtime.installed.taken import name_of
from gridjit.runtime.kernel import Kernel


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
            counts.ours.setdefault(name_of(kernel.py_func), False)

    def has_code(kernel: Kernel) -> None:
        if kernel.specializations:
            counts.ours[name_of(kernel.py_func)] = True

    def numba_made(kernel: Any) -> None:
        if not getattr(kernel, "targetoptions", {"device": True}).get("device"):
            counts.numbas.setdefault(name_of(kernel.py_func), 0)

    def numba_launched(kernel: Any) -> None:
        counts.numbas[name_of(kernel.py_func)] = counts.numbas.get(name_of(kernel.py_func), 0) + 1

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
    jit: Any = sys.modules["numba.cuda.decorators"].jit
    kernels = [f"the kernel {name}" for name in taken.kernels_made()]
    return kernels + [f"jit in {name}" for name in taken.holders_of(jit)]


def _noting(method: Any, note: Any) -> Any:
    """Return a method that does the same, and records the call."""

    @functools.wraps(method)
    def noted(self: Any, *args: Any, **options: Any) -> Any:
        try:
            return method(self, *args, **options)
        finally:
            note(self)

    return noted
