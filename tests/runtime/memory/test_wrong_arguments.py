"""Buffers, views, layouts and graphs that are given what they cannot use say what it is, and what to give instead."""

from __future__ import annotations

import ctypes
import gc
import re
import weakref
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import gridjit
from gridjit import ArgumentError, Buffer, StridedLayout, StridedMemoryView
from gridjit.compiler.values.errors import CompileError, DeviceError, LaunchError
from gridjit.runtime.arrays.create import to_device
from gridjit.runtime.memory import dlpack_import as foreign_dlpack
from gridjit.runtime.memory.space import HOST_SPACE

ITEMS = np.arange(24, dtype=np.float32).reshape(4, 6)
NUMPY_2 = int(np.__version__.partition(".")[0]) >= 2
LAYOUT = StridedLayout.dense((3,), 4)


def allocated(size: int = 96) -> Buffer:
    return Buffer.allocate(size, space=HOST_SPACE)


def over(ptr: Any, size: Any) -> Buffer:
    return Buffer.from_handle(ptr, size, space=HOST_SPACE)


def from_buffer(buffer: Any, layout: Any, dtype: Any) -> StridedMemoryView:
    return StridedMemoryView.from_buffer(buffer, layout, dtype)


def dlpack(obj: Any) -> StridedMemoryView:
    return StridedMemoryView.from_dlpack(obj)


def interface(obj: Any) -> StridedMemoryView:
    return StridedMemoryView.from_cuda_array_interface(obj)


def view(layout: Any, dtype: Any) -> StridedMemoryView:
    return StridedMemoryView(ITEMS).view(layout, dtype)


WRONG: list[tuple[Callable[..., Any], tuple[Any, ...], str]] = [
    (lambda size: Buffer.allocate(size, space=HOST_SPACE), ("96",), "size '96': not a whole number"),
    (over, (None, 5), "address None: not a whole number"),
    (over, (ctypes.c_void_p(8), 5), "address c_void_p(8): not a whole number"),
    (over, (64, 1.5), "size 1.5: not a whole number"),
    (over, (2**70, 5), "5 bytes at address 0x400000000000000000 are not memory"),
    (over, (2**64 - 1, 5), "5 bytes at address 0xffffffffffffffff are not memory"),
    (lambda: allocated().fill("a"), (), "fill: 'a' has no bytes; give an int from 0 to 255, or bytes"),  # type: ignore[arg-type]
    (lambda: allocated().fill(None), (), "fill: None has no bytes"),  # type: ignore[arg-type]
    (lambda: allocated().fill(np.int64(1)), (), "is a pattern of 8 bytes; give 1, 2 or 4, or an int"),  # type: ignore[arg-type]
    (lambda: allocated().copy_from(ITEMS), (), "copy_from: a numpy.ndarray is not a buffer; make one over its memory"),  # type: ignore[arg-type]
    (lambda: allocated().copy_to(5), (), "copy_to: an int is not a buffer"),  # type: ignore[arg-type]
    (from_buffer, (ITEMS, LAYOUT, np.float32), "a numpy.ndarray is not a Buffer; StridedMemoryView(x) is a view of it"),
    (lambda: from_buffer(allocated(), (3,), "f4"), (), "layout (3,) is a tuple; give a gridjit.StridedLayout"),
    (lambda: from_buffer(allocated(), LAYOUT, "nope"), (), "dtype 'nope' is not a type of items"),
    (lambda: from_buffer(allocated(), LAYOUT, None), (), "dtype None is not a type of items"),
    (view, ("C", None), "layout 'C' is a str; give a gridjit.StridedLayout"),
    (view, (None, "nope"), "dtype 'nope' is not a type of items"),
    (dlpack, (b"abc",), "a bytes has no __dlpack_device__; StridedMemoryView(obj) takes what it has"),
    (interface, (ITEMS,), "a numpy.ndarray has no __cuda_array_interface__"),
    (LAYOUT.permuted, (5.5,), "axes 5.5: neither a whole number nor a sequence of them"),
    (LAYOUT.permuted, ({0},), "axes {0}: a set has no order; give a sequence"),
    (lambda: StridedLayout({2, 3}, itemsize=4), (), "a set has no order"),  # type: ignore[call-overload]
    (lambda: LAYOUT.flattened(mask="all"), (), "mask 'all': not a whole number"),  # type: ignore[arg-type]
    (lambda: LAYOUT.repacked(12, data_ptr="x"), (), "data_ptr 'x': not a whole number"),  # type: ignore[arg-type]
    (lambda: LAYOUT.max_compatible_itemsize(16, "x"), (), "data_ptr 'x': not a whole number"),  # type: ignore[arg-type]
]


