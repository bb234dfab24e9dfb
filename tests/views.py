"""What tests of a device's memory share: that a view of an array is copied right both ways."""

from __future__ import annotations

from typing import Any

import numpy as np

from gridjit.runtime.arrays.create import to_device


def check_copies_of_a_view(space: Any, cube: Any, axes: tuple[int, ...], key: tuple[slice, ...]) -> None:
    """Copy a view of a cube to the host and back, and compare all of the cube with what NumPy makes of it."""
    there, here = to_device(cube, space=space), cube.copy()
    view, expected = there.transpose(axes)[key], here.transpose(axes)[key]
    assert np.array_equal(view.copy_to_host(), expected)
    view.copy_to_device(-expected)
    expected[...] = -expected
    assert np.array_equal(there.copy_to_host(), here)
