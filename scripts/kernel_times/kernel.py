"""Kernel: a kernel in Python and the same in CUDA C, its arguments and launch, and how results are compared."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

# Patterns of an instruction in PTX or in SASS.
FMA, LOAD, BARRIER = r"fma\b|[FD]FMA", r"ld\.(volatile\.)?global|LDG", r"bar(rier)?\.(cta\.)?sync|BAR\.SYNC"
SHARED_ADD, EXP2 = r"(atom|red)\.shared|ATOMS", r"ex2\.approx|MUFU\.EX2"
_TYPES = {
    "float16": "half",
    "float32": "float",
    "float64": "double",
    "int32": "int",
    "uint32": "unsigned",
    "uint8": "unsigned char",
    "complex64": "float2",
}
_HALVES = '#include "cuda_fp16.h"'
_GRID = "#define GRID(axis) (blockIdx.axis * blockDim.axis + threadIdx.axis)"


def blocks(*sides: int) -> Callable[[int], tuple[tuple[int, ...], tuple[int, ...]]]:
    """Return the launch of a thread for each of n items in as many axes as there are sides of a block."""
    return lambda n: (tuple(-(-n // side) for side in sides), sides)


@dataclass(frozen=True, slots=True, kw_only=True)
class Kernel:
    """A kernel whose arguments and launch are functions of a size; sizes: to be measured, and to be checked.

    cuda: the body of the kernel in CUDA C; its parameters are the Python function's and then ints, by name.
    out: which arguments are results. expected: returns the results for the arguments as they were, in NumPy.
    tolerance: relative to a result's largest item, 0 for equal. apart: the share of items that may be beyond it.
    work: the instruction that the innermost loop is for; "" if the whole body is counted.
    triton: the name of what launches it in Triton, in kernel_times.triton_kernels.
    """

    function: Callable[..., None]
    cuda: str
    arguments: Callable[[int], tuple[Any, ...]]
    expected: Callable[..., Any]
    sizes: tuple[int, int]
    launch: Callable[[int], tuple[tuple[int, ...], tuple[int, ...]]] = blocks(256)  # noqa: RUF009  # a function
    ints: Callable[[int], dict[str, int]] = lambda n: {"n": n}
    out: tuple[int, ...] = (-1,)
    tolerance: float = 0.0
    apart: float = 0.0
    work: str = ""
    triton: str = ""
    named: str = ""

    @property
    def name(self) -> str:
        """What the kernel is called, in tables and to choose it."""
        return self.named or self.function.__name__

    @property
    def cuda_text(self) -> str:
        """The kernel in CUDA C, as a function named "kernel"."""
        args = self.arguments(self.sizes[1])
        results = self.results(args)
        given = zip(inspect.signature(self.function).parameters, args, strict=True)
        parameters = [_parameter(name, arg, any(arg is one for one in results)) for name, arg in given]
        parameters += [f"int {name}" for name in self.ints(self.sizes[1])]
        header = f'extern "C" __global__ void kernel({", ".join(parameters)}) {{'
        halves = [_HALVES] if "half*" in header else []
        return "\n".join([*halves, _GRID, header, self.cuda, "}", ""])

    def results(self, args: Sequence[Any]) -> list[Any]:
        """Return the results among arguments."""
        return [args[index] for index in self.out]

    def difference(self, found: Sequence[Any], right: Sequence[Any]) -> str:
        """Return how results differ from the right ones, in words; "" if they are equal within the tolerance."""
        for one, other in zip(found, right, strict=True):
            if np.array_equal(one, other) and np.any(other):
                continue
            most = float(np.abs(other[np.isfinite(other)]).max(initial=0))
            far = ~np.isclose(one, other, rtol=self.tolerance, atol=self.tolerance * most, equal_nan=False)
            if far.mean() > self.apart or not most:
                return f"{far.sum()} of {far.size} items differ, the first at {np.argwhere(far)[:1].tolist()}"
        return ""


def _parameter(name: str, value: Any, written: bool) -> str:
    if value.dtype.names:  # a generator's state, which is written to
        return f"ulonglong2* __restrict__ {name}"
    kind = _TYPES[value.dtype.name]
    return f"{'' if written else 'const '}{kind}* __restrict__ {name}" if value.ndim else f"{kind} {name}"


def floats(*shape: int, dtype: Any = np.float32, seed: int = 0) -> Any:
    """Return an array of random numbers between 0 and 1."""
    return np.random.default_rng(seed).random(shape, dtype=np.float32).astype(dtype)


def whole(most: int, *shape: int, dtype: Any = np.int32) -> Any:
    """Return an array of random whole numbers below most."""
    return np.random.default_rng(1).integers(0, most, shape, dtype=dtype)


def zeros(*shape: int, dtype: Any = np.float32) -> Any:
    """Return an array for results."""
    return np.zeros(shape, dtype)
