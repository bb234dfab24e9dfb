"""Kinds: rows, records and constants that are used as if they were one number that can be written."""

# mypy: ignore-errors
# ruff: noqa

import numpy as np
from numba import float32

from gridjit import cuda
from tests.end_to_end.mistakes.mistake import FLOATS, mistake

TABLE = np.arange(4.0)
COUNT = np.int64(4)
HALF = 4 / 2
POINTS = (
    "void(Record([('x', {'type': float32, 'offset': 0}), ('y', {'type': float32, 'offset': 4})], 8, False)[::1], int64)"
)


@mistake("void(float32[:, ::1])")
def row_changed(image):
    i = cuda.grid(1)
    if i < image.shape[0]:
        image[i] += 1


@mistake("void(float32[:, ::1], float32[::1])")
def row_scaled(image, row):
    image[0] *= row


@mistake("void(float32[::1])")
def slice_changed(out):
    out[1:3] -= 1


@mistake("void(float32[::1], int64)")
def number_changed_atomically(out, count):
    cuda.atomic.add(count, 0, 1)


@mistake(FLOATS)
def constant_memory_written(out):
    table = cuda.const.array_like(TABLE)
    table[0] = 1


@mistake(FLOATS)
def shape_of_numpys_integer(out):
    tile = cuda.shared.array(COUNT, float32)
    tile[0] = out[0]


@mistake(FLOATS)
def shape_of_a_float(out):
    tile = cuda.local.array((2, HALF), float32)
    tile[0, 0] = out[0]


@mistake(FLOATS)
def parameter_misspelt(out):
    tile = cuda.shared.array(shpae=32, dtype=float32)
    tile[0] = out[0]


@mistake(POINTS)
def field_of_a_variable(points, which):
    points[0][which] = 1


@mistake(POINTS)
def record_of_a_tuple(points, which):
    points[0] = (1, 2)


NUMBER = "void(float32[::1], Array(float32, 0, 'C'))"


@mistake(NUMBER)
def without_axes_assigned(out, v):
    out[0] = v


@mistake(NUMBER)
def without_axes_added(out, v):
    if cuda.grid(1) == 0:
        out[0] = out[0] + v


@mistake(NUMBER)
def without_axes_given(out, v):
    out[0] = min(v, 2)


@mistake(NUMBER)
def without_axes_by_another_name(out, v):
    x = v
    out[0] = x * 3
