"""Of many that miss a job, one gets the lease, and the others wait until it is done, or too late."""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from gridjit.cache.remote.address import addresses
from gridjit.cache.remote.lease import OLD_S, PATIENCE_S, Lease, Waiting
from gridjit.cache.remote.sealing import Sealing
from gridjit.cache.remote.tier import Remote
from gridjit.cache.remote.transport import Limits, Transport, open_transport

JOB = "ab" * 16


@pytest.fixture
def remote(tmp_path: Path) -> Callable[[], Remote]:
    """Return a function that returns the remote of another process."""
    (tmp_path / "remote").mkdir()
    (address,) = addresses(f"file://{tmp_path}/remote?unsigned&lease")

    def opened(limits: Limits) -> Transport:
        return open_transport(address, Limits(connect=9.0, silence=9.0, whole=60.0))

    return lambda: Remote(address, Sealing(prefix="", trust=None), opened)


def never() -> None:
    return None


def fail(seconds: float) -> None:
    pytest.fail(f"nobody waits here, not even {seconds} s")


def test_the_first_compiles_and_the_next_waits_until_it_is_done(remote: Callable[[], Remote]) -> None:
    first = Waiting(remote(), JOB, sleep=fail).lead_or_find(never)
    assert isinstance(first, Lease)
    written: list[str] = []

    def sleep(seconds: float) -> None:
        if not written:
            written.append("code")
            first.done()

    found = Waiting(remote(), JOB, sleep=sleep).lead_or_find(lambda: written[0] if written else None)
    assert found == "code"


def test_who_waits_for_other_facts_compiles_when_the_first_is_done(remote: Callable[[], Remote]) -> None:
    first = Waiting(remote(), JOB).lead_or_find(never)
    assert isinstance(first, Lease)
    first.done()
    second = Waiting(remote(), JOB, sleep=fail).lead_or_find(never)
    assert isinstance(second, Lease) and second.name != first.name


def test_a_lease_whose_holder_died_is_over_after_its_time_and_one_takes_the_next(remote: Callable[[], Remote]) -> None:
    Waiting(remote(), JOB).lead_or_find(never)
    times = iter([0.0, 1.0, PATIENCE_S])
    slept: list[float] = []
    next_one = Waiting(remote(), JOB, sleep=slept.append, clock=lambda: next(times)).lead_or_find(never)
    assert isinstance(next_one, Lease) and len(slept) == 1


def test_a_lease_of_days_before_is_passed_over(remote: Callable[[], Remote]) -> None:
    Waiting(remote(), JOB, now=lambda: 1000.0).lead_or_find(never)
    later = Waiting(remote(), JOB, sleep=fail, now=lambda: 1001.0 + OLD_S).lead_or_find(never)
    assert isinstance(later, Lease)


def test_of_many_at_once_one_leads(remote: Callable[[], Remote]) -> None:
    together, over = threading.Barrier(8), threading.Event()
    led: list[Lease | str | None] = []

    def run() -> None:
        one = Waiting(remote(), JOB, sleep=lambda seconds: over.wait(60.0) and None)
        together.wait()
        got = one.lead_or_find(lambda: "code" if over.is_set() else None)
        led.append(got)
        if isinstance(got, Lease):
            over.set()
            got.done()

    threads = [threading.Thread(target=run) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len([got for got in led if isinstance(got, Lease)]) == 1
    assert led.count("code") == 7


def test_a_remote_that_fails_keeps_nobody_from_compiling() -> None:
    def opened(limits: Limits) -> Transport:
        raise OSError("gone")

    (address,) = addresses("file:///nowhere?unsigned&lease")
    gone = Remote(address, Sealing(prefix="", trust=None), opened)
    assert Waiting(gone, JOB, sleep=fail).lead_or_find(never) is None


def test_after_a_fault_a_remote_is_asked_for_no_lease_for_a_minute() -> None:
    (address,) = addresses("https://remote.example/cache?unsigned&lease")

    def opened(limits: Limits) -> Transport:
        assert limits.whole <= 1.0
        raise ConnectionRefusedError("connection refused")

    remote = Remote(address, Sealing(prefix="", trust=None), opened)
    assert Waiting(remote, JOB, sleep=fail).lead_or_find(never) is None
    assert (remote.leasing.is_open, remote.breaker.is_open, remote.writing.is_open) == (True, False, False)