@pytest.mark.parametrize(("use", "given", "said"), WRONG, ids=[said for _, _, said in WRONG])
def test_what_is_given_wrongly_is_named_in_one_sentence_with_the_way_on(
    use: Callable[..., Any], given: tuple[Any, ...], said: str
) -> None:
    with pytest.raises(ArgumentError, match=re.escape(said)):
        use(*given)


def test_numbers_of_numpys_fill_with_their_bytes() -> None:
    buffer = allocated(8)
    for value, filled in ((np.uint8(7), [7] * 8), (np.int16(3), [3, 0] * 4), (np.float32(1), [0, 0, 128, 63] * 2)):
        buffer.fill(value)  # type: ignore[arg-type]
        assert np.asarray(buffer).tolist() == filled


def test_a_buffer_that_cannot_be_closed_in_a_stream_stays_open_and_can_be_closed_after() -> None:
    buffer, closed = allocated(), gridjit.create_stream()
    closed.close()
    for stream, error in ((closed, DeviceError), ("x", ArgumentError)):
        with pytest.raises(error):
            buffer.close(stream)  # type: ignore[arg-type]
        assert not buffer.closed
    buffer.close()
    assert buffer.closed


ADDRESS = ITEMS.ctypes.data
WRONG_INTERFACES = [
    {"shape": 4},
    {"shape": None},
    {"shape": ("a",)},
    {"shape": (4.0,)},
    {"typestr": "x"},
    {"typestr": None},
    {"typestr": "<f3"},
    {"data": None},
    {"data": ("x", False)},
    {"data": (4096,)},
    {"data": (-1, False)},
    {"data": (2**64, False)},
    {"version": "3"},
    {"version": None},
    {"strides": 5},
    {"strides": (4.5,)},
    {"stream": "x"},
    {"stream": -3},
]


@pytest.mark.parametrize("wrong", WRONG_INTERFACES, ids=str)
@pytest.mark.parametrize("look", [StridedMemoryView, gridjit.cuda.as_cuda_array, gridjit.cuda.to_device])
def test_an_array_interface_that_is_not_as_the_protocol_has_it_is_refused_and_not_guessed_at(
    look: Callable[[Any], Any], wrong: dict[str, Any]
) -> None:
    said = {"shape": (4,), "typestr": "<f4", "data": (ADDRESS, False), "version": 3}
    with pytest.raises(ArgumentError):
        look(SimpleNamespace(__cuda_array_interface__=said | wrong))
    for missing in said:
        if missing != "version":
            without = {name: value for name, value in said.items() if name != missing}
            with pytest.raises(ArgumentError, match=f"'{missing}' is missing"):
                look(SimpleNamespace(__cuda_array_interface__=without))


class Producer:
    """An object that exports ITEMS by DLPack as its makers have it."""

    def __init__(self, export: Any, device: Any = (1, 0)) -> None:
        self.export, self.device = export, device

    def __dlpack__(self, **asked: Any) -> Any:
        return self.export(**asked)

    def __dlpack_device__(self) -> Any:
        return self.device


def raises(**_: Any) -> None:
    raise RuntimeError("not today")


@pytest.mark.parametrize(
    ("producer", "said"),
    [
        (Producer(raises), "does not give its __dlpack__: not today"),
        (Producer(ITEMS.__dlpack__, device="x"), "does not give its __dlpack_device__"),
        (Producer(ITEMS.__dlpack__, device=None), "does not give its __dlpack_device__"),
        (Producer(lambda **_: 5), "5 is not a DLPack capsule"),
    ],
)
@pytest.mark.parametrize("look", [StridedMemoryView, gridjit.cuda.as_cuda_array, gridjit.cuda.to_device, dlpack])
def test_a_producer_that_cannot_export_is_named_with_what_it_said(
    look: Callable[[Any], Any], producer: Producer, said: str
) -> None:
    with pytest.raises(ArgumentError, match=said):
        look(producer)


