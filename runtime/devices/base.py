"""Device: the protocol of devices, which load and launch artifacts, and LoadedKernel, which lives on a device.

A device answers None, or raises a DeviceError, for a feature that it lacks. Callers never test for attributes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, Protocol

from gridjit.base.values import dataclass
from gridjit.compiler.values.artifact import NO_CALLBACKS, Artifact, ModuleCallbacks
from gridjit.compiler.values.launch_config import LaunchConfig
from gridjit.compiler.values.target import Target

if TYPE_CHECKING:
    from gridjit.runtime.memory.space import Memory, Space
    from gridjit.runtime.native.table import KernelHandle
    from gridjit.runtime.queues.streams import Timeline


@dataclass(frozen=True, slots=True, kw_only=True)
class KernelAttributes:
    """A loaded kernel's use of a device.

    registers of a thread; shared, local and constant memory in bytes, of a block, a thread and the kernel; max_threads
    of a block.
    """

    registers: int
    shared_bytes: int
    local_bytes: int
    constant_bytes: int
    max_threads: int


class LoadedKernel(Protocol):
    """An artifact on one device; ends with it. It answers launches and users' questions about kernels."""

    @property
    def artifact(self) -> Artifact:
        """The loaded artifact."""

    @property
    def device(self) -> Device:
        """The device that it was loaded on."""

    @property
    def handle(self) -> int | None:
        """The driver's handle of the kernel; None without a driver."""

    @property
    def driver_function(self) -> int | None:
        """The address of a function like cuLaunchKernel, for machine code to launch it by; None: there is none.

        Without this and a grid_function, only launch() can launch it: it may have more to do, as callbacks of the
        module, or an exception to wait for. Either may appear or go with a launch; at most one is there.
        """

    @property
    def grid_function(self) -> int | None:
        """The address of a function like launch_grid of native/c/grids.h, which reports failures; None as above."""

    @property
    def context(self) -> int:
        """The number of the calling thread's context; 0 where contexts do not matter, or the thread has none."""

    def entry(self, context: int) -> KernelHandle:
        """Return what driver_function or grid_function launches in the calling thread's context, by its number.

        Raises DeviceError where there is neither.
        """

    def launch(self, config: LaunchConfig, stream: Any, sharedmem: int, parameters: bytes, keep: object = None) -> None:
        """Run the kernel: the host's cuLaunchKernel. parameters are packed as the artifact says.

        keep: the owner of memory of this process that parameters point to; a launch that has not run yet keeps it.
        Raises the kernel's exception, or LaunchError.
        """

    def is_brief(self, config: LaunchConfig) -> bool | None:
        """Return whether a launch is too short for another thread to be worth waking; None: not known yet."""

    def here(self) -> Device:
        """Return the device that a launch goes to from this thread."""

    def attributes(self) -> KernelAttributes:
        """Return the kernel's use of the current device."""

    def potential_block(self, sharedmem: int = 0, limit: int = 0) -> int:
        """Return a good number of threads for a block; limit: the largest number, if not 0."""

    def resident_blocks(self, threads: int, sharedmem: int = 0) -> int | None:
        """Return how many blocks of so many threads can be resident, as cooperative launches must; None: any number."""

    def prefer_cache(self, preference: str) -> None:
        """Set how later launches split a multiprocessor's memory: "NONE", "SHARED", "L1" or "EQUAL".

        Raises DeviceError where memory is not split.
        """

    def prefer_shared(self, percent: int) -> None:
        """Set the part of that memory that later launches get as shared memory, in percent (-1: any).

        Raises DeviceError where memory is not split.
        """


class Runnable(Protocol):
    """A graph that a device runs as a whole. nodes: how many pieces of work it has, other libraries' included."""

    nodes: int

    def launch(self, stream: int) -> None:
        """Run it in a stream, after the stream's earlier work."""

    def update(self, node: Any, loaded: LoadedKernel, config: LaunchConfig, sharedmem: int, parameters: bytes) -> None:
        """Replace a node's launch in later runs."""

    def keep_until_done(self, memory: Iterable[Memory]) -> None:
        """Delay the reuse of memory that is let go now until the runs that use it are done."""

    def close(self) -> None:
        """Give it up."""


class Capture(Protocol):
    """The work of one stream that is recorded, and not done, until it ends."""

    def launch(self, loaded: LoadedKernel, config: LaunchConfig, stream: Any, sharedmem: int, parameters: bytes) -> Any:
        """Record a launch, as LoadedKernel.launch is given it; returns the device's handle of the node."""

    def copy(self, destination: Any, source: Any, make: Callable[[], object]) -> Any:
        """Record a copy between two arrays, which make gives to the stream. Returns the device's handle of the node."""

    def end(self) -> Runnable:
        """Return the recorded work as a graph to run."""

    def cancel(self) -> None:
        """Forget it."""


class Device(Protocol):
    """A device that kernels run on. A new device needs these methods, and nothing else."""

    @property
    def target(self) -> Target:
        """The target whose code runs here."""

    @property
    def ordinal(self) -> int | None:
        """The device's number among devices of its kind; None where there can be only one."""

    @property
    def space(self) -> Space:
        """The device's memory."""

    @property
    def staging(self) -> Space | None:
        """The memory that host arrays are copied to for a launch; None: kernels use them in place."""

    @property
    def timeline(self) -> Timeline:
        """The device's streams and events."""

    def capture(self, stream: int) -> Capture:
        """Return a capture of a stream, by its handle, for a graph; from now on none of the stream's work is done."""

    def load(self, artifact: Artifact, callbacks: ModuleCallbacks = NO_CALLBACKS) -> LoadedKernel:
        """Return artifact, loaded; raises DeviceError if it cannot be. callbacks: of the module that it becomes."""
