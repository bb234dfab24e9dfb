"""load: an artifact's cubin in the driver, as a kernel that can be launched on every device of its architecture."""

from __future__ import annotations

import contextlib
import ctypes
import dataclasses
import weakref
from typing import TYPE_CHECKING, Any

from gridjit.base.forking import Lock, lock, section
from gridjit.base.values import dataclass, field
from gridjit.compiler.values.artifact import NO_CALLBACKS, Artifact, ModuleCallbacks
from gridjit.compiler.values.errors import ConfigError, DeviceError, LaunchError, LimitError
from gridjit.compiler.values.launch_config import Dim3, LaunchConfig
from gridjit.compiler.values.target import Target
from gridjit.runtime.devices.cuda.api.calls import in_words
from gridjit.runtime.devices.cuda.callbacks import Module, module_of
from gridjit.runtime.devices.errors import ASYNCHRONOUS, LOST_CONTEXT, DriverError
from gridjit.runtime.native.last_launches import last_launches
from gridjit.runtime.native.table import KernelHandle
from gridjit.runtime.queues.streams import PER_THREAD, stream_handle

if TYPE_CHECKING:
    from gridjit.runtime.devices.base import KernelAttributes, LoadedKernel
    from gridjit.runtime.devices.cuda.device import CudaDevice
    from gridjit.runtime.native.layout.staging_records import Rooms

