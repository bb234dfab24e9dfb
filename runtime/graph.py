"""Graph: launches and copies that are recorded in a stream once, and then run as a whole, any number of times."""

from __future__ import annotations

import contextlib
import weakref
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from gridjit.base.forking import lock, section
from gridjit.base.messages import warn
from gridjit.compiler.values.errors import ArgumentError, ConfigWarning, DeviceError, LaunchError, not_called
from gridjit.runtime.arrays.strided_view import StridedMemoryView
from gridjit.runtime.launch.graph_nodes import Node, Nodes
from gridjit.runtime.launch.recording import GraphRecording, RecordedNode, Unmoved
from gridjit.runtime.memory.device_array import DeviceArray
from gridjit.runtime.memory.space import Memory
from gridjit.runtime.process.current import current_stream
from gridjit.runtime.process.session import session
from gridjit.runtime.queues.attention import recorder_of, recorders, watchers
from gridjit.runtime.queues.chosen import said_or_current
from gridjit.runtime.queues.streams import PER_THREAD, Stream, new_stream, stream_handle

if TYPE_CHECKING:
    from types import TracebackType

    from gridjit.runtime.accepted import StreamLike
    from gridjit.runtime.devices.base import Device, Runnable
    from gridjit.runtime.launch.launcher import Launcher
    from gridjit.runtime.launch.ready import Ready


class Graph:
    """Work recorded in a stream: made by gridjit.graph(), recorded in a with block, then launched.

    stream: launches and copies in this stream are recorded. nodes: the recorded work. A graph keeps its arrays and its
    code alive until it is closed. It cannot be pickled.
    """

    def __init__(self, device: Device | None = None, stream: Stream | None = None, *, is_own: bool = False) -> None:
        if device is None or stream is None:
            raise not_called("Graph", "gridjit.graph() makes graphs: with gridjit.graph() as g")
        self.stream = stream
        self._is_own = is_own
        self._device = device
        self._recording: GraphRecording | None = None
        self._steps: list[RecordedNode] = []
        self._nodes: Nodes | None = None
        self._runnable: Runnable | None = None
        self._closed = False
        self._changing = lock()
        self._end: weakref.finalize[Any, Any] | None = None

    # -- recording ---------------------------------------------------------------------------------------------------

    def __enter__(self) -> Graph:
        if self._nodes is not None or self._recording is not None or self._closed:
            raise LaunchError(f"{self!r} is recorded once; make another with gridjit.graph()")
        handle = self._key[1]
        if recorder_of(self._device.timeline, handle) is not None:
            raise LaunchError(f"{self.stream!r} is being recorded into another graph: a stream has one at a time")
        if self._device.timeline.capturing(handle):
            raise LaunchError(
                f"{self.stream!r} is being captured by someone else: launch in it as it is, or record later"
            )
        self._recording = GraphRecording(self._device.capture(handle), self.stream)
        # Machine code that launches in the stream finds another object here, and leaves the launch to Python.
        self.stream._live = self._recording  # type: ignore[assignment]
        recorders[self._key] = self._recording
        for watcher in watchers:
            watcher.begins_graph(self._device.timeline, handle)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if (recording := self._recording) is None:
            raise LaunchError(f"{self!r} is not being recorded: use it in a with block")
        recorders.pop(self._key_of(recording), None)
        if self.stream._live is recording:  # type: ignore[comparison-overlap]
            self.stream._live = True
        self._recording = None
        if error is not None:
            recording.capture.cancel()
            self._closed = True
            return
        runnable = recording.capture.end()
        recording.add_captured(max(0, runnable.nodes - len(recording.steps)))
        self._steps, self._runnable = recording.steps, runnable
        self._nodes = Nodes([step.node for step in recording.steps])
        self._end = weakref.finalize(self, _let_go, runnable, self._steps)
        self._end.atexit = False  # the driver may be gone by then
        if not self._steps:
            way = "give its stream to launches and copies: kernel[griddim, blockdim, g.stream](...)"
            warn(ConfigWarning(f"{self!r} recorded nothing, so running it does nothing; {way}"))

    @property
    def _key(self) -> tuple[int, int]:
        return id(self._device.timeline), stream_handle(self.stream)

    def _key_of(self, recording: GraphRecording) -> tuple[int, int]:
        return next((key for key, known in recorders.items() if known is recording), (0, 0))

    @contextlib.contextmanager
    def name(self, name: str) -> Iterator[None]:
        """Name the nodes that are recorded in the with block.

        name: the first node has it; further ones are "halo 2", "halo 3" and so on.
        """
        if self._recording is None:
            raise LaunchError(f"{self!r} is not being recorded: name nodes inside its with block")
        names = self._recording.names
        names.append(name)
        try:
            yield
        finally:
            names.pop()

    # -- running -----------------------------------------------------------------------------------------------------

    @property
    def nodes(self) -> Nodes:
        """The recorded work, in order: by number, or by name."""
        if self._nodes is None:
            raise LaunchError(f"{self!r} has nodes once it is recorded: ask after its with block")
        return self._nodes

    def launch(self, stream: StreamLike | None = None) -> None:
        """Run the graph in stream, after the stream's earlier work.

        None: the stream that graph() was given, or else the thread's current stream, as is 0.
        Raises LaunchError before it was recorded, DeviceError after it was closed.
        """
        runnable = self._runnable or self._live()
        if stream is None:
            stream = current_stream(self._device.timeline) if self._is_own else self.stream
        handle = stream_handle(said_or_current(stream, self._device.timeline))
        if recorders and recorder_of(self._device.timeline, handle) is not None:
            raise LaunchError(
                f"stream 0x{handle:x} is being recorded, and a graph is not recorded into another: launch it before or "
                "after, or record its work again"
            )
        runnable.launch(handle)
        for watcher in watchers:
            watcher.gave(self._device.timeline, handle)

    def update(self, node: Node | int | str, args: Sequence[Any]) -> None:
        """Replace the arguments of a kernel's node from the next launch of the graph on.

        node: one of nodes, its number or its name. args: all arguments; if they have other types, code for them is
        compiled. The configuration stays. Raises ArgumentError for a node that is not a kernel's, and for
        arguments that the kernel does not take.
        """
        runnable, step = self._live(), self._steps[self.nodes.find(node).index]
        if step.launcher is None:
            raise ArgumentError(f"{step.node!r} has no arguments: only nodes of kernels are updated")
        given = _arguments(args)
        ready, packed, transfer = _prepared(step.launcher, given)
        with section(), self._changing:
            runnable.update(step.handle, ready.loaded, step.launcher.config, ready.sharedmem, packed)
            runnable.keep_until_done(memory_in(step.keep))
            kept = (ready.loaded, given, transfer)
            self._steps[step.node.index] = RecordedNode(
                node=step.node, handle=step.handle, keep=kept, launcher=step.launcher
            )

    def _live(self) -> Runnable:
        if self._runnable is None:
            if self._closed:
                raise DeviceError("this graph was closed; record another with gridjit.graph()")
            raise LaunchError(f"{self!r} can be launched once it is recorded: launch it after its with block")
        return self._runnable

    # -- its end -----------------------------------------------------------------------------------------------------

    @property
    def closed(self) -> bool:
        """Whether it was closed, or an error in its with block dropped it."""
        return self._closed

    def close(self) -> None:
        """Release its arrays and code, once its launches are done; closing twice does no harm."""
        if self._recording is not None:
            raise LaunchError(f"{self!r} is being recorded: close it after its with block")
        self._runnable, self._closed = None, True
        if self._end is not None:
            self._end()

    def __repr__(self) -> str:
        if self._closed:
            return "<gridjit graph, closed>"
        if self._nodes is None:
            return f"<gridjit graph, {'being' if self._recording else 'not yet'} recorded in {self.stream!r}>"
        return f"<gridjit graph of {len(self._nodes)} node{'s' * (len(self._nodes) != 1)}>"

    def __reduce__(self) -> Any:
        raise TypeError("a graph cannot be pickled: record it in each process")


