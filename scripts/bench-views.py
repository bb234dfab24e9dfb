#!/usr/bin/env python
"""Print what it costs to make a StridedMemoryView of each library's arrays, beside what others' views cost.

Run on a GPU for torch's and CuPy's arrays; libraries that are not installed are left out.
"""

from __future__ import annotations

import importlib
import timeit
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

import gridjit
from gridjit import cuda

LOOPS, REPEATS = 2000, 50


def nanoseconds(call: Callable[[], Any]) -> float:
    """Return what a call takes, at best."""
    call()
    return min(timeit.repeat(call, number=LOOPS, repeat=REPEATS)) / LOOPS * 1e9


def cases() -> Iterator[tuple[str, Callable[[], Any]]]:
    """Yield what is measured."""
    items: Any = np.zeros((4, 6), np.float32)
    own = cuda.to_device(items)
    buffer, view = gridjit.Buffer.allocate(96), gridjit.StridedMemoryView
    yield "an own array", lambda: view(own)
    yield "a NumPy array", lambda: view(items)
    yield "a buffer", lambda: view(buffer)
    yield "Python's memoryview(a)", lambda: memoryview(items)
    if (torch := found("torch")) is not None:
        tensor = torch.zeros((4, 6), device="cuda" if torch.cuda.is_available() else "cpu")
        yield "a torch tensor", lambda: view(tensor)
        yield "a torch tensor, its stream not waited for", lambda: view(tensor, -1)
        yield "torch's tensor.view(-1)", lambda: tensor.view(-1)
    if (cupy := found("cupy")) is not None:
        array = cupy.zeros((4, 6), np.float32)
        yield "a CuPy array", lambda: view(array)
        yield "CuPy's array.view()", lambda: array.view()
    if (utils := found("cuda.core.utils")) is not None:
        theirs = utils.StridedMemoryView
        yield "cuda.core's view of a NumPy array", lambda: theirs.from_any_interface(items, -1)
        yield "cuda.core's view of an own array", lambda: theirs.from_any_interface(own, -1)


def found(name: str) -> Any:
    """Return a module, None if it cannot be imported."""
    try:
        return importlib.import_module(name)
    except Exception:
        return None


def figure(call: Callable[[], Any]) -> str:
    """Return what is printed of a call."""
    try:
        return f"{nanoseconds(call):8.0f} ns"
    except Exception as error:
        return f"{type(error).__name__}: {error}"


def main() -> None:
    """Measure, and print."""
    for name, call in cases():
        print(f"{name:45} {figure(call)}")


if __name__ == "__main__":
    main()
