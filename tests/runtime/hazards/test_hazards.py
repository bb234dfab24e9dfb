"""GRIDJIT_CHECK_STREAMS: work of two streams that nothing orders is an error that names both; ordered work is not."""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import gridjit
from gridjit import HazardError, cuda
from tests.programs import run_python
from tests.runtime.hazards.work import add, ones, scale

pytestmark = pytest.mark.usefixtures("checked")


@gridjit.jit
def count_to(last: int) -> None:
    for _ in range(last):
        pass


@gridjit.jit
def add_pair(into: Any, pair: Any) -> None:
    i = cuda.grid(1)
    if i < into.size:
        into[i] += pair[0][i] + pair[1][i]


def test_the_error_names_both_launches_and_what_to_insert(first: Any, second: Any) -> None:
    x, y = ones(), ones()
    line = sys._getframe().f_lineno
    scale[1, 64, first](x, 2.0)
    with pytest.raises(HazardError) as raised:
        add[1, 64, second](y, x)
    said = str(raised.value)
    assert f"add (test_hazards.py:{line + 3}, stream 0x{first.handle + 1:x}) reads array 'values'" in said
    assert f"scale (test_hazards.py:{line + 1}, stream 0x{first.handle:x}) may still write it" in said
    assert "second.wait(first)" in said


def test_work_that_is_refused_was_not_done(first: Any, second: Any) -> None:
    x, y = ones(), ones()
    scale[1, 64, first](x, 2.0)
    with pytest.raises(HazardError):
        add[1, 64, second](y, x)
    second.wait(first)
    add[1, 64, second](y, x)
    assert set(y.copy_to_host(stream=second)) == {3.0}


def test_what_is_read_must_not_be_written_meanwhile(first: Any, second: Any) -> None:
    x, y = ones(), ones()
    add[1, 64, first](y, x)
    with pytest.raises(HazardError, match=r"may write array 'values' while add .* may still read it"):
        scale[1, 64, second](x, 2.0)


def test_two_streams_may_read_the_same_array(first: Any, second: Any) -> None:
    x, y, z = ones(), ones(), ones()
    for _ in range(3):
        add[1, 64, first](y, x)
        add[1, 64, second](z, x)
        add_pair[1, 64, first](y, (x, x))
        add_pair[1, 64, second](z, (x, x))
    with pytest.raises(HazardError):
        add_pair[1, 64, second](z, (x, y))


@gridjit.jit
def add_within(pairs: Any) -> None:
    i = cuda.grid(1)
    if i < pairs[0][0].size:
        pairs[0][0][i] += pairs[0][1][i] + pairs[1][i]


def test_what_is_only_read_in_a_tuple_is_not_a_hazard_beside_what_is_written_there(first: Any, second: Any) -> None:
    x, y, z, into = ones(), ones(), ones(), ones()
    add_within[1, 64, first](((x, y), z))
    add[1, 64, second](into, y)
    add[1, 64, second](into, z)
    with pytest.raises(HazardError, match=r"add_within .* may still write array 'pairs\[0\]\[0\]'"):
        add[1, 64, second](into, x)
    with pytest.raises(HazardError, match=r"add_within .* may still read array 'pairs\[1\]'"):
        scale[1, 64, second](z, 2.0)


def through_an_event(first: Any, second: Any) -> None:
    second.wait(first.record())


def through_another_stream(first: Any, second: Any) -> None:
    third = gridjit.create_stream(nonblocking=True)
    third.wait(first)
    second.wait(third.record())


def through_the_host(first: Any, second: Any) -> None:
    first.synchronize()


def through_an_event_that_the_host_waits_for(first: Any, second: Any) -> None:
    first.record().synchronize()


def through_an_event_that_is_seen_to_have_come(first: Any, second: Any) -> None:
    event, reached = first.record(), threading.Event()
    first.on_complete(reached.set)
    assert reached.wait(60)
    while not event.query():
        pass


def through_a_callback(first: Any, second: Any) -> None:
    reached = threading.Event()
    first.on_complete(reached.set)
    assert reached.wait(60)


def through_the_device(first: Any, second: Any) -> None:
    cuda.synchronize()


def through_the_default_stream(first: Any, second: Any) -> None:
    second.wait(gridjit.default_stream())


def through_a_copy_to_the_host(first: Any, second: Any) -> None:
    cuda.to_device(np.zeros(3), stream=first).copy_to_host()


ORDERS = [function for name, function in list(globals().items()) if name.startswith("through_")]


@pytest.mark.each_value_once
@pytest.mark.parametrize("order", ORDERS, ids=lambda order: order.__name__)
def test_each_way_to_order_two_streams_makes_their_work_legal(
    order: Callable[[Any, Any], None], first: Any, second: Any
) -> None:
    x, y = ones(), ones()
    scale[1, 64, first](x, 2.0)
    with pytest.raises(HazardError):
        add[1, 64, second](y, x)
    order(first, second)
    add[1, 64, second](y, x)
    assert set(y.copy_to_host(stream=second)) == {3.0}


