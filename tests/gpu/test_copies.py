"""Copies between views on a real GPU: each item where it belongs, whatever the layouts, and nothing beside it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from gridjit import StridedMemoryView, cuda
from gridjit.runtime.queues.streams import Stream

pytestmark = pytest.mark.gpu

VIEWS = {
    "transposed": lambda a: a.transpose(2, 1, 0),
    "other order": lambda a: a.transpose(1, 0, 2),
    "every second": lambda a: a[:, ::2, ::3],
    "reversed": lambda a: a[::-1, ::-1, ::-1],
    "planes": lambda a: a[1:, 3:30, 5:40],
    "columns": lambda a: a[..., :3],
    "one axis": lambda a: a[:, 5, 7],
}
DTYPES = [np.int8, np.int16, np.float32, np.float64, np.complex128, np.dtype([("a", "u1"), ("b", "<f4"), ("c", "<i8")])]


def numbered(shape: tuple[int, ...], dtype: Any) -> Any:
    """Return items whose bytes differ."""
    item = np.dtype(dtype)
    count = int(np.prod(shape))
    bytes_ = (np.arange(count * item.itemsize, dtype=np.uint32) * 2654435761 >> 13).astype(np.uint8)
    return bytes_.view(item).reshape(shape)


@pytest.fixture
def stream(device: Any) -> Any:
    """Return a stream to copy in."""
    with cuda.stream() as made:
        yield made


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("to", VIEWS)
@pytest.mark.parametrize("of", VIEWS)
def test_any_view_is_copied_into_any_other(stream: Stream, to: str, of: str, dtype: Any) -> None:
    values = numbered((33, 40, 70), dtype)
    source = VIEWS[of](cuda.to_device(values))
    wanted = VIEWS[of](values)
    # Memory whose view of the other kind has this shape.
    room = {
        "transposed": lambda s: s[::-1],
        "other order": lambda s: (s[1], s[0], s[2]),
        "every second": lambda s: (s[0], 2 * s[1], 3 * s[2]),
        "planes": lambda s: (s[0] + 1, s[1] + 3, s[2] + 5),
        "columns": lambda s: (s[0], s[1], s[2] + 2),
    }
    wanted = wanted if wanted.ndim == 3 else wanted[:, None, None]
    source = source if source.ndim == 3 else source[:, None, None]
    host = np.zeros(room.get(to, lambda s: s)(wanted.shape), dtype)
    views = {
        **VIEWS,
        "planes": lambda a: a[1:, 3:, 5:],
        "columns": lambda a: a[..., :-2],
        "one axis": lambda a: a,
    }
    whole = cuda.to_device(host)
    cuda.synchronize()
    views[to](whole).copy_to_device(source, stream)
    stream.synchronize()
    views[to](host)[...] = wanted
    assert whole.copy_to_host().tobytes() == host.tobytes()


@pytest.mark.parametrize("dtype", DTYPES[:5], ids=str)
@pytest.mark.parametrize("shape", [(1, 1), (31, 33), (1000, 7), (4096, 1025)])
def test_a_transposed_array_of_any_size_is_copied(stream: Stream, dtype: Any, shape: Any) -> None:
    values = numbered(shape, dtype)
    source, out = cuda.to_device(values), cuda.device_array(shape[::-1], dtype)
    cuda.synchronize()
    StridedMemoryView(out).copy_from(StridedMemoryView(source.T), stream)
    stream.synchronize()
    assert out.copy_to_host().tobytes() == np.ascontiguousarray(values.T).tobytes()


def test_views_that_share_memory_are_copied_as_if_all_was_read_first(stream: Stream) -> None:
    values = numbered((1000, 1000), np.float32)
    array = cuda.to_device(values)
    cuda.synchronize()
    array.copy_to_device(array.T, stream)
    array[1:].copy_to_device(array[:-1], stream)
    stream.synchronize()
    wanted = np.ascontiguousarray(values.T)
    wanted[1:] = wanted[:-1].copy()
    assert array.copy_to_host().tobytes() == wanted.tobytes()


@pytest.mark.parametrize("name", VIEWS)
def test_the_host_is_copied_to_and_from_any_view(stream: Stream, name: str) -> None:
    values = numbered((33, 40, 70), np.float32)
    array, wanted = cuda.to_device(np.zeros_like(values)), np.zeros_like(values)
    cuda.synchronize()
    part = np.ascontiguousarray(VIEWS[name](values))
    VIEWS[name](array).copy_to_device(part, stream)
    VIEWS[name](wanted)[...] = part
    stream.synchronize()
    assert array.copy_to_host().tobytes() == wanted.tobytes()
    assert VIEWS[name](array).copy_to_host(stream=stream).tobytes() == part.tobytes()