# Shared memory that a block, and blocks that a cluster, may have without asking the driver.
PLAIN_SHARED_BYTES = 48 << 10
PLAIN_CLUSTER_BLOCKS = 8


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class CudaKernel:
    """An artifact's code in the driver; unloaded when the last reference to it goes.

    handle: its CUkernel, which can be launched in any context. module: calls the callbacks in the contexts it is in.
    """

    artifact: Artifact
    device: CudaDevice
    library: int
    handle: int
    static_shared: int
    checked: bool
    module: Module | None = None
    _asked: dict[tuple[int, str], int] = field(default_factory=dict, repr=False)
    _entries: dict[int, KernelHandle] = field(default_factory=dict, repr=False)
    _asking: Lock = field(default_factory=lock, repr=False)
    __weakref__: Any = field(init=False, repr=False)

    @property
    def grid_function(self) -> None:
        """None: the driver launches the kernel."""
        return None

    @property
    def driver_function(self) -> int | None:
        """The driver's cuLaunchKernel; None if only launch() can: it waits for debug kernels, and sets up modules."""
        plain = not self.checked and self.module is None and not self.artifact.cooperative
        return self.device.launch_address if plain else None

    @property
    def context(self) -> int:
        """The number of the calling thread's context, which no other context has; 0 without a live context."""
        try:
            return self.device.driver.context_id(0)
        except DriverError:
            return 0

    def entry(self, context: int) -> KernelHandle:
        """Return the handle that machine code launches in the calling thread's context, by its number.

        That is the CUfunction, which the driver launches faster than the CUkernel, the more so the more parameters
        there are; but it is valid in its own context only.
        """
        if not context:
            return KernelHandle(handle=self.handle)
        if (found := self._entries.get(context)) is None:
            driver = self.device.driver
            function = int(driver.call("cuKernelGetFunction", self.handle))
            # A room is memory of the device's own context.
            rooms = self._rooms if self.device.context_id == context else None
            found = KernelHandle(handle=function, ask=driver.entry_point("cuCtxGetId"), context=context, rooms=rooms)
            self._entries[context] = found
        return found

    def _rooms(self) -> Rooms:
        return self.device.space.rooms

    def launch(self, config: LaunchConfig, stream: Any, sharedmem: int, parameters: bytes, keep: object = None) -> None:
        """Launch the kernel in stream and return at once; debug kernels are waited for.

        Raises KernelError if the driver refuses the launch, a debug kernel's own exception, and a setup callback's
        exception.
        """
        handle = stream_handle(stream)
        if handle > PER_THREAD and self.device.driver.has_several_devices:
            self._refuse_another_devices(handle, config)
        if self.module is not None:
            _enter(self.device)
            self.module.set_up()
        if sharedmem + self.static_shared > PLAIN_SHARED_BYTES or config.cluster is not None or config.programmatic:
            self.prepare(config, sharedmem)
        if self.checked:
            self._refuse_capture(handle)
            clear(self, handle)
        self._launch(config, handle, sharedmem, parameters)
        last_launches.note(self.artifact.kernel, config, handle, self.device.ordinal)
        if self.checked:
            raise_fault(self, handle)

    def _refuse_another_devices(self, stream: int, config: LaunchConfig) -> None:
        """Raise ConfigError if stream is not of the current device, for which arguments were read."""
        driver = self.device.driver
        try:
            context = driver.stream_context(stream)
        except DriverError:
            return  # the launch says what is wrong with the stream
        if context != driver.current_context():
            raise ConfigError(
                f"{self.artifact.kernel} [{config}]: the stream is another device's than {self.device!r}, which is the "
                "current one; make the stream's device the current one, or a stream on this one"
            )

    def _refuse_capture(self, stream: int) -> None:
        if self.device.timeline.capturing(stream):
            raise LaunchError(
                f"{self.artifact.kernel}: the launch of a debug kernel waits for it, so it cannot be captured"
            )

    def _launch(self, config: LaunchConfig, stream: int, sharedmem: int, parameters: bytes) -> None:
        launch = self.device.driver.launch
        try:
            launch(self.handle, self._whole(config), stream, sharedmem, parameters)
        except DriverError as error:
            if error.name not in LOST_CONTEXT:
                raise self._explained(error, config, sharedmem) from None
            self.device.renew()
            self.device.make_current()
            launch(self.handle, self._whole(config), stream, sharedmem, parameters)

    def _whole(self, config: LaunchConfig) -> LaunchConfig:
        """Return config, cooperative if the code needs it."""
        if not self.artifact.cooperative or config.cooperative:
            return config
        return dataclasses.replace(config, cooperative=True)

    def prepare(self, config: LaunchConfig, sharedmem: int) -> None:
        """Ask the current device for a launch's special needs: much shared memory, a big cluster.

        Machine code that launches by the handle calls this once for a configuration. Raises ConfigError naming the
        limit.
        """
        device = self.here()
        if sharedmem + self.static_shared > PLAIN_SHARED_BYTES:
            limit = device.max_shared_bytes
            if sharedmem + self.static_shared > limit:
                raise LimitError(
                    f"{self.artifact.kernel} [{config}]: a block has {self.static_shared} bytes of static and "
                    f"{sharedmem} of dynamic shared memory; {device.name} allows {limit} together"
                )
            self._ask(device, "MAX_DYNAMIC_SHARED_SIZE_BYTES", sharedmem)
        if config.cluster is not None:
            self._prepare_cluster(device, config)
        if config.programmatic:
            self._need(device, config, (9, 0), "programmatic launches")

    def _need(self, device: CudaDevice, config: LaunchConfig, least: tuple[int, int], what: str) -> None:
        if device.compute_capability < least:
            raise ConfigError(
                f"{self.artifact.kernel} [{config}]: {device.name} has compute capability "
                f"{'.'.join(map(str, device.compute_capability))}; {what} need {'.'.join(map(str, least))}"
            )

    def _prepare_cluster(self, device: CudaDevice, config: LaunchConfig) -> None:
        cluster = config.cluster or (1, 1, 1)
        if any(blocks % size for blocks, size in zip(config.griddim, cluster, strict=True)):
            raise ConfigError(f"{self.artifact.kernel} [{config}]: the grid must be a multiple of the cluster")
        if config.preferred_cluster is not None:
            self._need(device, config, (10, 0), "preferred clusters")
        if cluster[0] * cluster[1] * cluster[2] > PLAIN_CLUSTER_BLOCKS:
            self._ask(device, "NON_PORTABLE_CLUSTER_SIZE_ALLOWED", 1)

    def _ask(self, device: CudaDevice, attribute: str, value: int) -> None:
        with section(), self._asking:
            if self._asked.get((device.ordinal, attribute), 0) < value:
                device.driver.set_kernel_attribute(attribute, value, self.handle, device.handle)
                self._asked[device.ordinal, attribute] = value

    def is_brief(self, config: LaunchConfig) -> bool | None:
        """Return True: the launch itself is brief; the driver does the rest."""
        return True

    def here(self) -> CudaDevice:
        """Return the device that a launch goes to from this thread."""
        driver = self.device.driver
        if not driver.current_context():
            self.device.make_current()
        return self.device.another(driver.current_device())

    def attributes(self) -> KernelAttributes:
        """Return the kernel's use of the current device."""
        from gridjit.runtime.devices.base import KernelAttributes  # launches do without

        here = self.here()

        def of(name: str) -> int:
            return here.driver.kernel_attribute(name, self.handle, here.handle)

        return KernelAttributes(
            registers=of("NUM_REGS"),
            shared_bytes=of("SHARED_SIZE_BYTES"),
            local_bytes=of("LOCAL_SIZE_BYTES"),
            constant_bytes=of("CONST_SIZE_BYTES"),
            max_threads=of("MAX_THREADS_PER_BLOCK"),
        )

    def potential_block(self, sharedmem: int = 0, limit: int = 0) -> int:
        """Return the block size that fills the current device best; limit: the most threads, if not 0."""
        self.here()
        return self.device.driver.potential_block(self.handle, sharedmem, limit)[1]

    def active_blocks(self, threads: int, sharedmem: int = 0) -> int:
        """Return how many blocks of so many threads a multiprocessor of the current device holds at once."""
        self.here()
        return self.device.driver.active_blocks(self.handle, threads, sharedmem)

    def resident_blocks(self, threads: int, sharedmem: int = 0) -> int | None:
        """Return how many blocks of so many threads the current device holds at once."""
        return self.active_blocks(threads, sharedmem) * self.here().attribute("MULTIPROCESSOR_COUNT")

    def prefer_cache(self, preference: str) -> None:
        """Set how launches on the current device split a multiprocessor's memory: NONE, SHARED, L1 or EQUAL."""
        here = self.here()
        here.driver.set_kernel_cache(preference, self.handle, here.handle)

    def prefer_shared(self, percent: int) -> None:
        """Set the shared part of that memory for launches on the current device, in percent."""
        here = self.here()
        here.driver.set_kernel_attribute("PREFERRED_SHARED_MEMORY_CARVEOUT", percent, self.handle, here.handle)

    def _explained(self, error: DriverError, config: LaunchConfig, sharedmem: int) -> DriverError:
        """Return error with the kernel, its configuration, and the resources it needs where these are the trouble."""
        if error.name in ASYNCHRONOUS:
            found = f"{error}, found while launching {self.artifact.kernel} [{config}]"
            before = in_words(None, self.device.ordinal)
            return error.saying(f"{found}; launched last: {before}" if before else found)
        words = [f"{self.artifact.kernel} [{config}]: {error}"]
        if error.name in ("CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES", "CUDA_ERROR_INVALID_VALUE"):
            uses = self.attributes()
            threads = config.blockdim[0] * config.blockdim[1] * config.blockdim[2]
            words.append(
                f"; a block has {threads} threads (at most {uses.max_threads}) of {uses.registers} registers and "
                f"{uses.shared_bytes + sharedmem} bytes of shared memory"
            )
        if error.name == "CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE":
            threads = config.blockdim[0] * config.blockdim[1] * config.blockdim[2]
            resident = self.resident_blocks(threads, sharedmem)
            words.append(f"; at most {resident} blocks of {threads} threads are resident")
        return error.saying("".join(words))


