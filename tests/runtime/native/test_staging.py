"""Launches of the host's arrays in machine code: copied as Python copies them, through rooms that no two ever share."""

from __future__ import annotations

import ctypes
import gc
import sys
import threading
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import gridjit
from gridjit.compiler.values.errors import DeviceError
from gridjit.compiler.values.launch_config import LaunchConfig
from gridjit.runtime.native.layout.probes import object_layout
from gridjit.runtime.native.layout.staging_records import MAX_ARRAYS, MAX_ROOMS, ROOM_BYTES, RoomsRecord
from gridjit.runtime.native.table import KernelHandle
from tests.runtime.standin import Contexts, StandInKernel

pytestmark = pytest.mark.skipif(object_layout() is None, reason="this interpreter launches from Python")

_POINTER, _SIZE, _INT = ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int
# Where an array's parameters have the number of items, their size, and the address.
ITEMS, ITEMSIZE, DATA = 2, 3, 4


class StandInRooms:
    """Rooms over the host's memory, and a driver that notes what is asked of it. codes: what it returns, by name."""

    def __init__(self, most: int = MAX_ROOMS) -> None:
        self.notes: list[str] = []
        self.codes: dict[str, int] = {}
        self.captured = 0
        self.most = most
        self.on_wait: Callable[[], None] = lambda: None
        self.memory: list[Any] = []
        self._kept = [
            ctypes.CFUNCTYPE(_INT, _POINTER, _POINTER, _SIZE, _POINTER)(self._copier("in")),
            ctypes.CFUNCTYPE(_INT, _POINTER, _POINTER, _SIZE, _POINTER)(self._copier("out")),
            ctypes.CFUNCTYPE(_INT, _POINTER)(self._wait),
            ctypes.CFUNCTYPE(_INT, _POINTER, ctypes.POINTER(_INT))(self._ask),
        ]
        names = ("copy_in", "copy_out", "synchronize", "capturing")
        self.record = RoomsRecord(
            **{name: ctypes.cast(call, _POINTER).value for name, call in zip(names, self._kept, strict=True)},
            move=ctypes.cast(ctypes.CDLL(None).memmove, _POINTER).value,
            bytes=ROOM_BYTES,
        )

    @property
    def address(self) -> int:
        return ctypes.addressof(self.record)

    def grow(self, stream: int) -> bool:
        count = self.record.count
        if count < self.most and all(self.taken):
            blocks = [np.full(ROOM_BYTES, 0xEE, np.uint8) for _ in range(2)]
            self.memory.append(blocks)
            self.record.rooms[count].here, self.record.rooms[count].there = (block.ctypes.data for block in blocks)
            self.record.count = count + 1
        return True

    def fail(self, code: int, kernel: str, config: LaunchConfig, stream: int) -> None:
        raise DeviceError(f"code {code} after {kernel} [{config}] in stream {stream}")

    @property
    def taken(self) -> list[int]:
        return [room.taken for room in self.record.rooms[: self.record.count]]

    def _copier(self, way: str) -> Callable[..., int]:
        def copy(to: int, of: int, size: int, stream: int | None) -> int:
            self.notes.append(f"{way} {size} in {stream or 0}")
            if not (code := self.codes.get(way, 0)):
                ctypes.memmove(to, of, size)
            return code

        return copy

    def _wait(self, stream: int | None) -> int:
        self.notes.append(f"wait for {stream or 0}")
        self.on_wait()
        return self.codes.get("wait", 0)

    def _ask(self, stream: int | None, status: Any) -> int:
        status[0] = self.captured
        return self.codes.get("ask", 0)


class Staged(Contexts):
    """Contexts whose kernels copy through rooms."""

    def __init__(self, rooms: StandInRooms) -> None:
        super().__init__()
        self.rooms = rooms

    def entry(self, context: int) -> KernelHandle:
        return KernelHandle(handle=self.FUNCTION + context, ask=self.address, context=context, rooms=lambda: self.rooms)


