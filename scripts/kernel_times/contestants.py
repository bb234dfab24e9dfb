"""Contestants: CUDA C through NVRTC, gridjit, numba-cuda and Triton, each with its launch of a kernel."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numba.cuda
import numpy as np

import gridjit
from gridjit import cuda
from kernel_times.codes import MODES, Code, choose_generator, cuda_code, gridjit_code, way
from kernel_times.device import launch_function, loaded
from kernel_times.kernel import Kernel


@dataclass(frozen=True, slots=True, kw_only=True)
class Bound:
    """A kernel with its arguments on a device: launch queues it, results copies what it wrote."""

    launch: Callable[[], object]
    results: Callable[[], list[Any]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Contestant:
    """What makes a kernel and launches it.

    place, fetch: copy an array to the device, and back. configured: returns a launch with placed arguments, for a size;
    the first such launch may compile.
    """

    kernel: Kernel
    name: str
    place: Callable[[Any], Any]
    fetch: Callable[[Any], Any]
    configured: Callable[[list[Any], int], Callable[[], object]]
    code: Code | None = None

    def bind(self, args: Sequence[Any], size: int) -> Bound:
        """Return the kernel with copies of the arguments."""
        placed = [self.place(arg) if arg.ndim else arg for arg in args]
        launch = self.configured(placed, size)
        return Bound(launch=launch, results=lambda: [self.fetch(one) for one in self.kernel.results(placed)])


def of_cuda(kernel: Kernel, stream: int, arch: str) -> Contestant:
    """Return CUDA C."""
    code = cuda_code(kernel.cuda_text, arch)
    function = loaded(code)

    def configured(placed: list[Any], size: int) -> Callable[[], object]:
        parameters = (*placed, *map(np.int32, kernel.ints(size).values()))
        return functools.partial(launch_function, function, *kernel.launch(size), stream, parameters)

    return Contestant(
        kernel=kernel, name="CUDA C", place=cuda.to_device, fetch=_to_host, configured=configured, code=code
    )


def of_gridjit(kernel: Kernel, stream: int, codegen: str, mode: str) -> Contestant:
    """Return gridjit with a generator, in a mode."""
    function = gridjit.jit(**MODES[mode])(kernel.function)

    def configured(placed: list[Any], size: int) -> Callable[[], object]:
        choose_generator(codegen)
        return functools.partial(function[(*kernel.launch(size), stream)], *placed)

    name, code = way(codegen, mode), gridjit_code(kernel, codegen, mode, None, kernel.sizes[0])
    return Contestant(kernel=kernel, name=name, place=cuda.to_device, fetch=_to_host, configured=configured, code=code)


def of_numba(kernel: Kernel, stream: int) -> Contestant:
    """Return numba-cuda."""
    function, queue = numba.cuda.jit(kernel.function), numba.cuda.external_stream(stream)

    def configured(placed: list[Any], size: int) -> Callable[[], object]:
        return functools.partial(function[(*kernel.launch(size), queue)], *placed)

    return Contestant(
        kernel=kernel, name="numba-cuda", place=numba.cuda.to_device, fetch=_to_host, configured=configured
    )


def of_triton(kernel: Kernel, stream: int) -> Contestant:
    """Return Triton, with torch's tensors."""
    import torch

    from kernel_times import triton_kernels

    torch.cuda.set_stream(torch.cuda.ExternalStream(stream))
    function = getattr(triton_kernels, kernel.triton)

    def configured(placed: list[Any], size: int) -> Callable[[], object]:
        return functools.partial(function, *(one if isinstance(one, torch.Tensor) else float(one) for one in placed))

    return Contestant(
        kernel=kernel,
        name="Triton",
        place=lambda arg: torch.from_numpy(arg).cuda(),
        fetch=lambda tensor: tensor.cpu().numpy(),
        configured=configured,
    )


def _to_host(array: Any) -> Any:
    return array.copy_to_host()
