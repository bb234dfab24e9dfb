"""What a view takes from arrays alike is what its own array would have, and that is made only if asked for."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from gridjit import StridedMemoryView
from gridjit.runtime.memory import foreign_alike
from gridjit.runtime.memory.space import HOST_SPACE
from tests.runtime.memory.looking import array_over
from tests.runtime.memory.test_protocols import LAYOUTS, PROTOCOLS

MEMORY = np.zeros(4096, np.uint8)


def laid(dtype: Any, shape: tuple[int, ...], offset: int, writable: bool) -> Any:
    """Return an array of MEMORY, which is aligned or not as the offset is."""
    items = np.ndarray(shape, dtype, MEMORY, offset)
    items.flags.writeable = writable
    return items


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("protocol", ["NumPy", *PROTOCOLS])
def test_the_second_view_of_a_layout_is_passed_as_an_array_over_the_memory_is(protocol: str, layout: str) -> None:
    array = LAYOUTS[layout]
    if (protocol, layout) == ("DLPack 0", "read-only"):
        pytest.skip("version 0 of DLPack does not export it")
    value = array if protocol == "NumPy" else PROTOCOLS[protocol](array)
    wanted = array_over(value, HOST_SPACE)
    for _ in range(2):
        view = StridedMemoryView(value)
        assert view._kind is wanted._kind
        if array.size:
            assert view._parameters == wanted._parameters


@pytest.mark.parametrize("wrap", [lambda array: array, PROTOCOLS["CUDA array interface 3"]], ids=["NumPy", "CAI"])
def test_arrays_that_differ_in_anything_but_the_address_are_told_apart(wrap: Any) -> None:
    foreign_alike._known.clear()
    cases = [
        laid(dtype, shape, offset, writable)
        for dtype in (np.float32, np.int32, np.dtype(">i4"), np.dtype(np.int32, metadata={"unit": "m"}))
        for shape in ((6,), (2, 3), (3, 2))
        for offset in (0, 2, 64, 128)
        for writable in (True, False)
    ]
    for array in [*cases, *reversed(cases)]:
        value = wrap(array)
        wanted = array_over(value, HOST_SPACE)
        view = StridedMemoryView(value)
        assert (view._kind, view._parameters) == (wanted._kind, wanted._parameters)


def test_a_view_of_a_numpy_array_keeps_the_shape_that_it_had() -> None:
    for _ in range(2):
        array = np.arange(6.0)
        view = StridedMemoryView(array)
        array.shape = (2, 3)
        assert view.shape == (6,)
        assert np.asarray(view).tolist() == [0, 1, 2, 3, 4, 5]


def test_views_alike_make_an_array_only_when_it_is_asked_for() -> None:
    StridedMemoryView(array := np.arange(6.0))
    view = StridedMemoryView(array)
    assert not any(name in object.__dir__(view) and _is_set(view, name) for name in ("_array", "_layout"))
    assert view.size == 6
    assert _is_set(view, "_array")


def test_a_view_has_no_other_attributes() -> None:
    with pytest.raises(AttributeError, match="a StridedMemoryView has no attribute 'colour'"):
        StridedMemoryView(MEMORY).colour  # type: ignore[attr-defined]  # noqa: B018


def _is_set(view: StridedMemoryView, name: str) -> bool:
    try:
        object.__getattribute__(view, name)
    except AttributeError:
        return False
    return True
