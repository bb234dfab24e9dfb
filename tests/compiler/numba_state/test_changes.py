"""What a program puts in place of numba's own code is part of every kernel's key; numba as it is adds nothing."""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import gridjit
from gridjit.compiler.frontend.bindings.bootstrap import numba_cuda
from gridjit.compiler.numba_state import changes as changes_module
from gridjit.compiler.numba_state import survey
from gridjit.compiler.numba_state.changes import changes
from tests.programs import run_python

numba_cuda()

import numba.core.cgutils  # noqa: E402
from numba.cuda import codegen  # noqa: E402  # the first import has to come first
from numba.cuda.cpython import numbers  # noqa: E402


def is_zero(context: Any, builder: Any, sig: Any, args: Any) -> Any:
    [value] = args
    return builder.fcmp_unordered("==", value, Constant(value.type, 0.0))  # type: ignore[name-defined]  # noqa: F821


class Library(codegen.CUDACodeLibrary):
    number = 3


def interrupt(*_: object) -> None:
    raise KeyboardInterrupt


class Method:
    def __call__(self) -> None: ...


LIBRARIES = vars(codegen.CUDACodeLibrary)["linking_libraries"]
code = numbers.float_as_bool.__code__
with_other_constants = code.replace(co_consts=tuple(2.0 if one == 0.0 else one for one in code.co_consts))


@pytest.fixture
def undo() -> Iterator[pytest.MonkeyPatch]:
    with pytest.MonkeyPatch.context() as patch:
        yield patch


def truth(out: Any, x: Any) -> None:
    out[0] = bool(x[0])


def launched() -> tuple[float, int]:
    """Return what a new kernel makes of 2.0, and how many compiles that took."""
    kernel, out = gridjit.jit(truth), np.zeros(1)
    kernel[1, 1](out, np.array([2.0]))
    return float(out[0]), kernel.stats.compiles


def test_a_kernel_stored_before_a_function_of_numbas_got_other_code_is_not_launched_after(
    undo: pytest.MonkeyPatch,
) -> None:
    assert launched() == (1.0, 1)
    undo.setattr(numbers.float_as_bool, "__code__", is_zero.__code__)
    assert launched() == (0.0, 1)
    assert launched() == (0.0, 0)
    undo.undo()
    assert launched() == (1.0, 0)


def test_numba_as_it_is_adds_nothing_to_a_key_also_after_a_compile() -> None:
    assert changes() == ((), ())
    launched()
    assert changes() == ((), ())


@pytest.mark.parametrize("before", [True, False])
def test_what_has_names_of_kernels_raise_outside_of_them_adds_nothing_to_a_key(before: bool) -> None:
    lines = [
        "from gridjit import cuda",
        "from gridjit.compiler.numba_state.changes import changes",
        "import numba.cuda.fp16, numba.cuda.bf16" if before else "cuda.fp16, cuda.bf16",
        "print(changes())",
        "cuda.fp16, cuda.bf16, cuda.libdevice",
        "print(changes())",
        "cuda.fp16.hsin.__code__ = (lambda: 3).__code__",
        "print(len(changes()[0]))",
    ]
    assert run_python("-c", "\n".join(lines)).stdout == "((), ())\n((), ())\n1\n"


@pytest.mark.parametrize(
    ("owner", "name", "value"),
    [
        pytest.param(numbers.float_as_bool, "__code__", numbers.int_as_bool.__code__, id="code of its neighbour"),
        pytest.param(codegen.CUDACodeLibrary.add_ir_module, "__code__", is_zero.__code__, id="code of a method"),
        pytest.param(codegen.CUDACodeLibrary, "add_ir_module", is_zero, id="a method"),
        pytest.param(codegen.CUDACodeLibrary, "add_ir_module", staticmethod(is_zero), id="a static method"),
        pytest.param(codegen.CUDACodeLibrary, "modules", property(lambda library: [library]), id="a property"),
        pytest.param(codegen, "run_nvdisasm", is_zero, id="a function"),
        pytest.param(codegen, "run_nvdisasm", functools.partial(is_zero, 1), id="a function with arguments"),
        pytest.param(codegen, "CUDACodeLibrary", Library, id="a class"),
        pytest.param(numbers, "float_as_bool", numbers.int_as_bool, id="its neighbour"),
        pytest.param(codegen, "run_nvdisasm", numba.core.cgutils.alloca_once, id="one of numba's from elsewhere"),
        pytest.param(codegen.CUDACodeLibrary, "get_cubin", codegen.CUDACodeLibrary.get_ltoir, id="another method"),
        pytest.param(codegen.CUDACodeLibrary, "modules", LIBRARIES, id="another property"),
        pytest.param(codegen, "CUDACodeLibrary", codegen.JITCUDACodegen, id="another class"),
        pytest.param(numbers.float_as_bool, "__code__", with_other_constants, id="other constants"),
        pytest.param(numba.core.cgutils.alloca_once, "__defaults__", (None, "other", True), id="other defaults"),
    ],
)
def test_what_a_program_puts_in_numbas_place_counts_as_long_as_it_is_there(
    undo: pytest.MonkeyPatch, owner: Any, name: str, value: object
) -> None:
    assert changes() == ((), ())
    undo.setattr(owner, name, value)
    (field,), private = changes()
    assert private == ()
    assert changes() == ((field,), ())
    undo.undo()
    assert changes() == ((), ())


