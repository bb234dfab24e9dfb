"""Wrong uses of arrays, buffers, streams, events and devices: each is told with its value and the way on."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import gridjit
from gridjit import ArgumentError, Buffer, ConfigError, DeviceError, LayoutError, StridedMemoryView, cuda
from tests.programs import run_python

pytestmark = pytest.mark.usefixtures("target")


@gridjit.jit
def touched(x):
    x[0] = 1


ITEMS = np.zeros(3)


@gridjit.jit
def set_first(ITEMS):  # noqa: N803
    ITEMS[0] = 1


def array() -> gridjit.DeviceArray:
    return cuda.to_device(np.arange(12.0).reshape(3, 4))


USES: dict[str, tuple[Callable[[], Any], type[Exception], str]] = {
    "shape": (lambda: cuda.device_array("4"), LayoutError, "shape '4': give a whole number, or one for each axis"),  # type: ignore[arg-type]
    "strides": (
        lambda: cuda.device_array((3, 4), strides=(8,)),
        LayoutError,
        "strides (8,) do not go with shape (3, 4)",
    ),
    "like": (lambda: cuda.device_array_like(5), ArgumentError, "device_array_like: an int has no dtype"),
    "to host": (lambda: array().copy_to_host("a"), ArgumentError, "copy_to_host: a str cannot be copied into"),  # type: ignore[arg-type]
    "size": (lambda: array().reshape(5), LayoutError, "shape (3, 4) to (5,); give one for 12 items"),
    "sizes": (lambda: array().reshape(5, -1), LayoutError, "shape (3, 4) to (5, -1); give one for 12 items"),
    "copy needed": (lambda: array().T.reshape(12), gridjit.CopyNeededError, "without a copy; copy the array into one"),
    "part": (lambda: list(array()[0].split(0)), ValueError, "split(0): give how many items each part has"),
    "foreign": (lambda: cuda.as_cuda_array(5), ArgumentError, "an int does not have __cuda_array_interface__"),
    "buffer": (lambda: Buffer.allocate(4).copy_from(3), ArgumentError, "copy_from: an int is not a buffer"),  # type: ignore[arg-type]
    "dlpack": (lambda: StridedMemoryView.from_dlpack(5), ArgumentError, "an int has no __dlpack_device__"),
    "interface": (
        lambda: StridedMemoryView.from_cuda_array_interface(5),
        ArgumentError,
        "an int has no __cuda_array_interface__",
    ),
    "event": (lambda: gridjit.create_event().elapsed_time(3), ArgumentError, "elapsed_time: 3 is an int, not an"),  # type: ignore[arg-type]
    "record": (lambda: gridjit.create_stream().record("x"), ArgumentError, "record: 'x' is a str, not an event; make"),  # type: ignore[arg-type]
    "callback": (lambda: gridjit.create_stream().on_complete(3), ArgumentError, "on_complete: 3 cannot be called"),  # type: ignore[arg-type]
    "old callback": (
        lambda: gridjit.create_stream().add_callback(3),  # type: ignore[arg-type]
        ArgumentError,
        "add_callback: 3 cannot be called",
    ),
    "priority": (
        lambda: gridjit.create_stream(priority="high"),  # type: ignore[arg-type]
        ArgumentError,
        "(priority='high'): give a whole number",
    ),
    "stream": (lambda: array().copy_to_host(stream="a"), ArgumentError, "stream 'a' is a str; give 0, a handle"),  # type: ignore[arg-type]
    "device": (lambda: cuda.select_device(99), DeviceError, "there is no device 99; the last is device"),
    "tasks": (lambda: touched.forall("a"), ConfigError, "forall(ntasks='a'): give a whole number"),  # type: ignore[arg-type]
    "reduction": (lambda: cuda.reduce(3), ArgumentError, "reduce(3): give a function of two values"),  # type: ignore[arg-type]
    "reduced": (lambda: cuda.reduce(lambda a, b: a + b)([1, 2]), ArgumentError, "reduce: a list is not an array; make"),
    "architecture": (
        lambda: touched.compile("void(float64[::1])", target="gpu"),
        DeviceError,
        "target 'gpu' is not a device; give 'cuda' or 'host', or to compile() also 'sm_90'",
    ),
    "signature": (lambda: touched.compile(5), ConfigError, 'give a text, such as "void(float32[::1], int64)"'),  # type: ignore[arg-type]
}


@pytest.mark.parametrize("use", USES)
def test_a_wrong_use_is_told_with_what_was_given_and_the_way_on(use: str) -> None:
    call, kind, words = USES[use]
    with pytest.raises(kind, match=re.escape(words)):
        call()


def test_a_read_only_array_is_not_taken_for_a_global_of_the_same_name() -> None:
    items = np.zeros(3)
    items.flags.writeable = False
    with pytest.raises(gridjit.CompileError, match="'ITEMS' is a read-only array, and an item of it is assigned"):
        set_first[1, 1](items)


FAILING_CALLBACK = """
import gridjit

def fail():
    raise KeyError("of the callback")

stream = gridjit.create_stream()
stream.on_complete(fail)
stream.synchronize()
print("went on")
"""


def test_what_a_callback_of_a_stream_raises_is_printed_and_the_program_goes_on(tmp_path: Path) -> None:
    (tmp_path / "program.py").write_text(FAILING_CALLBACK)
    done = run_python(tmp_path / "program.py", cwd=tmp_path)
    assert done.stdout == "went on\n", done.stderr
    assert "KeyError: 'of the callback'" in done.stderr
    assert "TypeError" not in done.stderr
