"""A remote of objects in memory, a clock that stands still, and an event that ends all waiting."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator

import pytest

from gridjit.cache.remote import tier
from gridjit.cache.remote.tier import Remote
from tests.cache.remote.tier.objects import Clock, Objects, remote_at


@pytest.fixture(autouse=True)
def patience(monkeypatch: pytest.MonkeyPatch) -> Callable[[float], None]:
    """What decides for how many seconds a look-up waits: long, as a busy machine takes its time."""

    def wait(seconds: float) -> None:
        monkeypatch.setattr(tier, "LOOK_UP_S", seconds)

    wait(60.0)
    return wait


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture(params=[True, False], ids=["lists", "does not list"])
def objects(request: pytest.FixtureRequest) -> Objects:
    return Objects(lists=request.param)


@pytest.fixture
def remote(objects: Objects, clock: Clock) -> Remote:
    return remote_at(objects, clock)


@pytest.fixture
def stopped() -> Iterator[threading.Event]:
    """Set at the end, so that no thread stays."""
    event = threading.Event()
    yield event
    event.set()