def test_an_event_orders_only_what_came_before_it(first: Any, second: Any) -> None:
    x, y = ones(), ones()
    scale[1, 64, first](x, 2.0)
    event = first.record()
    scale[1, 64, first](y, 2.0)
    second.wait(event)
    scale[1, 64, second](x, 2.0)
    with pytest.raises(HazardError):
        scale[1, 64, second](y, 2.0)


def test_a_wait_for_an_event_that_was_not_recorded_orders_nothing(first: Any, second: Any) -> None:
    x = ones()
    scale[1, 64, first](x, 2.0)
    second.wait(gridjit.create_event())
    with pytest.raises(HazardError):
        scale[1, 64, second](x, 2.0)


def test_blocking_streams_are_ordered_with_the_default_stream_and_others_are_not(first: Any, second: Any) -> None:
    x, y = ones(), ones()
    scale[1, 64, first](x, 2.0)
    scale[1, 64](x, 2.0)
    scale[1, 64, first](x, 2.0)
    scale[1, 64, cuda.per_thread_default_stream()](y, 2.0)
    scale[1, 64](y, 2.0)
    with pytest.raises(HazardError, match="the default stream"):
        scale[1, 64, second](y, 2.0)


def test_two_blocking_streams_are_not_ordered_by_the_default_stream_before_both(first: Any) -> None:
    x, other = ones(), gridjit.create_stream()
    scale[1, 64](x, 2.0)
    scale[1, 64, first](x, 2.0)
    with pytest.raises(HazardError):
        scale[1, 64, other](x, 2.0)
    scale[1, 64](ones(), 2.0)
    scale[1, 64, other](x, 2.0)


def test_a_launch_without_arrays_in_the_default_stream_orders_blocking_streams(first: Any) -> None:
    x, other, launch = ones(), gridjit.create_stream(), count_to[1, 1]
    for _ in range(4):
        scale[1, 64, first](x, 2.0)
        launch(3)
        scale[1, 64, other](x, 2.0)
        launch(3)


def test_work_that_is_refused_in_the_default_stream_orders_nothing(first: Any, second: Any) -> None:
    x, y, other = ones(), ones(), gridjit.create_stream()
    scale[1, 64](ones(), 2.0)
    scale[1, 64, first](x, 2.0)
    scale[1, 64, second](y, 2.0)
    with pytest.raises(HazardError, match="the default stream"):
        scale[1, 64](y, 2.0)
    with pytest.raises(HazardError):
        scale[1, 64, other](x, 2.0)
    scale[1, 64](x, 2.0)
    scale[1, 64, other](x, 2.0)


def test_launches_in_the_current_stream_count_as_its_own(first: Any, second: Any) -> None:
    x = ones()
    with first:
        scale[1, 64](x, 2.0)
    scale[1, 64, first](x, 2.0)
    with second, pytest.raises(HazardError):
        scale[1, 64](x, 2.0)


def test_each_threads_own_default_stream_is_another(first: Any) -> None:
    x, raised, own = ones(), [], cuda.per_thread_default_stream()

    def launch() -> None:
        try:
            scale[1, 64, cuda.per_thread_default_stream()](x, 2.0)
        except HazardError as error:
            raised.append(error)

    scale[1, 64, own](x, 2.0)
    thread = threading.Thread(target=launch)
    thread.start()
    thread.join()
    scale[1, 64, own](x, 2.0)
    assert len(raised) == 1


@pytest.mark.parametrize(
    ("mine", "theirs", "shared"),
    [
        (np.s_[:32], np.s_[32:], False),
        (np.s_[:33], np.s_[32:], True),
        (np.s_[::2], np.s_[1::2], False),
        (np.s_[::2], np.s_[1::3], True),
        (np.s_[::-1], np.s_[63:], True),
        (np.s_[:0], np.s_[:], False),
    ],
)
def test_views_are_a_hazard_only_where_they_share_bytes(
    mine: Any, theirs: Any, shared: bool, first: Any, second: Any
) -> None:
    x = ones()
    scale[1, 64, first](x[mine], 2.0)
    if shared:
        with pytest.raises(HazardError):
            scale[1, 64, second](x[theirs], 2.0)
    else:
        scale[1, 64, second](x[theirs], 2.0)


class Foreign:
    """An array of a library that exports its memory, and says nothing of streams."""

    def __init__(self, array: Any) -> None:
        self._array = array
        self.__cuda_array_interface__ = {**array.__cuda_array_interface__, "stream": None}


def test_foreign_arrays_are_known_by_their_addresses(first: Any, second: Any) -> None:
    x = ones()
    scale[1, 64, first](Foreign(x[:32]), 2.0)
    scale[1, 64, second](Foreign(x[32:]), 2.0)
    with pytest.raises(HazardError):
        scale[1, 64, second](Foreign(x[16:]), 2.0)


def copy_here(x: Any, stream: Any) -> None:
    x.copy_to_device(np.zeros(64), stream=stream)


def copy_from_here(x: Any, stream: Any) -> None:
    x.copy_to_host(stream=stream)


def copy_on_the_device(x: Any, stream: Any) -> None:
    cuda.device_array(64).copy_to_device(x, stream=stream)


