"""Devices that the host stands in for, chosen as a program's environment does."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

from gridjit.runtime.process.session import end_session
from gridjit.runtime.simulated import current, driver, memory
from gridjit.runtime.simulated.memory import Ledger

Choose = Callable[..., None]


@pytest.fixture
def choose(monkeypatch: pytest.MonkeyPatch) -> Iterator[Choose]:
    """What sets GRIDJIT_HOST_... and has them read; threads have no device before and after.

    Nothing is held on the devices at first, and what other tests left is not counted when it is let go.
    """
    monkeypatch.setenv("GRIDJIT_TARGET", "host")
    ledger = Ledger()
    for module in (driver, memory):
        monkeypatch.setattr(module, "ledger", ledger)

    def chosen(**variables: str) -> None:
        for name, value in variables.items():
            monkeypatch.setenv(f"GRIDJIT_HOST_{name}", value)
        current.leave()
        end_session()

    chosen()
    yield chosen
    current.leave()
