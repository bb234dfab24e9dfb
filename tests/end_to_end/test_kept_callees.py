"""Kernels that share device functions: each does what it says, whatever happens between and while they compile."""

from __future__ import annotations

import contextlib
import dataclasses
import os
import re
import sys
import threading
from collections.abc import Callable
from types import FrameType
from typing import Any

import numpy as np
import pytest

import gridjit
from gridjit import LaunchConfig, cuda
from gridjit.compiler.compile import compile_job
from gridjit.compiler.job import make_job
from gridjit.compiler.values.artifact import Artifact
from gridjit.compiler.values.options import Options
from gridjit.compiler.values.signature import ArrayType, Signature
from gridjit.compiler.values.target import Target
from gridjit.compiler.view.config import ConfigView
from gridjit.runtime.process.session import session
from tests.compiler.frontend.making import HOPPER, HOST, nothing_kept

FACTOR = 3


def make_shared() -> Any:
    """Return a device function that nobody has compiled."""

    @gridjit.jit(device=True)
    def shared(value):
        return value * FACTOR + gridjit.static.blockDim.x

    return shared


def make_kernel(shared: Any, number: int) -> Any:
    """Return a kernel that nobody has compiled, which calls shared and adds a number."""

    @gridjit.jit(cache=False, target="host")
    def kernel(x):
        i = cuda.grid(1)
        if i < x.size:
            x[i] = shared(x[i]) + number

    return kernel


def result(kernel: Any, block: int = 4) -> float:
    x = np.ones(1)
    kernel[1, block](x)
    return float(x[0])


def reused(kernel: Any) -> list[bool]:
    return [bool(found.reused) for found in kernel.specializations]


def test_what_was_reused_is_explained() -> None:
    shared = make_shared()
    first, second = make_kernel(shared, 1), make_kernel(shared, 2)
    assert (result(first), result(second)) == (8, 9)
    assert "reused" not in first.explain()
    assert f"reused: {shared.py_func.__module__}.{shared.py_func.__qualname__}(float64)" in second.explain()
    assert [found.reused for found in second.specializations] == [(f"{__name__}.{shared.__qualname__}(float64)",)]


@pytest.mark.some(1)
@pytest.mark.parametrize("target", [HOST, pytest.param(HOPPER, marks=pytest.mark.cuda_toolkit)], ids=str)
def test_an_artifact_with_reused_callees_is_that_of_a_whole_compile(target: Target) -> None:
    shared = make_shared()
    compiled(make_kernel(shared, 1), target)
    kernel = make_kernel(shared, 2)
    kept = compiled(kernel, target)
    with nothing_kept():
        whole = compiled(kernel, target)
    assert kept.metadata.pop("reused") and "reused" not in whole.metadata
    for artifact in (kept, whole):
        del artifact.metadata["compile_ms"]
    names = {field.name for field in dataclasses.fields(Artifact)} - {"image", "entry", "assembly"}
    assert {name: getattr(kept, name) for name in names} == {name: getattr(whole, name) for name in names}
    assert numbered(kept.assembly) == numbered(whole.assembly)
    assert kept.footprint.facts


def compiled(kernel: Any, target: Target) -> Artifact:
    """Return a new compile of a kernel, for a launch."""
    signature = Signature(arguments=(ArrayType(dtype="float64", ndim=1),))
    if target.kind == "host":
        target = session().device("host").target
    job = make_job(kernel.py_func, signature, Options(), target)
    return compile_job(job, ConfigView(LaunchConfig.of(1, 32))).artifact


def numbered(text: str) -> str:
    """Return an assembly text without numba's numbers of functions."""
    return re.sub(r"B\d+v\d+", "", text)


def test_a_shared_function_is_what_the_launch_and_its_globals_say(monkeypatch: pytest.MonkeyPatch) -> None:
    shared = make_shared()
    kernels = [make_kernel(shared, number) for number in range(4)]
    assert [result(kernels[0], 4), result(kernels[1], 8), result(kernels[0], 8), result(kernels[1], 4)] == [
        7,
        12,
        11,
        8,
    ]
    monkeypatch.setitem(globals(), "FACTOR", 5)
    assert [result(kernels[2], 4), result(kernels[3], 8)] == [11, 16]


def test_a_kernel_launched_in_the_middle_of_anothers_callee_has_code_of_its_own() -> None:
    shared, number = make_shared(), 20
    inner, after = make_kernel(shared, 10), make_kernel(shared, 30)
    results = []

    @gridjit.jit(device=True)
    def other(value):
        return shared(value) + number

    def launch(frame: FrameType) -> None:
        if frame.f_code.co_name == "lower_assign" and "other" in str(frame.f_locals["self"].fndesc) and not results:
            results.append(0.0)
            results[0] = result(inner, 8)

    with at_calls(launch):
        assert result(make_kernel(other, 1)) == 28
    assert results == [21]
    assert [result(after, 8), result(make_kernel(shared, 40)), result(make_kernel(other, 2))] == [41, 47, 29]


class Interrupt(BaseException):
    """Ctrl-C, or any other."""


@pytest.mark.some(2)
@pytest.mark.parametrize("place", ["lower_assign", "_adopt", "keep", "put", "_unit", "record"])
def test_an_interrupted_compile_leaves_nothing_that_another_kernel_meets(place: str) -> None:
    shared = make_shared()
    result(make_kernel(shared, 1))
    interrupted = []
    for block in (4, 8):

        def interrupt(frame: FrameType, block: int = block) -> None:
            if frame.f_code.co_name == place and block not in interrupted:
                interrupted.append(block)
                raise Interrupt

        with contextlib.suppress(Interrupt), at_calls(interrupt):
            result(make_kernel(shared, 2), block)
        assert result(make_kernel(shared, 3), block) == 6 + block
        assert result(make_kernel(shared, 4), block) == 7 + block
    assert interrupted


def test_threads_that_compile_kernels_with_one_function_all_get_their_own() -> None:
    shared = make_shared()
    barrier, results = threading.Barrier(3), dict[int, float]()

    def launch(number: int) -> None:
        kernel = make_kernel(shared, number)
        barrier.wait()
        results[number] = result(kernel, 4 * number)

    threads = [threading.Thread(target=launch, args=(number,)) for number in (1, 2, 3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert results == {1: 8, 2: 13, 3: 18}


def test_a_forked_child_uses_what_its_parent_kept_and_sees_what_it_changes() -> None:
    shared = make_shared()
    result(make_kernel(shared, 1))
    child = os.fork()
    if child == 0:
        right = False
        try:
            kernel = make_kernel(shared, 2)
            right = result(kernel) == 9 and reused(kernel) == [True]
            globals()["FACTOR"] = 7
            right = right and result(make_kernel(shared, 3)) == 14
        finally:
            os._exit(0 if right else 1)
    assert os.waitpid(child, 0)[1] == 0


@contextlib.contextmanager
def at_calls(act: Callable[[FrameType], None]) -> Any:
    """Have act called at the start of every function that this thread calls."""

    def seen(frame: FrameType, event: str, _: Any) -> None:
        if event == "call":
            act(frame)

    sys.setprofile(seen)
    try:
        yield
    finally:
        sys.setprofile(None)
