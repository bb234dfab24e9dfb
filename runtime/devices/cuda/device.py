"""CudaDevice: one GPU and its primary context. Calls go to the calling thread's current device."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from gridjit.base.forking import cached_property, lock, section
from gridjit.compiler.values.artifact import NO_CALLBACKS, Artifact, ModuleCallbacks
from gridjit.compiler.values.errors import DeviceError
from gridjit.compiler.values.target import Target
from gridjit.runtime.devices.cuda.api.driver import Driver, driver
from gridjit.runtime.devices.cuda.api.timeline import CudaTimeline
from gridjit.runtime.devices.cuda.load import CudaKernel, load
from gridjit.runtime.devices.cuda.memory.slab import Slab, slab_of
from gridjit.runtime.devices.cuda.memory.space import CudaSpace
from gridjit.runtime.devices.errors import LOST_CONTEXT, DriverError
from gridjit.runtime.queues.attention import watchers

if TYPE_CHECKING:
    from gridjit.cache.store import Store
    from gridjit.runtime.devices.base import Device
    from gridjit.runtime.devices.cuda.graphs import CudaCapture
    from gridjit.runtime.devices.cuda.memory.carrying import Carrier


class CudaDevice:
    """A GPU. ordinal: its number among the process's devices. siblings: the process's devices, if made already."""

    def __init__(self, driver: Driver, ordinal: int, siblings: Devices | None = None) -> None:
        if not 0 <= ordinal < (count := driver.device_count()):
            last = f"the last is device {count - 1}" if count else "there are none"
            raise DeviceError(f"there is no device {ordinal}; {last}")
        self.driver = driver
        self.ordinal = ordinal
        self.handle = driver.device(ordinal)
        self._siblings = siblings
        self._context = 0
        # For the first small arrays, if the context was made here.
        self.slab: Slab | None = None
        # Reentrant: the garbage collector may free memory here, which asks for the context.
        self._retaining = lock()

    @property
    def id(self) -> int:
        """The device's number."""
        return self.ordinal

    @cached_property
    def name(self) -> str:
        """The name of NVIDIA's product."""
        return self.driver.device_name(self.handle)

    @cached_property
    def compute_capability(self) -> tuple[int, int]:
        """(9, 0) for sm_90."""
        return (self.attribute("COMPUTE_CAPABILITY_MAJOR"), self.attribute("COMPUTE_CAPABILITY_MINOR"))

    @cached_property
    def target(self) -> Target:
        """The target whose code runs here."""
        major, minor = self.compute_capability
        return Target(kind="ptx", arch=f"sm_{major}{minor}")

    def another(self, ordinal: int) -> CudaDevice:
        """Return the device of a number, this one for its own; each GPU has one device, whose context is shared."""
        if ordinal == self.ordinal:
            return self
        if self._siblings is None:
            self._siblings = Devices(self.driver, self)
        return self._siblings[ordinal]

    def attribute(self, name: str) -> int:
        """Return an attribute by the driver's name for it, without CU_DEVICE_ATTRIBUTE_ ("MULTIPROCESSOR_COUNT")."""
        return self.driver.device_attribute(name, self.handle)

    def __getattr__(self, name: str) -> int:
        """Return an attribute under the driver's name for it, as numba-cuda's devices have it."""
        if not name.isupper():
            raise AttributeError(f"a CUDA device has no attribute {name!r}")
        return self.attribute(name)

    @cached_property
    def max_shared_bytes(self) -> int:
        """The most shared memory that a block can have, in bytes."""
        return self.attribute("MAX_SHARED_MEMORY_PER_BLOCK_OPTIN")

    @cached_property
    def launch_address(self) -> int:
        """The address of the driver's cuLaunchKernel."""
        return self.driver.entry_point("cuLaunchKernel")

    @property
    def context(self) -> int:
        """The handle of the primary context, which is made on first use."""
        if not self._context:
            with section(), self._retaining:
                self._context = self._context or self._retained()
        return self._context

    def _retained(self) -> int:
        is_new = not self.driver.primary_context_active(self.handle)
        context = self.driver.retain_primary_context(self.handle)
        self.slab = slab_of(self.driver, context) if is_new else None
        return context

    @property
    def context_id(self) -> int:
        """A number that changes when the primary context is reset; asking for it makes the new context ours."""
        try:
            return self.driver.context_id(self.context)
        except DriverError as error:
            if error.name not in LOST_CONTEXT:
                raise
        self._context = 0
        return self.driver.context_id(self.context)

    def make_current(self) -> None:
        """Make this device the calling thread's."""
        self.driver.set_context(self.context)

    def renew(self) -> int:
        """Return the context's number; a thread whose context was reset gets the new one."""
        before = self._context
        number = self.context_id
        if self._context != before and self.driver.current_context() == before:
            self.make_current()
        return number

    @property
    def current(self) -> CurrentDevice:
        """A context manager that makes the device the calling thread's, and restores the thread's own."""
        return CurrentDevice(self)

    def load(self, artifact: Artifact, callbacks: ModuleCallbacks = NO_CALLBACKS) -> CudaKernel:
        """Return artifact, loaded; raises DeviceError if it is for another architecture."""
        return load(self, artifact, callbacks)

    def capture(self, stream: int) -> CudaCapture:
        """Return a capture of a stream's work for a graph."""
        from gridjit.runtime.devices.cuda.graphs import CudaCapture  # most programs do without

        return CudaCapture(self, stream)

    def synchronize(self) -> None:
        """Wait for all work on the device; raises a kernel's error."""
        self.timeline.synchronize_all()

    @cached_property
    def timeline(self) -> CudaTimeline:
        """The device's streams and events."""
        made = CudaTimeline(self)
        for watcher in watchers:
            watcher.watch_timeline(made)
        return made

    @cached_property
    def space(self) -> CudaSpace:
        """The device's memory."""
        made = CudaSpace(self)
        for watcher in watchers:
            watcher.watch_space(made)
        return made

    @cached_property
    def carrier(self) -> Carrier:
        """Copies many bytes between the host's arrays and page-locked memory."""
        from gridjit.runtime.devices.cuda.memory.carrying import Carrier  # for many bytes

        return Carrier(self, None if self._siblings is None else self._siblings.store)

    @property
    def staging(self) -> CudaSpace:
        """The device's memory: it cannot use memory of the host's allocators."""
        return self.space

    def __repr__(self) -> str:
        return f"<CUDA device {self.ordinal}: {self.name}, {self.target}>"


