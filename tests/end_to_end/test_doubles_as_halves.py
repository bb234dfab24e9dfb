"""A float64 becomes the nearest float16 on the host, in any process: without a function of a library of GCC's."""

from __future__ import annotations

import numpy as np

import gridjit
from gridjit import cuda


@gridjit.jit(target="host", cache=False)
def halved(x, out):
    i = cuda.grid(1)
    if i < x.size:
        out[i] = np.float16(x[i])


def test_a_double_becomes_the_nearest_half() -> None:
    halves = np.arange(0x7C00, dtype=np.uint16).view(np.float16).astype(float)
    between = (halves[:-1] + halves[1:]) / 2  # ties, which go to the even one
    near = [np.nextafter(between, 0), between, np.nextafter(between, np.inf), between * (1 + 2.0**-40), halves]
    edges = [65504.0, 65519.999, 65520.0, 1e6, 1e39, 1e300, np.inf, np.nan, 1e-8, 1e-40, 1e-300, 5e-324, 0.0]
    x = np.concatenate([*near, edges, np.random.default_rng(1).normal(size=10_000) * 1e3])
    x = np.concatenate([x, -x])
    out = np.zeros(x.size, np.float16)
    halved[-(-x.size // 128), 128](x, out)
    with np.errstate(over="ignore"):
        np.testing.assert_array_equal(out, x.astype(np.float16))
    assert np.array_equal(np.signbit(out[~np.isnan(x)]), np.signbit(x[~np.isnan(x)]))


def test_no_function_of_another_library_is_called() -> None:
    code = halved.compile("void(float64[::1], float16[::1])", target="host")
    assert b"hf2" not in code.image