@pytest.mark.each_value_once
@pytest.mark.parametrize(
    ("owner", "name", "value"),
    [
        (numbers, "float_as_bool", numbers.int_as_bool),
        (numbers.float_as_bool, "__code__", with_other_constants),
        (numba.core.cgutils.alloca_once, "__defaults__", (None, "other", True)),
    ],
    ids=["name", "code", "defaults"],
)
@pytest.mark.parametrize("interrupted", ["sorted_out", "function_text", "put_text"])
def test_a_change_is_not_taken_for_numbas_own_after_a_look_was_interrupted(
    undo: pytest.MonkeyPatch, owner: Any, name: str, value: object, interrupted: str
) -> None:
    assert changes() == ((), ())
    undo.setattr(owner, name, value)
    told = changes()
    for _ in range(2):
        survey.begin_anew()
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(changes_module, interrupted, interrupt)
            with contextlib.suppress(KeyboardInterrupt):
                changes()
        assert changes() == told != ((), ())
    undo.undo()
    assert changes() == ((), ())


def test_a_change_that_is_undone_between_two_looks_is_none(undo: pytest.MonkeyPatch) -> None:
    assert changes() == ((), ())
    for name, value in (("__code__", with_other_constants), ("__defaults__", (1,))):
        undo.setattr(numbers.float_as_bool, name, value)
        survey.the_survey().look()
        undo.undo()
        survey.the_survey().look()
    assert changes() == ((), ())


def test_one_change_is_told_from_another(undo: pytest.MonkeyPatch) -> None:
    found = []
    for code in (is_zero.__code__, launched.__code__, numbers.int_as_bool.__code__):
        undo.setattr(numbers.float_as_bool, "__code__", code)
        found.append(changes())
    for value in (is_zero, launched, functools.partial(is_zero, 1), functools.partial(is_zero, 2)):
        undo.setattr(codegen, "run_nvdisasm", value)
        found.append(changes())
    assert len({*found}) == 7


def test_a_function_that_one_of_numbas_wraps_counts_too(undo: pytest.MonkeyPatch) -> None:
    wrapped = numba.core.cgutils.for_range.__wrapped__
    undo.setattr(wrapped, "__code__", (lambda builder, count, start=None, intp=None: (yield)).__code__)
    ((label, _),), _ = changes()
    assert label == "code of numba.core.cgutils.for_range"


def test_what_gridjit_cannot_see_into_keeps_artifacts_in_this_process(undo: pytest.MonkeyPatch) -> None:
    undo.setattr(codegen, "run_nvdisasm", Method())
    _, (reason,) = changes()
    assert "codegen.run_nvdisasm" in reason


def test_a_class_of_numbas_that_dataclasses_wrote_methods_for_is_its_own(undo: pytest.MonkeyPatch) -> None:
    names = vars(numba.core.cgutils)
    text = "import dataclasses\n@dataclasses.dataclass(frozen=True)\nclass Written:\n    number: int"
    for name in ("dataclasses", "Written"):
        undo.setitem(names, name, None)
    exec(text, names)
    assert changes() == ((), ())
    undo.setattr(names["Written"], "__init__", is_zero)
    assert [label for label, _ in changes()[0]] == ["put in numba: numba.core.cgutils.Written.__init__"]
