"""Devices that the host stands in for, chosen as a program's environment does."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

from gridjit.runtime.session import end_session
from gridjit.runtime.simulated import current

Choose = Callable[..., None]


@pytest.fixture
def choose(monkeypatch: pytest.MonkeyPatch) -> Iterator[Choose]:
    """What sets GRIDJIT_HOST_... and has them read; threads have no device before and after."""
    monkeypatch.setenv("GRIDJIT_TARGET", "host")

    def chosen(**variables: str) -> None:
        for name, value in variables.items():
            monkeypatch.setenv(f"GRIDJIT_HOST_{name}", value)
        current.leave()
        end_session()

    chosen()
    yield chosen
    current.leave()
