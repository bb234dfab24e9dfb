"""A kernel that goes round any number of launch configurations finds all its results in every later process."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

import gridjit
from gridjit.cache.disk import DiskStore
from gridjit.compiler.values.artifact import Artifact, Compiled
from gridjit.compiler.values.footprint import Fact
from gridjit.compiler.values.launch_config import LaunchConfig
from gridjit.compiler.values.signature import ScalarType, Signature
from gridjit.runtime.kernel import Kernel
from gridjit.runtime.process.session import session
from gridjit.runtime.specializations.look import Launch, Look
from gridjit.runtime.specialize.cold import look_up
from gridjit.runtime.specialize.keep import keep

SIGNATURE = Signature(arguments=(ScalarType(dtype="int64"),))


def does_nothing(x):
    pass


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let a compile that differs from the first in its block alone take the first one's code: that is all it is."""
    compile_anew, first = Kernel._compile_for_args, []

    def compiled(self: Kernel, job: Any, view: Any) -> Compiled:
        if not first:
            first.append(compile_anew(self, job, view))
        view.read("blockdim.x", where="work.py:1")
        return Compiled(artifact=dataclasses.replace(first[0].artifact, footprint=view.footprint))

    monkeypatch.setattr(Kernel, "_compile_for_args", compiled)


@pytest.mark.usefixtures("quick")
@pytest.mark.parametrize("number", [80, pytest.param(260, marks=pytest.mark.slow)])
def test_a_kernel_that_goes_round_many_block_sizes_finds_them_all_in_the_next_process(
    number: int, cache_dir: Path, restart: Callable[[], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    blocks = range(1, number + 1)
    kernel = gridjit.jit(does_nothing, max_specializations=1000)
    for block in blocks:
        kernel.compile(SIGNATURE, (1, block))
    assert kernel.stats.compiles == len(blocks)
    assert len(list(cache_dir.glob("??/*.lcs"))) == 1
    monkeypatch.setenv("GRIDJIT_ASSERT_NO_COMPILE", "1")
    restart()
    again = gridjit.jit(does_nothing, max_specializations=1000)
    for block in reversed(blocks):
        assert again.compile(SIGNATURE, (1, block)).footprint.facts == (Fact(field="blockdim.x", value=block),)
    assert (again.stats.compiles, again.stats.disk_hits) == (0, len(blocks))


class Counting(DiskStore):
    """A store that counts what is read, put, and how many bytes that is."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self.read, self.written = [0, 0], [0, 0]

    def get(self, key: str) -> bytes | None:
        """Get and count."""
        data = super().get(key)
        self.read = [self.read[0] + 1, self.read[1] + len(data or b"")]
        return data

    def put(self, key: str, data: bytes, *, suffix: str) -> None:
        """Put and count."""
        super().put(key, data, suffix=suffix)
        self.written = [self.written[0] + 1, self.written[1] + len(data)]

    def counted(self, act: Callable[[], object]) -> tuple[object, list[int], list[int]]:
        """Return what act returns, and what it read and wrote."""
        self.read, self.written = [0, 0], [0, 0]
        return act(), self.read, self.written


def test_a_look_up_and_a_store_cost_the_same_for_a_hundred_results_as_for_many_more(cache_dir: Path) -> None:
    kernel: Any = gridjit.jit(does_nothing)
    made = kernel.compile(SIGNATURE)
    job, store = kernel.job_for(SIGNATURE, session().target(None)), Counting(cache_dir)
    cold: Any = SimpleNamespace(store=store, locks=session().locks(), anew=False, apart=False)

    def of_block(block: int) -> Artifact:
        facts = (Fact(field="blockdim.x", value=block),)
        return dataclasses.replace(made, footprint=dataclasses.replace(made.footprint, facts=facts))

    def cost(block: int) -> tuple[list[int], list[int]]:
        look = Look.at(store, job, Launch(config=LaunchConfig.of(1, block)))
        _, _, written = store.counted(lambda: keep(look, of_block(block), cold.locks))
        found, read, _ = store.counted(lambda: look_up(look, cold))
        assert found is not None
        return read, written

    costs, measured = {}, (100, 101, 249)
    for block in range(1, 250):
        if block in measured:
            costs[block] = cost(block)
        else:
            keep(Look.at(store, job, Launch(config=LaunchConfig.of(1, block))), of_block(block), cold.locks)
    assert costs[100] == costs[101] == costs[249]
    assert costs[249][0][0] <= 3
    assert costs[249][1][0] == 2
