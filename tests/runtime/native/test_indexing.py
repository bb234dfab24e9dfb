"""`kernel[grid, block]` through machine code: what it gives cannot be told from what Python would have given."""

from __future__ import annotations

import ctypes
import gc
import sys
import threading
import weakref
from collections import namedtuple
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gridjit.cache.memory import MemoryStore
from gridjit.compiler.values.errors import ConfigError, GridjitError
from gridjit.runtime.launch import configured as module
from gridjit.runtime.launch import indexing
from gridjit.runtime.launch.configured import ConfiguredKernel
from gridjit.runtime.launch.indexing import index_from_python, index_natively
from gridjit.runtime.native.layout.probes import object_layout
from gridjit.runtime.native.placement import for_ever
from tests.runtime.standin import IndexedKernel, StandInKernel

pytestmark = pytest.mark.skipif(object_layout() is None, reason="this interpreter launches from Python")
STREAM = type("Stream", (), {"__cuda_stream__": lambda self: (0, 0x500), "__eq__": lambda *_: True})()
SIZE = np.int32(12)
Pair = namedtuple("Pair", "grid block")


@pytest.fixture(autouse=True)
def _native() -> Iterator[None]:
    """Have machine code index, and nothing else, for one test."""
    assert index_natively(MemoryStore())
    yield
    index_from_python()


def warmed(*given: Any, arity: int = 0) -> IndexedKernel:
    """Return a kernel that was launched for each index, and since then indexed by it."""
    kernel = IndexedKernel(arity)
    for one in given:
        kernel[one](*range(arity))
        kernel[one]
    kernel.asked.clear()
    return kernel


SAME = [
    ((2, 32), (2, 32)),
    ((70000, 512), (int("70000"), int("512"))),
    (((70000, 3), (512, 2)), ((int("70000"), 3), (int("512"), 2))),
    ((1, 32, 0x500), (1, 32, int("1280"))),
    ((1, 32, STREAM), (1, 32, STREAM)),
    ((1, 32, STREAM, 4096), (1, 32, STREAM, int("4096"))),
    ((SIZE, (32, SIZE)), (SIZE, (32, SIZE))),
]


@pytest.mark.parametrize(("first", "again"), SAME)
def test_the_same_index_again_does_not_come_to_python(first: Any, again: Any) -> None:
    kernel = warmed(first)
    for _ in range(5):
        kernel[again]()
    assert kernel.asked == []
    launches = kernel.kernel.recorder.launches
    assert len(launches) == 6
    assert len({(launched.config, launched.stream) for launched in launches}) == 1
    assert kernel.kernel.recorder.ways[1:] == ["native"] * 5


EQUAL = [(True, 32), (1.0, 32), (np.int64(1), 32), Pair(1, 32), ((True,), 32)]
ALIKE = [[1, 32], (2, 32), (32, 1), (1, 32, 0), (1, 32, 0, 0), ((1,), 32), (1, (32,)), ((1, 1), 32), (((1,),), 32)]
NONE_AT_ALL = [(1,), (), 1, None]


@pytest.mark.parametrize("other", [*EQUAL, *ALIKE, *NONE_AT_ALL])
def test_what_is_not_the_same_comes_to_python(other: Any) -> None:
    kernel = warmed((1, 32))
    kernel_error = python_error = None
    try:
        kernel[other]
    except (ConfigError, TypeError, ValueError) as error:
        kernel_error = error
    try:
        IndexedKernel()._index(other)
    except (ConfigError, TypeError, ValueError) as error:
        python_error = error
    assert type(kernel_error) is type(python_error)
    assert kernel.asked == ([] if kernel_error else [other])


@pytest.mark.parametrize("value", [1 << 30, (1 << 30) + 1, 1 << 40, (1 << 60) + 7, 0])
def test_long_ints_are_not_mixed_up(value: int) -> None:
    kernel = warmed((1, 32, value))
    for handle in (value, value + (1 << 30), value + (1 << 45), int(str(value)), 5):
        kernel[1, 32, handle]()
        assert kernel.kernel.recorder.last.stream == handle


_DIM = st.sampled_from([0, 1, 2, 32, 977, 70000, 1 << 30, True, 1.0, np.int64(2), -1, "2"])
_DIMS = st.one_of(_DIM, st.lists(_DIM, max_size=4).map(tuple), st.lists(_DIM, max_size=2))
_STREAM = st.sampled_from([0, 1, 2, 0x500, (1 << 30) + 5, (1 << 45) + 5, True, 0.0, STREAM, None])
_INDEX = st.one_of(
    st.tuples(_DIMS, _DIMS),
    st.tuples(_DIMS, _DIMS, _STREAM),
    st.tuples(_DIMS, _DIMS, _STREAM, st.sampled_from([0, 64, 1 << 12, True, 1.5])),
    st.builds(Pair, _DIMS, _DIMS),
    st.lists(_DIMS, max_size=3),
    _DIMS,
)


