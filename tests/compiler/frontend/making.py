"""making: kernels lowered with callees that are kept, and whole, and all that each compile made and recorded."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

from gridjit import LaunchConfig, cuda
from gridjit.compiler.frontend.kept.surroundings import Surroundings
from gridjit.compiler.frontend.lower import lower
from gridjit.compiler.key.fingerprint import fingerprint
from gridjit.compiler.numba_state import first_modules, mark, survey
from gridjit.compiler.recorded.reads import Reads
from gridjit.compiler.values.options import Options
from gridjit.compiler.values.signature import ArrayType, Signature
from gridjit.compiler.values.target import Lowered, Target
from gridjit.compiler.view.config import ConfigView

FLOATS = Signature(arguments=(ArrayType(dtype="float64", ndim=1),))
HOST = Target(kind="host", arch="any")
HOPPER = Target(kind="ptx", arch="sm_90")
# numba numbers the functions that it compiles, in their names.
_NUMBERED = re.compile(r'B\d+v\d+|(?<=\$)\d+(?="\n)|(?<=_cudapy_smem_)\d+')


@dataclass(frozen=True, kw_only=True)
class Made:
    """All that one compile made of a kernel, and all that it recorded."""

    lowered: Lowered
    facts: Mapping[str, tuple[object, str]]
    taken: tuple[object, ...]
    private: tuple[str, ...]
    discovered: tuple[object, ...]

    @property
    def text(self) -> str:
        """The kernel's code with its callees'."""
        return "\n".join(self.lowered.modules)

    @property
    def reused(self) -> set[str]:
        """The names of the device functions that were compiled before."""
        return {name.partition("(")[0].rpartition(".")[2] for name in self.lowered.reused}


def made(
    function: Callable[..., Any],
    *,
    config: LaunchConfig | None = None,
    target: Target = HOST,
    options: Options | None = None,
    known: bool = False,
) -> Made:
    view = ConfigView(config)
    source = fingerprint(function)
    reads = Reads(function, source.taken, covered=source.functions) if known else Reads(function)
    lowered, discovered = lower(function, FLOATS, options or Options(), target, (), view, reads)
    facts = {fact.field: (fact.value, fact.where) for fact in view.footprint.facts}
    private = (*reads.private, *reads.changed(), *view.reasons_to_keep_private)
    return Made(lowered=lowered, facts=facts, taken=tuple(reads.taken()), private=private, discovered=tuple(discovered))


@contextmanager
def nothing_kept() -> Iterator[None]:
    """Have compiles in the block be whole ones."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Surroundings, "allow_keeping", property(lambda self: False))
        yield


def begin_anew(patch: pytest.MonkeyPatch) -> None:
    """Have the next compile be the first one for what looks at numba's code, as in a new process."""
    look_anew(patch)
    patch.setattr(first_modules, "_first", set())


def look_anew(patch: pytest.MonkeyPatch) -> None:
    """Have the next look at numba's code be the first one."""
    patch.setattr(survey, "_one", [survey.Survey()])
    patch.setattr(mark, "_watch", mark._Watch())


def everything_of(one: Made) -> tuple[object, ...]:
    """Return all of what was made, less numba's numbers and the names of what was reused."""
    modules = [_NUMBERED.sub("", text) for text in one.lowered.modules]
    rest = (one.lowered.exceptions, one.lowered.linked, one.lowered.cooperative, one.facts, one.taken, one.private)
    return (modules[0], sorted(modules[1:]), _NUMBERED.sub("", one.lowered.entry), *rest, one.discovered)


def kernel_of(body: str, **names: Any) -> Callable[..., Any]:
    """Return a new kernel function that stores what body is, in a namespace with names."""
    namespace: dict[str, Any] = {"cuda": cuda, "np": np, **names}
    exec(f"def kernel(x):\n    i = cuda.grid(1)\n    x[i] = {body}", namespace)
    kernel: Callable[..., Any] = namespace["kernel"]
    return kernel


def in_llvm(value: float) -> str:
    """Return a float64 as LLVM's text has it."""
    return f"0x{np.float64(value).view(np.uint64):x}"
