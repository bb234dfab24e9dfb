"""Texts of numba's and numba-cuda's objects differ exactly where their compilers tell them apart."""

from __future__ import annotations

from typing import Any

import pytest

from gridjit.compiler.source_value import value_text

numba = pytest.importorskip("numba")
cuda = pytest.importorskip("numba.cuda")


def text(value: object) -> str:
    return value_text(value, lambda found: found.__qualname__)


def square(x: Any) -> Any:
    return x * x


def cube(x: Any) -> Any:
    return x * x * x


def numba_pairs() -> list[tuple[object, object]]:
    return [
        (numba.float32, numba.float64),
        (numba.float32, numba.float32[:]),
        (numba.float32[:], numba.float32[::1]),
        (
            numba.types.Record.make_c_struct([("x", numba.int32)]),
            numba.types.Record.make_c_struct([("y", numba.int32)]),
        ),
        (numba.njit(square), numba.njit(cube)),
        (numba.njit(square), numba.njit(square, fastmath=True)),
        (cuda.jit(square, device=True), cuda.jit(cube, device=True)),
        (cuda.jit(square, device=True), cuda.jit(square, device=True, fastmath=True)),
        (numba.njit(square), cuda.jit(square, device=True)),
        (cuda.threadIdx, cuda.blockIdx),
        (cuda.syncthreads, cuda.grid),
        (cuda.declare_device("f", "int32(int32)"), cuda.declare_device("g", "int32(int32)")),
        (cuda.declare_device("f", "int32(int32)"), cuda.declare_device("f", "int32(int64)")),
    ]


@pytest.mark.parametrize("index", range(len(numba_pairs())))
def test_numbas_own_objects_are_seen(index: int) -> None:
    one, other = numba_pairs()[index]
    again, _ = numba_pairs()[index]
    assert text(one) != text(other)
    assert text(one) == text(again)
    assert "0x" not in text(one)


def test_the_text_of_a_linked_file_counts(tmp_path: Any) -> None:
    source = tmp_path / "add.ptx"
    source.write_text("// one")
    device = cuda.jit(square, device=True, link=[str(source)])
    before = text(device)
    source.write_text("// another")
    assert text(device) != before


def test_linkable_code_counts_by_its_content() -> None:
    assert text(cuda.CUSource("one", name="f")) == text(cuda.CUSource("one", name="f"))
    assert text(cuda.CUSource("one", name="f")) != text(cuda.CUSource("two", name="f"))
