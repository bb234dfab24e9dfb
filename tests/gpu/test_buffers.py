"""Buffers, views and others' arrays in a real GPU's memory."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import gridjit
from gridjit import Buffer, StridedLayout, StridedMemoryView, cuda
from gridjit.compiler.values.errors import ArgumentError
from gridjit.runtime.arrays.create import as_device_array, pinned_array, to_device
from gridjit.runtime.process.current import create_stream

pytestmark = pytest.mark.gpu

ITEMS = np.arange(24, dtype=np.float32).reshape(4, 6)


@gridjit.jit
def double(x):
    i, j = cuda.grid(2)
    if i < x.shape[0] and j < x.shape[1]:
        x[i, j] *= 2


def test_the_driver_says_where_memory_is(device):
    there, pinned, plain = to_device(ITEMS, space=device.space), pinned_array(8, space=device.space), np.zeros(8)
    found = [
        Buffer.from_handle(address, 32, owner=owner, space=device.space)
        for address, owner in ((there.data, there), (pinned.ctypes.data, pinned), (plain.ctypes.data, plain))
    ]
    assert [buffer.device for buffer in found] == [device.ordinal, device.ordinal, None]
    assert [buffer.is_host_accessible for buffer in found] == [False, True, True]
    assert [buffer.is_device_accessible for buffer in found] == [True, True, False]


@pytest.mark.parametrize("kind", ["device", "pinned", "managed"])
def test_a_buffer_of_each_kind_is_filled_and_copied(device, kind: Any):
    with (
        Buffer.allocate(96, kind=kind, space=device.space) as buffer,
        create_stream(timeline=device.timeline) as stream,
    ):
        buffer.fill(b"\x01\x02\x03\x04", stream=stream)
        out = np.zeros(96, np.uint8)
        copy = buffer.copy_to(stream=stream)
        stream.synchronize()
        StridedMemoryView(copy).copy_to(out)
        assert out.tolist() == [1, 2, 3, 4] * 24
        copy.close(stream)


@pytest.mark.parametrize("turn", [lambda x: x, lambda x: x.T, lambda x: x[::2, ::-1], lambda x: x[1:, 2:4]])
@pytest.mark.parametrize("order", ["C", "F"])
def test_views_are_copied_between_layouts_and_with_the_host(device, turn, order):
    source = StridedMemoryView(turn(to_device(ITEMS, space=device.space)))
    buffer = Buffer.allocate(96, space=device.space)
    destination = StridedMemoryView.from_buffer(buffer, StridedLayout.dense(source.shape, 4, order), np.float32)
    destination.copy_from(source)
    out = np.zeros(source.shape[::-1], np.float32).T
    destination.copy_to(out)
    assert out.tolist() == turn(ITEMS).tolist()


def test_a_kernel_takes_views_like_own_arrays_and_refuses_those_of_the_host(device):
    own = to_device(ITEMS, space=device.space)
    for value in (own, StridedMemoryView(own), StridedMemoryView(own)):
        double[1, (8, 8)](value)
    double[1, (8, 8)](StridedMemoryView(own[::2, ::-1]))
    expected = 8 * ITEMS
    expected[::2] *= 2
    assert own.copy_to_host().tolist() == expected.tolist()
    with pytest.raises(ArgumentError, match="a memory view in host memory"):
        double[1, (8, 8)](StridedMemoryView(ITEMS))


@pytest.mark.parametrize("library", ["torch", "cupy"])
@pytest.mark.parametrize("turn", [lambda x: x, lambda x: x.T, lambda x: x[:, ::2], lambda x: x[1:1], lambda x: x[0, 0]])
def test_views_copies_and_launches_read_another_librarys_array_alike(device, library, turn):
    module = pytest.importorskip(library)
    theirs = module.from_dlpack(to_device(ITEMS, space=device.space))
    part, expected = turn(theirs), turn(ITEMS)
    view, copy = StridedMemoryView(part), to_device(part, space=device.space)
    assert (view.shape, view.device, view.readonly) == (expected.shape, device.ordinal, False)
    assert as_device_array(part, space=device.space).shape == expected.shape
    if expected.size:
        assert view.strides_in_bytes == expected.strides
    assert StridedMemoryView.from_dlpack(part, create_stream(timeline=device.timeline)).shape == expected.shape
    assert copy.copy_to_host().tolist() == expected.tolist()


def test_host_memory_of_any_protocol_is_copied_to_the_gpu_and_back(device):
    @gridjit.jit
    def add_one(x):
        i = cuda.grid(1)
        if i < x.size:
            x[i] += 1

    memory = bytearray(range(8))
    add_one[1, 32](gridjit.InOut(memory))
    assert list(memory) == list(range(1, 9))
    add_one[1, 32](gridjit.In(memory))
    assert list(memory) == list(range(1, 9))
