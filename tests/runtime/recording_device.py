"""A third device, written from the protocols alone: it notes every launch and copy, and runs nothing.

Its memory is the host's under another name, so what kernels are given can be looked at.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from gridjit.compiler.values.artifact import NO_CALLBACKS, Artifact, ModuleCallbacks
from gridjit.compiler.values.errors import DeviceError
from gridjit.compiler.values.launch_config import LaunchConfig
from gridjit.compiler.values.target import Target
from gridjit.runtime.devices.base import Capture, Device, KernelAttributes, LoadedKernel, Runnable
from gridjit.runtime.memory.space import HOST_SPACE, Memory, Owners, Space, Whereabouts
from gridjit.runtime.native.table import KernelHandle
from gridjit.runtime.queues.streams import Timeline, stream_handle

_PROTOTYPE = ctypes.CFUNCTYPE(
    ctypes.c_int, ctypes.c_void_p, *[ctypes.c_uint] * 7, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p
)
Array = np.ndarray[Any, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Launched:
    """One launch. way: "python" or "native"."""

    way: str
    config: LaunchConfig
    sharedmem: int
    stream: int
    handle: int
    parameters: bytes


class Recorder:
    """A function like cuLaunchKernel that notes its arguments. code: what it returns. work: what a kernel does."""

    def __init__(self) -> None:
        self.launches: list[Launched] = []
        self.code = 0
        self.work: Callable[[bytes], None] = lambda parameters: None
        self._callback = _PROTOTYPE(self._call)
        self.address = ctypes.cast(self._callback, ctypes.c_void_p).value or 0

    @property
    def last(self) -> Launched:
        return self.launches[-1]

    @property
    def ways(self) -> list[str]:
        return [launched.way for launched in self.launches]

    def _call(self, handle: int, *rest: Any) -> int:
        *dims, shared, stream, params, extra = rest
        assert params is None
        self.launches.append(
            Launched(
                way="native",
                config=LaunchConfig.of(tuple(dims[:3]), tuple(dims[3:]), shared),
                sharedmem=shared,
                stream=stream or 0,
                handle=handle,
                parameters=_buffer(extra),
            )
        )
        self.work(self.last.parameters)
        return self.code


def _buffer(extra: int | None) -> bytes:
    """Return what CU_LAUNCH_PARAM_BUFFER_POINTER and _SIZE say."""
    if extra is None:
        return b""
    pointer, buffer, size, length, end = (ctypes.c_void_p * 5).from_address(extra)
    assert (pointer, size, end) == (1, 2, None)
    return ctypes.string_at(buffer or 0, ctypes.c_size_t.from_address(length or 0).value)


class Contexts:
    """A function like cuCtxGetId. current: the number of the context that is; code: what it returns."""

    FUNCTION = 0x1000

    def __init__(self) -> None:
        self.current = 1
        self.code = 0
        prototype = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.POINTER(ctypes.c_uint64))
        self._callback = prototype(self._call)
        self.address = ctypes.cast(self._callback, ctypes.c_void_p).value or 0

    def entry(self, context: int) -> KernelHandle:
        return KernelHandle(handle=self.FUNCTION + context, ask=self.address, context=context)

    def _call(self, context: int | None, number: Any) -> int:
        assert context is None
        if not self.code:
            number[0] = self.current
        return self.code


class RecordingTimeline:
    """Streams and events that are numbers; what is done with them is noted."""

    def __init__(self, notes: list[str]) -> None:
        self._notes = notes
        self._made = 100

    @property
    def epoch(self) -> int:
        return 7

    @property
    def priorities(self) -> tuple[int, int]:
        return (0, 0)

    def priority(self, stream: int) -> int:
        return 0

    def outside(self, free: Callable[[], None]) -> None:
        free()

    def queued(self, stream: int) -> bool:
        return False

    def word(self, stream: int) -> ctypes.c_int64 | None:
        return None

    def create_stream(self, priority: int = 0, *, nonblocking: bool = False) -> int:
        return self._new("stream")

    def create_event(self, *, timing: bool = True) -> int:
        return self._new("event")

    def destroy_stream(self, stream: int) -> None:
        self._notes.append(f"destroy stream {stream}")

    def destroy_event(self, event: int) -> None:
        self._notes.append(f"destroy event {event}")

    def synchronize(self, stream: int) -> None:
        self._notes.append(f"synchronize {stream}")

    def synchronize_all(self) -> None:
        self._notes.append("synchronize all")

    def done(self, stream: int) -> bool:
        return True

    def wait(self, stream: int, event: int) -> None:
        self._notes.append(f"{stream} waits for {event}")

    def call_back(self, stream: int, function: Callable[[], None]) -> None:
        function()

    def blocking(self, stream: int) -> bool:
        return True

    def capturing(self, stream: int) -> bool:
        return False

    def record(self, event: int, stream: int) -> None:
        self._notes.append(f"record {event} in {stream}")

    def synchronize_event(self, event: int) -> None:
        self._notes.append(f"synchronize event {event}")

    def event_done(self, event: int) -> bool:
        return True

    def elapsed_ms(self, start: int, end: int) -> float:
        return float(end - start)

    def _new(self, what: str) -> int:
        self._made += 1
        self._notes.append(f"create {what} {self._made}")
        return self._made


class RecordingSpace:
    """Memory elsewhere: what is copied is noted, and every allocation starts as 0xff."""

    def __init__(self, notes: list[str], timeline: Timeline, device: int | None = 0) -> None:
        self._notes = notes
        self._timeline = timeline
        self._device = device

    @property
    def device(self) -> int | None:
        return self._device

    @property
    def timeline(self) -> Timeline:
        return self._timeline

    def allocate(self, size: int, stream: Any) -> Memory:
        block = HOST_SPACE.allocate(size, stream)
        block.owner[:] = 0xFF
        return Memory(self, block.address, size, owner=block)

    def write(self, ghost: Array, values: Array, stream: Any, keep: Owners = ()) -> None:
        self._notes.append(f"in {values.size} on {stream_handle(stream)}")
        np.copyto(ghost, values)

    def read(self, ghost: Array, values: Array, stream: Any) -> None:
        self._notes.append(f"out {values.size} on {stream_handle(stream)}")
        np.copyto(values, ghost)

    def peek(self, ghost: Array, values: Array, stream: Any) -> bool:
        return False

    def read_later(self, ghost: Array, values: Array, stream: Any) -> None:
        self._notes.append(f"later out {values.size} on {stream_handle(stream)}")
        np.copyto(values, ghost)

    def copy(self, destination: Array, source: Array, stream: Any, keep: Owners = ()) -> None:
        self._notes.append(f"copy {source.size} on {stream_handle(stream)}")
        np.copyto(destination, source)

    def copy_from(self, destination: Array, stream: Any, space: Space, source: Array, source_stream: Any) -> bool:
        return False

    def pinned(self, size: int, *, mapped: bool = False) -> Memory:
        return HOST_SPACE.pinned(size, mapped=mapped)

    def managed(self, size: int, *, attach_global: bool = True) -> Memory:
        raise DeviceError("the recording device has no managed memory")

    def pin(self, address: int, size: int) -> Callable[[], None]:
        return lambda: None

    def fill(self, ghost: Array, value: int, stream: Any, keep: Owners = ()) -> None:
        self._notes.append(f"fill {ghost.size} on {stream_handle(stream)}")
        ghost[...] = value

    @property
    def new_memory(self) -> Whereabouts:
        return Whereabouts(device=self._device, on_host=False, on_device=True)

    def whereabouts(self, address: int) -> Whereabouts:
        return self.new_memory


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class RecordingKernel:
    """A kernel on the recording device; what launches it natively is there only if `address` is."""

    artifact: Artifact
    device: RecordingDevice
    handle: int | None = 0x77
    _recorder: Recorder
    _contexts: Contexts | None = None
    _on_launch: Callable[[], None] = field(default=lambda: None)

    @property
    def grid_function(self) -> None:
        return None

    @property
    def driver_function(self) -> int | None:
        return None if self.artifact.cooperative else self._recorder.address

    @property
    def context(self) -> int:
        return 0 if self._contexts is None else self._contexts.current

    def entry(self, context: int) -> KernelHandle:
        return KernelHandle(handle=self.handle or 0) if self._contexts is None else self._contexts.entry(context)

    def launch(self, config: LaunchConfig, stream: Any, sharedmem: int, parameters: bytes, keep: object = None) -> None:
        if self._recorder.code:
            raise RuntimeError(f"the driver says {self._recorder.code}")
        self._recorder.launches.append(
            Launched(
                way="python",
                config=LaunchConfig.of(config.griddim, config.blockdim, sharedmem),
                sharedmem=sharedmem,
                stream=stream_handle(stream),
                handle=self.handle or 0,
                parameters=parameters,
            )
        )
        self._on_launch()

    def is_brief(self, config: LaunchConfig) -> bool | None:
        return True

    def here(self) -> RecordingDevice:
        return self.device

    def attributes(self) -> KernelAttributes:
        return KernelAttributes(registers=11, shared_bytes=22, local_bytes=33, constant_bytes=44, max_threads=55)

    def potential_block(self, sharedmem: int = 0, limit: int = 0) -> int:
        return min(48, limit or 48)

    def resident_blocks(self, threads: int, sharedmem: int = 0) -> int | None:
        return 1024 // threads

    def prefer_cache(self, preference: str) -> None:
        raise DeviceError("the recording device has no memory to split")

    def prefer_shared(self, percent: int) -> None:
        raise DeviceError("the recording device has no memory to split")


class RecordingGraph:
    """A graph of the recording device: its runs are noted."""

    def __init__(self, notes: list[str], nodes: int) -> None:
        self._notes = notes
        self.nodes = nodes

    def launch(self, stream: int) -> None:
        self._notes.append(f"run {self.nodes} in {stream}")

    def update(self, node: Any, loaded: LoadedKernel, config: LaunchConfig, sharedmem: int, parameters: bytes) -> None:
        self._notes.append(f"update node {node}")

    def keep_until_done(self, memory: Iterable[Memory]) -> None:
        self._notes.append(f"keep {len([*memory])}")

    def close(self) -> None:
        self._notes.append("close")


class RecordingCapture:
    """The work of one stream, counted until it ends."""

    def __init__(self, notes: list[str]) -> None:
        self._notes = notes
        self._nodes = 0

    def launch(self, loaded: LoadedKernel, config: LaunchConfig, stream: Any, sharedmem: int, parameters: bytes) -> Any:
        return self._node()

    def copy(self, destination: Any, source: Any, make: Callable[[], object]) -> Any:
        return self._node()

    def end(self) -> Runnable:
        return RecordingGraph(self._notes, self._nodes)

    def cancel(self) -> None:
        self._notes.append("cancel")

    def _node(self) -> int:
        self._nodes += 1
        return self._nodes


class RecordingDevice:
    """A device that notes what it is asked.

    notes: where copies and what is done with streams are noted. apart: whether its memory is not the host's.
    """

    def __init__(
        self,
        recorder: Recorder,
        notes: list[str],
        *,
        target: Target,
        apart: bool = True,
        ordinal: int | None = 0,
        contexts: Contexts | None = None,
        on_launch: Callable[[], None] = lambda: None,
    ) -> None:
        self._recorder = recorder
        self._notes = notes
        self._target = target
        self._contexts = contexts
        self._on_launch = on_launch
        self._ordinal = ordinal
        self._timeline = RecordingTimeline(notes)
        self._space = RecordingSpace(notes, self._timeline, ordinal) if apart else None

    @property
    def target(self) -> Target:
        return self._target

    @property
    def ordinal(self) -> int | None:
        return self._ordinal

    @property
    def space(self) -> Space:
        return self._space or HOST_SPACE

    @property
    def staging(self) -> Space | None:
        return self._space

    @property
    def timeline(self) -> Timeline:
        return self._timeline

    def capture(self, stream: int) -> Capture:
        self._notes.append(f"capture {stream}")
        return RecordingCapture(self._notes)

    def load(self, artifact: Artifact, callbacks: ModuleCallbacks = NO_CALLBACKS) -> RecordingKernel:
        return RecordingKernel(
            artifact=artifact,
            device=self,
            _recorder=self._recorder,
            _contexts=self._contexts,
            _on_launch=self._on_launch,
        )


if TYPE_CHECKING:
    _made: tuple[type[Device], type[LoadedKernel], type[Space], type[Timeline], type[Capture], type[Runnable]]
    _made = RecordingDevice, RecordingKernel, RecordingSpace, RecordingTimeline, RecordingCapture, RecordingGraph
