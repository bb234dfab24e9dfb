"""Device arrays over host memory: the same API and layout arithmetic as on a GPU."""

from __future__ import annotations

import gc
import pickle
import struct
import weakref

import numpy as np
import pytest

from gridjit.compiler.values.errors import ArgumentError, CopyNeededError, DeviceError, LayoutError, ShapeError
from gridjit.compiler.values.signature import ArrayType
from gridjit.runtime.arrays.create import device_array, device_array_like, pinned_array, to_device
from gridjit.runtime.devices import presence
from gridjit.runtime.memory.space import HOST_SPACE

VALUES = np.arange(24, dtype=np.float32).reshape(4, 6)


def on_host(values):
    return to_device(values, space=HOST_SPACE)


def test_what_only_numpys_arrays_have_says_how_to_get_it() -> None:
    array = on_host(VALUES)
    for name in ("sum", "mean", "astype", "tolist"):
        with pytest.raises(AttributeError, match=rf"does not have NumPy's '{name}': copy_to_host\(\)\.{name} .* cupy"):
            getattr(array, name)
    with pytest.raises(AttributeError, match=r"'fill': array\[:\] = value fills it"):
        array.fill(1)
    for name in ("get", "numpy", "cpu"):
        with pytest.raises(AttributeError, match=rf"has no method '{name}': copy_to_host\(\) returns its items"):
            getattr(array, name)
    with pytest.raises(AttributeError, match="no attribute 'summ'"):
        array.summ  # noqa: B018
    assert not hasattr(array, "sum") and not hasattr(type(array), "sum")
    assert np.sum(array) == VALUES.sum()
    assert {"T", "shape", "reshape"} <= set(dir(array)) and not {"sum", "fill", "get"} & set(dir(array))


def test_a_masked_array_is_not_copied_to_the_device_without_its_mask() -> None:
    masked = np.ma.masked_array([1.0, 2.0], [False, True])
    with pytest.raises(ArgumentError, match="its mask would be lost"):
        to_device(masked, space=HOST_SPACE)
    with pytest.raises(ArgumentError, match="its mask would be lost"):
        device_array(2, space=HOST_SPACE).copy_to_device(masked)


@pytest.mark.parametrize("ndim", range(5))
def test_the_descriptor_is_what_a_kernel_takes(ndim):
    shape = (2, 3, 4, 5)[:ndim]
    made = device_array(shape, np.int16, space=HOST_SPACE)
    code = "@" + ArrayType(dtype="int16", ndim=ndim).codes
    assert struct.unpack(code, made._parameters) == (0, 0, made.size, 2, made.data, *made.shape, *made.strides)


@pytest.mark.parametrize(
    "view",
    [
        np.s_[1:3],
        np.s_[:, ::-2],
        np.s_[::2, 1:5:3],
        np.s_[None, ..., 2],
        np.s_[-1],
        np.s_[2:2],
        np.s_[...],
    ],
)
def test_views_agree_with_numpy(view):
    made = on_host(VALUES)[view]
    expected = VALUES[view]
    assert (made.shape, made.strides, made.dtype) == (expected.shape, expected.strides, expected.dtype)
    assert np.array_equal(made.copy_to_host(), expected)
    assert made.is_c_contiguous() == expected.flags.c_contiguous


def test_views_share_memory():
    whole = on_host(VALUES)
    whole[1, ::2] = 100
    whole.T[0, 3] = -1
    expected = VALUES.copy()
    expected[1, ::2] = 100
    expected.T[0, 3] = -1
    assert np.array_equal(whole.copy_to_host(), expected)
    assert len(whole) == 4
    assert [row.tolist() for row in map(np.asarray, whole)] == expected.tolist()


def test_an_index_for_each_axis_gives_the_item():
    made = on_host(VALUES)
    assert made[2, 3] == VALUES[2, 3]
    assert isinstance(made[2, 3], np.float32)
    assert np.asarray(made[2, 3, ...]).shape == ()


@pytest.mark.parametrize("key", [[0, 1], np.array([0]), True, 1.5, (slice(None), [1])])
def test_indices_that_need_a_copy_are_refused(key):
    with pytest.raises(TypeError, match="arrays on the device"):
        on_host(VALUES)[key]


def test_an_index_out_of_range_raises():
    with pytest.raises(IndexError):
        on_host(VALUES)[4]


def test_reshaping_never_copies():
    made = on_host(VALUES)
    assert made.reshape(2, -1).shape == (2, 12)
    assert made.reshape((24,)).data == made.data
    assert made.T.ravel(order="F").data == made.data
    assert np.array_equal(made.T.reshape(3, 8, order="F").copy_to_host(), VALUES.T.reshape(3, 8, order="F"))
    for kind in (ValueError, NotImplementedError, CopyNeededError):
        with pytest.raises(kind, match="without a copy"):
            made.T.ravel()
    assert made.view(np.int32).dtype == np.int32
    assert made[:1].squeeze().shape == (6,)
    assert made.transpose(1, 0).shape == (6, 4)