class Kernel:
    """A stand-in that was launched with args once, from Python, and adds 1 to each byte of the arrays it gets now."""

    def __init__(self, *args: Any, rooms: StandInRooms | None = None, stream: int = 16) -> None:
        self.rooms = rooms or StandInRooms()
        self.kernel = StandInKernel(arity=len(args), apart=True, contexts=Staged(self.rooms), _warned_of_copies=True)
        self.recorder = self.kernel.recorder
        self.recorder.work = self._work
        self.launch = self.kernel.configured(stream=stream)
        self.arrays = [place for place, arg in enumerate(args) if not isinstance(arg, int)]
        self.launch(*args)
        self.before = len(self.kernel.copies)

    def _work(self, parameters: bytes) -> None:
        words, at = np.frombuffer(parameters, np.int64), 0
        for place in range(self.kernel.arity):
            if place not in self.arrays:
                at += 1
                continue
            size = int(words[at + ITEMS] * words[at + ITEMSIZE])
            np.ctypeslib.as_array((ctypes.c_uint8 * size).from_address(int(words[at + DATA])))[:] += 1
            at += 7

    @property
    def native(self) -> bool:
        """Whether the last launch was machine code's, and Python copied nothing for it."""
        return self.recorder.ways[-1] == "native" and len(self.kernel.copies) == self.before


def numbers(count: int = 100, start: int = 0) -> Any:
    return np.arange(start, start + count, dtype=np.uint8)


def test_an_array_is_copied_there_and_back_by_two_copies_and_one_wait_in_the_launchs_stream() -> None:
    kernel, x = Kernel(numbers()), numbers()
    kernel.launch(x)
    assert x.tolist() == list(range(1, 101))
    assert kernel.native
    assert kernel.rooms.notes == ["in 256 in 16", "out 256 in 16", "wait for 16"]


def test_arrays_with_directions_go_their_ways_side_by_side() -> None:
    def given() -> list[Any]:
        return [gridjit.Out(numbers()), gridjit.In(numbers(300, 7)), gridjit.InOut(numbers(50, 3)), 5]

    kernel, args = Kernel(*given()), given()
    kernel.rooms.memory[0][1][:] = 40
    kernel.launch(*args)
    assert kernel.native
    assert kernel.rooms.notes == ["in 768 in 16", "out 512 in 16", "wait for 16"]
    assert args[0].value.tolist() == [41] * 100
    assert args[1].value.tolist() == numbers(300, 7).tolist()
    assert args[2].value.tolist() == numbers(50, 4).tolist()


def test_what_a_kernel_gets_is_what_it_would_get_from_python_but_for_the_address() -> None:
    x = np.asfortranarray(np.arange(12, dtype=np.float32).reshape(3, 4))
    kernel = Kernel(x)
    kernel.recorder.work = lambda parameters: None
    kernel.launch(gridjit.InOut(x))
    kernel.launch(gridjit.InOut(x))
    python, *_, native = kernel.recorder.launches
    assert native.way == "native"
    first, second = (np.frombuffer(one.parameters, np.int64).tolist() for one in (python, native))
    assert [a for at, a in enumerate(first) if at != DATA] == [b for at, b in enumerate(second) if at != DATA]
    assert second[DATA] == kernel.rooms.record.rooms[0].there


def test_a_read_only_array_is_not_copied_back() -> None:
    def frozen() -> Any:
        made = numbers()
        made.flags.writeable = False
        return made

    kernel, x, y = Kernel(frozen(), numbers()), frozen(), numbers()
    kernel.launch(x, y)
    assert kernel.native
    assert (x.tolist(), y.tolist()) == (numbers().tolist(), numbers(100, 1).tolist())
    assert kernel.rooms.notes == ["in 512 in 16", "out 256 in 16", "wait for 16"]


X = numbers(200)


@pytest.mark.parametrize(
    "args",
    [
        (X, X),
        (X[:100], X[50:150]),
        (np.zeros(ROOM_BYTES + 1, np.uint8), numbers()),
        (np.zeros(ROOM_BYTES - 100, np.uint8), numbers()),
        (X[::2], numbers()),
        (gridjit.InOut(numbers(), asynchronous=True), numbers()),
        (gridjit.In(numbers()), gridjit.In(numbers())),
    ],
    ids=["the same", "overlapping", "too large", "too large together", "strided", "asynchronous", "nothing back"],
)
def test_what_machine_code_cannot_copy_is_copied_by_python(args: tuple[Any, Any]) -> None:
    kernel = Kernel(numbers(), numbers())
    for _ in range(2):
        kernel.launch(*args)
        assert kernel.recorder.ways[-1] == "python"
    assert kernel.rooms.notes == []


