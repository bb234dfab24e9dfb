"""HostDevice: this computer's processor as a device; arguments are used in place.

Launches in the default stream return when they are done; launches in other streams are done in their order.
"""

from __future__ import annotations

import ctypes
import functools
import math
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, NoReturn

from gridjit.base.forking import cached_property
from gridjit.base.stacks import in_room
from gridjit.base.values import dataclass, field
from gridjit.cache.store import Store
from gridjit.compiler.targets.host.llvm.libllvm import NO_SYMBOLS, host_target
from gridjit.compiler.values.artifact import NO_CALLBACKS, Artifact, ModuleCallbacks
from gridjit.compiler.values.errors import DeviceError
from gridjit.compiler.values.launch_config import MAX_BLOCK_THREADS, LaunchConfig
from gridjit.compiler.values.target import Target
from gridjit.runtime.devices.host.launch import SPINS, Status, judge, launch
from gridjit.runtime.devices.host.load import HostFunction, load
from gridjit.runtime.queues import attention
from gridjit.runtime.queues.streams import LEGACY, stream_handle

if TYPE_CHECKING:
    from pathlib import Path

    from gridjit.runtime.devices.base import Device, KernelAttributes, LoadedKernel
    from gridjit.runtime.devices.host.checking import Checking
    from gridjit.runtime.devices.host.graphs import HostCapture
    from gridjit.runtime.memory.space import Space
    from gridjit.runtime.native.engine import Engine
    from gridjit.runtime.native.layout.grid_records import KernelRecord
    from gridjit.runtime.native.table import KernelHandle
    from gridjit.runtime.queues.streams import Timeline

# Threads of a block where the user leaves it open.
_BLOCK = 256
# Shared memory that a block may have on any device, without looking up limits.
_PLAIN_SHARED_BYTES = 48 << 10
# Values that a launch may pass on any device.
_PLAIN_PARAMETERS = 1000
# An artifact's resources that this process provides: the names of compiler/targets/host/library/symbols, which most
# launches do without.
NEEDS = frozenset(("prints", "allocates"))
# The number of the kernel's launch that loads machine code: that takes some milliseconds, and a second if it must be
# made first.
_OFTEN = 3
# The calling thread makes a launch that takes less, in picoseconds, in any stream.
_BRIEF_PS = 20_000_000
# A launch of as many blocks loads it at once: each chunk of them takes microseconds from Python.
_MANY = 1 << 20


