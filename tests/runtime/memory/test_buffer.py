"""Buffers: bytes of ours or of someone else's, copied, filled, exported, and given up once."""

from __future__ import annotations

import pickle
import weakref
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import gridjit
from gridjit import Buffer, DeviceError, cuda
from gridjit.compiler.values.errors import ArgumentError, ShapeError
from gridjit.runtime.memory.copies import address_of
from gridjit.runtime.memory.space import HOST_SPACE
from tests.runtime.recording_device import RecordingSpace, RecordingTimeline

ITEMS = np.arange(24, dtype=np.uint8)


def filled(size: int = 24) -> Buffer:
    buffer = Buffer.allocate(size, space=HOST_SPACE)
    np.asarray(buffer)[:] = ITEMS[:size]
    return buffer


@pytest.mark.parametrize("kind", ["device", "pinned", "managed"])
def test_an_allocated_buffer_has_its_size_and_is_of_the_host_and_its_kernels(kind: Any) -> None:
    with Buffer.allocate(100, kind=kind, space=HOST_SPACE) as buffer:
        assert (len(buffer), buffer.size, buffer.device) == (100, 100, None)
        assert buffer.is_host_accessible and buffer.is_device_accessible
        assert buffer.handle % 256 == 0
    assert buffer.closed


@pytest.mark.parametrize(("size", "kind"), [(-1, "device"), (8, "shared"), (1.5, "device")])
def test_a_buffer_that_cannot_be_is_refused(size: Any, kind: Any) -> None:
    with pytest.raises(ArgumentError, match=r"cannot have -1 bytes; give|size 1.5: not a whole|kind='shared'"):
        Buffer.allocate(size, kind=kind, space=HOST_SPACE)


def test_a_buffer_over_anothers_memory_keeps_its_owner_until_it_is_closed() -> None:
    items = ITEMS.copy()
    gone = weakref.ref(items)
    buffer = Buffer.from_handle(address_of(items), 24, owner=items, space=HOST_SPACE)
    assert buffer.owner is items and buffer.handle == address_of(items)
    np.asarray(buffer)[3] = 77
    assert items[3] == 77
    del items
    assert gone() is not None
    buffer.close()
    assert gone() is None


@pytest.mark.parametrize("ptr", [0, -16])
def test_bytes_at_no_address_are_refused(ptr: int) -> None:
    with pytest.raises(ArgumentError, match="are not memory"):
        Buffer.from_handle(ptr, 8, space=HOST_SPACE)
    assert Buffer.from_handle(0, 0, space=HOST_SPACE).size == 0


USES = {
    "handle": lambda buffer: buffer.handle,
    "owner": lambda buffer: buffer.owner,
    "copy_to": lambda buffer: buffer.copy_to(),
    "copy_to another": lambda buffer: buffer.copy_to(filled()),
    "copy_from": lambda buffer: buffer.copy_from(filled()),
    "copy into another": lambda buffer: filled().copy_from(buffer),
    "fill": lambda buffer: buffer.fill(0),
    "DLPack": lambda buffer: np.from_dlpack(buffer),
    "array interface": lambda buffer: np.asarray(buffer),
    "CUDA array interface": lambda buffer: buffer.__cuda_array_interface__,
    "buffer protocol": lambda buffer: buffer.__buffer__(0),
    "view": lambda buffer: gridjit.StridedMemoryView(buffer),
}


@pytest.mark.parametrize("use", USES)
def test_use_after_close_is_an_error_that_names_the_buffer_and_closing_twice_is_fine(use: str) -> None:
    buffer = filled()
    buffer.close()
    buffer.close(stream=0)
    with pytest.raises(DeviceError, match="this buffer of 24 bytes was closed"):
        USES[use](buffer)
    assert repr(buffer) == "<gridjit buffer of 24 bytes, closed>"


EXPORTS: dict[str, Callable[[Any], Any]] = {
    "DLPack": np.from_dlpack,
    "array interface": np.asarray,
    "buffer protocol": lambda buffer: np.asarray(buffer.__buffer__(0)),
    "CUDA array interface": lambda buffer: cuda.as_cuda_array(buffer).copy_to_host(),
}


