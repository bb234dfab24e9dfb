"""Driver: the wall around cuda.bindings' driver module. Handles are ints on this side, and every error code is raised.

cuda.bindings is untyped and takes 70 ms to import; only this module imports it, on the first call that is not in
plain_api.
"""

from __future__ import annotations

import ctypes
import functools
import importlib
from typing import Any

from gridjit.base.forking import cached_property
from gridjit.compiler.values.errors import DeviceError
from gridjit.compiler.values.launch_config import LaunchConfig
from gridjit.runtime.devices import presence
from gridjit.runtime.devices.cuda.api.calls import error_name
from gridjit.runtime.devices.cuda.api.memory_calls import MemoryCalls
from gridjit.runtime.devices.cuda.api.plain_api import PlainApi, plain_api

# CU_LAUNCH_PARAM_BUFFER_POINTER, CU_LAUNCH_PARAM_BUFFER_SIZE, CU_LAUNCH_PARAM_END
_PARAMETERS, _SIZE, _END = 1, 2, 0
_Extra = ctypes.c_void_p * 5


class Driver(MemoryCalls):
    """The driver's calls that gridjit makes."""

    @property
    def default_is_legacy(self) -> bool:
        """Whether stream 0 is known to be the same stream in all threads."""
        return isinstance(self.api, PlainApi)

    # -- devices and contexts ----------------------------------------------------------------------------------------

    def start(self) -> None:
        """Initialize the driver; more than once does no harm."""
        self.call("cuInit", 0)

    def device_count(self) -> int:
        """Return the number of devices."""
        return int(self.call("cuDeviceGetCount"))

    @cached_property
    def has_several_devices(self) -> bool:
        """Whether there is more than one device."""
        return self.device_count() > 1

    def device(self, ordinal: int) -> int:
        """Return the handle of a device."""
        return int(self.call("cuDeviceGet", ordinal))

    def device_name(self, device: int) -> str:
        """Return a device's name, as NVIDIA sells it."""
        return str(self.call("cuDeviceGetName", 256, device).split(b"\0")[0].decode())

    def device_attribute(self, name: str, device: int) -> int:
        """Return an attribute of a device; name is the driver's, without CU_DEVICE_ATTRIBUTE_."""
        attribute = self._enum("CUdevice_attribute", f"CU_DEVICE_ATTRIBUTE_{name}")
        return int(self.call("cuDeviceGetAttribute", attribute, device))

    def current_context(self) -> int:
        """Return the calling thread's context; 0 if it has none."""
        return int(self.call("cuCtxGetCurrent"))

    def current_device(self) -> int:
        """Return the device of the calling thread's context."""
        return int(self.call("cuCtxGetDevice"))

    def retain_primary_context(self, device: int) -> int:
        """Return a device's primary context, making it if need be."""
        return int(self.call("cuDevicePrimaryCtxRetain", device))

    def primary_context_active(self, device: int) -> bool:
        """Return whether a device's primary context exists already."""
        _, active = self.call("cuDevicePrimaryCtxGetState", device)
        return bool(active)

    def set_context(self, context: int) -> None:
        """Make context the calling thread's."""
        self.call("cuCtxSetCurrent", context)

    def context_id(self, context: int) -> int:
        """Return a number that no other context of this process ever has."""
        return int(self.call("cuCtxGetId", context))

    def synchronize(self) -> None:
        """Wait for all work in the calling thread's context."""
        self.call("cuCtxSynchronize")

    # -- code --------------------------------------------------------------------------------------------------------

    def load_library(self, image: bytes) -> int:
        """Return the library of a cubin; it belongs to no context."""
        return int(self.call("cuLibraryLoadData", image, [], [], 0, [], [], 0))

    def unload_library(self, library: int) -> None:
        """Unload a library; its kernels end with it."""
        self.call("cuLibraryUnload", library)

    def kernel(self, library: int, name: str) -> int:
        """Return the kernel of a library, a CUkernel: it can be launched in any context."""
        return int(self.call("cuLibraryGetKernel", library, name.encode()))

    def global_variable(self, library: int, name: str) -> int:
        """Return the address of a library's global variable in the current context; 0 if there is no such variable."""
        code, address, _ = self.api.cuLibraryGetGlobal(library, name.encode())
        if error_name(code) == "CUDA_ERROR_NOT_FOUND":
            return 0
        if int(code):
            raise self.error("cuLibraryGetGlobal", code)
        return int(address)

    def kernel_attribute(self, name: str, kernel: int, device: int) -> int:
        """Return an attribute of a kernel on a device; name is the driver's, without CU_FUNC_ATTRIBUTE_."""
        attribute = self._enum("CUfunction_attribute", f"CU_FUNC_ATTRIBUTE_{name}")
        return int(self.call("cuKernelGetAttribute", attribute, kernel, device))

    def set_kernel_attribute(self, name: str, value: int, kernel: int, device: int) -> None:
        """Set an attribute of a kernel on a device."""
        attribute = self._enum("CUfunction_attribute", f"CU_FUNC_ATTRIBUTE_{name}")
        self.call("cuKernelSetAttribute", attribute, value, kernel, device)

    def set_kernel_cache(self, preference: str, kernel: int, device: int) -> None:
        """Prefer "L1", "SHARED", "EQUAL" or "NONE" when a device's launches of a kernel split its on-chip memory."""
        config = self._enum("CUfunc_cache", f"CU_FUNC_CACHE_PREFER_{preference}")
        self.call("cuKernelSetCacheConfig", kernel, config, device)

    def potential_block(self, kernel: int, sharedmem: int, limit: int) -> tuple[int, int]:
        """Return the smallest grid and the block size that fill the current device best."""
        grid, block = self.call("cuOccupancyMaxPotentialBlockSize", kernel, None, sharedmem, limit)
        return int(grid), int(block)

    def active_blocks(self, kernel: int, threads: int, sharedmem: int) -> int:
        """Return how many blocks of a kernel a multiprocessor of the current device holds at once."""
        return int(self.call("cuOccupancyMaxActiveBlocksPerMultiprocessor", kernel, threads, sharedmem))

    def launch(self, kernel: int, config: LaunchConfig, stream: int, sharedmem: int, parameters: bytes) -> None:
        """Launch a kernel; parameters are packed as it declares them."""
        buffer = (ctypes.c_char * len(parameters)).from_buffer_copy(parameters)
        size = ctypes.c_size_t(len(parameters))
        extra = _Extra(_PARAMETERS, ctypes.addressof(buffer), _SIZE, ctypes.addressof(size), _END)
        given = ctypes.addressof(extra) if parameters else 0
        if config.cooperative or config.programmatic or config.cluster is not None:
            self.call("cuLaunchKernelEx", launch_config(self.api, config, stream, sharedmem), kernel, 0, given)
        else:
            self.call("cuLaunchKernel", kernel, *config.griddim, *config.blockdim, sharedmem, stream, 0, given)

    def entry_point(self, name: str) -> int:
        """Return the address of a driver function, for machine code that calls it."""
        version = int(self.call("cuDriverGetVersion"))
        flags = self._enum("CUdriverProcAddress_flags", "CU_GET_PROC_ADDRESS_DEFAULT")
        address, _ = self.call("cuGetProcAddress", name.encode(), version, flags)
        return int(address)

    # -- streams and events ------------------------------------------------------------------------------------------

    def create_stream(self, priority: int = 0, *, nonblocking: bool = False) -> int:
        """Return a new stream in the current context."""
        flags = self._enum("CUstream_flags", "CU_STREAM_NON_BLOCKING" if nonblocking else "CU_STREAM_DEFAULT")
        return int(self.call("cuStreamCreateWithPriority", int(flags), priority))

    def priorities(self) -> tuple[int, int]:
        """Return the lowest and the highest priority of the current context's streams."""
        least, greatest = self.call("cuCtxGetStreamPriorityRange")
        return int(least), int(greatest)

    def stream_priority(self, stream: int) -> int:
        """Return a stream's priority."""
        return int(self.call("cuStreamGetPriority", stream))

    def stream_blocks(self, stream: int) -> bool:
        """Return whether a stream is ordered with the default stream."""
        flags = int(self.call("cuStreamGetFlags", stream))
        return not flags & int(self._enum("CUstream_flags", "CU_STREAM_NON_BLOCKING"))

    def destroy_stream(self, stream: int) -> None:
        """Destroy a stream once its work is done."""
        self.call("cuStreamDestroy", stream)

    def synchronize_stream(self, stream: int) -> None:
        """Wait for all work in a stream."""
        self.call("cuStreamSynchronize", stream)

    def stream_context(self, stream: int) -> int:
        """Return a stream's context."""
        return int(self.call("cuStreamGetCtx", stream))

    def stream_done(self, stream: int) -> bool:
        """Return whether a stream has no work left."""
        return self._ready("cuStreamQuery", stream)

    def wait_event(self, stream: int, event: int) -> None:
        """Make later work in a stream wait for an event."""
        self.call("cuStreamWaitEvent", stream, event, 0)

    def stream_capturing(self, stream: int) -> bool:
        """Return whether work in a stream is being captured, or would break a capture that is under way."""
        code, status = self.api.cuStreamIsCapturing(stream)
        if error_name(code) == "CUDA_ERROR_STREAM_CAPTURE_IMPLICIT":
            return True
        if int(code):
            raise self.error("cuStreamIsCapturing", code)
        return int(status) != 0

    def call_back(self, stream: int, function: Any, number: int) -> None:
        """Call a ctypes function with a number once stream's earlier work is done, in a thread of the driver's own."""
        address = ctypes.cast(function, ctypes.c_void_p).value
        self.call("cuLaunchHostFunc", stream, self.api.CUhostFn(address), number)

    def create_event(self, *, timing: bool = True) -> int:
        """Return a new event in the current context."""
        flags = self._enum("CUevent_flags", "CU_EVENT_DEFAULT" if timing else "CU_EVENT_DISABLE_TIMING")
        return int(self.call("cuEventCreate", int(flags)))

    def destroy_event(self, event: int) -> None:
        """Destroy an event."""
        self.call("cuEventDestroy", event)

    def record_event(self, event: int, stream: int) -> None:
        """Record the stream's work so far in an event."""
        self.call("cuEventRecord", event, stream)

    def synchronize_event(self, event: int) -> None:
        """Wait for the work noted in an event."""
        self.call("cuEventSynchronize", event)

    def event_done(self, event: int) -> bool:
        """Return whether the work noted in an event is done."""
        return self._ready("cuEventQuery", event)

    def elapsed_ms(self, start: int, end: int) -> float:
        """Return the milliseconds between two events that have happened."""
        return float(self.call("cuEventElapsedTime", start, end))

    def _ready(self, name: str, handle: int) -> bool:
        code, *_ = getattr(self.api, name)(handle)
        if error_name(code) == "CUDA_ERROR_NOT_READY":
            return False
        if int(code):
            raise self.error(name, code)
        return True


