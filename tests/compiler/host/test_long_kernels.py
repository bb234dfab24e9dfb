"""Long kernels on the host: the work of the host's own passes grows as a kernel's length does."""

from __future__ import annotations

import sys
from collections.abc import Callable
from types import FrameType
from typing import Any

from gridjit.compiler.targets.host.generate import generate
from gridjit.compiler.targets.host.llvm.libllvm import host_target
from gridjit.compiler.values.options import Options
from gridjit.compiler.values.target import Lowered


def calls_of(lowered: Callable[..., Lowered], lines: int) -> int:
    """Return how many functions of the host target are called for a kernel of so many lines, each with a branch."""
    text = (
        "def kernel(x, n, out):\n    v = x[n]\n"
        + "    v = v * 2.5 + x[(n + 3) % x.size]\n" * lines
        + "    out[0] = v\n"
    )
    names: dict[str, Any] = {}
    exec(text, names)
    kernel, count = lowered(names["kernel"], "float64[1]", "int64", "float64[1]"), 0

    def called(frame: FrameType, event: str, _: object) -> None:
        nonlocal count
        count += event == "call" and "/targets/host/" in frame.f_code.co_filename

    sys.setprofile(called)
    try:
        generate(kernel, host_target(), Options())
    finally:
        sys.setprofile(None)
    return count


def test_twice_the_lines_take_twice_the_work(lowered: Callable[..., Lowered]) -> None:
    assert calls_of(lowered, 160) < 2.4 * calls_of(lowered, 80)