def load(device: CudaDevice, artifact: Artifact, callbacks: ModuleCallbacks = NO_CALLBACKS) -> CudaKernel:
    """Return artifact loaded into the driver; raises DeviceError if device cannot run it."""
    if not _runs_on(artifact.target, device.target):
        raise DeviceError(f"{artifact.kernel} was compiled for {artifact.target}, and {device!r} is another")
    _enter(device)
    with device.driver.while_capturing():  # a stream may be captured: then all is allowed, not captured
        return _loaded(device, artifact, callbacks)


def _loaded(device: CudaDevice, artifact: Artifact, callbacks: ModuleCallbacks) -> CudaKernel:
    driver = device.driver
    module = Module(device, module_of(artifact.image), callbacks) if callbacks else None
    library = driver.load_library(artifact.image) if module is None else module.handle
    handle = driver.kernel(library, artifact.entry)
    kernel = CudaKernel(
        artifact=artifact,
        device=device,
        library=library,
        handle=handle,
        static_shared=driver.kernel_attribute("SHARED_SIZE_BYTES", handle, device.handle),
        checked=bool(driver.global_variable(library, code_name(artifact))),
        module=module,
    )
    carveout = artifact.metadata.get("shared_memory_carveout")
    if carveout is not None:
        driver.set_kernel_attribute("PREFERRED_SHARED_MEMORY_CARVEOUT", int(carveout), handle, device.handle)
    _unload_with(kernel, device, library, module)
    return kernel


