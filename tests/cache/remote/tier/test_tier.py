"""The remote tier in front of remotes that are dead, hung, slow, wrong, full or forbidden: nothing is raised, and each
is asked in vain once in a minute. The clock is the tests' own, so requests are counted, not seconds.
"""

from __future__ import annotations

import base64
import threading
from collections.abc import Callable

import pytest

from gridjit.cache.manifest import Manifest, Shape
from gridjit.cache.remote.address import addresses
from gridjit.cache.remote.askers import Askers
from gridjit.cache.remote.breaker import MOST_REFUSED, SILENCE_S
from gridjit.cache.remote.layout import entry_name, index_name, job_folder, shape_object
from gridjit.cache.remote.limits import Limits, RemoteError
from gridjit.cache.remote.sealing import Sealing
from gridjit.cache.remote.tier import MISS_S, Remote, RemoteTier
from tests.cache.remote.tier.objects import (
    BY_BLOCK,
    ELSEWHERE,
    PLAIN,
    SEALING,
    Clock,
    Objects,
    fails,
    fill,
    found,
    hangs,
    job_of,
    key_of,
    remote_at,
    today,
)

MANY = 5_000


@pytest.mark.parametrize("shape", [PLAIN, BY_BLOCK, ELSEWHERE], ids=["plain", "facts", "used"])
def test_an_entry_that_was_written_is_found(remote: Remote, objects: Objects, shape: Shape) -> None:
    fill(remote, [1], shape)
    (one,) = found(remote, job_of(1))
    assert (one.shape, one.key, one.payload) == (shape, key_of(job_of(1), shape), job_of(1).encode())
    assert objects.requests[-1] == entry_name(one.key)


FAULTS = {
    "refused": ConnectionRefusedError("connection refused"),
    "reset": ConnectionResetError("connection reset"),
    "forbidden": RemoteError("remote cache: GET: status 403 Forbidden"),
    "in a library": RuntimeError("something else"),
    "no memory": MemoryError(),
    "no words": OSError(),
}


def look_up_many(remote: Remote, jobs: int = MANY) -> None:
    """Look up kernels, most of which are in no cache; nothing may be raised, and nothing found."""
    for number in range(jobs):
        assert not found(remote, job_of(number % 1000))


@pytest.mark.parametrize("where", ["jobs/", "entries/"])
@pytest.mark.parametrize("fault", FAULTS)
def test_a_remote_that_fails_is_left_alone_for_a_minute(
    remote: Remote, objects: Objects, clock: Clock, fault: str, where: str
) -> None:
    fill(remote, range(1000))
    objects.requests.clear()
    objects.reading = fails(FAULTS[fault], where)
    look_up_many(remote)
    assert len(objects.requests) == (1 if where == "jobs/" else 2)
    assert (remote.counts["failed"], remote.counts["silent"]) == (1, MANY - 1)
    assert remote.breaker.why
    clock.now += SILENCE_S - 0.1
    look_up_many(remote, 10)
    assert remote.counts["failed"] == 1
    clock.now += 0.2
    look_up_many(remote, 10)
    assert remote.counts["failed"] == 2
    objects.reading = len
    clock.now += SILENCE_S
    assert found(remote, job_of(7))


@pytest.mark.parametrize("where", ["jobs/", "entries/"])
def test_a_remote_that_hangs_is_waited_for_once(
    remote: Remote, objects: Objects, stopped: threading.Event, where: str, patience: Callable[[float], None]
) -> None:
    fill(remote, range(1000))
    objects.requests.clear()
    patience(0.5)
    hang = hangs(stopped)
    objects.reading = lambda name: name.startswith(where) and hang(name)
    look_up_many(remote)
    assert len(objects.requests) == (1 if where == "jobs/" else 2)
    assert (remote.counts["failed"], remote.counts["silent"]) == (1, MANY - 1)
    assert "no answer within" in remote.breaker.why


