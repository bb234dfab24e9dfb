"""`kernel[grid, block]`: the same from Python and from machine code, which is installed and uninstalled at will."""

from __future__ import annotations

import gc
import weakref
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import gridjit
from gridjit.cache.memory import MemoryStore
from gridjit.compiler.values.errors import ArgumentError, ConfigError
from gridjit.runtime.launch import indexing
from gridjit.runtime.launch.indexing import Indexable, index_from_python, index_natively, is_native
from gridjit.runtime.launch.ready import ReadyTable
from gridjit.runtime.native.layout.probes import object_layout
from tests.runtime.standin import IndexedKernel

STREAM = type("Stream", (), {"__cuda_stream__": lambda self: (0, 0x500), "__eq__": lambda *_: True})()
WAYS = [
    "from Python",
    pytest.param("natively", marks=pytest.mark.skipif(object_layout() is None, reason="no machine code")),
]


@pytest.fixture(params=WAYS)
def way(request: pytest.FixtureRequest) -> Iterator[str]:
    """Have kernels be indexed in one way, and in no other, for one test."""
    if request.param == "natively":
        assert index_natively(MemoryStore())
    else:
        index_from_python()
    yield request.param
    assert is_native() == (request.param == "natively")
    index_from_python()


def launched(kernel: Any, given: Any) -> Any:
    """Return the kernel configured as given, after launches by which machine code learns of that."""
    for _ in range(3):
        kernel[given]()
    return kernel[given]


@pytest.mark.parametrize(
    "given", [(2, 32), ((2, 3), (8, 4)), (2, (8, 4)), (1, 32, 16), (1, 32, STREAM, 64), ([2, 3], 4), (np.int64(2), 32)]
)
def test_indexing_again_gives_a_new_object_over_the_same_launcher(given: Any, way: str) -> None:
    kernel = IndexedKernel()
    first, second = launched(kernel, given), kernel[given]
    assert first is not second
    assert first.launcher is second.launcher
    first.pre_launch_callbacks.append(lambda *_: pytest.fail("another object's callback"))
    second()
    assert kernel[given].pre_launch_callbacks == []