def _runs_on(wanted: Target, here: Target) -> bool:
    """Return whether code for one target runs on a device of another: code for sm_90a runs on sm_90."""
    return wanted == here or (wanted.kind == here.kind and wanted.arch == f"{here.arch}a")


def _unload_with(kernel: CudaKernel, device: CudaDevice, library: int, module: Module | None) -> None:
    """Unload a kernel's code when the kernel goes; a module unloads itself after its callbacks.

    At interpreter exit, the process's end unloads it, as the driver may be gone already; callbacks are called before.
    """
    if module is None:
        weakref.finalize(kernel, _unload, device, library).atexit = False
    else:
        weakref.finalize(kernel, module.tear_down)


def _enter(device: CudaDevice) -> None:
    """Give the calling thread a live context: device's, if it has none or its own was reset."""
    if not device.driver.current_context():
        device.make_current()
        return
    try:
        device.driver.context_id(0)
    except DriverError as error:
        if error.name not in LOST_CONTEXT:
            raise
        device.renew()


def _unload(device: CudaDevice, library: int) -> None:
    """Unload a library; it goes at any time, so that a stream of this thread may be captured."""
    with contextlib.suppress(DriverError), device.driver.while_capturing():  # a lost context took the library along
        device.driver.unload_library(library)


if TYPE_CHECKING:
    _kernel: type[LoadedKernel] = CudaKernel


def code_name(artifact: Artifact) -> str:
    """Return the name of the variable that holds the exception's code; 0 means that there was none."""
    return f"{artifact.entry}__errcode__"


def clear(kernel: CudaKernel, stream: int) -> None:
    """Forget an earlier launch's exception, in stream."""
    driver = kernel.device.driver
    driver.fill_words(driver.global_variable(kernel.library, code_name(kernel.artifact)), 0, 1, stream)


def raise_fault(kernel: CudaKernel, stream: int) -> None:
    """Wait for stream, then raise the exception of a thread of the kernel's last launch, if any."""
    kernel.device.timeline.synchronize(stream)
    code = _read(kernel, code_name(kernel.artifact))
    if code:
        from gridjit.runtime.devices.exceptions import kernel_exception

        block, thread = _place(kernel, "ctaid"), _place(kernel, "tid")
        raise kernel_exception(kernel.artifact, code, block, thread)


def _place(kernel: CudaKernel, what: str) -> Dim3:
    x, y, z = (_read(kernel, f"{kernel.artifact.entry}__{what}{axis}__") for axis in "xyz")
    return (x, y, z)


def _read(kernel: CudaKernel, name: str) -> int:
    driver = kernel.device.driver
    value = ctypes.c_int32()
    address = driver.global_variable(kernel.library, name)
    if address:
        driver.copy(ctypes.addressof(value), address, ctypes.sizeof(value), None)
    return value.value