def test_threads_that_hang_do_not_keep_others_from_asking_after_the_silence(
    remote: Remote, objects: Objects, clock: Clock, stopped: threading.Event, patience: Callable[[float], None]
) -> None:
    fill(remote, range(20))
    patience(0.5)
    objects.reading = hangs(stopped)
    remote._askers = Askers(2)
    for number in range(3):
        assert not found(remote, job_of(number))
        clock.now += SILENCE_S + 1
    patience(60.0)
    objects.reading = len
    assert found(remote, job_of(3))


def flipped(data: bytes) -> bytes:
    return bytes([data[0] ^ 1]) + data[1:]


LIES: dict[str, Callable[[bytes], bytes]] = {
    "flipped": flipped,
    "short": lambda data: data[:-1],
    "long": lambda data: data + b"\0",
    "empty": lambda data: b"",
    "nonsense": lambda data: b"<html>Sign in</html>",
    "checksum": lambda data: Sealing(prefix="", trust=None).sealed("", key_of(job_of(1), BY_BLOCK), b"code"),
    "other secret": lambda data: Sealing(prefix="", trust=None, secret=b"x").sealed("", "0" * 32, b"code"),
}


@pytest.mark.parametrize("where", ["jobs/", "entries/", ""])
@pytest.mark.parametrize("lie", LIES)
def test_a_remote_that_lies_is_left_alone_after_a_few_entries(
    remote: Remote, objects: Objects, lie: str, where: str
) -> None:
    fill(remote, range(1000), ELSEWHERE)
    objects.requests.clear()
    objects.changed = lambda name, data: LIES[lie](data) if name.startswith(where) else data
    look_up_many(remote)
    assert remote.counts["refused"] == MOST_REFUSED
    assert len(objects.requests) <= 3 * MOST_REFUSED
    assert (remote.counts["silent"], remote.counts["hits"]) == (MANY - MOST_REFUSED, 0)


def test_another_entry_in_the_place_of_one_is_refused(remote: Remote, objects: Objects) -> None:
    fill(remote, range(3))
    names = [entry_name(key_of(job_of(number), BY_BLOCK)) for number in range(3)]
    objects.objects[names[0]], objects.objects[names[1]] = objects.objects[names[1]], objects.objects[names[0]]
    assert not found(remote, job_of(0))
    assert not found(remote, job_of(1))
    assert found(remote, job_of(2))
    assert (remote.counts["refused"], remote.breaker.is_open) == (2, False)
    assert "; an entry is " in remote.story()


def test_a_miss_is_remembered_for_seconds(remote: Remote, objects: Objects, clock: Clock) -> None:
    look_up_many(remote)
    assert len(objects.requests) == 1000
    assert (remote.counts["misses"], remote.counts["remembered"]) == (1000, MANY - 1000)
    clock.now += MISS_S + 0.1
    look_up_many(remote, 1000)
    assert len(objects.requests) == 2000


def test_a_miss_of_one_launch_is_not_one_of_another(remote: Remote, objects: Objects) -> None:
    fill(remote, [1])
    objects.requests.clear()
    for _ in range(1000):
        assert not found(remote, job_of(1), block=64)
    assert len(objects.requests) == 2
    assert found(remote, job_of(1), block=32)


def test_a_name_that_nobody_signed_leads_to_facts_of_the_launch_only(clock: Clock) -> None:
    objects = Objects()
    asked: list[Shape] = []
    remote = remote_at(objects, clock)
    for shape in (ELSEWHERE, BY_BLOCK):
        text = base64.urlsafe_b64encode(Manifest(shapes=(shape,)).to_bytes()).decode().rstrip("=")
        objects.objects[f"{job_folder(job_of(1))}/s-{text}"] = b""
    forged, data = shape_object(job_of(1), ELSEWHERE)
    objects.objects[forged] = data
    assert not list(remote.find(job_of(1), lambda shape: asked.append(shape)))
    assert asked == [BY_BLOCK]
    assert remote.counts["refused"] == 1


