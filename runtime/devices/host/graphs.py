"""HostCapture, HostRunnable: a graph on the host: a list of launches and copies, by machine code where possible."""

from __future__ import annotations

import ctypes
import functools
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, TypeAlias, cast

import numpy as np

from gridjit.base.values import dataclass
from gridjit.compiler.values.launch_config import LaunchConfig
from gridjit.runtime.devices.host.launch import launch_bytes
from gridjit.runtime.native.layout import grid_records as records
from gridjit.runtime.native.layout import launch_records as reports
from gridjit.runtime.queues import attention
from gridjit.runtime.queues.streams import LEGACY
from gridjit.runtime.queues.timeline import HOST

if TYPE_CHECKING:
    from gridjit.runtime.devices.base import Capture, LoadedKernel, Runnable
    from gridjit.runtime.devices.host.device import HostDevice, HostKernel
    from gridjit.runtime.memory.space import Memory
    from gridjit.runtime.native.engine import Engine

# Shared memory that a block may have on any device, without looking up limits.
_PLAIN_SHARED_BYTES = 48 << 10
_Report = ctypes.c_char * reports.REPORT_BYTES


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class LaunchCall:
    """A launch to be made: the arguments of HostKernel.launch."""

    loaded: HostKernel
    config: LaunchConfig
    sharedmem: int
    parameters: bytes

    def run(self) -> None:
        """Make the launch, from Python."""
        self.loaded.launch_here(self.config, self.sharedmem, self.parameters)

    @property
    def is_plain(self) -> bool:
        """Whether machine code may make it, which does not look up limits."""
        config, artifact = self.config, self.loaded.artifact
        alone = config.cluster is None and not (config.cooperative or config.programmatic or artifact.cooperative)
        return alone and self.sharedmem + self.loaded.attributes().shared_bytes <= _PLAIN_SHARED_BYTES


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Copy:
    """A copy to be made, by NumPy."""

    destination: Any
    source: Any

    def run(self) -> None:
        """Copy it."""
        np.copyto(self.destination, self.source)


_Work: TypeAlias = "LaunchCall | Copy"
_Piece: TypeAlias = "LaunchCall | Copy | Batch"
# A launch's shape and parameters, where machine code reads them.
_Part: TypeAlias = "tuple[Any, Any]"


class HostCapture:
    """The work of one stream that is recorded. A node's handle is its place in the list."""

    def __init__(self, device: HostDevice, stream: int) -> None:
        self._device = device
        self._stream = stream
        self._work: list[_Work] = []
        HOST.note_recorded(stream, True)

    def launch(self, loaded: LoadedKernel, config: LaunchConfig, stream: Any, sharedmem: int, parameters: bytes) -> int:
        """Add a launch."""
        return self._add(_launch(loaded, config, sharedmem, parameters))

    def copy(self, destination: Any, source: Any, make: Callable[[], object]) -> int:
        """Add a copy."""
        return self._add(Copy(destination=destination, source=source))

    def _add(self, work: _Work) -> int:
        self._work.append(work)
        return len(self._work) - 1

    def end(self) -> HostRunnable:
        """Return a graph of the work."""
        HOST.note_recorded(self._stream, False)
        return HostRunnable(self._device, self._work)

    def cancel(self) -> None:
        """Forget all of it."""
        HOST.note_recorded(self._stream, False)
        self._work = []


