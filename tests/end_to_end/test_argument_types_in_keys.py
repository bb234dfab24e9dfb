"""Arguments of another type are a compile of their own, and those of the same type are a hit."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import gridjit


def measures(x, out):
    out[0] = 100 * x.ndim + x.size


def unaligned(array: Any) -> Any:
    """The array at an odd address."""
    raw = np.zeros(array.nbytes + 1, np.uint8)
    return raw[1:].view(array.dtype).reshape(array.shape)


def read_only(array: Any) -> Any:
    """The array, not writeable."""
    array.flags.writeable = False
    return array


OTHER_TYPES = {
    "dtype": np.zeros((4, 6), np.float32),
    "byte width": np.zeros((4, 6), np.int32),
    "sign": np.zeros((4, 6), np.uint64),
    "ndim": np.zeros(24, np.int64),
    "layout F": np.zeros((4, 6), np.int64, order="F"),
    "layout A": np.zeros((8, 12), np.int64)[::2, ::2],
    "readonly": read_only(np.zeros((4, 6), np.int64)),
    "alignment": unaligned(np.zeros((4, 6), np.int64)),
}
SAME_TYPES = {
    "another shape": np.zeros((2, 9), np.int64),
    "no items": np.zeros((0, 6), np.int64),
    "rows of another": np.zeros((9, 6), np.int64)[2:6],
    "a subclass of the same memory": np.zeros((4, 6), np.int64).view(np.recarray).view(np.ndarray),
}


@pytest.fixture(scope="module")
def measured(device_kind: str, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The place of a cache that has `measures` of a C-contiguous 2-d int64 array."""
    return tmp_path_factory.mktemp("measured") / "cache"


@pytest.fixture
def measure(
    target: str, measured: Path, monkeypatch: pytest.MonkeyPatch, restart: Callable[[], None]
) -> Callable[[Any], tuple[int, int]]:
    """What launches `measures` as a new process would; returns the compiles and what it wrote."""
    monkeypatch.setenv("GRIDJIT_CACHE_DIR", str(measured))

    def launch(x: Any) -> tuple[int, int]:
        restart()
        kernel, out = gridjit.jit(measures), np.zeros(1, np.int64)
        kernel[1, 1](x, out)
        return kernel.stats.compiles, int(out[0])

    launch(np.zeros((4, 6), np.int64))
    return launch


@pytest.mark.parametrize("x", OTHER_TYPES.values(), ids=OTHER_TYPES)
def test_an_argument_of_another_type_is_one_compile(
    target: str, measure: Callable[[Any], tuple[int, int]], x: Any
) -> None:
    right = 100 * x.ndim + x.size
    # What is copied to a GPU is aligned there.
    assert measure(x) == (int(target == "host" or x.flags.aligned), right)
    assert measure(x) == (0, right)


@pytest.mark.parametrize("x", SAME_TYPES.values(), ids=SAME_TYPES)
def test_an_argument_of_the_same_type_is_a_hit(measure: Callable[[Any], tuple[int, int]], x: Any) -> None:
    assert measure(x) == (0, 200 + x.size)
