"""Two threads meet one kernel for the first time with two block sizes: each must run its own code, every time."""

from __future__ import annotations

import os
import threading

import numpy as np
import pytest

import gridjit
from gridjit import cuda
from gridjit.cache.memory import MemoryStore
from gridjit.runtime import kernel as kernel_module
from gridjit.runtime.session import session

# The figure of record; fewer for a quick look.
ROUNDS = int(os.environ.get("GRIDJIT_RACE_ROUNDS", "200"))
BLOCKS = (32, 64)


class MissTogether(MemoryStore):
    """A store whose first look-up in each of two threads ends only when both have missed."""

    def __init__(self) -> None:
        super().__init__()
        self._both_missed = threading.Barrier(2, timeout=60)
        self._seen = threading.local()

    def get(self, key: str) -> bytes | None:
        found = super().get(key)
        if not getattr(self._seen, "once", False):
            self._seen.once = True
            self._both_missed.wait()
        return found


def writes_block(out):  # type: ignore[no-untyped-def]
    out[cuda.threadIdx.x] = gridjit.static.blockDim.x


def race(monkeypatch: pytest.MonkeyPatch) -> tuple[gridjit.Kernel, dict[int, np.ndarray]]:
    """Launch a new kernel from two threads that both looked for it in vain; return it and what each wrote."""
    monkeypatch.setattr(session(), "_memory", MissTogether())
    kernel = gridjit.jit(writes_block, cache=False)
    written = {block: np.zeros(block, np.int64) for block in BLOCKS}
    compiling = threading.Event()
    original = kernel_module.note_compile

    def note(*args: object) -> None:
        compiling.set()
        original(*args)  # type: ignore[arg-type]

    monkeypatch.setattr(kernel_module, "note_compile", note)
    threads = [threading.Thread(target=kernel[1, block], args=(written[block],)) for block in BLOCKS]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(timeout=120)
    assert compiling.is_set()
    return kernel, written


def test_each_of_two_racing_launches_runs_its_own_code(monkeypatch: pytest.MonkeyPatch) -> None:
    for _ in range(ROUNDS):
        with monkeypatch.context() as patch:
            kernel, written = race(patch)
        assert kernel.stats.compiles == 2
        assert {block: set(out) for block, out in written.items()} == {32: {32}, 64: {64}}


def test_threads_that_meet_a_cold_kernel_with_one_block_size_compile_it_once() -> None:
    kernel = gridjit.jit(writes_block)
    start = threading.Barrier(8)
    outs = [np.zeros(32, np.int64) for _ in range(8)]

    def first_launch(out: np.ndarray) -> None:
        start.wait()
        kernel[1, 32](out)

    threads = [threading.Thread(target=first_launch, args=(out,)) for out in outs]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(timeout=120)
    assert kernel.stats.compiles == 1
    assert all(set(out) == {32} for out in outs)
