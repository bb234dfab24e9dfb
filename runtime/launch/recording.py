"""GraphRecording: the work added to a stream while a graph is recorded, node by node, with the objects it keeps."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from gridjit.base.forking import lock, section
from gridjit.base.values import dataclass
from gridjit.compiler.values.errors import ArgumentError, LaunchError
from gridjit.runtime.launch.graph_nodes import Node, NodeNames
from gridjit.runtime.memory.staging import Transfer

if TYPE_CHECKING:
    from gridjit.runtime.devices.base import Capture
    from gridjit.runtime.launch.launcher import Launcher
    from gridjit.runtime.launch.ready import Ready
    from gridjit.runtime.memory.space import Space


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class RecordedNode:
    """A recorded node. handle: the device's for it. keep: must live as long. launcher: of a launch."""

    node: Node
    handle: Any
    keep: object
    launcher: Launcher | None = None


class GraphRecording:
    """The work recorded in one stream. capture: the device's part of it. names: for nodes, the innermost last."""

    def __init__(self, capture: Capture, stream: Any) -> None:
        self.capture = capture
        self.stream = stream
        self.steps: list[RecordedNode] = []
        self.names: list[str] = []
        self._given = NodeNames()
        self._adding = lock()

    def transfer(self, launcher: Launcher, ready: Ready) -> Transfer:
        """Return the reader of a launch's arguments."""
        return Unmoved(ready.loaded.device.staging, launcher.stream, launcher.kernel)

    def launch(
        self, launcher: Launcher, ready: Ready, args: tuple[Any, ...], packed: bytes, transfer: Transfer
    ) -> None:
        """Record a launch; raises the driver's error now."""
        with section(), self._adding:
            handle = self.capture.launch(ready.loaded, launcher.config, self.stream, ready.sharedmem, packed)
            keep = (ready.loaded, args, transfer)
            self._add("kernel", launcher.kernel.py_func.__name__, handle, keep, launcher)

    def copy(self, what: str, destination: Any, source: Any, keep: object, make: Callable[[], object]) -> None:
        """Record a copy, or a fill."""
        with section(), self._adding:
            handle = self.capture.copy(destination, source, make)
            self._add(what, what, handle, (destination, source, keep), None)

    def _add(self, kind: str, name: str, handle: Any, keep: object, launcher: Launcher | None) -> None:
        name = self._given.new(self.names[-1] if self.names else name)
        config = None if launcher is None else launcher.config
        node = Node(index=len(self.steps), name=name, kind=kind, config=config)
        self.steps.append(RecordedNode(node=node, handle=handle, keep=keep, launcher=launcher))

    def add_captured(self, count: int) -> None:
        """Add nodes for other libraries' work in the stream."""
        for _ in range(count):
            self._add("captured", "captured", None, None, None)


class Unmoved(Transfer):
    """Inspects the arguments of launches in graphs, which run later and again: no memory is moved for them."""

    __slots__ = ()

    def wait_for(self, stream: int | None) -> None:
        """Wait for nothing: other libraries' work so far has no order with runs of a graph."""

    def stage(self, array: Any, *, read: bool = True, write: bool = True, later: bool = False) -> Any:
        """Raise ArgumentError: copies to the device and back are made for one launch."""
        raise ArgumentError(
            "an array on the host is copied to the device for one launch, which a graph cannot repeat: give the "
            "launch an array that is already on the device, made with cuda.to_device() before the graph"
        )

    def spared(self, array: Any) -> Any:
        """Raise ArgumentError for an array that would be copied to protect it."""
        if array.flags.writeable:
            raise ArgumentError(
                "an array given as In is copied for one launch, which a graph cannot repeat: give the launch an array "
                "that is already on the device, made with cuda.to_device() before the graph"
            )
        return array


def refuse_what_follows(name: str, after: object) -> None:
    """Raise LaunchError for a launch that an extension follows up: a graph would not repeat that."""
    if after:
        raise LaunchError(
            f"{name}: an extension of the kernel has to be called after the launch, which a graph cannot do; launch it "
            "without the graph, or pass what the extension makes of the argument"
        )


if TYPE_CHECKING:
    from gridjit.runtime.queues.attention import Recorder

    _recorder: type[Recorder] = GraphRecording
    _space: type[Space]
