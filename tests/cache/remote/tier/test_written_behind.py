"""Entries on their way to a remote: behind the program, whole, and dropped where they cannot be written."""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from gridjit.cache.manifest import Shape
from gridjit.cache.remote import limits as limits_module
from gridjit.cache.remote import tier as tier_module
from gridjit.cache.remote.address import addresses
from gridjit.cache.remote.askers import Behind
from gridjit.cache.remote.breaker import SILENCE_S
from gridjit.cache.remote.layout import entry_name
from gridjit.cache.remote.limits import RemoteError
from gridjit.cache.remote.tier import WORKING, Remote, RemoteTier
from gridjit.cache.remote.transport import open_transport
from tests.cache.remote.tier.objects import (
    PLAIN,
    Clock,
    Objects,
    fails,
    fill,
    found,
    hangs,
    job_of,
    key_of,
    remote_at,
)


def test_an_entry_is_found_once_this_process_has_written_it(remote: Remote) -> None:
    assert not found(remote, job_of(1))
    fill(remote, [1])
    assert found(remote, job_of(1))


@pytest.mark.parametrize(
    "fault", [RemoteError("status 403 Forbidden"), RemoteError("status 507"), OSError(28, "full"), RuntimeError("x")]
)
def test_puts_that_fail_do_not_silence_look_ups(
    remote: Remote, objects: Objects, clock: Clock, fault: Exception
) -> None:
    fill(remote, range(10))
    objects.puts.clear()
    objects.writing = fails(fault)
    for number in range(1000):
        remote.write_quietly(job_of(number + 10), PLAIN, key_of(job_of(number + 10), PLAIN), b"code")
    assert len(objects.puts) == 1
    assert (remote.counts["dropped"], remote.writing.is_open, remote.breaker.is_open) == (1000, True, False)
    assert all(found(remote, job_of(number)) for number in range(10))
    objects.writing = len
    clock.now += SILENCE_S
    remote.write_quietly(job_of(99), PLAIN, key_of(job_of(99), PLAIN), b"code")
    assert found(remote, job_of(99))


def test_an_entry_is_there_before_its_shape(remote: Remote, objects: Objects) -> None:
    objects.writing = fails(OSError("gone"), "jobs/")
    remote.write_quietly(job_of(1), PLAIN, key_of(job_of(1), PLAIN), b"code")
    assert objects.puts == [entry_name(key_of(job_of(1), PLAIN)), *objects.puts[1:]]
    assert len(objects.puts) == 2
    assert not found(remote, job_of(1))


def test_all_shapes_of_writers_one_after_the_other_are_found(objects: Objects, clock: Clock) -> None:
    shapes = [Shape.of([f"argument {number}"]) for number in range(40)]
    for shape in shapes:
        remote_at(objects, clock).write(job_of(1), shape, key_of(job_of(1), shape, shapes.index(shape)), b"code")
    for number, shape in enumerate(shapes):
        reader = remote_at(objects, clock)
        only = {shape: key_of(job_of(1), shape, number)}
        assert [one.shape for one in reader.find(job_of(1), only.get)] == [shape]


def test_a_read_only_remote_is_never_written_to(clock: Clock) -> None:
    kept, written = Objects(), Objects()
    tier = RemoteTier([remote_at(kept, clock, url="https://remote.example/a?read-only"), remote_at(written, clock)])
    tier.offer(job_of(1), PLAIN, key_of(job_of(1), PLAIN), b"code")
    assert tier.flush(60.0)
    assert (kept.puts, tier.remotes[0].counts["dropped"]) == ([], 0)
    assert found(tier.remotes[1], job_of(1))


def test_a_remote_that_hangs_keeps_no_other_from_being_written_to(clock: Clock, stopped: threading.Event) -> None:
    hung, good = Objects(), Objects()
    written = threading.Event()
    hung.writing = hangs(stopped)
    good.writing = lambda name: name.startswith("jobs/") and written.set()
    tier = RemoteTier([remote_at(hung, clock), remote_at(good, clock)])
    tier.offer(job_of(1), PLAIN, key_of(job_of(1), PLAIN), b"code")
    assert written.wait(60.0)
    assert not tier.flush(0.0)


def test_many_works_begin_after_a_pause_or_when_somebody_waits() -> None:
    done = threading.Event()
    assert Behind(pause=0.001).put(1, done.set)
    assert done.wait(60.0)
    patient, works = Behind(pause=1e6), list[int]()
    assert all(patient.put(1, lambda number=number: works.append(number)) for number in range(9))  # type: ignore[misc]
    assert works == []
    assert patient.flush(60.0)
    assert works == [*range(9)]


def test_a_work_that_fails_keeps_no_other_from_being_done() -> None:
    behind, works = Behind(), list[int]()
    behind.put(1, lambda: 1 // 0)
    behind.put(1, lambda: works.append(1))
    assert behind.flush(60.0)
    assert works == [1]


def test_entries_beyond_the_bytes_that_may_wait_are_dropped(clock: Clock, stopped: threading.Event) -> None:
    objects = Objects()
    objects.writing = hangs(stopped)
    tier = RemoteTier([remote_at(objects, clock)])
    data = bytes(1 << 20)
    for number in range(100):
        tier.offer(job_of(number), PLAIN, key_of(job_of(number), PLAIN), data)
    assert tier.remotes[0].counts["dropped"] == 100 - 64
    assert not tier.flush(0.0)
    stopped.set()
    assert tier.flush(60.0)
    assert tier.remotes[0].counts["written"] == 64


def test_entries_that_are_not_written_when_a_process_ends_count_as_dropped(
    clock: Clock, stopped: threading.Event, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tier_module, "EXIT_S", 0.0)
    objects, begun, saved = Objects(), threading.Event(), list[Any]()
    objects.writing = lambda name: begun.set() or hangs(stopped)(name)
    tier = RemoteTier([remote_at(objects, clock)], saved.extend)
    for number in range(5):
        tier.offer(job_of(number), PLAIN, key_of(job_of(number), PLAIN), b"code")
    tier.behind(tier.remotes[0], stopped.clear)  # a lease's end is not an entry
    assert begun.wait(60.0)
    del tier
    assert [(one["dropped"], one["written"]) for one in saved] == [(5, 0)]


def test_without_threads_a_remote_is_left_alone_and_nothing_is_written(
    remote: Remote, objects: Objects, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(thread: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    fill(remote, range(10))
    tier = RemoteTier([remote])
    with monkeypatch.context() as patch:
        patch.setattr(threading.Thread, "start", refuse)
        assert not found(remote, job_of(1))
        tier.offer(job_of(10), PLAIN, key_of(job_of(10), PLAIN), b"code")
    assert tier.flush(0.0)
    assert (remote.counts["failed"], remote.counts["dropped"]) == (1, 1)
    assert "needs a thread" in remote.breaker.why
    clock.now += SILENCE_S
    assert found(remote, job_of(1))
    tier.offer(job_of(10), PLAIN, key_of(job_of(10), PLAIN), b"code")
    assert tier.flush(60.0)
    assert found(remote, job_of(10))


def test_entries_are_written_to_a_folder_while_the_interpreter_ends(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(work: Callable[[], object]) -> None:
        raise RuntimeError("can't create new thread at interpreter shutdown")

    monkeypatch.setattr(limits_module, "on_new_thread", refuse)
    (address,) = addresses(f"file://{tmp_path}")
    transport = open_transport(address, WORKING)
    assert transport.put("entries/one", b"code", new=True)
    assert transport.get("entries/one", 4) == b"code"