@functools.cache
def driver() -> Driver:
    """Return this process's driver, initialized; raises DeviceError saying why it cannot be used."""
    if reason := presence.why_not():
        raise DeviceError(f"{reason}; GRIDJIT_TARGET=host runs kernels on this computer's processor")
    made = Driver(plain_api(lambda: importlib.import_module("cuda.bindings.driver")))
    made.start()
    return made


def launch_config(api: Any, config: LaunchConfig, stream: int, sharedmem: int) -> Any:
    """Return the argument of cuLaunchKernelEx. api: cuda.bindings.driver, or a stand-in for it."""
    made = api.CUlaunchConfig()
    made.gridDimX, made.gridDimY, made.gridDimZ = config.griddim
    made.blockDimX, made.blockDimY, made.blockDimZ = config.blockdim
    made.sharedMemBytes = sharedmem
    made.hStream = api.CUstream(stream)
    made.attrs = _attributes(api, config)
    made.numAttrs = len(made.attrs)
    return made


def _attributes(api: Any, config: LaunchConfig) -> list[Any]:
    attributes: list[Any] = []
    if config.cooperative:
        cooperative = _attribute(api, "COOPERATIVE", attributes)
        cooperative.value.cooperative = 1
    if config.cluster is not None:
        dim = _attribute(api, "CLUSTER_DIMENSION", attributes).value.clusterDim
        dim.x, dim.y, dim.z = config.cluster
    if config.preferred_cluster is not None:
        dim = _attribute(api, "PREFERRED_CLUSTER_DIMENSION", attributes).value.preferredClusterDim
        dim.x, dim.y, dim.z = config.preferred_cluster
    if config.programmatic:
        serialization = _attribute(api, "PROGRAMMATIC_STREAM_SERIALIZATION", attributes)
        serialization.value.programmaticStreamSerializationAllowed = 1
    return attributes


def _attribute(api: Any, name: str, attributes: list[Any]) -> Any:
    """Add a new attribute of a launch to attributes, and return it."""
    made = api.CUlaunchAttribute()
    made.id = getattr(api.CUlaunchAttributeID, f"CU_LAUNCH_ATTRIBUTE_{name}")
    attributes.append(made)
    return made
