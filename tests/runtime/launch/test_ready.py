"""What is ready for launches: found again as long as nobody dropped it, also in the middle of a launch."""

from __future__ import annotations

import gc
import weakref
from collections.abc import Callable
from typing import Any

import pytest

from gridjit.compiler.values.footprint import Effects
from gridjit.compiler.values.launch_config import LaunchConfig
from gridjit.runtime.launch import native_table as module
from gridjit.runtime.launch.configured import ConfiguredKernel
from gridjit.runtime.launch.launcher import Launcher
from gridjit.runtime.launch.ready import ConfigKey, Extensions, ReadyTable
from gridjit.runtime.native.layout.probes import object_layout
from tests.runtime.standin import StandInKernel

natively = pytest.mark.skipif(object_layout() is None, reason="this interpreter launches from Python")


class Early(StandInKernel):
    """A stand-in in the middle of whose look-up something happens, once."""

    meanwhile: Callable[[], Any] = staticmethod(lambda: None)

    def specialization_for(self, *launch: Any) -> Any:
        found = super().specialization_for(*launch)
        happens, self.meanwhile = self.meanwhile, lambda: None
        happens()
        return found


class Recorded:
    """An extension that notes what it prepares."""

    def __init__(self) -> None:
        self.prepared: list[Any] = []

    def prepare_args(self, kind: Any, value: Any, **_: Any) -> Any:
        self.prepared.append(value)
        return kind, value


def code_of(configured: ConfiguredKernel) -> list[Any]:
    """Return what is ready for a shape."""
    rows = configured.launcher.ready._rows.items()
    return [ready.loaded for key, ready in rows if key[0] is configured.launcher.config_key]


def test_what_is_ready_is_found_again_by_each_stream_of_a_configuration() -> None:
    kernel = StandInKernel(arity=1)
    for stream in (0, 16, 32):
        kernel.configured(stream=stream)(1)
    assert len(kernel.signatures) == 1


def test_what_was_dropped_while_it_was_looked_up_is_looked_up_again() -> None:
    kernel = Early(arity=1)
    configured = kernel.configured()
    kernel.meanwhile = kernel.ready.drop
    for _ in range(3):
        configured(1)
    assert len(kernel.signatures) == 2


def test_what_is_looked_up_while_code_of_another_configuration_is_dropped_stays() -> None:
    kernel = Early(arity=1)
    first, second = kernel.configured(1), kernel.configured(2)
    first(1)
    kernel.meanwhile = lambda: kernel.ready.drop(code_of(first))
    for _ in range(3):
        second(1)
    assert len(kernel.signatures) == 2


@natively
def test_what_was_dropped_while_machine_code_was_told_of_it_is_looked_up_again(monkeypatch: Any) -> None:
    kernel = StandInKernel(arity=1)
    happens_in_telling(monkeypatch, kernel.ready.drop)
    configured = kernel.configured()
    for _ in range(3):
        configured(1)
    assert (len(kernel.signatures), kernel.recorder.ways) == (2, ["python", "python", "native"])


@natively
def test_an_extension_that_came_while_machine_code_was_told_prepares_the_next_launch(monkeypatch: Any) -> None:
    kernel, extension = StandInKernel(arity=1), Recorded()
    extensions = Extensions([], kernel.ready.relearn)
    kernel.extensions = extensions  # type: ignore[assignment]
    happens_in_telling(monkeypatch, lambda: extensions.append(extension))
    configured = kernel.configured()
    for value in (1, 2, 3):
        configured(value)
    assert extension.prepared == [2, 3]


def happens_in_telling(monkeypatch: pytest.MonkeyPatch, meanwhile: Callable[[], Any]) -> None:
    """Have something happen once, when a table for the native function is made."""
    table_of, once = module.table_of, [meanwhile]

    def made(*given: Any) -> Any:
        table = table_of(*given)
        while once:
            once.pop()()
        return table

    monkeypatch.setattr(module, "table_of", made)


def test_an_extension_that_comes_and_goes_has_nothing_looked_up_again() -> None:
    kernel = StandInKernel(arity=1)
    extensions = Extensions([], kernel.ready.relearn)
    kernel.extensions = extensions  # type: ignore[assignment]
    configured = kernel.configured()
    configured(1)
    for value in range(3):
        extensions.append(Recorded())
        configured(value)
        extensions.clear()
        configured(value)
    assert len(kernel.signatures) == 1