@pytest.mark.parametrize("values", [VALUES, np.asfortranarray(VALUES)], ids=["C", "F"])
def test_reshaping_in_order_a_goes_as_the_items_lie(values):
    made = on_host(values).reshape(3, 8, order="A")
    assert made.copy_to_host().tolist() == values.reshape(3, 8, order="A").tolist()


def test_only_one_length_of_a_shape_is_worked_out():
    with pytest.raises(LayoutError, match="give one for 24 items"):
        on_host(VALUES).reshape(-1, -1)


def test_a_length_that_may_be_any_is_an_error():
    with pytest.raises(LayoutError, match="give one for 0 items"):
        on_host(VALUES[:0]).reshape(0, -1)


ROWS = [
    np.float32(7),
    [7],
    [[7]],
    [[[7]]],
    range(6),
    [range(6)],
    [[[1]] * 4],
    [[1], [2], [3], [4]],
    VALUES[::-1, ::-1] * 9,
]


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int64, np.uint8, np.complex64, bool])
@pytest.mark.parametrize("there", [False, True])
@pytest.mark.parametrize("row", ROWS)
@pytest.mark.filterwarnings("ignore:Casting complex")
def test_what_is_assigned_is_converted_and_repeated_as_numpy_has_it(row, there, dtype):
    given, made, expected = np.array(row, dtype), on_host(VALUES), VALUES.copy()
    made[:], expected[:] = on_host(given) if there else given, given
    assert made.copy_to_host().tolist() == expected.tolist()


@pytest.mark.parametrize("value", [(3, (1, 2), "ab"), [(1, 2, "x"), (3, (4, 5), "y")], [[(1, 2, "x")], [(3, 4, "y")]]])
def test_records_are_assigned_as_the_tuples_that_numpy_takes_for_them(value):
    expected = np.zeros((2, 2), [("id", np.int32), ("at", np.float64, (2,)), ("name", "S3")])
    made = on_host(expected)
    made[:, ::-1] = expected[:, ::-1] = value
    assert made.copy_to_host().tobytes() == expected.tobytes()


def test_an_array_is_assigned_to_itself_as_if_it_was_read_first():
    made, expected = on_host(VALUES), VALUES.copy()
    made[1:], expected[1:] = made[:-1], expected[:-1].copy()
    made[:, ::-1] = made[:, 0:1]
    expected[:, ::-1] = expected[:, 0:1].copy()
    assert made.copy_to_host().tolist() == expected.tolist()


@pytest.mark.parametrize("there", [False, True])
@pytest.mark.parametrize("row", [range(2), range(5), [range(6), range(6)], range(0)])
def test_what_is_assigned_and_does_not_fit_is_an_error(row, there):
    given = np.array(row)
    with pytest.raises(ShapeError, match="Can't copy sequence with size"):
        on_host(VALUES)[:] = on_host(given) if there else given
    with pytest.raises(ShapeError, match="Can't assign 3-D array to 2-D self"):
        on_host(VALUES)[:] = np.ones((2, 4, 6))


def test_views_are_copied_in_the_arrays_stream_unless_another_is_named():
    made = on_host(VALUES).bind(16)
    assert [made.ravel(stream=stream).stream for stream in (None, 0, 32)] == [16, 16, 32]
    assert [made.squeeze(stream=stream).stream for stream in (None, 0, 32)] == [16, 16, 32]


def test_records_and_their_fields():
    records = np.zeros(3, [("x", np.int32), ("y", np.float64)])
    made = on_host(records)
    made["y"][1:] = 2.5
    assert made.copy_to_host()["y"].tolist() == [0, 2.5, 2.5]
    assert made["y"].strides == (12,)


@pytest.mark.parametrize("order", ["C", "F"])
def test_like_keeps_the_order_of_axes(order):
    values = np.asarray(VALUES, order=order)
    made = device_array_like(values, space=HOST_SPACE)
    assert made.strides == values.strides
    copied = on_host(values).copy_to_host()
    assert copied.strides == values.strides
    assert np.array_equal(copied, values)


def test_like_of_a_sparse_view_is_dense():
    assert device_array_like(VALUES[:, ::2], space=HOST_SPACE).strides == (12, 4)
    assert device_array_like(VALUES.T[::-1], space=HOST_SPACE).strides == (4, 24)


def test_strides_can_be_given_and_negative():
    made = device_array((2, 3), np.int32, strides=(-16, 4), space=HOST_SPACE)
    made.copy_to_device(np.arange(6, dtype=np.int32).reshape(2, 3))
    assert made.strides == (-16, 4)
    assert made.copy_to_host().tolist() == [[0, 1, 2], [3, 4, 5]]
    assert made[1].data == made.data - 16
    with pytest.raises(ArgumentError, match="do not fit shape"):
        device_array((2, 3), strides=(8,), space=HOST_SPACE)


@pytest.mark.parametrize("shape", [0, (3, 0), (0, 4), ()])
def test_empty_and_scalar_arrays(shape):
    made = on_host(np.ones(shape))
    assert made.copy_to_host().tolist() == np.ones(shape).tolist()
    assert made.nbytes == np.ones(shape).nbytes


