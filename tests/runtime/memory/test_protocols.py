"""Every protocol by which others give arrays, and every way that an array may lie: launches, views and copies agree."""

from __future__ import annotations

import array as python_arrays
import ctypes
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import gridjit
from gridjit import cuda
from gridjit.compiler.values.errors import ArgumentError
from gridjit.runtime.args.handler import Place, handler_of
from gridjit.runtime.arrays.create import as_device_array, to_device
from gridjit.runtime.memory.copies import address_of
from gridjit.runtime.memory.dlpack_import import array_in
from gridjit.runtime.memory.dlpack_structures import Tensor
from gridjit.runtime.memory.space import HOST_SPACE
from gridjit.runtime.memory.staging import Transfer
from tests.runtime.memory.looking import array_over

Array = np.ndarray[Any, Any]
Exporter = Callable[[Array], Any]


class Given:
    """An object with the attributes given."""

    def __init__(self, **attributes: Any) -> None:
        self.__dict__.update(attributes)


def interface(array: Array, **changes: Any) -> dict[str, Any]:
    return {
        "shape": array.shape,
        "strides": array.strides,
        "typestr": array.dtype.str,
        "descr": array.dtype.descr,
        "data": (address_of(array), not array.flags.writeable),
        "version": 3,
        "array": array,
    } | changes


class OnDevice:
    version = 3

    def __init__(self, array: Array) -> None:
        self.__cuda_array_interface__ = interface(array, version=self.version)

    __cuda_array_interface__: dict[str, Any] = {}


class OnDeviceOfVersion2(OnDevice):
    version = 2


class Interface:
    def __init__(self, array: Array) -> None:
        self.__array_interface__ = interface(array)

    __array_interface__: dict[str, Any] = {}


class Dlpack:
    def __init__(self, array: Array) -> None:
        self.array = array

    def __dlpack_device__(self) -> tuple[int, int]:
        return (1, 0)

    def __dlpack__(self, **asked: Any) -> Any:
        return self.array.__dlpack__(**asked)


class Dlpack0(Dlpack):
    def __dlpack__(self, **asked: Any) -> Any:
        if asked:
            raise TypeError("unexpected keyword")
        return self.array.__dlpack__()


PROTOCOLS: dict[str, Exporter] = {
    "CUDA array interface 3": OnDevice,
    "CUDA array interface 2": OnDeviceOfVersion2,
    "DLPack 0": Dlpack0,
    "DLPack 1": Dlpack,
    "array interface": Interface,
    "buffer protocol": lambda array: array.data,
    "NumPy": np.asarray,
}
ITEMS = np.arange(24, dtype=np.float32).reshape(4, 6)
LAYOUTS: dict[str, Array] = {
    "dense": ITEMS,
    "Fortran order": ITEMS.T,
    "gaps": ITEMS[:, ::2],
    "negative strides": ITEMS[::-1, ::-2],
    "zero strides": np.lib.stride_tricks.as_strided(ITEMS, (3, 6), (0, 4), writeable=True),
    "zero size": np.zeros((3, 0, 2), np.float32),
    "no axes": np.array(1.5),
    "misaligned": np.frombuffer(bytearray(b"x" + ITEMS.tobytes()), np.float32, offset=1),
    "read-only": np.frombuffer(ITEMS.tobytes(), np.float32),
}


def outcome(look: Callable[[Any], Any], value: Any) -> Any:
    try:
        return look(value)
    except ArgumentError:
        return "refused"


