"""Leases: of many machines that miss the same job in a remote cache, one compiles it, and the others wait for it.

A lease is a hint: who loses it, or waits in vain, compiles too. Leases of a job have numbers, and are never changed:
`leases/<job>/<number>` says that somebody compiles, `<number>.done` that it is written. Where one is not done in time,
the next number is for whoever takes it first. No clocks are compared but to pass over leases of days before.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TypeVar

from gridjit.base import reading
from gridjit.base.interrupts import let_through
from gridjit.base.values import dataclass
from gridjit.cache.remote.limits import Limits
from gridjit.cache.remote.tier import Remote

Value = TypeVar("Value")

# Seconds of a lease where nobody knows how long the job takes, after which it is old, and between looks.
PATIENCE_S, OLD_S = 10.0, 120.0
FIRST_LOOK_S, LAST_LOOK_S = 0.02, 0.25
MOST_LEASES = 64
# Of requests that a launch waits for.
LEASING = Limits(silence=0.5, whole=1.0)


@dataclass(frozen=True, slots=True, kw_only=True)
class Lease:
    """A lease that this process holds."""

    remote: Remote
    name: str

    def done(self) -> None:
        """Say that what was compiled is written; a fault costs others some seconds."""
        try:
            self.remote.transport(LEASING).put(f"{self.name}.done", b"done", new=True)
        except Exception as error:  # of any library
            let_through(error)


class Waiting:
    """A wait for a job that another machine may compile. sleep, clock, now: given by tests."""

    def __init__(
        self,
        remote: Remote,
        job: str,
        patience: float = PATIENCE_S,
        *,
        sleep: Callable[[float], object] = time.sleep,
        clock: Callable[[], float] = time.monotonic,
        now: Callable[[], float] = time.time,
    ) -> None:
        self._remote = remote
        self._folder = f"leases/{job}"
        self._patience = patience
        self._sleep, self._clock, self._now = sleep, clock, now

    def lead_or_find(self, look: Callable[[], Value | None]) -> Lease | Value | None:
        """Return a lease, for the caller to compile under, or look()'s first answer; None after a fault.

        look: asks the remote for the job, and returns None while it is not there.
        """
        try:
            for number in range(MOST_LEASES):
                name = f"{self._folder}/{number}"
                if self._take(name):
                    return Lease(remote=self._remote, name=name)
                if (found := self._wait(name, look)) is not None:
                    return found
        except Exception as error:  # of any library
            let_through(error)
            self._remote.leasing.failed(str(error))
        return None

    def _take(self, name: str) -> bool:
        return self._remote.transport(LEASING).put(name, str(int(self._now())).encode(), new=True)

    def _wait(self, name: str, look: Callable[[], Value | None]) -> Value | None:
        """Return look()'s answer, or None when the lease of a name is over."""
        if self._is_old(name):
            return look()
        end, pause = self._clock() + self._patience, FIRST_LOOK_S
        while True:
            is_over = self._is_done(name) or self._clock() >= end
            if (found := look()) is not None or is_over or self._remote.breaker.is_open:
                return found
            self._sleep(pause)
            pause = min(LAST_LOOK_S, pause * 1.2)

    def _is_done(self, name: str) -> bool:
        return self._remote.transport(LEASING).has(f"{name}.done")

    def _is_old(self, name: str) -> bool:
        data = self._remote.transport(LEASING).get(name, 64)
        try:
            return self._now() - reading.whole(reading.parse(data or b"0")) > OLD_S
        except reading.Unreadable:
            return True
