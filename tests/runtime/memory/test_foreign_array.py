"""__cuda_array_interface__: a launch and a device array over the same object read it alike."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from gridjit.compiler.values.errors import ArgumentError
from gridjit.runtime.args.handler import Place, handler_of
from gridjit.runtime.arrays.create import as_device_array
from gridjit.runtime.memory.copies import address_of
from gridjit.runtime.memory.foreign_array import read_interface
from gridjit.runtime.memory.space import HOST_SPACE
from gridjit.runtime.memory.staging import Transfer
from gridjit.runtime.queues.streams import LEGACY

ITEMS = np.arange(24, dtype=np.float32).reshape(4, 6)
RECORDS = np.zeros(3, np.dtype([("a", "<i4"), ("b", "<f8", (2,))]))
CUDA = Place(kind="ptx")


class Exporter:
    """An object with the interface of an array, and changes to it (None: without that key)."""

    def __init__(self, array: np.ndarray[Any, Any], **changes: Any) -> None:
        self.array = array
        interface = {
            "shape": array.shape,
            "strides": array.strides,
            "typestr": array.dtype.str,
            "descr": array.dtype.descr,
            "data": (address_of(array), not array.flags.writeable),
            "version": 3,
        }
        self.__cuda_array_interface__ = {k: v for k, v in (interface | changes).items() if v is not ...}

    __cuda_array_interface__: dict[str, Any] = {}


def read_only() -> np.ndarray[Any, Any]:
    view = ITEMS.view()
    view.flags.writeable = False
    return view


@pytest.mark.parametrize(
    ("array", "changes"),
    [
        (ITEMS, {}),
        (ITEMS, {"strides": None}),
        (ITEMS, {"strides": ...}),
        (ITEMS, {"version": 2}),
        (ITEMS, {"shape": [4, 6], "strides": [24, 4]}),
        (ITEMS, {"descr": ...}),
        (ITEMS.T, {}),
        (ITEMS[::-1, ::2], {}),
        (read_only(), {}),
        (np.zeros((0, 3), np.int16), {"data": (0, False)}),
        (np.zeros((3, 0), np.int16), {"data": (None, True), "strides": None}),
        (np.zeros(()), {}),
        (RECORDS, {}),
        (RECORDS, {"descr": [list(field) for field in RECORDS.dtype.descr]}),
        (np.zeros(3, "S5"), {}),
    ],
)
def test_a_launch_and_a_device_array_read_an_interface_alike(
    array: np.ndarray[Any, Any], changes: dict[str, Any]
) -> None:
    value = Exporter(array, **changes)
    handler = handler_of(value)
    array_there = as_device_array(value, space=HOST_SPACE)
    own = handler_of(array_there)
    assert handler.type_of(value, CUDA) == own.type_of(array_there, Place())
    mine, theirs = (list(h.parameters(v, Transfer(None, 0))) for h, v in ((handler, value), (own, array_there)))
    if not array.size:  # where nothing is does not matter
        mine[4] = theirs[4] = 0
    assert mine == theirs
    assert array_there.copy_to_host().tobytes() == array.tobytes()


@pytest.mark.parametrize(
    "dtype",
    [
        np.dtype([("a", "i1"), ("b", "f8")], align=True),
        np.dtype([("a", "i1"), ("b", [("c", "i2"), ("d", "f8")], (2,))], align=True),
        np.dtype([("a", "i4")]),
        np.dtype("V8"),
    ],
)
def test_the_padding_of_a_record_is_not_a_field_of_it(dtype: np.dtype[Any]) -> None:
    found = read_interface(Exporter(np.zeros(3, dtype)).__cuda_array_interface__).dtype
    assert (found, found.names) == (np.dtype(dtype), dtype.names)


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"mask": object()}, "a masked array cannot be passed"),
        ({"version": 1}, "version 1 of __cuda_array_interface__ is not supported; 2 and 3 are"),
        ({"version": ...}, "version 0 of __cuda_array_interface__ is not supported"),
        ({"strides": (4,)}, r"strides \(4,\) do not fit shape \(4, 6\)"),
        ({"shape": (4, -6)}, r"shape \(4, -6\): item counts are 0 or more"),
        ({"strides": (2**62, 4)}, r"shape \(4, 6\) with strides of .*: \d+ is beyond 64 bits"),
    ],
)
def test_an_interface_that_a_launch_refuses_is_refused_for_device_arrays_too(
    changes: dict[str, Any], words: str
) -> None:
    value = Exporter(ITEMS, **changes)
    with pytest.raises(ArgumentError, match=words):
        handler_of(value).type_of(value, CUDA)
    with pytest.raises(ArgumentError, match=words):
        as_device_array(value, space=HOST_SPACE)


@pytest.mark.parametrize("version", [2, 3])
@pytest.mark.parametrize(("stream", "waited"), [(None, None), (0, LEGACY), (1, 1), (2, 2), (0x7F00, 0x7F00)])
def test_the_stream_of_an_interface_is_waited_for_whatever_its_version(
    version: int, stream: int | None, waited: int | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    value = Exporter(ITEMS, version=version, stream=stream)
    assert read_interface(value.__cuda_array_interface__).stream == waited
    synchronized: list[int] = []
    monkeypatch.setattr(type(HOST_SPACE.timeline), "synchronize", lambda self, handle: synchronized.append(handle))
    as_device_array(value, space=HOST_SPACE)
    assert synchronized == ([] if waited is None else [waited])
    transfer = Transfer(None, 0)
    expected: list[int | None] = []
    monkeypatch.setattr(Transfer, "wait_for", lambda self, handle: expected.append(handle))
    handler_of(value).parameters(value, transfer)
    assert expected == synchronized


def test_a_device_array_over_read_only_memory_cannot_be_written_to() -> None:
    there = as_device_array(Exporter(read_only()), space=HOST_SPACE)
    with pytest.raises(ArgumentError, match="read-only"):
        there[0] = 1