class Batch:
    """Launches that machine code makes one after another, in one call."""

    def __init__(self, engine: Engine, launches: list[LaunchCall], parts: list[_Part], steps: Any) -> None:
        self._engine = engine
        self._launches = launches
        # Steps refer to these by address.
        self._parts = parts
        self._steps = steps
        self._given = ctypes.addressof(steps), len(launches)

    @classmethod
    def of(cls, engine: Engine, launches: list[LaunchCall]) -> Batch:
        """Return the batch of these launches."""
        parts = [(_shape(one), _parameters(one)) for one in launches]
        steps = [_step(one, part) for one, part in zip(launches, parts, strict=True)]
        return cls(engine, launches, parts, (records.StepRecord * len(steps))(*steps))

    def with_another(self, at: int, launch: LaunchCall) -> Batch:
        """Return a batch with another launch in a place; this batch stays as it is."""
        launches, parts = [*self._launches], [*self._parts]
        launches[at], parts[at] = launch, (_shape(launch), _parameters(launch))
        steps = type(self._steps).from_buffer_copy(self._steps)
        steps[at] = _step(launch, parts[at])
        return Batch(self._engine, launches, parts, steps)

    def run(self) -> None:
        """Make the launches; raises the first failed launch's error, and skips the launches after it."""
        report = _Report()
        if self._engine.replay(*self._given, report):
            which = int.from_bytes(report.raw[reports.REPORT_HANDLE :], "little")
            failed = self._launches[which]
            fail = failed.loaded.entry(0).fail
            assert fail is not None
            fail(failed.config, report.raw)


class HostRunnable:
    """A list of work that runs as a whole. A run keeps its list, even if the list is updated."""

    def __init__(self, device: HostDevice, work: list[_Work]) -> None:
        self._device = device
        self._work = work
        # The places of launches that machine code makes: the number of the piece, and the place in it.
        self._places: dict[int, tuple[int, int]] = {}
        self._pieces = self._divided()
        self.nodes = len(work)

    def launch(self, stream: int) -> None:
        """Run the graph in the stream's order; a kernel's error is raised as a launch's is, and ends the run.

        In the default stream, it is done when this returns.
        """
        work = functools.partial(_run, self._pieces)
        if stream <= LEGACY and not attention.busy():
            work()
        else:
            HOST.give(stream, work)

    def update(self, node: int, loaded: LoadedKernel, config: LaunchConfig, sharedmem: int, parameters: bytes) -> None:
        """Replace the launch in a place."""
        made = self._work[node] = _launch(loaded, config, sharedmem, parameters)
        if node in self._places and _is_batched(made):
            piece, at = self._places[node]
            batch = cast("Batch", self._pieces[piece])
            self._pieces = (*self._pieces[:piece], batch.with_another(at, made), *self._pieces[piece + 1 :])
        else:
            self._pieces = self._divided()

    def keep_until_done(self, memory: Iterable[Memory]) -> None:
        """Keep memory as long as work is left in any stream."""
        for one in memory:
            HOST.keep(one)

    def close(self) -> None:
        """Drop its work."""
        self._work, self._pieces = [], ()

    def _divided(self) -> tuple[_Piece, ...]:
        """Return the work in as few pieces as possible: machine code makes consecutive launches."""
        engine = self._device.engine(make=True)
        pieces: list[_Piece] = []
        together: list[LaunchCall] = []
        self._places = {}
        for node, work in enumerate([*self._work, None]):
            if engine is not None and isinstance(work, LaunchCall) and _is_batched(work):
                self._places[node] = len(pieces), len(together)
                together.append(work)
                continue
            if together and engine is not None:
                pieces.append(Batch.of(engine, together))
                together = []
            if work is not None:
                pieces.append(work)
        return tuple(pieces)


def _is_batched(launch: LaunchCall) -> bool:
    return launch.is_plain and launch.loaded.grid_function is not None


def _launch(loaded: LoadedKernel, config: LaunchConfig, sharedmem: int, parameters: bytes) -> LaunchCall:
    return LaunchCall(loaded=cast("HostKernel", loaded), config=config, sharedmem=sharedmem, parameters=parameters)


def _run(pieces: Iterable[_Piece]) -> None:
    for piece in pieces:
        piece.run()


def _step(launch: LaunchCall, part: _Part) -> Any:
    shape, parameters = part
    handle = launch.loaded.entry(0).handle
    return records.StepRecord(kernel=handle, shape=ctypes.addressof(shape), params=ctypes.addressof(parameters))


def _shape(launch: LaunchCall) -> Any:
    return launch_bytes(launch.config, launch.sharedmem)


def _parameters(launch: LaunchCall) -> Any:
    return ctypes.create_string_buffer(launch.parameters, len(launch.parameters) or 1)


if TYPE_CHECKING:
    _capture: type[Capture] = HostCapture
    _runnable: type[Runnable] = HostRunnable