def graph(stream: StreamLike | None = None) -> Graph:
    """Return a graph to record: launches and copies in its stream within the with block are recorded, not done.

    stream: the stream to record in; None: a new one. Launch in graph.stream. Recording compiles missing code. Raises
    ArgumentError for the default stream, which cannot be recorded.

        with gridjit.graph() as g:
            scale[blocks, 256, g.stream](x, 2.0)
        g.launch()
    """
    device = session().device(None)
    if stream is None:
        return Graph(device, new_stream(device.timeline, nonblocking=True), is_own=True)
    wanted = stream if isinstance(stream, Stream) else Stream(device.timeline, stream_handle(stream), None)
    if stream_handle(wanted) <= PER_THREAD:
        raise ArgumentError(
            "the default stream cannot be recorded: give a stream of gridjit.create_stream(), or none, and launch in "
            "graph.stream"
        )
    return Graph(device, wanted)


def _arguments(given: Any) -> tuple[Any, ...]:
    """Return all arguments of a launch; raises ArgumentError unless they are in a tuple or a list."""
    if not isinstance(given, tuple | list):
        kind = type(given)
        raise ArgumentError(
            f"update: the arguments are a {kind.__module__}.{kind.__qualname__}; give all of them in a tuple, (x, 2.0)"
        )
    return tuple(given)


def _let_go(runnable: Runnable, steps: list[RecordedNode]) -> None:
    """Drop a graph's arrays and code."""
    runnable.keep_until_done(memory_in([step.keep for step in steps]))
    runnable.close()
    steps.clear()


def _prepared(launcher: Launcher, given: tuple[Any, ...]) -> tuple[Ready, bytes, Unmoved]:
    """Return the code for arguments, found or made, their parameters, and the owner of these."""
    from gridjit.runtime.launch.dispatch import prepare
    from gridjit.runtime.process.arguments import handlers_of, in_bytes, kinds_of, parameters_of

    kernel = launcher.kernel
    if kernel.extensions:
        raise LaunchError(f"{kernel.name} has extensions, which prepare arguments of one launch: record again")
    handlers = handlers_of(kernel, given)
    key = (launcher.config_key, session().ordinal(kernel._target), *kinds_of(kernel, handlers, given))
    ready = launcher.ready.get(key) or prepare(launcher, given, handlers, key)
    transfer = Unmoved(ready.loaded.device.staging, launcher.stream, kernel)
    transfer.expect(given)
    return ready, in_bytes(kernel, ready, given, parameters_of(kernel, ready, handlers, given, transfer)), transfer


def memory_in(kept: Any) -> Iterator[Memory]:
    """Yield the memory of gridjit's arrays and views in tuples and lists, within each other."""
    if isinstance(kept, list | tuple):
        for part in kept:
            yield from memory_in(part)
    elif isinstance(kept, DeviceArray):
        yield kept.gpu_data
    elif isinstance(kept, StridedMemoryView):
        yield kept._array.gpu_data
