"""Two threads meet one kernel for the first time with two block sizes: each must run its own code, every time."""

from __future__ import annotations

import contextlib
import os
import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import gridjit
from gridjit.cache.disk import DiskStore
from gridjit.cache.lock import Locks
from gridjit.cache.memory import MemoryStore
from gridjit.runtime.specialize import capture
from tests.kernels import writes_block

pytestmark = pytest.mark.usefixtures("target")
# A quick look, and the figure of record. Code for a GPU takes longer to make.
ROUNDS = {"host": 20, "cuda": 5}
OF_RECORD = {
    "host": int(os.environ.get("GRIDJIT_RACE_ROUNDS", "200")),
    "cuda": int(os.environ.get("GRIDJIT_RACE_ROUNDS", "50")),
}
BLOCKS = (32, 64)
SOON_S = 120.0


def miss_together(patch: pytest.MonkeyPatch, store: type) -> None:
    """Let the first look-up of each of two threads in such stores end only when both have missed."""
    both_missed, seen, look_up = threading.Barrier(2, timeout=SOON_S), threading.local(), store.get  # type: ignore[attr-defined]

    def get(self: Any, key: str) -> Any:
        found = look_up(self, key)
        if not getattr(seen, "once", False):
            seen.once = True
            assert found is None
            both_missed.wait()
        return found

    patch.setattr(store, "get", get)


def compile_together(patch: pytest.MonkeyPatch) -> None:
    """Let two threads begin to compile only when both are about to."""
    both_compile, note = threading.Barrier(2, timeout=SOON_S), capture.note_compile

    def noted(*args: Any) -> None:
        both_compile.wait()
        note(*args)

    patch.setattr(capture, "note_compile", noted)


def launch_at_once(kernels: Sequence[gridjit.Kernel], dtypes: Sequence[Any]) -> list[np.ndarray]:
    """Launch the kernels in a thread each, with a block size each; return what each wrote."""
    written = [np.zeros(block, dtype) for block, dtype in zip(BLOCKS, dtypes, strict=True)]
    launches = zip(kernels, BLOCKS, written, strict=True)
    threads = [threading.Thread(target=kernel[1, block], args=(out,)) for kernel, block, out in launches]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(timeout=SOON_S)
    return written


def ran_its_own_code(written: Sequence[np.ndarray]) -> bool:
    """Whether each launch wrote its own block size everywhere."""
    return [set(out.tolist()) for out in written] == [{block} for block in BLOCKS]


def compiles_of(block: int, dtype: Any, restart: Callable[[], None]) -> int:
    """Launch as a new process would, which must be right; return how often that compiled."""
    restart()
    kernel, out = gridjit.jit(writes_block), np.zeros(block, dtype)
    kernel[1, block](out)
    assert set(out.tolist()) == {block}
    return kernel.stats.compiles


@pytest.mark.parametrize(
    "rounds", [ROUNDS, pytest.param(OF_RECORD, marks=pytest.mark.slow)], ids=["a few rounds", "rounds of record"]
)
def test_each_of_two_racing_launches_runs_its_own_code(
    target: str, monkeypatch: pytest.MonkeyPatch, restart: Callable[[], None], rounds: dict[str, int]
) -> None:
    for _ in range(rounds[target]):
        restart()
        kernel = gridjit.jit(writes_block, cache=False)
        with monkeypatch.context() as patch:
            miss_together(patch, MemoryStore)
            written = launch_at_once([kernel] * 2, [np.int64] * 2)
        assert ran_its_own_code(written)
        assert kernel.stats.compiles == 2


@pytest.mark.parametrize("other", [np.int64, np.float32], ids=["one signature", "two signatures"])
def test_a_race_leaves_every_later_process_its_own_code(
    monkeypatch: pytest.MonkeyPatch, restart: Callable[[], None], other: Any
) -> None:
    kernel = gridjit.jit(writes_block)
    with monkeypatch.context() as patch:
        miss_together(patch, DiskStore)
        if other is not np.int64:
            compile_together(patch)
        assert ran_its_own_code(launch_at_once([kernel] * 2, [np.int64, other]))
    raced = [(32, np.int64), (64, other)]
    assert [compiles_of(*launch, restart) for launch in raced] == [0, 0]
    others = [(64, np.int64), (32, np.float32)]
    assert [compiles_of(*launch, restart) for launch in others] == [int(launch not in raced) for launch in others]


def test_savers_that_have_no_lock_lose_nothing_and_never_mix_up_what_they_save(
    cache_dir: Path, monkeypatch: pytest.MonkeyPatch, restart: Callable[[], None]
) -> None:
    read_by_both, put = threading.Barrier(2, timeout=SOON_S), DiskStore.put

    def put_when_both_have_read(self: DiskStore, key: str, data: bytes, *, suffix: str) -> None:
        if suffix == ".lcs":
            read_by_both.wait()
        put(self, key, data, suffix=suffix)

    # Kernels of their own know nothing of each other, like those of two processes.
    kernels = [gridjit.jit(writes_block) for _ in BLOCKS]
    with monkeypatch.context() as patch:
        patch.setattr(Locks, "single_flight", lambda *args: contextlib.nullcontext(False))
        compile_together(patch)
        patch.setattr(DiskStore, "put", put_when_both_have_read)
        assert ran_its_own_code(launch_at_once(kernels, [np.int64] * 2))
    # Each read the manifest before the other wrote it, and both write the same shape.
    assert [compiles_of(block, np.int64, restart) for block in BLOCKS] == [0, 0]
    assert DiskStore(cache_dir).verify(remove=False).bad == ()


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
        thread.join(timeout=SOON_S)
    assert kernel.stats.compiles == 1
    assert all(set(out) == {32} for out in outs)
