"""Mapped and managed arrays over host memory: NumPy arrays that have a device array's copies, too."""

from __future__ import annotations

import copy
import pickle
from typing import Any

import numpy as np
import pytest

from gridjit import cuda
from gridjit.compiler.values.errors import ShapeError
from gridjit.runtime.arrays.create import managed_array, mapped_array, mapped_array_like
from gridjit.runtime.devices import presence
from gridjit.runtime.memory.space import HOST_SPACE
from tests.runtime.standin import StandInKernel

VALUES = np.arange(24, dtype=np.float32).reshape(4, 6)


@pytest.fixture(params=[mapped_array, managed_array, lambda *shape, **given: mapped_array_like(VALUES, **given)])
def made(request: pytest.FixtureRequest) -> Any:
    """Return an array of VALUES' shape and dtype."""
    return request.param((4, 6), np.float32, space=HOST_SPACE)


def test_it_is_copied_as_arrays_on_the_device_are(made: Any) -> None:
    made.copy_to_device(VALUES)
    assert np.array_equal(made, VALUES)
    out = np.zeros_like(VALUES)
    assert made.copy_to_host(out) is out
    assert np.array_equal(out, VALUES)
    found = made[1:, ::2].copy_to_host()
    made[:] = 0
    assert type(found) is np.ndarray
    assert np.array_equal(found, VALUES[1:, ::2])
    made.copy_to_device(cuda.to_device(VALUES))
    assert np.array_equal(made, VALUES)
    with pytest.raises(ShapeError):
        made.copy_to_device(VALUES[0])


def test_its_parts_and_views_share_its_memory(made: Any) -> None:
    for number, part in enumerate(made.reshape(-1).split(10)):
        part[:] = number
    assert made.reshape(-1).tolist() == [0.0] * 10 + [1.0] * 10 + [2.0] * 4
    stream = cuda.stream()
    bound = made.bind(stream)
    bound.copy_to_device(VALUES)
    stream.synchronize()
    assert (bound.stream, made.stream) == (stream, 0)
    assert np.array_equal(made, VALUES)


def test_it_is_assigned_to_arrays_on_the_device_and_back(made: Any) -> None:
    there = cuda.to_device(np.zeros((4, 6), np.float32))
    made[:] = VALUES
    there[:] = made
    assert np.array_equal(there.copy_to_host(), VALUES)


@pytest.mark.parametrize(
    "away", [lambda array: array + 0, copy.deepcopy, lambda array: pickle.loads(pickle.dumps(array))]
)
def test_a_copy_of_it_is_not_on_the_device(made: Any, away: Any) -> None:
    for attribute in ("copy_to_host", "copy_to_device"):
        with pytest.raises(AttributeError, match="copy in the host's own memory"):
            getattr(away(made), attribute)(VALUES)
    assert not cuda.is_cuda_array(away(made))


def test_it_has_the_cuda_array_interface_where_no_gpu_could_be_meant(made: Any, monkeypatch: Any) -> None:
    interface = made[1:].__cuda_array_interface__
    assert (interface["data"][0], interface["shape"]) == (made.ctypes.data + 24, (3, 6))
    assert cuda.as_cuda_array(made).data == made.ctypes.data
    monkeypatch.setattr(presence, "device_count", lambda: 1)
    assert not hasattr(made, "__cuda_array_interface__")


def test_a_launch_on_the_host_takes_it_in_machine_code(made: Any) -> None:
    kernel = StandInKernel(arity=1)
    configured = kernel.configured()
    for _ in range(3):
        configured(made)
    configured(made + 0)
    assert kernel.recorder.ways[:3] == ["python", "native", "native"]
    assert kernel.recorder.launches[1].parameters == kernel.recorder.launches[0].parameters
