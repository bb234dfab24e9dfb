"""A remote of objects in memory, a clock that stands still, and an event that ends all waiting."""

from __future__ import annotations

import threading
from collections.abc import Iterator

import pytest

from gridjit.cache.remote.tier import Remote
from tests.cache.remote.tier.objects import Clock, Objects, remote_at


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
