"""Driver: the wall around cuda.bindings' driver module. Handles are ints on this side, and every error code is raised.

cuda.bindings is untyped and takes 70 ms to import; it is imported here alone, when something is first needed that a
start does without (plain/).
"""

from __future__ import annotations

import ctypes
import functools
import importlib
from typing import Any

from gridjit.compiler.errors import DeviceError
from gridjit.compiler.launch_config import LaunchConfig
from gridjit.forking import cached_property
from gridjit.runtime.devices.cuda import presence
from gridjit.runtime.devices.cuda.errors import ASYNCHRONOUS, DriverError, driver_error, lost_device_error
from gridjit.runtime.devices.cuda.last_launched import in_words
from gridjit.runtime.devices.cuda.plain.api import plain_api

# CU_LAUNCH_PARAM_BUFFER_POINTER, CU_LAUNCH_PARAM_BUFFER_SIZE, CU_LAUNCH_PARAM_END
_PARAMETERS, _SIZE, _END = 1, 2, 0
_Extra = ctypes.c_void_p * 5
# The driver copies so many bytes of pageable memory at once, as part of the command.
AT_ONCE_BYTES = 1 << 16
_HOST_MEMORY = 1  # CU_MEMORYTYPE_HOST
_RELAXED = "CU_STREAM_CAPTURE_MODE_RELAXED"


