"""Texts of numba's and numba-cuda's objects differ exactly where their compilers tell them apart."""

from __future__ import annotations

import gc
from types import SimpleNamespace
from typing import Any

import pytest

from gridjit.compiler.key.values import Visit, value_text
from gridjit.compiler.source.objects import OpaqueValue

numba = pytest.importorskip("numba")
cuda = pytest.importorskip("numba.cuda")


def text(value: object) -> str:
    return value_text(value, Visit())


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


def declared(*arguments: Any) -> str:
    """Return the text of a device function as numba-cuda leaves one with signatures, which needs a GPU to be made."""
    function = cuda.jit(square, device=True)
    for argument in arguments:
        function.overloads[(argument,)] = SimpleNamespace(signature=argument(argument))
    function.disable_compile()
    found = text(function)
    function.overloads.clear()
    return found


def test_the_signature_that_a_device_function_was_declared_with_counts() -> None:
    one, other = numba.float32, numba.float64
    assert declared(one) == declared(one)
    texts = {declared(one), declared(other), declared(one, other), declared(other, one)}
    assert len(texts | {text(cuda.jit(square, device=True))}) == 5


def test_the_signatures_that_a_device_function_was_called_with_do_not_count() -> None:
    function = cuda.jit(square, device=True)
    before = text(function)
    function.overloads[(numba.float32,)] = SimpleNamespace(signature=numba.float32(numba.float32))
    after = text(function)
    function.overloads.clear()
    assert after == before


class Tile(numba.types.Type):  # type: ignore[name-defined]
    """A type whose name does not tell its size."""

    def __init__(self, size: object) -> None:
        self.size = size
        super().__init__(name="Tile")


def test_a_type_of_the_users_own_counts_by_what_it_holds() -> None:
    texts = []
    for size in (3, 3, 4):
        # numba takes types of one name for one type as long as one of them lives.
        texts.append(text(Tile(size)))
        gc.collect()
    assert texts[0] == texts[1] != texts[2]
    with pytest.raises(OpaqueValue, match="object"):
        text(Tile(object()))
