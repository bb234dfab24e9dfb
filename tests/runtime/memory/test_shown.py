"""Device arrays show a few items in a terminal and a notebook: never waited for, never an error, never many bytes."""

from __future__ import annotations

import os
import threading
from typing import Any

import numpy as np
import pytest

import gridjit
from gridjit import cuda
from gridjit.runtime.memory.shown import MOST_BYTES, items_of
from gridjit.runtime.memory.space import HostSpace
from gridjit.runtime.queues.timeline import HOST

pytestmark = pytest.mark.usefixtures("on_host")


@pytest.fixture
def peeked(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Note how many bytes are copied to be shown."""
    sizes: list[int] = []
    peek = HostSpace.peek

    def noted(self: HostSpace, ghost: Any, values: Any, stream: Any) -> bool:
        sizes.append(values.nbytes)
        return peek(self, ghost, values, stream)

    monkeypatch.setattr(HostSpace, "peek", noted)
    return sizes
    return sizes


def test_a_small_array_shows_all_of_it() -> None:
    array = cuda.to_device(np.arange(3, dtype=np.float32))
    assert repr(array) == f"<gridjit array float32[3] on host at 0x{array.data:x}: [0., 1., 2.]>"
    matrix = cuda.to_device(np.asfortranarray([[1, 2], [3, 4]], np.int8))
    assert repr(matrix) == f"<gridjit array int8[2, 2] on host at 0x{matrix.data:x}:\n[[1, 2],\n [3, 4]]>"
    assert items_of(matrix[:, 1]) == "[2, 4]"
    assert items_of(cuda.to_device(np.array(7))) == "7"
    assert items_of(cuda.device_array(0)) == "[]"


@pytest.mark.parametrize(
    ("shape", "shown"),
    [
        ((10_000,), "[0, 1, 2, 3, 4, 5, ...]"),
        ((100, 100), "[[0, 1, 2, 3, 4, 5, ...], ...]"),
        ((1000, 5, 2), "[[[0, 1], ...], ...]"),
    ],
)
def test_a_large_array_shows_its_first_items(shape: tuple[int, ...], shown: str, peeked: list[int]) -> None:
    array = cuda.to_device(np.arange(10_000).reshape(shape))
    assert (items_of(array), items_of(array[::-1]) != "") == (shown, True)
    assert max(peeked) <= 6 * 8


def test_no_more_than_a_few_kilobytes_are_copied(peeked: list[int]) -> None:
    for array in (np.zeros(MOST_BYTES, np.int8), np.broadcast_to(np.float32(1), (1 << 20,)), np.zeros(2, "V9999")):
        repr(cuda.to_device(array))
    assert len(peeked) == 2 and max(peeked) <= MOST_BYTES


def test_a_notebook_shows_type_place_and_items_as_text() -> None:
    array = cuda.to_device(np.array([("<b>&", 1)], [("<i>", "S4"), ("n", np.int8)]))
    page = array._repr_html_()
    assert page.startswith("<div>gridjit array ") and page.endswith("</pre></div>")
    assert "<b>" not in page and "<i>" not in page and "&lt;b&gt;&amp;" in page


def test_work_in_the_arrays_stream_is_not_waited_for() -> None:
    stream, gate = gridjit.create_stream(), threading.Event()
    array = cuda.to_device(np.zeros(2), stream=stream)
    stream.on_complete(gate.wait)
    assert items_of(array) == ""
    gate.set()
    stream.synchronize()
    assert items_of(array) == "[0., 0.]"


def test_an_error_that_waits_in_the_stream_is_left_there() -> None:
    stream = gridjit.create_stream()
    array = cuda.to_device(np.zeros(2), stream=stream)

    def fail() -> None:
        raise ZeroDivisionError

    HOST.give(stream.handle, fail)
    while HOST._queues[stream.handle].served:
        os.sched_yield()
    assert items_of(array) == ""
    with pytest.raises(ZeroDivisionError):
        stream.synchronize()
    assert items_of(array) == "[0., 0.]"


def test_a_recorded_graph_holds_no_copy_for_a_person() -> None:
    array = cuda.to_device(np.zeros(2))
    with gridjit.graph() as graph:
        array.copy_to_device(np.ones(2), stream=graph.stream)
        assert items_of(array) == ""
    assert len(graph.nodes) == 1


def test_items_that_cannot_be_printed_are_not_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: Any, **__: Any) -> str:
        raise RuntimeError

    monkeypatch.setattr(np, "array2string", fail)
    array = cuda.to_device(np.zeros(2))
    assert repr(array) == f"<gridjit array float64[2] on host at 0x{array.data:x}>"
    assert array._repr_html_() == f"<div>gridjit array float64[2] on host at 0x{array.data:x}</div>"


def test_a_launch_configuration_is_a_line_in_a_notebook() -> None:
    page = gridjit.LaunchConfig.of(8, (16, 16), 4096)._repr_html_()
    assert page == "<div>launch of <b>grid 8, block 16x16, 4096 bytes shared</b></div>"