def test_copies_are_checked():
    made = on_host(VALUES)
    with pytest.raises(ArgumentError, match=r"float32\[4, 6\], the other float64\[4, 6\]"):
        made.copy_to_device(VALUES.astype(np.float64))
    with pytest.raises(ValueError, match=r"the other float32\[6, 4\]"):
        made.copy_to_host(np.empty((6, 4), np.float32))
    frozen = VALUES.copy()
    frozen.flags.writeable = False
    with pytest.raises(ArgumentError, match="read-only"):
        made.copy_to_host(frozen)


def test_arrays_are_copied_between_themselves():
    source, target = on_host(VALUES), on_host(np.zeros_like(VALUES))
    target.copy_to_device(source)
    target[0] = source[3]
    expected = VALUES.copy()
    expected[0] = VALUES[3]
    assert np.array_equal(target.copy_to_host(), expected)
    assert to_device(source, space=HOST_SPACE).data != source.data
    into = on_host(np.zeros_like(VALUES))
    assert to_device(VALUES, to=into) is into
    assert np.array_equal(into.copy_to_host(), VALUES)


def test_items_that_are_python_objects_are_refused():
    with pytest.raises(ArgumentError, match="Python objects"):
        on_host(np.array([object()]))


def test_splits_are_views_of_at_most_that_many_items():
    made = on_host(np.arange(7))
    assert [part.copy_to_host().tolist() for part in made.split(3)] == [[0, 1, 2], [3, 4, 5], [6]]


def test_equal_kinds_are_one_object_and_different_ones_are_not():
    made = on_host(VALUES)
    assert made._kind is on_host(VALUES[:2].copy())._kind
    kinds = {id(array._kind) for array in (made, made.T, made[::2], made[0], made.view(np.int32))}
    assert len(kinds) == 5


def test_numpy_reads_it_and_pickle_does_not():
    made = on_host(VALUES)
    assert np.array_equal(np.asarray(made), VALUES)
    with pytest.raises(ValueError, match="without a copy"):
        np.array(made, copy=False)
    with pytest.raises(TypeError, match="cannot be pickled"):
        pickle.dumps(made)


def test_an_array_on_the_host_has_the_cuda_array_interface_only_where_no_gpu_could_be_meant(monkeypatch):
    made = on_host(VALUES)
    monkeypatch.setattr(presence, "device_count", lambda: 0)
    assert made.T.__cuda_array_interface__["strides"] == made.T.strides
    assert made.__cuda_array_interface__["data"] == (made.data, False)
    monkeypatch.setattr(presence, "device_count", lambda: 1)
    assert not hasattr(made, "__cuda_array_interface__")


def test_dlpack_shares_the_memory_and_lets_go_of_it():
    made = on_host(VALUES)
    kept = weakref.ref(made._memory)
    shared = np.from_dlpack(made.T)
    assert shared.ctypes.data == made.data
    assert shared.strides == made.T.strides
    del made
    gc.collect()
    assert kept() is not None and np.array_equal(shared, VALUES.T)
    del shared
    gc.collect()
    assert kept() is None


@pytest.mark.parametrize("max_version", [None, (1, 0)])
def test_an_unused_dlpack_capsule_lets_go(max_version):
    made = on_host(VALUES)
    kept = weakref.ref(made._memory)
    capsule = made.__dlpack__(max_version=max_version)
    del made
    gc.collect()
    assert kept() is not None
    del capsule
    gc.collect()
    assert kept() is None


def test_dlpack_refuses_what_it_cannot_say():
    records = on_host(np.zeros(3, [("x", np.int32), ("y", np.float64)]))
    with pytest.raises(BufferError, match="does not support items of"):
        records.__dlpack__()
    with pytest.raises(BufferError, match="not whole items"):
        records["y"].__dlpack__()
    with pytest.raises(BufferError, match="is on device"):
        on_host(VALUES).__dlpack__(dl_device=(2, 0))
    copied = np.from_dlpack(Copied(on_host(VALUES)))
    assert np.array_equal(copied, VALUES)


class Copied:
    def __init__(self, array):
        self.array = array

    def __dlpack_device__(self):
        return self.array.__dlpack_device__()

    def __dlpack__(self, **given):
        return self.array.__dlpack__(**(given | {"copy": True}))


def test_page_locked_arrays_are_numpy_arrays():
    made = pinned_array((2, 3), np.int64, order="F", space=HOST_SPACE)
    made[:] = 5
    assert made.flags.f_contiguous
    assert made.sum() == 30


def test_items_are_set_and_read_by_name_of_the_method_too():
    made = on_host(VALUES)
    made.setitem((0, slice(None)), 7)
    assert made.getitem((0, 2)) == 7
    assert made.getitem(1).copy_to_host().tolist() == VALUES[1].tolist()


def test_a_handle_for_other_processes_is_refused_with_the_way_on():
    with pytest.raises(DeviceError, match=r"numba.cuda.device_array"):
        on_host(VALUES).get_ipc_handle()
