"""Halves on the host, in any process and on any processor: without a function of a library of GCC's."""

from __future__ import annotations

import platform
from collections.abc import Callable

import numpy as np
import pytest

import gridjit
from gridjit import cuda
from gridjit.compiler.targets.host.llvm import libllvm
from gridjit.compiler.values.elf import SYMBOLS, read_sections
from tests.processors import FEATURES


@pytest.fixture(autouse=True, params=["x86-64-v2", "this one"])
def made_for(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch, restart: Callable[[], None]) -> None:
    """Make code for a processor that has no instruction to convert halves, and for this computer's."""
    if request.param == "this one":
        return
    if platform.machine() != "x86_64":
        pytest.skip("this computer's processor is of another kind")
    monkeypatch.setattr(libllvm, "cpu_name", lambda: request.param)
    monkeypatch.setattr(libllvm, "cpu_features", lambda: ",".join(FEATURES[request.param]))
    restart()


@gridjit.jit(target="host", cache=False)
def widened(x, out):
    i = cuda.grid(1)
    if i < x.size:
        out[i] = x[i]


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


def test_every_half_becomes_its_float() -> None:
    x, out = np.arange(1 << 16, dtype=np.uint16).view(np.float16), np.zeros(1 << 16, np.float32)
    widened.forall(x.size)(x, out)
    np.testing.assert_array_equal(out, x.astype(np.float32))
    assert np.array_equal(np.signbit(out), np.signbit(x))


def test_a_float_becomes_the_nearest_half() -> None:
    # One of each 4096 from 0 to 2 ** 17, and infinities and NaNs: numbers beside ties, and the ties.
    bits = np.concatenate([np.arange(0, 0x48000000, 4096), np.arange(0x7F700000, 0x7FFFFFFF, 4096)]).astype(np.uint32)
    bits = np.concatenate([bits, bits + 1, np.maximum(bits, 1) - 1])
    x = np.concatenate([bits, bits | 1 << 31]).view(np.float32)
    out = np.zeros(x.size, np.float16)
    halved.forall(x.size)(x, out)
    with np.errstate(over="ignore"):
        np.testing.assert_array_equal(out, x.astype(np.float16))
    assert np.array_equal(np.signbit(out), np.signbit(x))


@pytest.mark.each_value_once
@pytest.mark.parametrize("kernel", [halved, widened])
@pytest.mark.parametrize(
    "types", ["float64[::1], float16[::1]", "float32[::1], float16[::1]", "float16[::1], int64[::1]"]
)
def test_no_function_of_another_library_is_called(kernel: gridjit.Kernel, types: str) -> None:
    image = kernel.compile(f"void({types})", target="host").image
    assert not [name for name in undefined(image) if "hf" in name]


def undefined(image: bytes) -> list[str]:
    """Return the symbols that an object file looks for elsewhere."""
    sections, found = read_sections(image), []
    for table in (one for one in sections if one.type == SYMBOLS):
        names = image[sections[table.link].offset :]
        for at in range(table.offset, table.offset + table.size, table.entsize):
            name, number = int.from_bytes(image[at : at + 4], "little"), image[at + 6 : at + 8]
            found += [names[name : names.index(b"\0", name)].decode()] if number == b"\0\0" else []
    return found
