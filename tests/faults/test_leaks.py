"""A process that compiles, loads and launches for ever stays as large as it was."""

from __future__ import annotations

import gc
from collections.abc import Callable
from pathlib import Path
from weakref import ref

import numpy as np
import pytest

import gridjit
from gridjit import cuda
from gridjit.compiler.targets.host.llvm import modules as llvm
from gridjit.compiler.targets.host.llvm.libllvm import host_target
from gridjit.runtime.devices.host.load import load

pytestmark = pytest.mark.usefixtures("llvm_makes_all_objects")

FUNCTION = "define i32 @f(i32 %a) {\n  %b = add i32 %a, 1\n  ret i32 %b\n}\n"


def resident_kilobytes() -> int:
    gc.collect()
    return int(Path("/proc/self/statm").read_text().split()[1]) * 4


def growth(step: Callable[[int], object], count: int) -> float:
    """Return the kilobytes that each step adds, once what is made only once is there."""
    for number in range(count // 4):
        step(number)
    before = resident_kilobytes()
    for number in range(count // 4, count):
        step(number)
    return (resident_kilobytes() - before) / (count - count // 4)


@gridjit.jit
def adds_one(x):
    x[cuda.grid(1)] += 1


def test_generating_code_for_the_host_leaves_nothing_behind() -> None:
    target = host_target()
    text = llvm.header(target) + FUNCTION

    def generate(_: int) -> None:
        module = llvm.parse(text)
        llvm.clean(module, target)
        llvm.optimize(module, target, 3)
        llvm.emit(module, target)

    assert growth(generate, 120) < 20


def test_code_that_is_loaded_and_dropped_leaves_nothing_behind() -> None:
    artifact = adds_one.compile("void(float64[::1])", target="host")
    assert growth(lambda _: load(artifact.image, artifact.entry), 1200) < 3


def test_code_stays_loaded_as_long_as_it_is_referred_to() -> None:
    artifact = adds_one.compile("void(float64[::1])", target="host")
    kept = [load(artifact.image, artifact.entry) for _ in range(40)]
    del kept[::2]
    gc.collect()
    assert len({function.address for function in kept}) == 20
    x = np.zeros(4)
    adds_one[1, 4](x)
    assert x.tolist() == [1.0] * 4


def test_a_class_of_arguments_goes_when_its_program_is_done_with_it() -> None:
    def launch(number: int) -> ref[type]:
        kind = type(f"Array{number}", (np.ndarray,), {})
        x = np.zeros(4).view(kind)
        adds_one[1, 4](x)
        assert x.tolist() == [1.0] * 4
        return ref(kind)

    known = [launch(number) for number in range(50)]
    # The first compile of a process leaves objects in circles whose end lets go of another circle: that of the launch.
    gc.collect()
    gc.collect()
    assert [kind for kind in known if kind() is not None] == []
