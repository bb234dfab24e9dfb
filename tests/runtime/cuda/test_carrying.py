"""Transfers through page-locked memory: every byte arrives, in machine code and from Python, and errors are raised."""

from __future__ import annotations

import ctypes
import os
import threading
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from gridjit.compiler.values.errors import DeviceError
from gridjit.runtime.devices.cuda.device import CudaDevice
from gridjit.runtime.devices.cuda.memory import carrying
from gridjit.runtime.devices.cuda.memory.carrying import Carrier, StagedCopy, pieces
from gridjit.runtime.native import engine
from gridjit.runtime.native.layout.probes import object_layout
from gridjit.runtime.process.session import session
from gridjit.runtime.queues.streams import PER_THREAD

in_machine_code = pytest.mark.skipif(
    object_layout() is None or os.uname().machine != "x86_64", reason="this interpreter runs grids from Python"
)
STREAM = 0x51
SIZES = [1, carrying._LARGE_BYTES, (5 << 20) + 1, (40 << 20) - 7]


class MachineDriver:
    """The driver's functions as machine code calls them: "device" memory is the host's, and copies are done at once.

    answers: what cuEventQuery says before it says that the work is done. refuses: what cuMemcpyHtoDAsync returns.
    """

    def __init__(self) -> None:
        self.copies: list[tuple[int, int]] = []
        self.contexts: set[int] = set()
        self.answers: list[int] = []
        self.refuses = 0
        kind = ctypes.CFUNCTYPE
        self._functions: dict[str, Any] = {
            "cuCtxSetCurrent": kind(ctypes.c_int, ctypes.c_size_t)(self._set_context),
            "cuMemcpyHtoDAsync": kind(ctypes.c_int, *[ctypes.c_size_t] * 4)(self._copy),
            "cuEventQuery": kind(ctypes.c_int, ctypes.c_size_t)(lambda _: self.answers.pop() if self.answers else 0),
        }

    def entry_point(self, name: str) -> int:
        return ctypes.cast(self._functions[name], ctypes.c_void_p).value or 0

    def _set_context(self, context: int) -> int:
        self.contexts.add(context)
        return 0

    def _copy(self, there: int, here: int, size: int, stream: int) -> int:
        ctypes.memmove(there, here, size)
        self.copies.append((size, stream))
        return self.refuses


@pytest.fixture
def machine(device: CudaDevice, monkeypatch: pytest.MonkeyPatch) -> MachineDriver:
    """Have machine code be used from the first transfer on; return the driver that it calls."""
    made = MachineDriver()
    monkeypatch.setattr(device.driver, "entry_point", made.entry_point)
    monkeypatch.setattr(carrying, "_OFTEN", 1)
    return made


def written(carrier: Carrier, size: int, stream: int = STREAM) -> bool:
    """Return whether so many bytes arrive on a device, and nothing beside them changes."""
    values = np.random.default_rng(size).integers(0, 256, size, np.uint8)
    block, there = np.zeros(size, np.uint8), np.zeros(size + 2, np.uint8)
    at = (values.ctypes.data, block.ctypes.data, there.ctypes.data + 1)
    carrier.write(StagedCopy(here=at[0], block=at[1], there=at[2], size=size, owner=values), stream)
    return np.array_equal(there[1:-1], values) and there[0] == there[-1] == 0


def read(carrier: Carrier, size: int) -> bool:
    """Return whether so many bytes of a block arrive in an array, and nothing beside them changes."""
    block = np.random.default_rng(size).integers(0, 256, size, np.uint8)
    here = np.zeros(size + 2, np.uint8)
    coming = [(size - end - length, length, 0xE0) for end, length in reversed([*pieces(size)])]
    one = StagedCopy(here=here.ctypes.data + 1, block=block.ctypes.data, there=0, size=size, owner=here)
    carrier.read(one, coming)
    return np.array_equal(here[1:-1], block) and here[0] == here[-1] == 0