@pytest.mark.parametrize(
    "index",
    [
        lambda: (make("70000"), make("512")),
        lambda: ((make("70000"), 3), (8, 4)),
        lambda: (np.int64(70000), np.uint8(32)),
        lambda: ((1, np.int32(3)), (np.int16(8), 4)),
        lambda: (2, (8, 4), STREAM, np.int64(64)),
        lambda: (2, (8, 4), 0, make("4096")),
    ],
)
def test_an_index_that_comes_again_is_not_worked_out_again(
    index: Any, way: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    kernel = IndexedKernel()
    launcher = kernel[index()].launcher
    kernel[index()]()
    monkeypatch.setattr(kernel, "_configure", lambda given: pytest.fail(f"{given} was worked out again"))
    for _ in range(3):
        assert kernel[index()].launcher is launcher
        kernel[index()]()


def make(number: str) -> int:
    """Return an int that is an object of its own."""
    return int(number)


@pytest.mark.parametrize("other", [(1.0, 32), (1, 32.0), ((1,), (32.0,)), (1, 32, 0.5), (1, 32, 0, 0.0), ("1", 32)])
def test_what_only_equals_dimensions_is_still_an_error(other: Any, way: str) -> None:
    kernel = IndexedKernel()
    for given in ((1, 32), ((1,), (32,)), (1, 32, 0), (1, 32, 0, 0)):
        launched(kernel, given)
    with pytest.raises((ConfigError, ArgumentError)):
        kernel[other]()


class Whole:
    """A whole number of a program's own."""

    def __init__(self, number: int) -> None:
        self.number = number

    def __index__(self) -> int:
        return self.number


def test_indexings_that_differ_are_told_apart(way: str) -> None:
    kernel = IndexedKernel()
    given: list[Any] = [(1, 32), (32, 1), (1, (32, 1, 2)), ((1, 32), 1), (1, 32, 16), (1, 32, 0, 16), (1, 32, STREAM)]
    given += [((Whole(2), 3), 4), ((Whole(5), 3), 4)]
    for _ in range(3):
        for one in given:
            kernel[one]()
    launches = kernel.kernel.recorder.launches
    assert len({(launched.config, launched.stream) for launched in launches}) == len(given)
    assert [(launched.config, launched.stream) for launched in launches[: len(given)]] == [
        (launched.config, launched.stream) for launched in launches[-len(given) :]
    ]


def test_remembered_indexings_are_bounded(way: str) -> None:
    kernel = IndexedKernel()
    for grid in range(1, 2 * ReadyTable.LAUNCHERS):
        kernel[grid, 1]
    assert len(kernel._ready.launchers) <= ReadyTable.LAUNCHERS


def test_streams_that_were_launched_on_are_let_go_in_the_end(way: str) -> None:
    kernel, stream = IndexedKernel(), object.__new__(type(STREAM))
    gone = weakref.ref(stream)
    launched(kernel, (1, 32, stream))
    del stream
    for number in range(1, ReadyTable.LAUNCHERS):
        launched(kernel, (1, 32, number))
    kernel.asked.clear()
    gc.collect()
    assert gone() is None


def test_what_is_dropped_is_launched_anew_and_by_another_launcher(way: str) -> None:
    kernel = IndexedKernel()
    before = launched(kernel, (1, 32)).launcher
    kernel._drop()
    assert kernel[1, 32].launcher is not before
    kernel[1, 32]()
    assert len(kernel.kernel.signatures) == 2


def test_what_was_dropped_is_kept_by_nobody(way: str) -> None:
    kernel = IndexedKernel()
    gone = weakref.ref(launched(kernel, (1, 32)).launcher)
    kernel._drop()
    gc.collect()
    assert gone() is None


@pytest.mark.skipif(object_layout() is None, reason="this interpreter launches from Python")
def test_machine_code_indexes_from_when_it_pays_until_it_is_taken_away() -> None:
    kernel = IndexedKernel()
    assert not is_native()
    launched(kernel, (1, 32))
    assert is_native()
    index_from_python()
    kernel.asked.clear()
    assert launched(kernel, (1, 32)).launcher is launched(kernel, (1, 32)).launcher
    assert (is_native(), kernel.asked) == (False, [])
    assert "__getitem__" in vars(Indexable)
    assert index_natively(MemoryStore())
    launched(kernel, (1, 32))
    assert is_native()


@pytest.mark.skipif(object_layout() is None, reason="this interpreter launches from Python")
@pytest.mark.parametrize(
    "index",
    [lambda: ((make("2"), 3), (8, 4)), lambda: (np.int32(2), 32), lambda: (2, 32, 0, make("64"))],
    ids=["tuples", "NumPy's integers", "shared memory"],
)
def test_machine_code_is_asked_for_whatever_an_index_is_made_of(index: Any) -> None:
    index_from_python(until_tried=True)
    kernel = IndexedKernel()
    for _ in range(3):
        kernel[index()]()
    assert is_native()
    index_from_python()


@pytest.mark.skipif(object_layout() is None, reason="this interpreter launches from Python")
def test_a_real_kernel_is_indexed_by_what_is_in_place_now() -> None:
    kernel = gridjit.jit(lambda: None, target="host")
    for _ in range(3):
        assert index_natively(MemoryStore())
        assert (in_place(), kernel[3, 7].griddim) == ("wrapper_descriptor", (3, 1, 1))
        index_from_python()
        assert (in_place(), kernel[3, 7].griddim) == ("function", (3, 1, 1))


def in_place() -> str:
    return type(vars(Indexable)["__getitem__"]).__name__


def test_a_new_pair_takes_the_place_of_one_after_so_many_misses() -> None:
    pairs = indexing.NONE_YET
    for number in range(indexing.PAIRS):
        pairs = indexing.added(pairs, f"configured {number}", number, 0)
    assert indexing.is_full(pairs)
    changed = indexing.added(pairs, "new", 99, indexing.PATIENCE)
    assert (len(changed), changed[3:5], changed[5:], changed[:3]) == (len(pairs), ("new", 99), pairs[5:], pairs[:3])
    assert indexing.kept(changed, lambda one: one == "new") == (*indexing.NONE_YET, "new", 99)