def set_items(x: Any, stream: Any) -> None:
    x.setitem(np.s_[3:5], 1.0, stream=stream)


@pytest.mark.parametrize("copy", [copy_here, copy_from_here, copy_on_the_device, set_items])
def test_copies_are_work_of_their_streams(copy: Callable[[Any, Any], None], first: Any, second: Any) -> None:
    x = ones()
    scale[1, 64, first](x, 2.0)
    with pytest.raises(HazardError, match=r"copy.*test_hazards.py:\d+"):
        copy(x, second)
    copy(x, first)


def test_a_copy_from_the_host_in_a_stream_is_not_waited_for(first: Any, second: Any) -> None:
    x = cuda.to_device(np.ones(1 << 16), stream=first)
    with pytest.raises(HazardError, match="a copy from the host"):
        scale[1, 64, second](x, 2.0)


def test_a_copy_from_the_host_in_the_default_stream_is_there_for_all_streams(second: Any) -> None:
    x = cuda.to_device(np.ones(64))
    scale[1, 64, second](x, 2.0)


def test_an_array_is_for_what_comes_later_in_its_stream(first: Any, second: Any) -> None:
    x = cuda.device_array(64, stream=first)
    with pytest.raises(HazardError, match="its allocation"):
        scale[1, 64, second](x, 2.0)
    scale[1, 64, first](x, 2.0)


def test_memory_that_is_used_again_has_no_past(first: Any, second: Any) -> None:
    for turn in range(20):
        x = cuda.device_array(1 << 18)
        scale[1, 64, second if turn % 2 else first](x, 2.0)
        del x


def test_numpy_arrays_are_there_when_a_launch_returns(first: Any, second: Any) -> None:
    array = np.ones(64)
    scale[1, 64, first](array, 2.0)
    scale[1, 64, second](array, 2.0)
    scale[1, 64](array, 2.0)
    scale[1, 64, second](array, 2.0)
    assert set(array) == {16.0}


def test_work_that_is_recorded_is_ordered_by_its_graph(first: Any, second: Any) -> None:
    x = ones()
    scale[1, 64, first](x, 2.0)
    with gridjit.graph(second) as graph:
        scale[1, 64, second](x, 2.0)
    second.wait(first)
    graph.launch()
    assert set(x.copy_to_host(stream=second)) == {4.0}


def test_a_stream_that_was_closed_leaves_its_work_to_be_waited_for(second: Any) -> None:
    x, gone = ones(), gridjit.create_stream(nonblocking=True)
    scale[1, 64, gone](x, 2.0)
    gone.close()
    with pytest.raises(HazardError):
        scale[1, 64, second](x, 2.0)
    cuda.synchronize()
    scale[1, 64, second](x, 2.0)


def test_nothing_is_checked_or_imported_unless_it_is_asked_for(tmp_path: Any) -> None:
    (tmp_path / "program.py").write_text(
        "import sys, numpy as np, gridjit\n"
        "from gridjit import cuda\n"
        "values = cuda.to_device(np.zeros(8), stream=gridjit.create_stream())\n"
        "values.copy_to_host(stream=gridjit.create_stream())\n"
        "print([name for name in sys.modules if 'hazards' in name])\n"
    )
    done = run_python(
        tmp_path / "program.py", cwd=tmp_path, env=os.environ | {"GRIDJIT_TARGET": "host", "GRIDJIT_CHECK_STREAMS": "0"}
    )
    assert (done.returncode, done.stdout) == (0, "[]\n"), done.stderr


@pytest.mark.parametrize(
    "look",
    [
        lambda x: np.asarray(gridjit.StridedMemoryView(x)),
        lambda x: gridjit.StridedMemoryView(x).__buffer__(0),
        np.from_dlpack,
    ],
)
def test_memory_that_a_stream_may_still_write_is_not_given_to_the_host_in_place(look: Any, second: Any) -> None:
    x, event, hold = ones(), gridjit.create_event(), threading.Event()
    second.on_complete(lambda: hold.wait(60))
    scale[1, 64, second](x, 2.0)
    event.record(second)
    line = sys._getframe().f_lineno - 2
    with pytest.raises(HazardError) as raised:
        look(x)
    said, name = str(raised.value), f"stream 0x{second.handle:x}"
    assert f"while scale (test_hazards.py:{line}, {name}) may still write array 'values'" in said
    assert f"Call synchronize() of {name}, or of an event in it, between the two" in said
    hold.set()
    event.synchronize()
    assert set(np.asarray(look(x))) == {2.0}


def test_memory_is_given_to_the_host_in_place_after_its_own_stream_and_while_others_read_it(
    first: Any, second: Any
) -> None:
    x, y, late = ones(), ones(), cuda.to_device(np.ones(64), stream=first)
    scale[1, 64, first](late, 2.0)
    assert set(np.asarray(gridjit.StridedMemoryView(late))) == {2.0}
    add[1, 64, second](y, x)
    assert set(np.asarray(gridjit.StridedMemoryView(x))) == {1.0}