@pytest.mark.parametrize("export", EXPORTS)
def test_a_buffer_exports_its_bytes(export: str) -> None:
    found: Any = EXPORTS[export](filled())
    assert (found.dtype, found.tolist()) == (np.uint8, ITEMS.tolist())


@pytest.mark.parametrize("export", ["DLPack", "buffer protocol"])
def test_what_was_exported_keeps_the_memory_of_a_closed_buffer_and_lets_go_of_it(export: str) -> None:
    items = ITEMS.copy()
    gone = weakref.ref(items)
    buffer = Buffer.from_handle(address_of(items), 24, owner=items, space=HOST_SPACE)
    del items
    found: Any = EXPORTS[export](buffer)
    buffer.close()
    assert found.tolist() == ITEMS.tolist()
    del found
    assert gone() is None


def test_bytes_are_copied_both_ways_and_into_a_new_buffer() -> None:
    source, destination = filled(), Buffer.allocate(24, space=HOST_SPACE)
    assert source.copy_to(destination) is destination
    destination.fill(9)
    made = source.copy_to()
    made.copy_from(destination)
    assert np.asarray(made).tolist() == [9] * 24
    with pytest.raises(ShapeError, match="has 24 bytes, the other 23"):
        source.copy_from(filled(23))


@pytest.mark.parametrize(
    ("value", "expected"),
    [(0, [0] * 8), (255, [255] * 8), (b"\x01\x02", [1, 2] * 4), (b"\x01\x02\x03\x04", [1, 2, 3, 4] * 2)],
)
def test_a_buffer_is_filled_with_a_byte_or_a_pattern(value: int | bytes, expected: list[int]) -> None:
    buffer = filled(8)
    buffer.fill(value)
    assert np.asarray(buffer).tolist() == expected
    Buffer.allocate(0, space=HOST_SPACE).fill(value)


@pytest.mark.parametrize(("value", "words"), [(256, "does not fit"), (-1, "does not fit"), (b"abc", "of 3 bytes")])
def test_a_value_that_is_not_bytes_does_not_fill(value: int | bytes, words: str) -> None:
    with pytest.raises(ArgumentError, match=words):
        filled().fill(value)
    with pytest.raises(ArgumentError, match="23 bytes are not a multiple of a pattern of 4"):
        filled(23).fill(b"abcd")


def test_closing_in_a_stream_lets_the_memory_go_after_that_streams_work() -> None:
    notes: list[str] = []
    space = RecordingSpace(notes, RecordingTimeline(notes))
    buffer = Buffer.allocate(8, stream=5, space=space)
    buffer.close(stream=5)
    assert notes == []
    Buffer.allocate(8, stream=5, space=space).close(stream=9)
    assert notes == ["create event 101", "record 101 in 9", "5 waits for 101", "destroy event 101"]


def test_copies_and_fills_are_in_the_stream_that_is_given_or_the_buffers_own() -> None:
    notes: list[str] = []
    space = RecordingSpace(notes, RecordingTimeline(notes))
    buffer, other = (Buffer.allocate(8, stream=5, space=space) for _ in range(2))
    buffer.fill(1)
    buffer.fill(1, stream=9)
    buffer.copy_to(other, stream=9)
    other.copy_from(filled(8))
    assert notes == ["fill 8 on 5", "fill 8 on 9", "copy 8 on 9", "in 8 on 5"]


def test_memory_of_a_gpu_is_not_given_to_the_host() -> None:
    notes: list[str] = []
    buffer = Buffer.allocate(8, space=RecordingSpace(notes, RecordingTimeline(notes)))
    assert not hasattr(buffer, "__array_interface__")
    with pytest.raises(BufferError, match="a buffer on a GPU"):
        buffer.__buffer__(0)
    assert buffer.__dlpack_device__() == (2, 0)


def test_a_buffer_is_a_kernels_argument_as_bytes() -> None:
    @gridjit.jit(target="host")
    def double(x):
        i = cuda.grid(1)
        if i < x.size:
            x[i] *= 2

    buffer = filled()
    double[1, 32](buffer)
    assert np.asarray(buffer).tolist() == (2 * ITEMS).tolist()


def test_a_buffer_is_not_pickled() -> None:
    with pytest.raises(TypeError, match="a buffer cannot be pickled"):
        pickle.dumps(filled())
