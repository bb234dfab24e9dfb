"""Tensors of torch on the host: the DLPack exchange interface, its checks, and what they cost."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from gridjit.compiler.values.errors import ArgumentError
from gridjit.runtime.args.tensors import lazy_flags
from gridjit.runtime.native.layout.probes import object_layout
from tests.runtime.standin import Launched, StandInKernel

torch: Any = pytest.importorskip("torch", reason="torch is not installed")


def launched(value: Any) -> tuple[str, list[Launched]]:
    kernel = StandInKernel(arity=1)
    configured = kernel.configured()
    for _ in range(3):
        configured(value)
    return str(kernel.signatures[0].arguments[0]), kernel.recorder.launches


def fresh(**options: Any) -> Any:
    return torch.arange(24, dtype=torch.float32, **options).reshape(4, 6)


@pytest.mark.parametrize(
    "make",
    [
        fresh,
        lambda: fresh().T,
        lambda: fresh()[:, ::2],
        lambda: fresh()[1:, 2],
        lambda: torch.tensor(3.5),
        lambda: torch.zeros(2, 0, 3),
        lambda: torch.ones(1).expand(4, 5),
        lambda: torch.ones(3, 1, 2),
        lambda: torch.ones(3, dtype=torch.bool),
        lambda: torch.ones(3, dtype=torch.float16),
        lambda: torch.ones(3, dtype=torch.uint8),
        lambda: torch.ones(3, dtype=torch.int64)[1:],
        lambda: torch.ones(3, dtype=torch.complex64),
    ],
)
def test_a_tensor_is_passed_as_the_array_over_its_memory(make: Any) -> None:
    tensor = make()
    type_, launches = launched(tensor)
    as_array = tensor.numpy()
    expected = StandInKernel(arity=1)
    as_array_type = as_array if as_array.flags.writeable else as_array.copy()
    expected.configured()(as_array)
    assert type_ == str(expected.signatures[0].arguments[0]).replace(", readonly", ""), as_array_type.flags
    assert len({launch.parameters for launch in launches}) == 1
    if tensor.numel():
        assert launches[0].parameters == expected.recorder.last.parameters
    if object_layout() is not None and lazy_flags("torch"):
        assert [launch.way for launch in launches] == ["python", "native", "native"]


def test_a_parameter_and_a_tensor_that_requires_a_gradient_are_passed() -> None:
    for tensor in (torch.nn.Parameter(fresh()), fresh(requires_grad=False).requires_grad_(True)):
        assert launched(tensor)[0] == "float32[2d C]"


@pytest.mark.parametrize("warm", [False, True])
@pytest.mark.parametrize(
    ("odd", "plain", "words"),
    [
        (
            lambda: torch.ones(3, dtype=torch.complex64).conj(),
            lambda: torch.ones(3, dtype=torch.complex64),
            "lazily conj",
        ),
        (lambda: torch.ones(3)._neg_view(), lambda: torch.ones(3), "lazily negated"),
        (
            lambda: torch.ones(3, dtype=torch.complex64).conj().imag,
            lambda: torch.ones(6)[::2],
            "lazily negated",
        ),
        (lambda: torch.ones(3).to_sparse(), lambda: torch.ones(3), "does not have memory that a kernel can use"),
        (lambda: torch.ones(3, device="meta"), lambda: torch.ones(3), "does not have memory|cannot be passed"),
        (lambda: torch.ones(3).to(torch.float8_e4m3fnuz), lambda: torch.ones(3), "floats of fewer than 16 bits"),
    ],
)
def test_a_tensor_whose_memory_does_not_hold_its_values_is_an_error(
    odd: Any, plain: Any, words: str, warm: bool
) -> None:
    configured = StandInKernel(arity=1).configured()
    if warm:
        configured(plain())
        configured(plain())
    with pytest.raises(ArgumentError, match=f"argument 'a0' of standin: .*(?:{words})"):
        configured(odd())


def test_tensors_of_other_layouts_types_and_shapes_are_told_apart() -> None:
    values = [fresh(), fresh().T, fresh()[:, ::2], fresh().to(torch.int32), fresh().to(torch.float64), fresh()[0]]
    for first in values:
        for second in values:
            kernel = StandInKernel(arity=1)
            configured = kernel.configured()
            for value in (first, first, second):
                configured(value)
            other = StandInKernel(arity=1)
            other.configured()(second)
            assert kernel.signatures[-1] == other.signatures[0] if first is not second else True
            assert kernel.recorder.last.parameters == other.recorder.last.parameters


def test_threads_see_a_tensor_and_its_numpy_array_alike() -> None:
    tensor = fresh()
    assert launched(tensor)[1][0].parameters == launched(np.asarray(tensor))[1][0].parameters
