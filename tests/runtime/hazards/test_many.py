"""The checker of hazards in long programs: what ended is forgotten, and what is left is still known."""

from __future__ import annotations

import random
import threading
from typing import Any

import numpy as np
import pytest

import gridjit
from gridjit import HazardError, cuda
from gridjit.runtime.hazards.ranges import Ranges
from tests.runtime.hazards.work import scale


def clocks(checker: Any) -> list[dict[int, int]]:
    """Return all that the checker knows of the order of work."""
    devices = checker._devices.values()
    lines = [line.clock for device in devices for line in device.all]
    ended = [clock for device in devices for clock in (device.left, device.ended)]
    return [checker.clocks.host, *lines, *ended, *checker._events.values()]


@pytest.mark.each_value_once
@pytest.mark.parametrize("nonblocking", [False, True])
@pytest.mark.parametrize("host_waits", [False, True])
def test_streams_that_come_and_go_leave_nothing_behind(checked: Any, nonblocking: bool, host_waits: bool) -> None:
    lasting, values = gridjit.create_stream(nonblocking=True), cuda.to_device(np.ones(8))
    kept, other = cuda.to_device(np.ones(8)), gridjit.create_stream(nonblocking=True)
    cuda.synchronize()
    scale[1, 8, other](kept, 2.0)
    for number in range(1500):
        stream = gridjit.create_stream(nonblocking=nonblocking)
        stream.wait(lasting)
        scale[1, 8, stream.handle](values, 1.0)  # by its handle: a kernel keeps the streams of its last launches
        lasting.wait(stream)
        stream.close()
        if host_waits and number % 100 == 0:
            lasting.synchronize()
    known = clocks(checked)
    assert max(map(len, known)) < 600
    assert len(known) < 20
    assert len(checked._lines) < 20
    with pytest.raises(HazardError, match="may still write"):
        scale[1, 8, lasting](kept, 2.0)
    scale[1, 8, lasting](values, 1.0)
    with pytest.raises(HazardError, match="may still write"):
        scale[1, 8, other](values, 1.0)


def test_a_threads_default_stream_is_not_that_of_a_thread_which_began_after_it_ended(checked: Any) -> None:
    values = cuda.to_device(np.ones(8))
    cuda.synchronize()

    def refused() -> tuple[int, bool]:
        try:
            scale[1, 8, cuda.per_thread_default_stream()](values, 2.0)
        except HazardError:
            return threading.get_ident(), True
        return threading.get_ident(), False

    def in_a_thread() -> tuple[int, bool]:
        found: list[tuple[int, bool]] = []
        thread = threading.Thread(target=lambda: found.append(refused()))
        thread.start()
        thread.join()
        return found[0]

    first, was_refused = in_a_thread()
    assert not was_refused
    later = [in_a_thread() for _ in range(32)]
    assert all(was_refused for _, was_refused in later)
    if first not in [number for number, _ in later]:
        pytest.skip("the interpreter gave no thread the number of one that ended")


def test_memory_that_is_forgotten_leaves_what_lies_around_it_known() -> None:
    order, known = random.Random(3), Ranges(lambda use: False)
    there: dict[tuple[int, int], Any] = {}
    for _ in range(2000):
        low, size = 16 * order.randrange(1, 400), 16 * order.choice((1, 1, 2, 5, 300))
        if order.random() < 0.4:
            known.forget(low, low + size)
            there = {span: one for span, one in there.items() if span[1] <= low or span[0] >= low + size}
        else:
            there[low, low + size] = known.bytes_at(low, size)
        looked = known.bytes_at(low, size)
        there[low, low + size] = looked
        assert looked is not None
        around = {id(one) for span, one in there.items() if span[0] < low + size and span[1] > low} - {id(looked)}
        assert {id(one) for one in looked.others} == around
