"""Device: the protocol of what loads artifacts and launches them, and LoadedKernel, which lives on one.

For what a device lacks, it answers as the protocol says: None, or a DeviceError. Callers never test for attributes.
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
    """What a loaded kernel uses on a device.

    registers of a thread; shared, local and constant memory in bytes, of a block, a thread and the kernel; max_threads
    of a block.
    """

    registers: int
    shared_bytes: int
    local_bytes: int
    constant_bytes: int
    max_threads: int


class LoadedKernel(Protocol):
    """An artifact on one device; ends with it. It has all that launches, and users' questions about kernels, need."""

    @property
    def artifact(self) -> Artifact:
        """What was loaded."""
        ...

    @property
    def device(self) -> Device:
        """The device that it was loaded on."""
        ...

    @property
    def handle(self) -> int | None:
        """The driver's handle of the kernel; None without a driver."""
        ...

    @property
    def driver_function(self) -> int | None:
        """The address of a function like cuLaunchKernel, for machine code to launch it by; None: there is none.

        Without this and a grid_function, only launch() can launch it: it may have more to do, as callbacks of the
        module, or an exception to wait for. Either may appear or go with a launch; at most one is there.
        """
        ...

    @property
    def grid_function(self) -> int | None:
        """The address of a function like launch_grid of runtime/native/grids, which reports failures; None as above."""
        ...

    @property
    def context(self) -> int:
        """The number of the calling thread's context; 0 where contexts do not matter, or the thread has none."""
        ...

    def entry(self, context: int) -> KernelHandle:
        """Return what driver_function or grid_function launches in the calling thread's context, by its number.

        Raises DeviceError where there is neither.
        """
        ...

    def launch(self, config: LaunchConfig, stream: Any, sharedmem: int, parameters: bytes, keep: object = None) -> None:
        """Run the kernel: the host's cuLaunchKernel. parameters are packed as the artifact says.

        keep: what has the memory of this process that parameters point to; a launch that is still to run keeps it.
        Raises what the kernel raised, or LaunchError.
        """
        ...

    def is_brief(self, config: LaunchConfig) -> bool | None:
        """Return whether a launch is too short for another thread to be worth waking; None: not known yet."""
        ...

    def here(self) -> Device:
        """Return the device that a launch goes to from this thread."""
        ...

    def attributes(self) -> KernelAttributes:
        """Return what the kernel uses on the device it would run on now."""
        ...

    def potential_block(self, sharedmem: int = 0, limit: int = 0) -> int:
        """Return how many threads a block should have; limit: at most so many, if not 0."""
        ...

    def resident_blocks(self, threads: int, sharedmem: int = 0) -> int | None:
        """Return how many blocks of so many threads can run at once, as cooperative launches must; None: any number."""
        ...

    def prefer_cache(self, preference: str) -> None:
        """Have launches from now on split a multiprocessor's memory: "NONE", "SHARED", "L1" or "EQUAL".

        Raises DeviceError where memory is not split.
        """
        ...

    def prefer_shared(self, percent: int) -> None:
        """Have launches from now on get so much of that memory as shared memory, in percent (-1: any).

        Raises DeviceError where memory is not split.
        """
        ...


class Runnable(Protocol):
    """A graph that a device runs as a whole. nodes: how many pieces of work it has, those of other libraries too."""

    nodes: int

    def launch(self, stream: int) -> None:
        """Run it in a stream, after what that was given before."""
        ...

    def update(self, node: Any, loaded: LoadedKernel, config: LaunchConfig, sharedmem: int, parameters: bytes) -> None:
        """Have later runs launch something else in a node's place."""
        ...

    def keep_until_done(self, memory: Iterable[Memory]) -> None:
        """Have memory that is let go now not be used again before the runs that use it are done."""
        ...

    def close(self) -> None:
        """Give it up."""
        ...


class Capture(Protocol):
    """The work of one stream that is recorded, and not done, until it ends."""

    def launch(self, loaded: LoadedKernel, config: LaunchConfig, stream: Any, sharedmem: int, parameters: bytes) -> Any:
        """Record a launch, as LoadedKernel.launch is given it; returns the device's handle of the node."""
        ...

    def copy(self, destination: Any, source: Any, make: Callable[[], object]) -> Any:
        """Record a copy between two arrays; make gives it to the stream. Returns the device's handle of the node."""
        ...

    def end(self) -> Runnable:
        """Return all that was recorded, ready to run."""
        ...

    def cancel(self) -> None:
        """Forget it."""
        ...


class Device(Protocol):
    """Something that kernels run on. A new device needs what is here, and nothing else."""

    @property
    def target(self) -> Target:
        """What code must be made for to run here."""
        ...

    @property
    def ordinal(self) -> int | None:
        """The number of the device among those of its kind; None where there can be only one."""
        ...

    @property
    def space(self) -> Space:
        """The device's memory."""
        ...

    @property
    def staging(self) -> Space | None:
        """The memory that host arrays are copied to for a launch; None: kernels use them where they are."""
        ...

    @property
    def timeline(self) -> Timeline:
        """The device's streams and events."""
        ...

    def capture(self, stream: int) -> Capture:
        """Return what records the work of a stream, by its handle, for a graph; from now on none of it is done."""
        ...

    def load(self, artifact: Artifact, callbacks: ModuleCallbacks = NO_CALLBACKS) -> LoadedKernel:
        """Return artifact, loaded; raises DeviceError if it cannot be. callbacks: for the module that it becomes."""
        ...