@pytest.mark.parametrize("size", SIZES)
def test_all_bytes_arrive_from_python(device: CudaDevice, size: int) -> None:
    carrier = Carrier(device, None)
    assert written(carrier, size) and read(carrier, size)


@in_machine_code
@pytest.mark.parametrize("size", SIZES)
def test_all_bytes_arrive_in_machine_code(device: CudaDevice, machine: MachineDriver, size: int) -> None:
    carrier = Carrier(device, session().store)
    for _ in range(3):
        machine.copies.clear()
        assert written(carrier, size)
        if size >= carrying._LARGE_BYTES:
            assert sorted(machine.copies) == sorted((length, STREAM) for _, length in pieces(size))
            assert machine.contexts == {device.context}
        machine.answers = [600] * 5
        assert read(carrier, size)


@in_machine_code
def test_machine_code_is_asked_for_by_the_third_large_transfer(
    device: CudaDevice, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = []
    monkeypatch.setattr(engine, "engine", lambda store: asked.append(store))
    carrier = Carrier(device, session().store)
    for _ in range(2):
        assert written(carrier, 10) and written(carrier, 1 << 20)
    assert asked == []
    assert written(carrier, 1 << 20) and written(carrier, 1 << 20)
    assert asked == [session().store()]


@in_machine_code
@pytest.mark.parametrize("stream", [0, PER_THREAD])
def test_what_goes_to_a_threads_own_stream_is_copied_by_that_thread(
    device: CudaDevice, machine: MachineDriver, stream: int
) -> None:
    assert written(Carrier(device, session().store), 3 << 20, stream)
    assert machine.copies == []


@in_machine_code
def test_transfers_of_several_threads_do_not_meet(device: CudaDevice, machine: MachineDriver) -> None:
    carrier, found = Carrier(device, session().store), list[bool]()
    start = threading.Barrier(4)

    def work(size: int) -> None:
        start.wait()
        found.extend(written(carrier, size) and read(carrier, size) for _ in range(5))

    threads = [threading.Thread(target=work, args=((1 << 20) + number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [True] * 20


def failing_copy(machine: MachineDriver, carrier: Carrier) -> None:
    machine.refuses = 1
    written(carrier, 3 << 20)


def failing_query(machine: MachineDriver, carrier: Carrier) -> None:
    machine.answers = [1]
    read(carrier, 3 << 20)


@in_machine_code
@pytest.mark.parametrize(("use", "call"), [(failing_copy, "cuMemcpyHtoDAsync"), (failing_query, "cuEventQuery")])
def test_what_the_driver_refuses_is_raised(
    device: CudaDevice, machine: MachineDriver, use: Callable[[MachineDriver, Carrier], None], call: str
) -> None:
    with pytest.raises(DeviceError, match=f"CUDA_ERROR_INVALID_VALUE from {call}"):
        use(machine, Carrier(device, session().store))


def test_what_fails_in_a_helper_is_raised_when_nobody_copies_any_more(
    device: CudaDevice, monkeypatch: pytest.MonkeyPatch
) -> None:
    both, move, me = threading.Barrier(2), ctypes.memmove, threading.get_ident()
    met: set[int] = set()
    at_work: list[int] = []

    def of_the_helper(*given: Any) -> None:
        thread = threading.get_ident()
        if thread not in met and len(met) < 2:
            met.add(thread)
            both.wait()  # each of them has a part
        at_work.append(thread)
        if thread != me:
            raise MemoryError("of the helper")
        move(*given)

    monkeypatch.setattr(ctypes, "memmove", of_the_helper)
    monkeypatch.setattr(carrying, "_HELPERS", 1)
    monkeypatch.setattr(carrying, "_LEAST_BYTES", 10 << 20)
    with pytest.raises(MemoryError, match="of the helper"):
        written(Carrier(device, None), 10 << 20)
    assert len(at_work) == 5