def test_an_index_that_nobody_signed_is_refused_and_written_anew(clock: Clock) -> None:
    objects = Objects(lists=False)
    remote = remote_at(objects, clock)
    objects.objects[index_name(job_of(1))] = Manifest(shapes=(ELSEWHERE,)).to_bytes()
    assert not found(remote, job_of(1))
    assert remote.counts["refused"] == 1
    fill(remote, [1])
    assert [one.shape for one in found(remote, job_of(1))] == [BY_BLOCK]


def test_a_shape_that_makes_no_sense_here_is_passed_over(remote: Remote) -> None:
    fill(remote, [1])
    remote.write(job_of(1), PLAIN, key_of(job_of(1), PLAIN), b"code")

    def today(shape: Shape) -> str | None:
        if shape == PLAIN:
            raise TypeError("'int' object is not iterable")
        return key_of(job_of(1), shape)

    assert [one.shape for one in remote.find(job_of(1), today)] == [BY_BLOCK]


def test_threads_find_the_same_and_different_entries_at_once(remote: Remote, objects: Objects) -> None:
    fill(remote, range(64))
    start, results = threading.Barrier(8), []

    def look(first: int) -> None:
        start.wait()
        mine = [number for step in range(64) for number in (step, (step + first) % 64)]
        results.append(all(found(remote, job_of(number))[0].payload == job_of(number).encode() for number in mine))

    threads = [threading.Thread(target=look, args=(8 * number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert results == [True] * 8
    assert (remote.counts["hits"], remote.counts["failed"]) == (8 * 128, 0)


def test_threads_that_meet_a_remote_that_hangs_wait_once_each(
    remote: Remote, objects: Objects, stopped: threading.Event, patience: Callable[[float], None]
) -> None:
    patience(0.5)
    objects.reading = hangs(stopped)
    start = threading.Barrier(8)

    def look(number: int) -> None:
        start.wait()
        for step in range(100):
            assert not found(remote, job_of(100 * number + step))

    threads = [threading.Thread(target=look, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert remote.counts["failed"] == len(objects.requests) <= 8
    assert remote.counts["silent"] == 800 - remote.counts["failed"]


def test_the_second_remote_answers_where_the_first_does_not(clock: Clock) -> None:
    first, second = Objects(), Objects()
    tier = RemoteTier([remote_at(first, clock), remote_at(second, clock)])
    fill(tier.remotes[1], range(3))
    assert [len(list(tier.find(job_of(number), today(job_of(number))))) for number in range(4)] == [1, 1, 1, 0]
    first.reading = fails(ConnectionRefusedError())
    clock.now += MISS_S + 1
    assert [len(list(tier.find(job_of(number), today(job_of(number))))) for number in range(4)] == [1, 1, 1, 0]
    assert tier.remotes[0].counts["failed"] == 1


def test_requests_of_a_look_up_are_bounded(clock: Clock) -> None:
    limits: list[Limits] = []

    def opened(wanted: Limits) -> Objects:
        limits.append(wanted)
        return Objects()

    (address,) = addresses("https://remote.example/cache")
    remote = Remote(address, SEALING, opened, clock)
    assert not found(remote, job_of(1))
    assert [(one.connect, one.whole) for one in limits] == [(0.1, 0.3)]


def test_a_pack_is_asked_for_once(clock: Clock) -> None:
    objects = Objects()
    remote = remote_at(objects, clock, url="https://remote.example/cache?pack=training")
    tier = RemoteTier([remote])
    remote.write_pack("training", b"a bundle")
    assert tier.packs() == [(remote, b"a bundle")]
    assert [tier.packs() for _ in range(1000)] == [[]] * 1000
    assert objects.requests == ["packs/training"]


def test_a_pack_that_cannot_be_had_silences_its_remote(clock: Clock) -> None:
    objects = Objects()
    objects.reading = fails(TimeoutError("no answer in time"))
    remote = remote_at(objects, clock, url="https://remote.example/cache?pack=training")
    assert RemoteTier([remote]).packs() == []
    look_up_many(remote, 1000)
    assert objects.requests == ["packs/training"]
