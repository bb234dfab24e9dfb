"""Item types: NumPy's dtypes as what kernels see, and back."""

from __future__ import annotations

import numpy as np

from gridjit.compiler.values.item_types import dtype_of, identity, item_type

FIELDS = [("x", np.float16), ("y", np.float16)]
PACKED, ALIGNED = np.dtype(FIELDS), np.dtype(FIELDS, align=True)


def test_records_that_numpy_calls_equal_are_told_apart_by_their_alignment() -> None:
    assert PACKED == ALIGNED
    assert identity(PACKED) != identity(ALIGNED)
    assert [item_type(dtype) == item_type(PACKED) for dtype in (PACKED, ALIGNED)] == [True, False]
    assert dtype_of(item_type(ALIGNED)).isalignedstruct


def test_the_alignment_of_inner_records_counts() -> None:
    inner = [np.dtype([("a", dtype, (2,))]) for dtype in (PACKED, ALIGNED)]
    assert inner[0] == inner[1]
    assert item_type(inner[0]) != item_type(inner[1])