class Past:
    """Traces of a kernel's launches: the number of launches from Python, and its record in machine code."""

    __slots__ = ("launches", "records")

    def __init__(self) -> None:
        self.launches = 0
        # Of records made at once by threads, the first is used; none is freed, as a launch may have its address.
        self.records: list[KernelRecord] = []


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class HostKernel:
    """An artifact's object code in this process."""

    artifact: Artifact
    device: HostDevice
    function: HostFunction
    threads: int
    static_shared: int
    # The number of its launches, and its record in machine code: a process that launches once needs neither.
    past: Past = field(repr=False)
    # Checks each launch of a debug kernel.
    checking: Checking | None = field(default=None, repr=False)

    @property
    def handle(self) -> int | None:
        """None: no driver knows the kernel."""
        return None

    @property
    def driver_function(self) -> None:
        """None: no driver launches the kernel."""
        return None

    @property
    def grid_function(self) -> int | None:
        """The address of the function that runs grids; None until that is worth loading, and where it cannot be had."""
        engine = None if self.prints or self.checking else self._engine()
        return None if engine is None else engine.address

    @property
    def prints(self) -> bool:
        """Whether a launch may leave text to show when it ends, which machine code does not do."""
        return "prints" in self.artifact.resources

    @property
    def context(self) -> int:
        """0: the host does not have contexts."""
        return 0

    def entry(self, context: int) -> KernelHandle:
        """Return the kernel's handle for the function that runs grids."""
        from gridjit.runtime.native.table import KernelHandle

        if (engine := self._engine()) is None:
            raise DeviceError(f"{self.artifact.kernel}: the host has no function that launches kernels by a handle")
        return KernelHandle(handle=ctypes.addressof(self._record(engine)), fail=self._fail)

    def launch(self, config: LaunchConfig, stream: Any, sharedmem: int, parameters: bytes, keep: object = None) -> None:
        """Run the grid in the stream's order; in the default stream, return when all blocks have run.

        Raises LaunchError, and in the default stream the kernel's exception; elsewhere, waiting for the stream does.
        """
        self._check(config, sharedmem)
        self.past.launches += 1
        if (handle := stream_handle(stream)) <= LEGACY and not attention.busy():
            self._launch(config, sharedmem, parameters)
            return
        from gridjit.runtime.queues.timeline import HOST  # many programs have no streams

        work = functools.partial(self._launch, config, sharedmem, parameters, keep)
        HOST.give(handle, work, brief=bool(self.is_brief(config)))

    def launch_here(self, config: LaunchConfig, sharedmem: int, parameters: bytes) -> None:
        """Run the grid now, in a stream whose turn has come; raises as launch does in the default stream."""
        self._check(config, sharedmem)
        self.past.launches += 1
        self._launch(config, sharedmem, parameters)

    def _check(self, config: LaunchConfig, sharedmem: int) -> None:
        """Raise LaunchError for a launch that the simulated GPU would refuse."""
        if config.cluster is not None:
            from gridjit.runtime.simulated.limits import check_cluster

            check_cluster(self.artifact, config)
        if self.artifact.cooperative or config.cooperative:
            from gridjit.runtime.simulated.limits import check_resident

            check_resident(self.artifact, config, sharedmem)
        if sharedmem + self.static_shared > _PLAIN_SHARED_BYTES:
            from gridjit.runtime.simulated.limits import check_shared

            check_shared(self.artifact, config, sharedmem)

    def _launch(self, config: LaunchConfig, sharedmem: int, parameters: bytes, keep: object = None) -> None:
        run = self._run_and_show if self.prints else self._run
        if self.checking is not None:
            self.checking.launch(
                config, parameters, sharedmem, lambda: self._unless_vain(run(config, parameters, sharedmem))
            )
        elif (failure := run(config, parameters, sharedmem)) is not None:
            self._raise(failure)

    def _unless_vain(self, failure: Status | None) -> Status | None:
        """Return a launch's failure; raises LaunchError if its threads deadlocked."""
        if failure is not None and failure.code <= SPINS:
            self._raise(failure)
        return failure

    def _run(self, config: LaunchConfig, parameters: bytes, sharedmem: int) -> Status | None:
        if (engine := self._engine(config)) is not None:
            from gridjit.runtime.devices.host.grids import launch_grid

            return launch_grid(engine, self._record(engine), self.function, config, parameters, sharedmem)
        stop = self._stop if self.device.may_have_engine else None
        return launch(
            self.function,
            config,
            parameters,
            sharedmem,
            self.threads,
            stop,
            resident=self._resident,
            patience=self.device.patience,
        )

    def _run_and_show(self, config: LaunchConfig, parameters: bytes, sharedmem: int) -> Status | None:
        from gridjit.runtime.devices.host.printed import show

        try:
            return self._run(config, parameters, sharedmem)
        finally:
            show()

    @property
    def _resident(self) -> bool:
        """Whether its blocks wait for each other."""
        return "resident" in self.artifact.resources

    def _engine(self, config: LaunchConfig | None = None) -> Engine | None:
        """Return the engine that runs grids in machine code, if made or worth it; else None.

        A kernel that is launched often is worth it, and a launch of many blocks.
        """
        many = config is not None and math.prod(config.griddim) >= _MANY
        return self.device.engine(make=many or self.past.launches >= _OFTEN)

    def _record(self, engine: Engine) -> KernelRecord:
        if not self.past.records:
            from gridjit.runtime.devices.host.grids import kernel_record

            image, patience = self.artifact.image, self.device.patience
            strided = "strided" in self.artifact.resources
            made = kernel_record(
                engine,
                self.function,
                image,
                self.threads,
                resident=self._resident,
                patience=patience,
                strided=strided,
            )
            self.past.records.append(made)
        return self.past.records[0]

    def _fail(self, config: LaunchConfig, report: bytes) -> NoReturn:
        """Raise the kernel's error in a launch that machine code made."""
        self._raise(judge(report, self.function, config))

    def _raise(self, failure: Status) -> NoReturn:
        if failure.code <= SPINS:
            from gridjit.runtime.devices.host.kernel_errors import vain_wait

            raise vain_wait(self.artifact, SPINS - failure.code, failure, self.device.patience)
        from gridjit.runtime.devices.exceptions import kernel_exception

        raise kernel_exception(self.artifact, failure.code, failure.block, failure.thread)

    def _stop(self, threads: set[int]) -> bool:
        """Stop threads in the kernel's code for ever; return whether all have left it."""
        if (engine := self.device.engine(make=True)) is None:
            return False
        from gridjit.runtime.devices.host.grids import code_of
        from gridjit.runtime.native.engine import freeze

        return freeze(engine, threads, code_of(self.function, self.artifact.image))

    def attributes(self) -> KernelAttributes:
        """Return the kernel's resource use, without a processor's registers and constants."""
        from gridjit.runtime.devices.base import KernelAttributes  # launches do without

        resources = self.artifact.resources
        return KernelAttributes(
            registers=0,
            shared_bytes=resources.get("shared_bytes", 0),
            local_bytes=resources.get("slab_bytes_per_thread", 0),
            constant_bytes=0,
            max_threads=MAX_BLOCK_THREADS,
        )

    def is_brief(self, config: LaunchConfig) -> bool | None:
        """Return whether earlier launches took too little time for another thread to be worth waking.

        A launch with blocks that wait, for whatever reason, may take any time.
        """
        if self._resident or self.prints or self.checking is not None:
            return False
        cost = self.past.records[0].cost if self.past.records else 0
        return cost * math.prod(config.griddim) <= _BRIEF_PS if cost else None

    def here(self) -> HostDevice:
        """Return the host device."""
        return self.device

    def potential_block(self, sharedmem: int = 0, limit: int = 0) -> int:
        """Return a block large enough for vector loops and small enough to share a grid among cores."""
        return min(_BLOCK, limit or _BLOCK)

    def resident_blocks(self, threads: int, sharedmem: int = 0) -> int | None:
        """Return how many blocks the GPU that the host stands in for holds at once; None if its limits are off."""
        from gridjit.runtime.simulated.limits import resident_blocks

        return resident_blocks(threads, self.static_shared + sharedmem)

    def prefer_cache(self, preference: str) -> None:
        """Raise DeviceError: every block shares all of the processor's cache."""
        raise DeviceError(f"{self.artifact.kernel}: the host's memory cannot be split into cache and shared memory")

    def prefer_shared(self, percent: int) -> None:
        """Raise DeviceError: every block shares all of the processor's cache."""
        self.prefer_cache("SHARED")


