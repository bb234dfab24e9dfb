"""What programs written for numba-cuda look for in an error: its class, and the words that say what is wrong."""

from __future__ import annotations

import importlib
import pickle
from collections.abc import Callable
from typing import Any, cast

import numpy as np
import pytest

import gridjit
from gridjit.compiler.values.errors import LimitError
from gridjit.runtime.arrays.create import to_device
from gridjit.runtime.devices.errors import driver_error


def increment(x):
    x[0] += 1


def assign(value: Any, shape: Any = 5) -> None:
    to_device(np.zeros(shape))[:] = value


MISTAKES: list[tuple[Callable[[], Any], type[Exception], str]] = [
    (lambda: assign(np.ones((1, 2, 3))), ValueError, "Can't assign 3-D array to 1-D self"),
    (lambda: assign([1, 3]), ValueError, "Can't copy sequence with size 2 to array axis 0 with dimension 5"),
    (
        lambda: assign(np.ones(3), (2, 4)),
        ValueError,
        "Can't copy sequence with size 3 to array axis 1 with dimension 4",
    ),
    (lambda: to_device(np.ones(3)).__array__(copy=False), ValueError, "`copy=False` is not supported"),
    (lambda: gridjit.jit(increment).forall(-1), ValueError, "Can't create ForAll with negative task count"),
    (
        lambda: gridjit.jit(increment)[(1, 2, 3, 4), 1],
        ValueError,
        "griddim must be a sequence of 1, 2 or 3 integers, got [1, 2, 3, 4]",
    ),
    (
        lambda: gridjit.jit(increment)[2, cast("int", 3.0)],
        TypeError,
        "blockdim must be a sequence of integers, got [3.0]",
    ),
    (lambda: gridjit.jit(launch_bounds=(128, 2, 4, 8)), ValueError, "Got 4 launch bounds:"),
    (lambda: gridjit.jit(shared_memory_carveout=101), ValueError, "must be between -1 and 100"),
    (lambda: gridjit.jit(shared_memory_carveout="Most"), ValueError, "Invalid carveout value"),
    (
        lambda: gridjit.jit("void(int64[::1])", link=["code.cuh"])(increment),
        RuntimeError,
        "Don't know how to link file with extension .cuh",
    ),
    (
        lambda: gridjit.jit("void(int64[::1])", link=["code"])(increment),
        RuntimeError,
        "Don't know how to link file with no extension",
    ),
]


@pytest.mark.parametrize(("mistake", "kind", "words"), MISTAKES, ids=[words for *_, words in MISTAKES])
def test_a_mistake_is_told_in_the_words_that_programs_look_for(
    mistake: Callable[[], Any], kind: type[Exception], words: str
) -> None:
    with pytest.raises(kind) as caught:
        mistake()
    assert isinstance(caught.value, gridjit.GridjitError | ValueError)
    assert words in str(caught.value)


@pytest.mark.parametrize("value", [7, [7], np.full((5,), 7), np.full((1, 1), 7)], ids=["number", "one", "row", "2-D"])
def test_what_is_assigned_is_repeated_as_numpy_does(value: Any) -> None:
    array = to_device(np.zeros((4, 5)))
    array[1:3] = value
    assert array.copy_to_host().sum() == 70


def test_a_missing_file_is_named_in_the_errors_arguments() -> None:
    theirs = importlib.import_module("numba.cuda.cudadrv.driver").LinkerError
    with pytest.raises(theirs) as caught:
        gridjit.jit("void(int64[::1])", link=["nonexistent.a"])(increment)
    assert "nonexistent.a not found" in caught.value.args
    assert "nonexistent.a not found" in pickle.loads(pickle.dumps(caught.value)).args


@pytest.mark.parametrize("shape", [(1, 1025), (1, (64, 32)), ((1, 65536), 1), (0, 1)])
def test_what_no_device_launches_is_the_drivers_error_too(shape: Any) -> None:
    theirs = importlib.import_module("numba.cuda.cudadrv.driver").CudaAPIError
    with pytest.raises(theirs, match="CUDA_ERROR_INVALID_VALUE") as caught:
        gridjit.jit(increment)[shape]
    assert isinstance(caught.value, LimitError)
    assert caught.value.code == 1


def test_a_forked_child_that_uses_the_device_is_told_so_in_its_parent_too() -> None:
    theirs = importlib.import_module("numba.cuda.cudadrv.error").CudaDriverError
    importlib.import_module("numba.cuda.cudadrv.driver")
    error = driver_error("cuMemAlloc", "CUDA_ERROR_NOT_INITIALIZED", "", code=3)
    with pytest.raises(theirs, match="CUDA initialized before forking"):
        raise pickle.loads(pickle.dumps(error))