def test_an_inout_that_becomes_asynchronous_or_holds_something_else_is_looked_at_anew() -> None:
    given = gridjit.InOut(numbers())
    kernel = Kernel(given)
    given.asynchronous = True
    kernel.launch(given)
    assert kernel.recorder.ways == ["python", "python"]
    given.asynchronous, given.value = False, numbers(9, 20)
    kernel.launch(given)
    assert kernel.recorder.ways[-1] == "native"
    assert given.value.tolist() == numbers(9, 21).tolist()
    given.value = np.zeros(3, np.float32)
    kernel.launch(given)
    assert kernel.recorder.ways[-1] == "python"


def test_arrays_without_items_are_launched_with() -> None:
    kernel, x = Kernel(numbers(), numbers()), numbers()
    kernel.launch(numbers(0), x)
    assert x.tolist() == numbers(100, 1).tolist()
    kernel.launch(numbers(0), numbers(0))
    assert kernel.recorder.ways == ["python", "native", "native"]


def test_more_arrays_than_a_room_holds_are_copied_by_python() -> None:
    args = [numbers() for _ in range(MAX_ARRAYS + 1)]
    kernel = Kernel(*args)
    kernel.launch(*args)
    assert kernel.recorder.ways == ["python", "python"]


@pytest.mark.parametrize("failing", ["ask", "in"])
def test_a_launch_that_cannot_be_made_is_left_to_python(failing: str) -> None:
    kernel, x = Kernel(numbers()), numbers()
    kernel.rooms.codes[failing] = 901
    kernel.launch(x)
    assert kernel.recorder.ways == ["python", "python"]
    assert x.tolist() == numbers().tolist()
    assert kernel.rooms.taken == [0]


def test_a_launch_that_the_driver_refuses_is_tried_by_python_and_its_room_is_free_again() -> None:
    kernel, x = Kernel(numbers()), numbers()
    kernel.recorder.code = 719
    with pytest.raises(RuntimeError, match="the driver says 719"):
        kernel.launch(x)
    assert x.tolist() == numbers().tolist()
    assert kernel.rooms.taken == [0]


@pytest.mark.parametrize("failing", ["out", "wait"])
def test_an_error_after_the_launch_is_raised_and_leaves_the_array_as_it_was(failing: str) -> None:
    kernel, x = Kernel(numbers()), numbers()
    kernel.rooms.codes[failing] = 700
    with pytest.raises(DeviceError, match=r"code 700 after standin \[.*\] in stream 16"):
        kernel.launch(x)
    assert x.tolist() == numbers().tolist()
    assert kernel.recorder.ways == ["python", "native"]


def test_a_stream_that_is_captured_is_given_no_copy() -> None:
    kernel, x = Kernel(numbers()), numbers()
    kernel.rooms.captured = 1
    kernel.launch(x)
    assert kernel.recorder.ways == ["python", "python"]
    assert kernel.rooms.notes == []


@pytest.mark.parametrize("most", [1, 2])
def test_launches_at_the_same_time_never_share_a_room(most: int) -> None:
    rooms = StandInRooms(most=most)
    kernel, outer, inner = Kernel(numbers(), rooms=rooms), numbers(), numbers(100, 50)

    def launch_another() -> None:
        if rooms.notes.count("wait for 16") == 1:
            other = threading.Thread(target=lambda: (kernel.launch(inner), kernel.launch(inner)))
            other.start()
            other.join()

    rooms.on_wait = launch_another
    kernel.launch(outer)
    assert outer.tolist() == numbers(100, 1).tolist()
    # Where there is no room for it, Python launches; the stand-in's kernels do no work then.
    ways = kernel.recorder.ways[2:]
    assert ways == (["python", "python"] if most == 1 else ["python", "native"])
    assert inner.tolist() == numbers(100, 50 + ways.count("native")).tolist()
    assert rooms.taken == [0] * most


def test_an_array_is_kept_while_it_is_launched_with_though_its_inout_gets_another() -> None:
    given = gridjit.InOut(numbers())
    kernel = Kernel(given)
    given.value, counts = numbers(), []

    def replace() -> None:
        array, given.value = given.value, None
        counts.append(sys.getrefcount(array))

    kernel.rooms.on_wait = replace
    kernel.launch(given)
    # The name `array`, the call's own, and the launch's.
    assert counts == [3]


def test_launches_leave_no_reference_behind() -> None:
    x, given = numbers(), gridjit.InOut(numbers())
    kernel = Kernel(x, given)
    before = sys.getrefcount(x), sys.getrefcount(given), sys.getrefcount(given.value)
    for _ in range(50):
        kernel.launch(x, given)
    gc.collect()
    assert (sys.getrefcount(x), sys.getrefcount(given), sys.getrefcount(given.value)) == before