def parameters(value: Any) -> tuple[str, list[int]]:
    handler = handler_of(value)
    found = list(handler.parameters(value, Transfer(None, 0)))
    if not found[2]:  # where nothing is, and how far apart, does not matter
        found[4:] = [0, *found[5 : 5 + (len(found) - 5) // 2]]
    return str(handler.type_of(value, Place())), found


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_launches_views_and_copies_read_a_protocol_alike(protocol: str, layout: str) -> None:
    array = LAYOUTS[layout]
    value = PROTOCOLS[protocol](array)
    if (protocol, layout) == ("DLPack 0", "read-only"):  # version 0 cannot say so, and NumPy does not export it
        for look in (parameters, lambda it: array_over(it, HOST_SPACE), lambda it: to_device(it, space=HOST_SPACE)):
            assert outcome(look, value) == "refused"
        return
    seen, copy = array_over(value, HOST_SPACE), to_device(value, space=HOST_SPACE)
    # A memoryview without axes is a number to a launch, which takes it by itself.
    if (protocol, layout) != ("buffer protocol", "no axes"):
        assert parameters(value) == parameters(seen) == parameters(array)
    assert (seen.shape, seen.dtype, seen.flags["WRITEABLE"]) == (array.shape, array.dtype, array.flags.writeable)
    if array.size:
        assert (seen.data, seen.strides) == (address_of(array), array.strides)
    assert copy.copy_to_host().tolist() == array.tolist()
    assert copy.flags["WRITEABLE"] and (not array.size or copy.data != seen.data)
    if protocol not in ("buffer protocol", "array interface", "NumPy"):
        again = as_device_array(value, space=HOST_SPACE)
        assert parameters(again) == parameters(seen)


@gridjit.jit(target="host")
def add_one(x):
    i = cuda.grid(1)
    if i < x.size:
        x[i] += 1


@pytest.mark.parametrize(
    "value",
    [
        bytearray(bytes(range(8))),
        memoryview(bytearray(16))[::2],
        python_arrays.array("d", [1, 2, 3]),
        (ctypes.c_int16 * 5)(1, 2, 3),
        Interface(np.arange(6)),
        Given(__array_interface__=interface(np.arange(6))),
        Given(__array_interface__={"shape": (2,), "typestr": "<i2", "data": bytearray(6), "offset": 2, "version": 3}),
    ],
    ids=lambda value: type(value).__name__,
)
def test_a_kernel_works_in_the_memory_of_any_object_of_the_hosts(value: Any) -> None:
    before = np.array(array_over(value, HOST_SPACE).copy_to_host())
    for _ in range(2):
        add_one[1, 32](value)
    assert (array_over(value, HOST_SPACE).copy_to_host() == before + 2).all()
    add_one[1, 32](gridjit.In(value))
    assert (array_over(value, HOST_SPACE).copy_to_host() == before + 2).all()
    add_one[1, 32](gridjit.InOut(value))
    assert (array_over(value, HOST_SPACE).copy_to_host() == before + 3).all()


def test_an_array_over_an_object_keeps_it_alive_and_lets_go_of_it() -> None:
    import weakref

    for exporter in PROTOCOLS.values():
        array = ITEMS.copy()
        alive = weakref.ref(array)
        seen = array_over(exporter(array), HOST_SPACE)
        del array
        assert seen.copy_to_host().tolist() == ITEMS.tolist()
        del seen
        assert alive() is None, exporter


@pytest.mark.parametrize("look", [parameters, lambda value: array_over(value, HOST_SPACE)], ids=["launch", "view"])
@pytest.mark.parametrize(
    ("value", "words"),
    [
        (
            Given(__cuda_array_interface__=interface(ITEMS, data=(0, False))),
            r"of shape \(4, 6\) at address 0 has no",
        ),
        (Given(__array_interface__={"shape": (2,), "typestr": "<f4"}), "does not say where its data is"),
        (Given(__array_interface__=interface(ITEMS, mask=ITEMS)), "a masked array"),
        (Given(__array_interface__=interface(ITEMS, version=1)), "version 1 of __array_interface__ is not supported"),
        (Given(__cuda_array_interface__=interface(ITEMS, version=1)), "version 1 of __cuda_array_interface__"),
        (Given(__array_interface__=interface(ITEMS, strides=(4,))), r"strides \(4,\) do not fit shape \(4, 6\)"),
        ("text", "cannot be passed|has no memory"),
        (object(), "cannot be passed|has no memory"),
    ],
)
def test_what_has_no_memory_to_use_is_refused_for_launches_and_views_alike(
    look: Callable[[Any], Any], value: Any, words: str
) -> None:
    with pytest.raises(ArgumentError, match=words):
        look(value)


@pytest.mark.parametrize(
    ("item", "words"),
    [
        ((0, 4, 1), r"items of 4 bits \(DLPack type code 0\) are not whole bytes"),
        ((17, 4, 1), "items of 4 bits .* view the bytes that they are packed in as uint8"),
        ((15, 6, 1), "items of 6 bits"),
        ((2, 32, 4), "32 bits, 4 lanes.*: its items are vectors; give it another axis, of 4 items with one lane"),
        ((4, 16, 2), "its items are vectors; give it another axis, of 2 items"),
        ((10, 8, 4), "its items are vectors"),
        ((9, 16, 1), "code 9.*; kernels have integers of 8 to 64 bits"),
        ((19, 8, 1), "floats of fewer than 16 bits, kernels support"),
        ((2, 24, 1), "24 bits.*; kernels have .* floats of 16 to 64"),
        ((0, 128, 1), "128 bits.*; kernels have integers of 8 to 64 bits"),
        ((5, 32, 1), "complex numbers of 64 and 128"),
        ((6, 32, 1), "bools of 8"),
        ((3, 64, 1), "code 3.*; kernels have integers"),
    ],
)
def test_items_that_kernels_do_not_have_are_refused_with_the_reason(item: tuple[int, int, int], words: str) -> None:
    shape = (ctypes.c_int64 * 1)(3)
    code, bits, lanes = item
    tensor = Tensor(data=0x1000, ndim=1, code=code, bits=bits, lanes=lanes, shape=shape, strides=None)
    with pytest.raises(ArgumentError, match=words) as caught:
        array_in(tensor)
    assert ("fewer than 16" in str(caught.value)) == ("fewer than 16" in words)


@pytest.mark.parametrize(("stream", "asked"), [(0, 1), (7, 7), (-1, -1)])
def test_a_producer_is_told_of_the_stream_that_its_work_has_to_come_before(stream: int, asked: int) -> None:
    told = []

    class OnGpu(Dlpack):
        def __dlpack_device__(self) -> tuple[int, int]:
            return (13, 0)  # managed: of the host, too

        def __dlpack__(self, **given: Any) -> Any:
            told.append(given.pop("stream"))
            return self.array.__dlpack__(**given)

    assert array_over(OnGpu(ITEMS), HOST_SPACE, stream).data == address_of(ITEMS)
    assert told == [asked]
