"""Handles that are good in one context: the native launch function uses each in its own, and asks Python elsewhere."""

from __future__ import annotations

import pytest

from gridjit.runtime.native.layout.probes import object_layout
from gridjit.runtime.process.session import Session
from tests.runtime.standin import Contexts, Launched, StandInKernel

pytestmark = pytest.mark.skipif(object_layout() is None, reason="this interpreter launches from Python")
CODE_DESTROYED = 709


def ways(launches: list[Launched]) -> list[str | int]:
    return [one.handle - Contexts.FUNCTION if one.way == "native" else "python" for one in launches]


def test_each_context_gets_a_function_of_its_own() -> None:
    contexts = Contexts()
    kernel = StandInKernel(arity=1, contexts=contexts)
    configured = kernel.configured()
    for contexts.current in (1, 1, 2, 2, 1, 2, 1):
        configured(7)
    assert ways(kernel.recorder.launches) == ["python", 1, "python", 2, 1, 2, 1]
    assert len({launched.parameters for launched in kernel.recorder.launches}) == 1


def test_each_device_is_looked_at_for_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    contexts = Contexts()
    kernel = StandInKernel(arity=1, contexts=contexts)
    monkeypatch.setattr(Session, "ordinal", lambda self, target: contexts.current)
    configured = kernel.configured()
    for contexts.current in (1, 1, 2, 2, 1, 2):
        configured(7)
    assert ways(kernel.recorder.launches) == ["python", 1, "python", 2, 1, 2]
    assert len(kernel.signatures) == 2


def test_without_a_context_python_launches() -> None:
    contexts = Contexts()
    kernel = StandInKernel(arity=0, contexts=contexts)
    configured = kernel.configured()
    configured()
    contexts.code = CODE_DESTROYED
    configured()
    contexts.code = 0
    configured()
    assert ways(kernel.recorder.launches) == ["python", "python", 1]


def test_more_contexts_than_there_are_tables_still_launch_right() -> None:
    contexts = Contexts()
    kernel = StandInKernel(arity=0, contexts=contexts)
    configured = kernel.configured()
    numbers = [*range(1, 8)] * 12
    for contexts.current in numbers:
        configured()
    native = [
        (way, number) for way, number in zip(ways(kernel.recorder.launches), numbers, strict=True) if way != "python"
    ]
    assert all(way == number for way, number in native)