def test_code_that_is_dropped_is_looked_up_again_and_no_other() -> None:
    kernel = StandInKernel(arity=1)
    first, second = kernel.configured(1), kernel.configured(2)
    for one in (first, second):
        one(1)
        one(1)
    kernel.ready.drop(code_of(first))
    second(1)
    assert len(kernel.signatures) == 2
    first(1)
    assert len(kernel.signatures) == 3
    if object_layout() is not None:
        assert kernel.recorder.ways[-2:] == ["native", "python"]


@natively
def test_an_index_is_launched_by_machine_code_after_code_of_another_was_dropped() -> None:
    kernel = StandInKernel(arity=1)
    kernel.configured(1)(1)
    for _ in range(2):
        kernel.configured(2)(1)
    kernel.ready.drop(code_of(kernel.configured(1)))
    kernel.configured(2)(1)
    assert kernel.recorder.ways[-2:] == ["native", "native"]


def test_code_that_is_dropped_is_freed_when_nobody_has_its_configured_kernel() -> None:
    kernel = StandInKernel(arity=1)
    configured = kernel.configured()
    configured(1)
    configured(1)
    (loaded,) = code_of(configured)
    gone = weakref.ref(configured.launcher)
    kernel.ready.drop([loaded])
    del configured, loaded
    gc.collect()
    assert gone() is None


def test_what_somebody_holds_stays_ready_however_many_configurations_come(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GRIDJIT_NATIVE_LAUNCH", "0")  # machine code would not ask what is ready
    kernel = StandInKernel(arity=0)
    held = kernel.configured(7)
    held()
    for grid in range(1, 2 * ReadyTable.CONFIGS):
        kernel.configured(grid)()
    looked_up = len(kernel.signatures)
    held()
    assert len(kernel.signatures) == looked_up


def test_what_is_ready_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GRIDJIT_NATIVE_LAUNCH", "0")  # a native function is freed when Python looks for circles
    kernel = StandInKernel(arity=0)
    for grid in range(1, 2 * ReadyTable.CONFIGS + 10):
        kernel.configured(grid)()
    table = kernel.ready
    assert max(len(table._rows), len(table._config_keys)) <= ReadyTable.CONFIGS + 1
    assert len(table.launchers) <= ReadyTable.LAUNCHERS


def test_required_shared_memory_is_known_to_all_streams_until_it_is_dropped() -> None:
    kernel = StandInKernel(arity=0, effects=Effects(sharedmem=4096))
    first, second = kernel.configured(stream=0), kernel.configured(stream=16)
    first()
    assert (first.sharedmem, second.sharedmem) == (4096, 4096)
    kernel.ready.drop()
    assert (first.sharedmem, second.sharedmem) == (0, 0)


def test_launchers_that_are_made_at_once_are_one() -> None:
    table, made = ReadyTable(), []

    def make(shape: ConfigKey) -> Launcher:
        if not made:  # another thread is as far, and finishes first
            made.append(None)
            made.append(table.launcher(LaunchConfig.of(1, 32), 0, make))
        return Launcher(StandInKernel(arity=0), shape, 0, table)  # type: ignore[arg-type]

    assert table.launcher(LaunchConfig.of(1, 32), 0, make) is made[1]


@natively
def test_machine_code_is_told_of_few_kinds_of_arguments_and_python_launches_others(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(Launcher, "LIMIT", 2)
    kernel = StandInKernel(arity=1)
    configured = kernel.configured()
    for value in (1, 1.0, 1j, 1, 1.0, 1j):
        configured(value)
    assert kernel.recorder.ways == ["python"] * 3 + ["native"] * 2 + ["python"]
    assert configured.launcher.learned == 2


@natively
def test_what_only_python_can_launch_takes_no_place_of_what_machine_code_can(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Launcher, "LIMIT", 3)
    kernel = StandInKernel(arity=1)
    configured = kernel.configured()
    for value in ((1, 2), (3, 4), (5, 6), (7, 8), 9, 10):
        configured(value)
    assert kernel.recorder.ways == ["python"] * 5 + ["native"]