@given(st.lists(_INDEX, min_size=5, max_size=40))
def test_any_index_gives_what_python_gives(indexes: list[Any]) -> None:
    kernel = IndexedKernel()
    for index in indexes * 3:
        assert outcome(lambda: kernel[index]) == outcome(lambda: IndexedKernel()._index(index))  # noqa: B023


def outcome(configure: Any) -> Any:
    """Return how it launches what it returns, or the type of what it raises."""
    try:
        configured = configure()
        configured()
    except (GridjitError, TypeError, ValueError) as error:
        return type(error)
    return configured.config, configured.stream, type(configured.stream)


def test_negative_ints_are_not_mixed_up_with_positive_ones() -> None:
    kernel = warmed((977, 32))
    with pytest.raises(ConfigError):
        kernel[-977, 32]


def test_an_object_that_somebody_has_is_not_given_to_another() -> None:
    kernel = warmed((1, 32))
    held = [kernel[1, 32] for _ in range(40)]
    assert len(set(map(id, held))) == 40
    assert len({one.launcher for one in held}) == 1


def test_an_object_that_nobody_has_is_given_again() -> None:
    kernel = warmed((1, 32))
    first = id(kernel[1, 32])
    assert id(kernel[1, 32]) == first
    held = kernel[1, 32]
    assert id(held) == first
    assert kernel[1, 32] is not held
    del held
    assert id(kernel[1, 32]) == first


def test_callbacks_are_never_shared() -> None:
    kernel = warmed((1, 32))
    for _ in range(3 * indexing.PAIRS):
        kernel[1, 32].pre_launch_callbacks.append(lambda *_: pytest.fail("another object's callback"))
        kernel[1, 32]()


def test_callbacks_given_while_another_thread_calls_are_called_from_then_on(monkeypatch: pytest.MonkeyPatch) -> None:
    kernel, called = StandInKernel(arity=0), []
    arm, late = module.arm, kernel.configured()  # type: ignore[attr-defined]
    kernel.configured()()

    def arm_late(launched: ConfiguredKernel, *where: int) -> None:
        launched.pre_launch_callbacks.append(lambda *_: called.append(launched))
        arm(launched, *where)

    monkeypatch.setattr(module, "arm", arm_late)
    late()
    late()
    assert called == [late]


def test_callbacks_are_kept_no_longer_than_their_object() -> None:
    kernel = warmed((1, 32))
    owned = type("Owned", (), {"__call__": lambda *_: None})()
    gone = weakref.ref(owned)
    configured = kernel[1, 32]
    configured.pre_launch_callbacks.append(owned)
    configured()
    del configured, owned
    assert gone() is None
    kernel[1, 32]
    kernel.asked.clear()
    kernel[1, 32]()
    assert kernel.asked == []


def test_what_is_weakly_referred_to_is_not_given_again() -> None:
    kernel = warmed((1, 32))
    gone = weakref.ref(kernel[1, 32])
    assert gone() is not kernel[1, 32]


def test_a_stream_is_told_by_its_identity() -> None:
    other = type("Stream", (), {"__cuda_stream__": lambda self: (0, 0x600), "__eq__": lambda *_: True})()
    kernel = warmed((1, 32, STREAM), (1, 32, other))
    for stream, handle in ((STREAM, 0x500), (other, 0x600)) * 3:
        kernel[1, 32, stream]()
        assert kernel.kernel.recorder.last.stream == handle
    assert kernel.asked == []


def test_more_indexes_than_machine_code_remembers_are_all_right() -> None:
    kernel = IndexedKernel()
    for turn in range(40):
        for grid in range(1, 3 * indexing.PAIRS):
            kernel[grid, 32]()
            assert kernel.kernel.recorder.last.config.griddim == (grid, 1, 1), turn
    assert len(kernel._hot) == 1 + 2 * indexing.PAIRS


def test_a_new_index_takes_the_place_of_an_old_one_in_the_end() -> None:
    kernel = warmed(*((grid, 1) for grid in range(1, 1 + indexing.PAIRS)))
    for _ in range(indexing.PATIENCE + 2):
        kernel[500, 1]()
    kernel.asked.clear()
    kernel[500, 1]()
    assert kernel.asked == []


