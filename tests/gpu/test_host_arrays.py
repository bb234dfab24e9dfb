"""The host's arrays as arguments on a real GPU: again and again, in every direction, from several threads."""

from __future__ import annotations

import threading

import numpy as np
import pytest

import gridjit
from gridjit import In, InOut, Out, cuda

pytestmark = pytest.mark.gpu


@gridjit.jit
def combine(out, x, total, factor):
    i = cuda.grid(1)
    if i < out.size:
        out[i] = factor * x[i] + total[i]
        total[i] += x[i]


@gridjit.jit
def increment(x):
    i = cuda.grid(1)
    if i < x.size:
        x[i] += 1


@pytest.mark.parametrize("size", [1, 100, 30_000, 100_000, 400_000])
def test_arrays_in_every_direction_are_right_in_every_launch(size):
    total, expected = np.zeros(size, np.float32), np.zeros(size, np.float32)
    for turn in range(5):
        x = np.random.default_rng(turn).random(size).astype(np.float32)
        out, before = np.full(size, -1, np.float32), x.copy()
        combine[(size + 127) // 128, 128](Out(out), In(x), InOut(total), 2.0)
        assert np.allclose(out, 2 * x + expected)
        expected += x
        assert np.allclose(total, expected)
        assert (x == before).all()


def test_one_array_for_several_parameters_is_one_array_on_the_device_each_time():
    @gridjit.jit
    def add(x, y):
        i = cuda.grid(1)
        if i < x.size:
            cuda.atomic.add(x, i, 1)
            cuda.atomic.add(y, i, 1)

    x, y = np.zeros(50, np.int32), np.zeros(50, np.int32)
    for _ in range(3):
        add[1, 64](InOut(x), InOut(y))
        add[1, 64](InOut(x), InOut(x))
    assert (x.tolist(), y.tolist()) == ([9] * 50, [3] * 50)


def test_large_arrays_wait_for_their_own_stream_only():
    stream, other = gridjit.create_stream(), gridjit.create_stream(nonblocking=True)
    large, smaller = np.zeros(1 << 20), np.zeros(1 << 15)

    def turn():
        for values in (large, smaller):
            increment[values.size // 256, 256, other](InOut(values))

    turn()  # from now on there is page-locked memory for them
    opened, reached = threading.Event(), threading.Event()
    stream.on_complete(lambda: (reached.set(), opened.wait(60)))
    try:
        assert reached.wait(60)
        for _ in range(5):
            turn()
        assert not stream.query()
    finally:
        opened.set()
    stream.synchronize()
    assert (set(large), set(smaller)) == ({6.0}, {6.0})


def test_threads_with_streams_of_their_own_each_get_their_results():
    wrong, begin = [], threading.Barrier(12)

    def work(number):
        x = np.full(1000 * (number + 1), number, np.int64)
        with gridjit.create_stream(nonblocking=True) as stream:
            launch = increment[-(-x.size // 256), 256, stream]
            begin.wait()
            for _ in range(300):
                launch(InOut(x))
        if not (x == number + 300).all():
            wrong.append((number, x))

    threads = [threading.Thread(target=work, args=(number,)) for number in range(12)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def test_a_launch_sees_what_its_stream_was_given_before():
    with gridjit.create_stream() as stream:
        x, there = np.zeros(64, np.int32), cuda.to_device(np.zeros(64, np.int32), stream)

        @gridjit.jit
        def fetch(x, y):
            i = cuda.grid(1)
            x[i] = y[i]
            y[i] += 1

        for turn in range(20):
            increment[1, 64, stream](there)
            fetch[1, 64, stream](InOut(x), there)
            assert x.tolist() == [2 * turn + 1] * 64


def test_a_stream_that_is_captured_refuses_an_array_it_was_launched_with_before():
    x = np.zeros(64, np.int32)
    with gridjit.create_stream() as stream:
        for _ in range(2):
            increment[1, 64, stream](InOut(x))
        with pytest.raises(gridjit.ArgumentError, match="a graph cannot repeat"), gridjit.graph(stream):
            increment[1, 64, stream](InOut(x))
        increment[1, 64, stream](InOut(x))
    assert x.tolist() == [3] * 64


# Around a piece, a block, and two blocks; one that is worth one thread only.
LARGE = [(1 << 16) + 1, (1 << 19) + 3, (1 << 20) - 1, (5 << 20) + 7, (64 << 20) + 1, (130 << 20) - 5]


@pytest.mark.parametrize("size", LARGE)
@pytest.mark.parametrize(
    "make", [lambda: 0, lambda: cuda.per_thread_default_stream(), lambda: gridjit.create_stream(nonblocking=True)]
)
def test_every_byte_of_large_arrays_arrives_whichever_thread_brings_it(size, make):
    values = np.random.default_rng(size).integers(0, 256, size, np.uint8)
    stream = make()
    for turn in range(4):
        there = cuda.to_device(values, stream)
        increment[-(-size // 256), 256, stream](there)
        back = np.zeros(size + 2, np.uint8)
        there.copy_to_host(back[1:-1], stream=stream)
        cuda.synchronize()
        values += 1
        assert np.array_equal(back[1:-1], values), turn
        assert back[0] == back[-1] == 0


def test_large_arrays_of_many_threads_never_cross():
    wrong, begin = [], threading.Barrier(8)

    def work(number):
        x = np.full((number + 1) << 18, number, np.int64)  # 2 to 16 MB
        with gridjit.create_stream(nonblocking=True) as stream:
            begin.wait()
            for _ in range(20):
                increment[-(-x.size // 256), 256, stream](InOut(x))
        if not (x == number + 20).all():
            wrong.append(number)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong
