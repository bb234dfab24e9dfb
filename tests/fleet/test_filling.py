"""filled: each job ends once, whatever the workers do: refuse, die, go away, or come later."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

import pytest

from gridjit.fleet.compiling import Result
from gridjit.fleet.filling import MOST_KILLED, Attempt, filled
from gridjit.fleet.jobs import Job

DONE = Result(origin="compiled", bundle=b"code", where="a")


def jobs(count: int) -> Iterator[Job]:
    return (Job(digest=f"{number:064x}", need="", key="", toolchain=()) for number in range(count))


@dataclass
class Scripted:
    """Workers that answer as a test says. answer: gives the result of an attempt; None for one that is never over."""

    answer: Callable[[Attempt], Result | None]
    workers: list[str] = field(default_factory=lambda: ["a", "b"])
    begun: list[Attempt] = field(default_factory=list)
    open: list[Attempt] = field(default_factory=list)
    most: int = 0

    def slots(self) -> int:
        """Return how many workers there are."""
        return len(self.workers)

    def begin(self, attempt: Attempt) -> str:
        """Take an attempt, unless each worker has refused it."""
        if attempt.avoided.issuperset(self.workers):
            return "each worker refused it"
        self.begun.append(attempt)
        self.open.append(attempt)
        self.most = max(self.most, len(self.open))
        return ""

    def finished(self, seconds: float) -> list[tuple[Attempt, Result]]:
        """Return the first attempt that is over."""
        for attempt in self.open:
            if (result := self.answer(attempt)) is not None:
                self.open.remove(attempt)
                return [(attempt, result)]
        return []

    def drop(self) -> list[Attempt]:
        """Return the open attempts."""
        left, self.open = self.open, []
        return left

    def end(self) -> None:
        """Do nothing."""


def test_all_jobs_are_done_and_few_wait_with_the_engine() -> None:
    engine = Scripted(lambda attempt: DONE)
    assert [result for _, result in filled(jobs(1000), engine, "")] == [DONE] * 1000
    assert engine.most <= 4 * len(engine.workers)


def test_a_job_that_was_refused_goes_to_another_worker() -> None:
    engine = Scripted(lambda attempt: DONE if "b" in attempt.avoided else Result(refused="numpy is 1", where="b"))
    assert [result for _, result in filled(jobs(1), engine, "")] == [DONE]
    assert [attempt.number for attempt in engine.begun] == [0, 1]


def test_a_job_that_all_refused_says_why() -> None:
    engine = Scripted(lambda attempt: Result(refused="numpy is 1", where=min({"a", "b"} - attempt.avoided)))
    ((_, result),) = filled(jobs(1), engine, "")
    assert (result.refused, len(engine.begun)) == ("b refused it: numpy is 1", 2)


def test_a_refusal_by_nobody_in_particular_is_not_tried_again() -> None:
    engine = Scripted(lambda attempt: Result(refused="it cannot be sent"))
    ((_, result),) = filled(jobs(1), engine, "")
    assert (result.refused, len(engine.begun)) == ("a worker refused it: it cannot be sent", 1)


@pytest.mark.parametrize("at_once", [1, MOST_KILLED])
def test_a_job_that_ended_two_workers_is_not_tried_again(at_once: int) -> None:
    deadly = next(jobs(1))
    engine = Scripted(lambda attempt: Result(killed=at_once, ended="by signal 9") if attempt.job == deadly else DONE)
    results = dict(filled(jobs(5), engine, ""))
    assert "2 workers ended while they compiled it (by signal 9)" in results.pop(deadly).error
    assert set(results.values()) == {DONE}
    assert sum(attempt.job == deadly for attempt in engine.begun) == MOST_KILLED // at_once


def test_without_workers_each_job_comes_back_at_once() -> None:
    engine = Scripted(lambda attempt: None, workers=[])
    assert [result.refused for _, result in filled(jobs(3), engine, "nobody is there")] == ["nobody is there"] * 3
    assert engine.begun == []


def test_when_the_last_worker_goes_the_jobs_that_are_left_come_back() -> None:
    def answer(attempt: Attempt) -> Result | None:
        if int(attempt.job.digest, 16) < 3:
            return DONE
        engine.workers.clear()
        return None

    engine = Scripted(answer)
    results = [result for _, result in filled(jobs(20), engine, "nobody is there")]
    assert (results.count(DONE), results.count(Result(refused="nobody is there"))) == (3, 17)
    assert engine.open == []
