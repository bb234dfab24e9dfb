"""numba-cuda's names on kernels: overloads, inspection, specialize, extensions, pickling, kernels as functions."""

from __future__ import annotations

import copy
import pickle
from typing import Any

import numpy as np
import pytest

import gridjit
from gridjit import cuda
from gridjit.compiler.values.artifact import Artifact
from gridjit.compiler.values.errors import ArgumentError, ConfigError


@gridjit.jit(target="host")
def double(x: Any) -> None:
    i = cuda.grid(1)
    if i < x.size:
        x[i] *= 2


@gridjit.jit(target="host")
def set_zero(x: Any) -> None:
    x[0] = 0


@gridjit.jit(target="host")
def calls_a_kernel(x: Any) -> None:
    set_zero(x)


def test_overloads_are_found_by_numbas_types() -> None:
    from numba.cuda import types

    kernel = gridjit.jit("void(float64[::1])", target="host")(double.py_func)
    assert (types.float64[::1],) in kernel.overloads
    assert (types.int64[::1],) not in kernel.overloads
    assert kernel.overloads[(types.float64[::1],)].specialization is kernel.specializations[0]


def test_the_ir_and_the_types_of_what_was_compiled_are_shown(capsys: pytest.CaptureFixture[str]) -> None:
    kernel = gridjit.jit("void(float64[::1])", target="host")(double.py_func)
    (text,) = kernel.inspect_llvm().values()
    assert "define" in text and "fmul" in text
    kernel.inspect_types()
    assert "array(float64, 1d, C)" in capsys.readouterr().out


def test_a_kernel_for_one_signature_gives_numbers_and_specializes_no_further() -> None:
    kernel = double.specialize(np.ones(3))
    assert kernel is double.specialize(np.zeros(5))
    assert isinstance(kernel.get_regs_per_thread(), int)
    with pytest.raises(RuntimeError, match="already specialized"):
        kernel.specialize(np.ones(3))


def test_what_specialize_compiled_counts_among_the_kernels_specializations() -> None:
    from numba.cuda import types

    kernel = gridjit.jit(double.py_func, target="host")
    counts = [len(kernel.specializations)]
    for items in (types.float32[:], types.float32[::1], types.float32[::1], types.int32[::1]):
        kernel.specialize(items)
        counts.append(len(kernel.specializations))
    assert counts == [0, 1, 2, 2, 3]


def test_extensions_prepare_arguments_from_the_last_to_the_first() -> None:
    order = []

    class Adds:
        def __init__(self, name: str) -> None:
            self.name = name

        def prepare_args(self, ty: Any, val: Any, stream: Any, retr: Any) -> tuple[Any, Any]:
            order.append((self.name, str(ty)))
            retr.append(lambda: order.append(("after", self.name)))
            return ty, val

    kernel = gridjit.jit(target="host", extensions=[Adds("a"), Adds("b")])(double.py_func)
    x = np.ones(2)
    kernel[1, 2](x)
    kind = "array(float64, 1d, C)"
    assert order == [("b", kind), ("a", kind), ("after", "b"), ("after", "a")]
    assert x.tolist() == [2, 2]


def test_a_kernel_can_be_called_by_another() -> None:
    x = np.ones(1)
    calls_a_kernel[1, 1](x)
    assert x.tolist() == [0]


def test_a_function_with_any_number_of_arguments_is_not_a_kernel_until_launched() -> None:
    @gridjit.jit(target="host")
    def several(*values: Any) -> None:
        pass

    with pytest.raises(ConfigError, match="positional parameters only, not values"):
        several[1, 1]


def test_writing_to_the_field_of_a_record_writes_to_the_array(monkeypatch: pytest.MonkeyPatch) -> None:
    array = cuda.to_device(np.zeros(2, [("a", "f4"), ("b", "i4")]))
    array[1]["a"] = 1.5
    assert array[1]["a"] == 1.5
    assert array.copy_to_host()["a"].tolist() == [0, 1.5]


def test_compile_returns_an_artifact_with_the_names_of_a_compiled_kernel() -> None:
    kernel = gridjit.jit(double.py_func, target="host")
    made: Any = kernel.compile("void(float64[::1])")
    (overload,) = kernel.overloads.values()
    for shape in (32, (4, 8)):
        assert made.max_cooperative_grid_blocks(shape) == overload.max_cooperative_grid_blocks(shape) > 0
    assert made.argument_types == overload.argument_types
    assert made.max_threads_per_block == overload.max_threads_per_block
    artifact = kernel.specializations[0].artifact
    assert made == artifact
    assert artifact == made
    for alone in (copy.copy(made), pickle.loads(pickle.dumps(made))):
        assert (type(alone), alone) == (Artifact, artifact)
        assert not hasattr(alone, "max_cooperative_grid_blocks")
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        _ = made.nothing


def test_typeof_pyval_is_numbas_type_of_an_argument() -> None:
    from numba.cuda import types

    for value, kind in (
        (np.zeros((2, 3), np.float32), types.float32[:, ::1]),
        (cuda.to_device(np.zeros(3)), types.float64[::1]),
        (3, types.int64),
        ((1, 2.5), types.Tuple((types.int64, types.float64))),
        (np.complex64(1), types.complex64),
    ):
        assert double.typeof_pyval(value) == kind
    with pytest.raises(ArgumentError, match="a str cannot be passed"):
        double.typeof_pyval("text")
