"""Views of anyone's memory: what they are of, their layouts, copies between any two, exports, launches with them."""

from __future__ import annotations

import pickle
import threading
import weakref
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import gridjit
from gridjit import Buffer, LayoutError, StridedLayout, StridedMemoryView, cuda
from gridjit.compiler.values.errors import ArgumentError, ShapeError
from gridjit.runtime.args.handler import Place, handler_of
from gridjit.runtime.arrays.create import device_array, to_device
from gridjit.runtime.memory.copies import address_of
from gridjit.runtime.memory.space import HOST_SPACE
from gridjit.runtime.native.layout.probes import object_layout
from tests.runtime.memory.strided import numbered, views
from tests.runtime.memory.test_protocols import LAYOUTS, PROTOCOLS, parameters
from tests.runtime.recording_device import RecordingSpace, RecordingTimeline
from tests.runtime.standin import StandInKernel

ITEMS = np.arange(24, dtype=np.float32).reshape(4, 6)


def values(view: StridedMemoryView) -> Any:
    return np.asarray(view).tolist()


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_a_view_is_of_what_any_protocol_gives_and_is_passed_as_numpys_array_is(protocol: str, layout: str) -> None:
    array = LAYOUTS[layout]
    value = PROTOCOLS[protocol](array)
    if (protocol, layout) == ("DLPack 0", "read-only"):
        with pytest.raises(ArgumentError, match="cannot be passed"):
            StridedMemoryView(value)
        return
    view = StridedMemoryView(value)
    assert view.exporting_obj is value
    assert (view.shape, view.dtype, view.ndim, view.size, view.nbytes) == (
        array.shape,
        array.dtype,
        array.ndim,
        array.size,
        array.nbytes,
    )
    assert (view.readonly, view.device, view.layout.shape) == (not array.flags.writeable, None, array.shape)
    assert parameters(view) == parameters(array)
    assert values(view) == array.tolist()


def test_each_protocol_has_a_constructor_that_reads_it_alone() -> None:
    for name, make in (
        ("DLPack 1", StridedMemoryView.from_dlpack),
        ("DLPack 0", StridedMemoryView.from_dlpack),
        ("CUDA array interface 3", StridedMemoryView.from_cuda_array_interface),
        ("array interface", StridedMemoryView.from_array_interface),
        ("buffer protocol", StridedMemoryView.from_array_interface),
    ):
        assert make(PROTOCOLS[name](ITEMS.T)).ptr == address_of(ITEMS), name
    with pytest.raises(ArgumentError, match="neither __array_interface__ nor the buffer protocol"):
        StridedMemoryView.from_array_interface(3)


def test_a_view_of_an_own_array_or_view_is_over_the_same_memory() -> None:
    own = to_device(ITEMS, space=HOST_SPACE)[:, ::2]
    view = StridedMemoryView(own)
    again = StridedMemoryView(view)
    assert own.data == view.ptr == again.ptr
    assert (view.strides, view.strides_in_bytes) == ((6, 2), (24, 8))
    view.copy_from(np.full((4, 3), 5, np.float32))
    assert own.copy_to_host().tolist() == values(again) == [[5] * 3] * 4


def test_a_view_of_a_buffer_has_the_layout_and_the_type_given() -> None:
    buffer = Buffer.allocate(96, space=HOST_SPACE)
    np.asarray(buffer).view(np.float32)[:] = ITEMS.ravel()
    layout = StridedLayout.dense((4, 6), 4)
    view = StridedMemoryView.from_buffer(buffer, layout, np.float32)
    part = StridedMemoryView.from_buffer(buffer, layout[1:, ::-2], "f4", is_readonly=True)
    assert (values(view), values(part)) == (ITEMS.tolist(), ITEMS[1:, ::-2].tolist())
    assert (part.readonly, view.readonly, part.layout) == (True, False, layout[1:, ::-2])
    buffer.close()  # what was made of it stays
    assert values(view) == ITEMS.tolist()