def test_a_capsule_that_was_consumed_is_refused_and_said_to_be() -> None:
    capsule = to_device(np.ones(3), space=HOST_SPACE).__dlpack__()
    producer = Producer(lambda **_: capsule)
    assert np.from_dlpack(producer).tolist() == [1, 1, 1]
    with pytest.raises(ArgumentError, match="was consumed before, and a capsule is used once"):
        StridedMemoryView(producer)


class Watched(np.ndarray[Any, Any]):
    """An array that can be watched while others hold its memory."""


@pytest.mark.parametrize("options", [{}, {"max_version": (1, 0)}])
def test_a_view_consumes_its_capsule_so_that_no_other_library_frees_the_memory_under_it(
    options: dict[str, Any],
) -> None:
    memory = np.arange(3.0).view(Watched)
    watched = weakref.ref(memory)
    capsules = [memory.__dlpack__(**options) if NUMPY_2 or not options else memory.__dlpack__()]
    producer = Producer(lambda **_: capsules[0])
    view = StridedMemoryView(producer)
    del memory
    with pytest.raises(ValueError, match="incorrect name"):
        np.from_dlpack(producer)
    capsules.clear()
    gc.collect()
    assert watched() is not None
    assert np.asarray(view).tolist() == [0, 1, 2]
    del view
    gc.collect()
    assert watched() is None


@pytest.mark.parametrize("consumed", [False, True])
def test_a_capsule_frees_its_memory_once_if_an_interrupt_comes_before_or_after_it_is_consumed(
    consumed: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    memory = np.arange(3.0).view(Watched)
    watched = weakref.ref(memory)
    capsules = [memory.__dlpack__()]
    rename = vars(foreign_dlpack)["_rename"]

    def interrupted(capsule: Any, name: Any) -> None:
        if consumed:
            rename(capsule, name)
        raise KeyboardInterrupt

    monkeypatch.setattr(foreign_dlpack, "_rename", interrupted)
    with pytest.raises(KeyboardInterrupt):
        StridedMemoryView(Producer(lambda **_: capsules[0]))
    del memory
    capsules.clear()
    gc.collect()
    assert watched() is None


def test_a_view_of_a_masked_array_is_refused_as_its_mask_would_be_lost() -> None:
    masked = np.ma.masked_array([1, 2, 3], [False, True, False])
    there = StridedMemoryView(to_device(np.zeros(3, np.int64), space=HOST_SPACE))
    for use in (StridedMemoryView, StridedMemoryView.from_array_interface, there.copy_from, there.copy_to):
        with pytest.raises(ArgumentError, match="mask would be lost"):
            use(masked)


@pytest.mark.parametrize("given", [None, 5, "x", np.zeros(2)])
def test_a_graph_is_updated_with_a_tuple_of_all_arguments_and_nothing_else(given: Any) -> None:
    @gridjit.jit(target="host")
    def takes(x: Any) -> None:
        x[0] = 1

    with gridjit.graph() as g:
        takes[1, 1, g.stream](to_device(np.zeros(1), space=HOST_SPACE))
    with pytest.raises(ArgumentError, match=r"give all of them in a tuple, \(x, 2.0\)"):
        g.update(0, given)


def test_the_end_of_a_recording_that_never_began_is_an_error_that_says_so() -> None:
    with pytest.raises(LaunchError, match="is not being recorded: use it in a with block"):
        gridjit.graph().__exit__(None, None, None)


def test_a_read_only_argument_is_not_taken_for_a_global_of_the_same_name() -> None:
    @gridjit.jit(target="host")
    def writes(ITEMS: Any) -> None:  # noqa: N803
        ITEMS[0, 0] = 1

    fixed = ITEMS.copy()
    fixed.flags.writeable = False
    with pytest.raises(CompileError, match="'ITEMS' is a read-only array, and an item of it is assigned"):
        writes[1, 1](fixed)
