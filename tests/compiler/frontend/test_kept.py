"""What the front end made of a callee is used again, and the kernel is the same as one that was compiled whole."""

from __future__ import annotations

import math
import re
import types
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

import gridjit
from gridjit import LaunchConfig, cuda
from gridjit.compiler.frontend.kept.surroundings import Surroundings
from gridjit.compiler.frontend.lower import lower
from gridjit.compiler.key.source.fingerprint import fingerprint
from gridjit.compiler.options import Options
from gridjit.compiler.recorded.reads import Reads
from gridjit.compiler.signature import ArrayType, Signature
from gridjit.compiler.target import Lowered, Target
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
    facts: dict[str, tuple[object, str]]
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


def everything_of(one: Made) -> tuple[object, ...]:
    """Return all of what was made, less numba's numbers and the names of what was reused."""
    modules = [_NUMBERED.sub("", text) for text in one.lowered.modules]
    rest = (one.lowered.exceptions, one.lowered.linked, one.lowered.cooperative, one.facts, one.taken, one.private)
    return (modules[0], sorted(modules[1:]), _NUMBERED.sub("", one.lowered.entry), *rest, one.discovered)


settings = types.ModuleType("settings_of_test_kept")
settings.STEP = 3  # type: ignore[attr-defined]
FACTOR = 2.5
PAIR = (1, 4)
TABLE = np.array([1.0, 4.0, 9.0])
KIND = np.dtype(np.float32)
SIZE = np.int32(6)


@gridjit.jit(device=True)
def scaled(value, by=4):
    return value * FACTOR + by


@gridjit.jit(device=True)
def nested(value):
    return scaled(value) + scaled(value, 7) + settings.STEP + PAIR[1]


@gridjit.jit(device=True)
def looked_up(index):
    return TABLE[index] + cuda.const.array_like(TABLE)[0]


@gridjit.jit(device=True)
def of_numba(value):
    return min(value, 3.0) + round(value, 2) + math.hypot(value, 2.0) + value**3 + max(1, 2, 3) + abs(value)


@gridjit.jit(device=True)
def of_block(value):
    return value * gridjit.static.blockDim.x


@gridjit.jit(device=True)
def raising(value):
    if value > 3:
        raise ValueError("too large")
    return value


@gridjit.jit(device=True)
def several(x, index):
    small = cuda.local.array(4, KIND)
    shared = cuda.shared.array(6, np.float64)
    shared[0] = x[index]
    for i in range(4):
        small[i] = x[i] * SIZE
    cuda.syncthreads()
    return small[1], shared[index % 3], index > 2


@gridjit.jit(device=True)
def closing(value):
    def inner(other):
        return other + FACTOR

    return inner(value)


def make_offset(offset: int) -> Any:
    @gridjit.jit(device=True)
    def shifted(value):
        return value + offset

    return shifted


shifted = make_offset(11)


def kernel_of(body: str, **names: Any) -> Callable[..., Any]:
    """Return a new kernel function with that body."""
    namespace: dict[str, Any] = {**globals(), **names}
    exec(f"def kernel(x):\n    i = cuda.grid(1)\n    x[i] = {body}", namespace)
    kernel: Callable[..., Any] = namespace["kernel"]
    return kernel


BODIES = {
    "scaled": "scaled(x[i]) + scaled(1) + scaled(x[i], by=2)",
    "nested": "nested(x[i]) + scaled(x[i])",
    "looked_up": "looked_up(i)",
    "of_numba": "of_numba(x[i]) + round(x[i], 2) + x[i] ** 3 + min(x[i], 3.0)",
    "of_block": "of_block(x[i])",
    "raising": "raising(x[i])",
    "several": "several(x, i)[0]",
    "closing": "closing(x[i])",
    "shifted": "shifted(x[i])",
}


@pytest.mark.parametrize("target", [HOST, HOPPER], ids=str)
@pytest.mark.parametrize("name", BODIES)
def test_a_kernel_with_reused_callees_is_the_same_as_one_compiled_whole(name: str, target: Target) -> None:
    config = LaunchConfig.of(4, 64)
    made(kernel_of(f"1.0 + {BODIES[name]}"), config=config, target=target)
    for known in (False, True):
        kernel = kernel_of(BODIES[name])
        reused = made(kernel, config=config, target=target, known=known)
        assert name in reused.reused
        with nothing_kept():
            whole = made(kernel, config=config, target=target, known=known)
        assert not whole.reused
        assert everything_of(reused) == everything_of(whole)


def test_a_changed_global_is_seen_by_the_next_kernel_that_shares_a_function(monkeypatch: pytest.MonkeyPatch) -> None:
    for factor in (3001.5, 5003.5, 3001.5):
        monkeypatch.setitem(globals(), "FACTOR", factor)
        texts = {made(kernel_of("nested(x[i])")).text for _ in range(2)}
        wanted, other = (cuda_text(one) for one in (factor, 8004.5 - factor + 0.5))
        assert all(wanted in text and other not in text for text in texts)


def cuda_text(value: float) -> str:
    """Return a float64 as LLVM writes it."""
    return f"0x{np.float64(value).view(np.uint64):x}"