def _symbols(artifact: Artifact) -> Mapping[str, int]:
    """Return the addresses of this process's symbols for an artifact's code; most code needs none."""
    if NEEDS.isdisjoint(artifact.resources):
        return NO_SYMBOLS
    from gridjit.runtime.devices.host.printed import addresses

    return addresses(artifact.resources)


class HostDevice:
    """The processor. threads: how many run blocks at once.

    store: returns the store of machine code that runs grids; None: Python runs them. symbols: a folder for gdb.
    patience: how long, in nanoseconds, threads may wait without progress; 0: for ever.
    """

    ordinal: int | None = None
    staging: Space | None = None

    def __init__(
        self,
        *,
        threads: int,
        store: Callable[[], Store] | None = None,
        symbols: Path | None = None,
        patience: int = 0,
    ) -> None:
        self._threads = threads
        self._symbols = symbols
        self.patience = patience
        self.store = store
        self._made: list[Engine | None] = []

    @property
    def may_have_engine(self) -> bool:
        """Whether engine() may return one."""
        return self.store is not None and (not self._made or self._made[0] is not None)

    def engine(self, *, make: bool) -> Engine | None:
        """Return the engine that runs grids in machine code, if it is made or, with make, can be; else None."""
        if not self._made and make and self.store is not None:
            from gridjit.runtime.native.engine import engine

            store = self.store
            self._made.append(in_room(lambda: engine(store())))
        return self._made[0] if self._made else None

    @cached_property
    def target(self) -> Target:
        """This processor and its features."""
        return host_target()

    @property
    def space(self) -> Space:
        """This process's memory."""
        from gridjit.runtime.memory.space import HOST_SPACE  # kernels that use arrays in place do without

        return HOST_SPACE

    @property
    def timeline(self) -> Timeline:
        """This process's streams."""
        from gridjit.runtime.queues.timeline import HOST

        return HOST

    def capture(self, stream: int) -> HostCapture:
        """Return a capture of a stream's work for a graph."""
        from gridjit.runtime.devices.host.graphs import HostCapture  # most programs do without

        return HostCapture(self, stream)

    def load(self, artifact: Artifact, callbacks: ModuleCallbacks = NO_CALLBACKS) -> HostKernel:
        """Return artifact's code, executable; code of the host has no callbacks.

        Raises LinkError if a block of the simulated device has no room for its shared arrays, and CompileError if its
        arguments are too many for a launch.
        """
        shared = artifact.resources.get("shared_bytes", 0)
        if shared > _PLAIN_SHARED_BYTES or len(artifact.parameters) > _PLAIN_PARAMETERS:
            from gridjit.runtime.simulated.limits import check_static

            check_static(artifact)
        function, checking = in_room(lambda: self._loaded(artifact))
        if self._symbols is not None and "lines" in artifact.metadata:
            from gridjit.runtime.devices.host.load import write_symbols

            write_symbols(self._symbols, artifact.image, artifact.entry, function.address)
        return HostKernel(
            artifact=artifact,
            device=self,
            function=function,
            # Checked kernels report the same findings each time: blocks run in order.
            threads=1 if checking else self._threads,
            checking=checking,
            static_shared=shared,
            past=Past(),
        )

    def _loaded(self, artifact: Artifact) -> tuple[HostFunction, Checking | None]:
        """Return an artifact's code, and its launches' Checking if it is checked."""
        recursive = "recursive" in artifact.resources
        if "checks" not in artifact.metadata:
            return load(artifact.image, artifact.entry, _symbols(artifact), recursive=recursive), None
        from gridjit.runtime.devices.host.checking import SYMBOLS, Checking

        function = load(artifact.image, artifact.entry, _symbols(artifact), SYMBOLS, recursive=recursive)
        return function, Checking(artifact, function)


if TYPE_CHECKING:
    _device: type[Device] = HostDevice
    _kernel: type[LoadedKernel] = HostKernel