@pytest.mark.parametrize(
    ("layout", "dtype", "words"),
    [
        (StridedLayout.dense((25,), 4), "f4", r"bytes 0 to 100; the memory is bytes 0 to 96"),
        (StridedLayout((4,), (-1,), itemsize=4), "f4", r"bytes -12 to 4"),
        (StridedLayout.dense((4,), 8), "f4", "items of float32 have 4 bytes, those of the layout 8"),
        (StridedLayout((2,), (2**60,), itemsize=4), "f4", "bytes 0 to"),
    ],
)
def test_items_that_are_not_in_a_buffer_are_refused(layout: StridedLayout, dtype: str, words: str) -> None:
    with pytest.raises(LayoutError, match=words):
        StridedMemoryView.from_buffer(Buffer.allocate(96, space=HOST_SPACE), layout, dtype)


def test_a_view_takes_slices_other_types_and_other_shapes_of_itself() -> None:
    view = StridedMemoryView(ITEMS.copy())
    part = view.view(view.layout[1:, ::-2])
    assert values(part) == ITEMS[1:, ::-2].tolist()
    assert values(part.view(part.layout[:, 1])) == ITEMS[1:, ::-2][:, 1].tolist()
    assert values(part.view(view.layout)) == ITEMS.tolist()  # the same offset 0
    assert values(view.view(dtype=np.uint32)) == ITEMS.view(np.uint32).tolist()
    assert values(view.view(dtype=np.uint8)) == ITEMS.view(np.uint8).tolist()
    assert values(view.view(view.layout.reshaped((3, 8)))) == ITEMS.reshape(3, 8).tolist()
    with pytest.raises(LayoutError, match="the memory is bytes 0 to 96"):
        view.view(StridedLayout.dense((5, 6), 4))


@given(st.data())
def test_items_are_copied_between_views_of_any_two_layouts(data: st.DataObject) -> None:
    array = numbered(data.draw(views(packed=False)))
    other = np.zeros(array.shape[::-1], array.dtype).T if data.draw(st.booleans()) else np.zeros_like(array)
    array = array.copy() if data.draw(st.booleans()) else array
    source, destination = StridedMemoryView(array), StridedMemoryView(other)
    if data.draw(st.booleans()):
        destination.copy_from(source)
    else:
        source.copy_to(other)
    assert other.tobytes() == array.tobytes()


def test_copies_respect_shapes_types_and_what_is_read_only() -> None:
    view = StridedMemoryView(ITEMS.copy())
    with pytest.raises(ShapeError, match=r"here is float32\[4, 6\], the other float32\[6, 4\]"):
        view.copy_from(ITEMS.T)
    with pytest.raises(ShapeError, match=r"the other int32\[4, 6\]"):
        view.copy_from(ITEMS.astype(np.int32))
    constant = ITEMS.copy()
    constant.flags.writeable = False
    with pytest.raises(ArgumentError, match=r"^copy_from: <.*> is read-only$"):
        view.copy_to(constant)
    repeated = view.view(StridedLayout((4, 6), (0, 1), itemsize=4))
    with pytest.raises(ArgumentError, match="share memory"):
        repeated.copy_from(ITEMS)


def test_copies_between_the_host_and_a_device_take_one_call_in_the_devices_stream() -> None:
    notes: list[str] = []
    space = RecordingSpace(notes, RecordingTimeline(notes))
    there = StridedMemoryView(device_array((4, 6), np.float32, stream=5, space=space))
    here = StridedMemoryView(np.zeros((6, 4), np.float32).T)
    there.copy_from(ITEMS)
    there.copy_to(here)
    there.copy_to(here, stream=9)
    there.copy_from(there, stream=9)
    assert notes == ["in 24 on 5", "out 24 on 5", "out 24 on 9", "copy 24 on 9"]
    assert values(here) == ITEMS.tolist()


