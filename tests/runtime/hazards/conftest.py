"""Streams' work on the host with the checker of hazards: two streams, which nothing orders."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import gridjit
from gridjit import cuda
from gridjit.runtime.queues.attention import watchers


@pytest.fixture
def checked(monkeypatch: pytest.MonkeyPatch, cache_dir: Path, restart: Callable[[], None]) -> Iterator[Any]:
    """Have the host's work checked for hazards; returns what checks it."""
    monkeypatch.setenv("GRIDJIT_TARGET", "host")
    monkeypatch.setenv("GRIDJIT_CHECK_STREAMS", "1")
    restart()
    cuda.synchronize()
    yield watchers[0]
    cuda.synchronize()
    monkeypatch.delenv("GRIDJIT_CHECK_STREAMS")
    restart()


@pytest.fixture
def first() -> gridjit.Stream:
    """A stream."""
    return gridjit.create_stream()


@pytest.fixture
def second() -> gridjit.Stream:
    """A stream that the default stream does not wait for."""
    return gridjit.create_stream(nonblocking=True)