class Driver:
    """The driver's calls that gridjit makes. api: cuda.bindings.driver, or what stands in for it."""

    def __init__(self, api: Any) -> None:
        self.api = api
        # Contexts that a kernel's error made unusable, and what was told of it.
        self._lost: dict[int, str] = {}

    def call(self, name: str, *arguments: Any) -> Any:
        """Return what the driver's function of that name returns; raises DriverError or KernelError."""
        returned = getattr(self.api, name)(*arguments)
        if int(returned[0]):
            raise self.error(name, returned[0])
        return returned[1] if len(returned) == 2 else returned[1:]

    def error(self, call: str, code: Any) -> DriverError:
        """Return the exception for a code that call returned."""
        name, context = _error_name(code), self._context_of_error()
        if name in ASYNCHRONOUS and (first := self._lost.get(context)):
            return lost_device_error(call, name, first, int(code))
        _, text = self.api.cuGetErrorString(code)
        words = text.decode() if isinstance(text, bytes) else ""
        error = driver_error(call, name, words, code=int(code))
        if name in ASYNCHRONOUS:
            self._lost[context] = f"{error}; launched last: {in_words(None) or 'not known'}"
        return error

    def _context_of_error(self) -> int:
        """Return the calling thread's context; the one that was lost first, where the driver is past telling."""
        code, context = self.api.cuCtxGetCurrent()
        return next(iter(self._lost), 0) if int(code) else int(context)

    def _enum(self, family: str, name: str) -> Any:
        return getattr(getattr(self.api, family), name)

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
        """Return the library that a cubin holds; it belongs to no context."""
        return int(self.call("cuLibraryLoadData", image, [], [], 0, [], [], 0))

    def unload_library(self, library: int) -> None:
        """Unload a library; its kernels end with it."""
        self.call("cuLibraryUnload", library)

    def kernel(self, library: int, name: str) -> int:
        """Return the kernel of a library, a CUkernel: it can be launched in any context."""
        return int(self.call("cuLibraryGetKernel", library, name.encode()))

    def global_variable(self, library: int, name: str) -> int:
        """Return the address of a library's global variable in the current context; 0 if it has none of that name."""
        code, address, _ = self.api.cuLibraryGetGlobal(library, name.encode())
        if _error_name(code) == "CUDA_ERROR_NOT_FOUND":
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
            from gridjit.runtime.devices.cuda.extended_launch import launch_config  # most launches do without

            self.call("cuLaunchKernelEx", launch_config(self.api, config, stream, sharedmem), kernel, 0, given)
        else:
            self.call("cuLaunchKernel", kernel, *config.griddim, *config.blockdim, sharedmem, stream, 0, given)

    def entry_point(self, name: str) -> int:
        """Return the address of one of the driver's functions, for machine code that calls it."""
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
        """Return the context that a stream is of."""
        return int(self.call("cuStreamGetCtx", stream))

    def stream_done(self, stream: int) -> bool:
        """Return whether a stream has no work left."""
        return self._ready("cuStreamQuery", stream)

    def wait_event(self, stream: int, event: int) -> None:
        """Make what comes next in a stream wait for an event."""
        self.call("cuStreamWaitEvent", stream, event, 0)

    def stream_capturing(self, stream: int) -> bool:
        """Return whether work in a stream is being captured, or would break a capture that is under way."""
        code, status = self.api.cuStreamIsCapturing(stream)
        if _error_name(code) == "CUDA_ERROR_STREAM_CAPTURE_IMPLICIT":
            return True
        if int(code):
            raise self.error("cuStreamIsCapturing", code)
        return int(status) != 0

    def call_back(self, stream: int, function: Any, number: int) -> None:
        """Have the driver call a ctypes function with a number, in a thread of its own, once stream has got to here."""
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
        """Note in an event what a stream has been given so far."""
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
        if _error_name(code) == "CUDA_ERROR_NOT_READY":
            return False
        if int(code):
            raise self.error(name, code)
        return True

    # -- memory ------------------------------------------------------------------------------------------------------

    def create_pool(self, device: int, keep: int) -> int:
        """Return a pool of a device's memory that keeps up to keep freed bytes for the next allocation."""
        properties = self.api.CUmemPoolProps()
        properties.allocType = self._enum("CUmemAllocationType", "CU_MEM_ALLOCATION_TYPE_PINNED")
        properties.location.type = self._enum("CUmemLocationType", "CU_MEM_LOCATION_TYPE_DEVICE")
        properties.location.id = device
        pool = self.call("cuMemPoolCreate", properties)
        threshold = self._enum("CUmemPool_attribute", "CU_MEMPOOL_ATTR_RELEASE_THRESHOLD")
        self.call("cuMemPoolSetAttribute", pool, threshold, self.api.cuuint64_t(keep))
        return int(pool)

    def trim_pool(self, pool: int) -> None:
        """Give a pool's freed memory back to the system."""
        self.call("cuMemPoolTrimTo", pool, 0)

    def allocate_from_pool(self, size: int, pool: int, stream: int) -> int:
        """Return size bytes of device memory, usable by what comes later in stream."""
        return int(self.call("cuMemAllocFromPoolAsync", size, pool, stream))

    def free_in_stream(self, address: int, stream: int) -> None:
        """Free pool memory once stream has got to here."""
        self.call("cuMemFreeAsync", address, stream)

    def allocate(self, size: int) -> int:
        """Return size bytes of device memory."""
        return int(self.call("cuMemAlloc", size))

    def free(self, address: int) -> None:
        """Free device memory, after all work in the context."""
        self.call("cuMemFree", address)

    def allocate_host(self, size: int, *, mapped: bool = False) -> int:
        """Return size bytes of page-locked host memory, for every context; mapped: also addressable by the device."""
        flags = 0x01 | (0x02 if mapped else 0)  # CU_MEMHOSTALLOC_PORTABLE, _DEVICEMAP
        return int(self.call("cuMemHostAlloc", size, flags))

    def allocate_managed(self, size: int, *, everywhere: bool = True) -> int:
        """Return size bytes that move to where they are used; everywhere: by any stream of any device."""
        return int(self.call("cuMemAllocManaged", size, 0x01 if everywhere else 0x02))  # CU_MEM_ATTACH_GLOBAL, _HOST

    def while_capturing(self) -> WhileCapturing:
        """Allow calls that a capture in another of the thread's streams would forbid, and be broken by."""
        return WhileCapturing(self)

    def exchange_capture_mode(self, mode: Any) -> Any:
        """Set what a capture forbids the calling thread; return what was set before."""
        return self.call("cuThreadExchangeStreamCaptureMode", mode)

    @cached_property
    def relaxed(self) -> Any:
        """The mode in which a capture forbids nothing."""
        return self._enum("CUstreamCaptureMode", _RELAXED)

    def free_host(self, address: int) -> None:
        """Free page-locked host memory."""
        self.call("cuMemFreeHost", address)

    def register_host(self, address: int, size: int) -> None:
        """Page-lock host memory that someone else allocated, for every context."""
        self.call("cuMemHostRegister", address, size, 0x01)  # CU_MEMHOSTREGISTER_PORTABLE

    def unregister_host(self, address: int) -> None:
        """Undo register_host."""
        self.call("cuMemHostUnregister", address)

    def copy_rows(self, rows: Any, stream: int | None) -> None:
        """Copy a pitched block of memory: a transfer.Rows. stream: where, or None to return when it is done."""
        if rows.depth > 1:
            self._copy_planes(rows, stream)
            return
        copy = self.api.CUDA_MEMCPY2D()
        kind = self._enum("CUmemorytype", "CU_MEMORYTYPE_UNIFIED")
        copy.srcMemoryType = copy.dstMemoryType = kind
        copy.srcDevice, copy.srcPitch = self.api.CUdeviceptr(rows.source), rows.source_pitch
        copy.dstDevice, copy.dstPitch = self.api.CUdeviceptr(rows.destination), rows.destination_pitch
        copy.WidthInBytes, copy.Height = rows.width, rows.height
        if stream is None:
            self.call("cuMemcpy2DUnaligned", copy)
        else:
            self.call("cuMemcpy2DAsync", copy, stream)

    def _copy_planes(self, rows: Any, stream: int | None) -> None:
        copy = self.api.CUDA_MEMCPY3D()
        kind = self._enum("CUmemorytype", "CU_MEMORYTYPE_UNIFIED")
        copy.srcMemoryType = copy.dstMemoryType = kind
        copy.srcDevice, copy.srcPitch = self.api.CUdeviceptr(rows.source), rows.source_pitch
        copy.dstDevice, copy.dstPitch = self.api.CUdeviceptr(rows.destination), rows.destination_pitch
        copy.srcHeight, copy.dstHeight = rows.source_rows, rows.destination_rows
        copy.WidthInBytes, copy.Height, copy.Depth = rows.width, rows.height, rows.depth
        if stream is None:
            self.call("cuMemcpy3D", copy)
        else:
            self.call("cuMemcpy3DAsync", copy, stream)

    def copy(self, destination: int, source: int, size: int, stream: int | None) -> None:
        """Copy bytes between any two places. stream: where, or None to return when it is done."""
        if stream is None:
            self.call("cuMemcpy", destination, source, size)
        else:
            self.call("cuMemcpyAsync", destination, source, size, stream)

    def copy_peer(self, destination: tuple[int, int], source: tuple[int, int], size: int, stream: int) -> None:
        """Copy bytes between two devices, in stream; each place is an address and the context that it is of."""
        self.call("cuMemcpyPeerAsync", *destination, *source, size, stream)

    def fill(self, address: int, value: int, count: int, itemsize: int, stream: int) -> None:
        """Set numbers of 1, 2 or 4 bytes of device memory, in stream."""
        self.call(f"cuMemsetD{8 * itemsize}Async", address, value, count, stream)

    def memory_at(self, address: int) -> tuple[int | None, bool, bool]:
        """Return the device that memory is on, and whether the host, and devices, use it in place.

        Memory that the driver does not know is the host's alone.
        """
        try:
            kind = int(self._pointer_attribute("MEMORY_TYPE", address))
        except DriverError as error:
            if error.name != "CUDA_ERROR_INVALID_VALUE":
                raise
            return None, True, False
        ordinal = int(self._pointer_attribute("DEVICE_ORDINAL", address))
        on_host = kind == _HOST_MEMORY or bool(self._pointer_attribute("IS_MANAGED", address))
        return ordinal, on_host, True

    def _pointer_attribute(self, name: str, address: int) -> Any:
        return self.call(
            "cuPointerGetAttribute", self._enum("CUpointer_attribute", f"CU_POINTER_ATTRIBUTE_{name}"), address
        )

    def fill_words(self, address: int, value: int, count: int, stream: int) -> None:
        """Set count 32-bit words of device memory, in stream."""
        self.call("cuMemsetD32Async", address, value, count, stream)


class WhileCapturing:
    """A context manager in which a capture forbids the calling thread nothing."""

    __slots__ = ("_before", "_driver")

    def __init__(self, driver: Driver) -> None:
        self._driver = driver

    def __enter__(self) -> None:
        self._before = self._driver.exchange_capture_mode(self._driver.relaxed)

    def __exit__(self, *_: object) -> None:
        self._driver.exchange_capture_mode(self._before)


@functools.cache
def driver() -> Driver:
    """Return this process's driver, initialized; raises DeviceError saying why there is none to use."""
    if reason := presence.why_not():
        raise DeviceError(f"{reason}; GRIDJIT_TARGET=host runs kernels on this computer's processor")
    made = Driver(plain_api(lambda: importlib.import_module("cuda.bindings.driver")))
    made.start()
    return made


def _error_name(code: Any) -> str:
    return str(getattr(code, "name", None) or f"CUDA error {int(code)}")
