"""The cold path: how often it looks at what is stored, what leaves a compile, and what a mark in the middle does."""

from __future__ import annotations

import dataclasses
import threading
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import gridjit
from gridjit.cache.disk import DiskStore
from gridjit.cache.key import Key
from gridjit.cache.lock import Locks
from gridjit.compiler.compile import compile_job
from gridjit.compiler.values.artifact import Artifact
from gridjit.compiler.values.footprint import Fact
from gridjit.compiler.values.launch_config import LaunchConfig
from gridjit.compiler.values.signature import ScalarType, Signature
from gridjit.compiler.view.config import ConfigView, while_current
from gridjit.runtime.pool.pool import Task
from gridjit.runtime.process.session import session
from gridjit.runtime.specializations.look import Launch, Look
from gridjit.runtime.specializations.needs import Need
from gridjit.runtime.specialize import served
from gridjit.runtime.specialize.declared import Ahead
from gridjit.runtime.specialize.request import Outcome

# Far below the time for which a lock is waited for.
SOON_S = 60.0
SIGNATURE = Signature(arguments=(ScalarType(dtype="int64"),))


def does_nothing(x):
    pass


def hook(kernel, config):
    """What a kernel may have called before its launches."""


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> Counter[str]:
    """Return how often each key is asked for on disk."""
    counts: Counter[str] = Counter()
    get = DiskStore.get

    def counted(store: DiskStore, key: str) -> bytes | None:
        counts[key] += 1
        return get(store, key)

    monkeypatch.setattr(DiskStore, "get", counted)
    return counts


def manifest_of(kernel: gridjit.Kernel) -> str:
    """Return the key of a kernel's manifest."""
    return Key.of(kernel.job_for(SIGNATURE, session().target(None)).fields).digest


def test_a_compile_reads_the_manifest_before_the_lock_under_it_to_add_and_to_see_it_added_and_a_hit_reads_it_once(
    asked: Counter[str], restart: Callable[[], None]
) -> None:
    kernel = gridjit.jit(does_nothing, target="host")
    kernel.compile(SIGNATURE)
    assert (kernel.stats.compiles, asked[manifest_of(kernel)]) == (1, 4)
    restart()
    asked.clear()
    again = gridjit.jit(does_nothing, target="host")
    again.compile(SIGNATURE)
    assert (again.stats.disk_hits, asked[manifest_of(again)]) == (1, 1)


def test_all_that_a_compile_gives_is_in_what_it_returns() -> None:
    kernel = gridjit.jit(does_nothing, target="host")
    view = ConfigView(LaunchConfig.of(1, 32), (1,))
    view.pre_launch_callbacks.append(hook)
    made = while_current(view, compile_job, kernel.job_for(SIGNATURE, session().target("host")), view)
    assert (made.hooks, bool(made.module)) == ([hook], False)
    assert [stored.qualname for stored in made.artifact.effects.hooks] == ["hook"]
    view.pre_launch_callbacks.append(hook)
    assert made.hooks == [hook]


def test_a_fact_is_the_same_from_the_view_to_the_disk_and_to_a_recorded_line() -> None:
    view = ConfigView(LaunchConfig.of((4, 2), 128, 64), ())
    for field in ("blockdim", "griddim.x", "cluster", "cooperative"):
        view.read(field, where="work.py:3")
    kernel = gridjit.jit(does_nothing, target="host")
    made = while_current(view, compile_job, kernel.job_for(SIGNATURE, session().target("host")), view)
    facts = view.footprint.facts
    again = Artifact.read(made.artifact.to_bytes()).footprint.facts
    assert [(fact, fact.where) for fact in again] == [(fact, fact.where) for fact in facts]
    need = Need(kernel="work:does_nothing", signature=SIGNATURE, config=None, target="host", facts=facts)
    assert set(Need.from_line(need.to_line()).facts) == set(facts)
    assert Fact(field="blockdim", value=(128, 1, 1)) in facts


def test_what_was_begun_before_a_mark_does_not_serve_launches_after_it(monkeypatch: pytest.MonkeyPatch) -> None:
    kernel = gridjit.jit(does_nothing, target="host")
    make, marked = kernel.job_for, []

    def job_for(*given: Any) -> Any:
        job = make(*given)
        if not marked:
            marked.append(kernel.mark_launch_config_sensitive())
        return job

    monkeypatch.setattr(kernel, "job_for", job_for)
    kernel[1, 32](1)
    kernel[1, 64](1)
    assert [found.launch_config_sensitive for found in kernel.specializations] == [True]


@pytest.fixture
def private(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let each compile find out that its result has to stay in this process."""
    compile_it = gridjit.Kernel._compile_for_args

    def compiled(self: gridjit.Kernel, job: Any, view: ConfigView) -> Any:
        view.read("blockdim.x")
        view.keep_private("the test says so")
        return compile_it(self, job, view)

    monkeypatch.setattr(gridjit.Kernel, "_compile_for_args", compiled)


def launch_while_another_has_the_lock(kernel: gridjit.Kernel, cache_dir: Path) -> None:
    """Launch a kernel that is not in the cache, while its lock is held elsewhere; it must not wait for that."""
    with Locks(cache_dir).single_flight(manifest_of(kernel)) as got:
        assert got
        began = time.monotonic()
        kernel[1, 64](1)
        assert time.monotonic() - began < SOON_S


@pytest.mark.usefixtures("private")
def test_what_was_found_to_be_private_waits_for_no_other_process_from_then_on(cache_dir: Path) -> None:
    kernel = gridjit.jit(does_nothing, target="host")
    kernel[1, 32](1)
    launch_while_another_has_the_lock(kernel, cache_dir)
    assert [found.artifact.private for found in kernel.specializations] == [("the test says so",)] * 2


@pytest.mark.usefixtures("private")
def test_what_the_compile_server_found_to_be_private_waits_for_no_other_process(
    cache_dir: Path, monkeypatch: pytest.MonkeyPatch, restart: Callable[[], None]
) -> None:
    monkeypatch.setenv("GRIDJIT_COMPILE_SERVER", "1")
    restart()
    outcome = Outcome(why="its code stays in each process's memory", private=True)
    monkeypatch.setattr(served, "_asked", lambda *_: (outcome, ""))
    launch_while_another_has_the_lock(gridjit.jit(does_nothing, target="host"), cache_dir)


@pytest.mark.usefixtures("private")
def test_what_a_process_of_the_pool_found_to_be_private_waits_for_no_other_process(cache_dir: Path) -> None:
    kernel = gridjit.jit(does_nothing, target="host")
    ahead, task = Ahead(kernel, SIGNATURE, session().target("host"), Launch(config=None)), Task(1)
    ahead.look = Look.at(session().store(), kernel.job_for(SIGNATURE, ahead.target), ahead.launch)
    task.result = Outcome(why="its code stays in each process's memory", private=True)
    ahead._note(task, session())
    launch_while_another_has_the_lock(kernel, cache_dir)


def test_threads_compile_a_kernel_that_is_known_to_be_private_once(monkeypatch: pytest.MonkeyPatch) -> None:
    kernel, together = gridjit.jit(does_nothing, target="host"), threading.Barrier(4)
    make = kernel.job_for
    monkeypatch.setattr(kernel, "job_for", lambda *given: dataclasses.replace(make(*given), private=("it is",)))

    def launch() -> None:
        together.wait()
        kernel[1, 32](1)

    threads = [threading.Thread(target=launch) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert kernel.stats.compiles == 1