def test_what_is_forgotten_comes_to_python_again() -> None:
    kernel = warmed((1, 32))
    kernel._drop()
    kernel[1, 32]()
    assert kernel.asked == [(1, 32)]


def test_a_subclass_may_index_in_its_own_way() -> None:
    class Doubling(IndexedKernel):
        def __getitem__(self, launch: Any) -> ConfiguredKernel:
            return super().__getitem__((2 * launch[0], launch[1]))

    kernel = Doubling()
    for _ in range(4):
        kernel[3, 1]()
        assert kernel.kernel.recorder.last.config.griddim == (6, 1, 1)


def test_a_million_indexings_keep_and_lose_nothing() -> None:
    kernel, grid, stream = warmed(), 70000, object.__new__(type(STREAM))
    kernel[grid, (8, 4), stream]()
    kernel[grid, (8, 4), stream]
    kernel.asked.clear()
    watched, block = [kernel, grid, stream, kernel._hot, kernel._hot[1].launcher, type(kernel._hot[1])], (8, int("4"))
    gc.collect()
    before, blocks = [sys.getrefcount(one) for one in watched], sys.getallocatedblocks()
    for _ in range(1_000_000):
        kernel[grid, block, stream]
    assert [sys.getrefcount(one) for one in watched] == before
    assert abs(sys.getallocatedblocks() - blocks) < 50
    references = sys.getrefcount(kernel._hot[1])
    assert references == 2
    assert kernel.asked == []


def test_a_hundred_thousand_misses_keep_and_lose_nothing() -> None:
    kernel = warmed((1, 32))
    held = kernel[1, 32]
    watched = [kernel, held.launcher, type(held)]
    gc.collect()
    before, blocks = [sys.getrefcount(one) for one in watched], sys.getallocatedblocks()
    for _ in range(100_000):
        held.pre_launch_callbacks = ()
        held = kernel[1, 32]
    del kernel.asked[:]
    after = [sys.getrefcount(one) for one in watched]
    assert all(abs(then - now) <= 2 * indexing.PAIRS for then, now in zip(before, after, strict=True))
    assert abs(sys.getallocatedblocks() - blocks) < 200


def test_launches_keep_and_lose_nothing() -> None:
    kernel = warmed((1, 32), arity=1)
    address = kernel[1, 32].launcher.native
    assert address is not None
    value, nothing = 123456, None
    gc.collect()
    before = [sys.getrefcount(one) for one in (kernel, value, nothing, kernel._hot[1], type(kernel._hot[1]))]
    for _ in range(20_000):
        kernel[1, 32](value)
    del kernel.kernel.recorder.launches[:]
    after = [sys.getrefcount(one) for one in (kernel, value, nothing, kernel._hot[1], type(kernel._hot[1]))]
    assert all(abs(then - now) < 20 for then, now in zip(before, after, strict=True))


def test_threads_index_at_once_and_each_launches_its_own() -> None:
    kernel = warmed(*((grid, 32) for grid in range(1, 5)), arity=1)
    del kernel.kernel.recorder.launches[:]
    start = threading.Barrier(4)

    def work(number: int) -> None:
        start.wait()
        for index in range(500):
            kernel[number, 32](1000 * number + index)
            kernel[1, 32](1000 + 500 + index)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(1, 5)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    launches = kernel.kernel.recorder.launches
    assert len(launches) == 4000
    for launched in launches:
        value = int.from_bytes(launched.parameters, "little")
        assert launched.config.griddim[0] == value // 1000


def test_a_kernel_that_is_gone_takes_what_it_remembers_along() -> None:
    kernel = warmed((1, 32, STREAM))
    gone = weakref.ref(kernel.kernel.recorder)
    configured = weakref.ref(kernel._hot[1])
    del kernel
    gc.collect()
    assert configured() is None
    assert gone() is None


def test_what_machine_code_has_the_address_of_is_never_freed() -> None:
    kept, gone = ctypes.c_int64(7), ctypes.c_int64(8)
    ends = [weakref.ref(for_ever(kept)), weakref.ref(gone)]
    del kept, gone
    gc.collect()
    assert [end() is None for end in ends] == [False, True]


def test_calls_by_any_way_launch() -> None:
    kernel = warmed((1, 32), arity=2)
    configured = kernel[1, 32]
    del kernel.kernel.recorder.launches[:]
    configured(1, 2)
    configured.__call__(1, 2)
    configured(*(1, 2))
    configured(*[1, 2])
    ConfiguredKernel.__call__(configured, 1, 2)
    list(map(configured, [1], [2]))
    assert kernel.kernel.recorder.ways == ["native"] * 6
    assert len({launched.parameters for launched in kernel.kernel.recorder.launches}) == 1