def test_a_view_exports_its_items_by_every_protocol() -> None:
    view = StridedMemoryView(ITEMS.copy()).view(StridedLayout.dense((4, 6), 4)[1:, ::-2])
    expected = ITEMS[1:, ::-2]
    for found in (np.from_dlpack(view), np.asarray(view), np.asarray(view.__buffer__(0))):
        assert (found.tolist(), found.strides) == (expected.tolist(), expected.strides)
        assert address_of(found) == view.ptr
    assert cuda.as_cuda_array(view).data == view.ptr
    constant = StridedMemoryView(np.broadcast_to(np.float32(1), (3,)))
    assert not np.asarray(constant).flags.writeable and constant.__buffer__(0).readonly
    assert not np.from_dlpack(constant).flags.writeable


def test_exports_in_many_threads_give_all_memory_back() -> None:
    items = ITEMS.copy()
    gone, view, start = weakref.ref(items), StridedMemoryView(items), threading.Barrier(8)
    del items

    def export(view: StridedMemoryView) -> None:
        start.wait()
        for _ in range(300):
            assert np.from_dlpack(view)[0, 1] == 1
            view.__dlpack__(max_version=(1, 0))  # which nobody takes

    threads = [threading.Thread(target=export, args=(view,)) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    threads.clear()
    del thread
    del view
    assert gone() is None


@pytest.mark.parametrize("dtype", [object, np.dtype([("a", object)])])
def test_items_that_are_python_objects_are_refused(dtype: Any) -> None:
    with pytest.raises(ArgumentError, match="are Python objects"):
        StridedMemoryView(np.zeros(3, dtype))


@pytest.mark.parametrize("name", ["int4", "uint4", "int2", "float4_e2m1fn", "float6_e2m3fn"])
def test_items_of_less_than_a_byte_are_refused_with_the_reason(name: str) -> None:
    small = np.dtype(getattr(pytest.importorskip("ml_dtypes"), name))
    buffer = Buffer.allocate(8, space=HOST_SPACE)
    with pytest.raises(ArgumentError, match=f"items of {name} are less than a byte"):
        StridedMemoryView.from_buffer(buffer, StridedLayout.dense((8,), 1), small)


@pytest.mark.parametrize("array", [ITEMS, ITEMS.T, ITEMS[::-1, ::2], np.array(1.5), np.zeros((0, 3))])
def test_a_launch_with_a_view_like_an_earlier_one_runs_no_python(array: Any) -> None:
    kernel = StandInKernel(arity=1)
    configured = kernel.configured()
    for view in (StridedMemoryView(array), StridedMemoryView(array)):
        configured(view)
    first, second = kernel.recorder.launches
    assert first.parameters == second.parameters
    if object_layout() is not None:
        assert (first.way, second.way) == ("python", "native")


def test_kernels_compiled_for_own_arrays_take_views_and_views_of_other_kinds() -> None:
    @gridjit.jit(target="host")
    def double(x):
        i = cuda.grid(1)
        if i < x.size:
            x[i] *= 2

    items = np.arange(8.0)
    own = to_device(items, space=HOST_SPACE)
    for value in (own, StridedMemoryView(own), StridedMemoryView(own), own):
        double[1, 32](value)
    assert own.copy_to_host().tolist() == (16 * items).tolist()
    assert len(double.specializations) == 1
    double[1, 32](StridedMemoryView(own[::2]))
    assert own.copy_to_host().tolist() == [i * 16 * (2 - i % 2) for i in range(8)]


def test_a_view_of_host_memory_is_refused_on_a_gpu_with_the_way_on() -> None:
    view = StridedMemoryView(ITEMS)
    with pytest.raises(ArgumentError, match=r"a memory view in host memory cannot be passed .* move it to the device"):
        handler_of(view).type_of(view, Place(kind="ptx", ordinal=0))


def test_a_view_is_not_pickled() -> None:
    with pytest.raises(TypeError, match="a view of memory cannot be pickled"):
        pickle.dumps(StridedMemoryView(ITEMS))