class Devices:
    """The process's devices, each made once. made: the devices made already.

    store: returns the store of machine code that does Python's work for them; None: Python does it.
    """

    store: Callable[[], Store] | None = None

    def __init__(self, driver: Driver, *made: CudaDevice) -> None:
        self.driver = driver
        self._made = {device.ordinal: device for device in made}
        self._making = lock()

    def __getitem__(self, ordinal: int) -> CudaDevice:
        """Return a device by its number; raises DeviceError if there is none."""
        with section(), self._making:
            if ordinal not in self._made:
                self._made[ordinal] = CudaDevice(self.driver, ordinal, self)
            return self._made[ordinal]

    def __len__(self) -> int:
        return self.driver.device_count()

    def __iter__(self) -> Iterator[CudaDevice]:
        return (self[ordinal] for ordinal in range(len(self)))

    def current(self) -> CudaDevice:
        """Return the calling thread's device; a thread that has none gets device 0."""
        if self.driver.current_context():
            return self[self.driver.current_device()]
        first = self[0]
        first.make_current()
        return first


@functools.cache
def devices() -> Devices:
    """Return the process's devices; raises DeviceError without a driver or a device."""
    return Devices(driver())


def select_device(ordinal: int) -> CudaDevice:
    """Make a device the calling thread's, by its number; raises DeviceError if there is none."""
    chosen = devices()[ordinal]
    chosen.make_current()
    return chosen


def current_device() -> CudaDevice:
    """Return the calling thread's device; raises DeviceError if there is none."""
    return devices().current()


if TYPE_CHECKING:
    _device: type[Device] = CudaDevice


class CurrentDevice:
    """A device made the calling thread's for a few calls; afterwards the thread's own is restored.

    A thread that had no device keeps this one.
    """

    __slots__ = ("_before", "_device")

    def __init__(self, device: CudaDevice) -> None:
        self._device = device
        self._before = 0

    def __enter__(self) -> None:
        self._before = self._device.driver.current_context()
        if self._before != self._device.context:
            self._device.make_current()

    def __exit__(self, *_: object) -> None:
        if self._before and self._before != self._device.context:
            self._device.driver.set_context(self._before)
