"""SimulatedDriver: the CUDA driver's functions, by its names, for devices that the host simulates.

numba-cuda's contexts, devices, memory, streams and events call these, over this process's memory. Calls that only a
real driver can make (load code, share memory with other processes) are refused with an error that says so.
"""

# The names are the driver's.
# ruff: noqa: N802, N815

from __future__ import annotations

import bisect
import ctypes
from collections.abc import Callable
from typing import Any

import numpy as np

from gridjit.runtime.environment.models import DeviceModel, UnknownAttributeError, active_blocks, attribute_of, model
from gridjit.runtime.environment.settings import settings
from gridjit.runtime.queues.timeline import HOST
from gridjit.runtime.simulated import current, memory
from gridjit.runtime.simulated.memory import ledger

# As of the driver of the models' values.
VERSION = 13000
# A context's handle, by the number of its device: any number but 0.
_CONTEXT = 0x6A690000
_ATTRIBUTE = "CU_DEVICE_ATTRIBUTE_"
_CALLBACK = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_int, ctypes.c_void_p)

# Makes the exception for a driver error, from its name and a message.
Failing = Callable[[str, str], Exception]


def context_handle(ordinal: int) -> int:
    """Return the handle of a device's primary context."""
    return _CONTEXT + ordinal


class SimulatedDriver:
    """The driver's functions. types: cuda.bindings.driver, whose handles they return. failing: makes its errors."""

    def __init__(self, types: Any, failing: Failing) -> None:
        self._types = types
        self._failing = failing
        self._allocations = SimulatedAllocations()
        self._handles: set[int] = set()

    def owns(self, handle: Any) -> bool:
        """Return whether memory, a stream or an event is of this driver."""
        return int(handle) in self._allocations or int(handle) in self._handles

    def refused(self, name: str) -> Callable[..., Any]:
        """Return a function that refuses a call which the host cannot answer; AttributeError if no driver has it."""
        getattr(self._types, name)

        def refuse(*_: Any) -> Any:
            raise self._failing(
                "CUDA_ERROR_NOT_SUPPORTED",
                f"Call to {name}: the host stands in for the GPU and has no driver that could do this; kernels made "
                "with gridjit's jit, its arrays and streams run on the host, anything else of the driver's needs a GPU",
            )

        return refuse

    # -- the process -------------------------------------------------------------------------------------------------

    def cuInit(self, *_: Any) -> None:
        """Return: the host need not begin, profile or lock memory."""

    cuProfilerStart = cuProfilerStop = cuMemHostRegister = cuMemHostUnregister = cuInit

    def cuDriverGetVersion(self) -> int:
        """Return the version of the driver that gave the devices' values."""
        return VERSION

    # -- devices -----------------------------------------------------------------------------------------------------

    @property
    def _model(self) -> DeviceModel:
        return model(settings().host_device)

    def cuDeviceGetCount(self) -> int:
        """Return how many devices are simulated."""
        return settings().host_devices

    def cuDeviceGet(self, ordinal: int) -> Any:
        """Return the handle of a device, which is its number."""
        return self._types.CUdevice(self._device(ordinal))

    def cuDeviceGetName(self, length: int, device: Any) -> bytes:
        """Return the name of a device."""
        self._device(device)
        return self._model.name.encode()[: length - 1]

    def cuDeviceTotalMem(self, device: Any) -> int:
        """Return the bytes of a device's memory."""
        self._device(device)
        return self._model.memory_bytes

    def cuDeviceGetAttribute(self, attribute: Any, device: Any) -> int:
        """Return an attribute, by the driver's enum."""
        ordinal = self._device(device)
        name = self._types.CUdevice_attribute(attribute).name.removeprefix(_ATTRIBUTE)
        try:
            return attribute_of(self._model, ordinal, name)
        except UnknownAttributeError as error:
            raise self._failing("CUDA_ERROR_NOT_SUPPORTED", str(error)) from None

    def cuDeviceCanAccessPeer(self, device: Any, other: Any) -> int:
        """Return whether two devices may share memory: any two may."""
        return int(current.can_access(int(device), int(other), self.cuDeviceGetCount()))

    def _device(self, device: Any) -> int:
        if not 0 <= int(device) < self.cuDeviceGetCount():
            raise self._failing("CUDA_ERROR_INVALID_DEVICE", f"there is no device {int(device)}")
        return int(device)

    # -- contexts ----------------------------------------------------------------------------------------------------

    def cuDevicePrimaryCtxRetain(self, device: Any) -> Any:
        """Return a device's context."""
        return self._types.CUcontext(context_handle(self._device(device)))

    def cuDevicePrimaryCtxRelease(self, device: Any) -> None:
        """Return: a context holds nothing."""
        self._device(device)

    def cuDevicePrimaryCtxReset(self, device: Any) -> None:
        """Wait for its work, and forget a device's requests."""
        HOST.settle()
        current.forget(self._device(device))

    def cuCtxGetCurrent(self) -> Any:
        """Return the calling thread's context, or 0."""
        return self._types.CUcontext(context_handle(current.ordinal()) if current.is_chosen() else 0)

    def cuCtxGetDevice(self) -> Any:
        """Return the calling thread's device."""
        self._need_context()
        return self._types.CUdevice(current.ordinal())

    def cuCtxPushCurrent(self, context: Any) -> None:
        """Make a context the calling thread's."""
        current.push(self._ordinal(context))

    def cuCtxPopCurrent(self) -> Any:
        """Return the calling thread's context, which it leaves."""
        self._need_context()
        left = current.pop()
        assert left is not None
        return self._types.CUcontext(context_handle(left))

    def cuCtxSetCurrent(self, context: Any) -> None:
        """Make a context the calling thread's, in place of its own; 0: leave it without a context."""
        if int(context):
            current.choose(self._ordinal(context))
        else:
            current.pop()

    def cuCtxSynchronize(self) -> None:
        """Wait for all streams."""
        self._need_context()
        HOST.synchronize_all()

    def cuCtxEnablePeerAccess(self, context: Any, flags: int) -> None:
        """Note that the current device uses the memory of another context's device."""
        here = current.ordinal()
        other = self._ordinal(context)
        if not current.can_access(here, other, self.cuDeviceGetCount()):
            raise self._failing("CUDA_ERROR_INVALID_DEVICE", "a device is not a peer of itself")
        if not current.enable(here, other):
            raise self._failing("CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED", "peer access is enabled already")

    def cuOccupancyMaxActiveBlocksPerMultiprocessor(self, kernel: Any, threads: int, dynamic: int) -> int:
        """Return how many blocks of a kernel a multiprocessor holds; the kernel is not read."""
        return active_blocks(self._model, threads, dynamic)

    def _ordinal(self, context: Any) -> int:
        ordinal = int(context) - _CONTEXT
        if not 0 <= ordinal < self.cuDeviceGetCount():
            raise self._failing("CUDA_ERROR_INVALID_CONTEXT", f"there is no context {int(context):#x}")
        return ordinal

    def _need_context(self) -> None:
        if not current.is_chosen():
            raise self._failing("CUDA_ERROR_INVALID_CONTEXT", "the thread has no context")

    # -- memory ------------------------------------------------------------------------------------------------------

    def cuMemGetInfo(self) -> tuple[int, int]:
        """Return the bytes that the current device has left, and in all."""
        return memory.info(current.ordinal())

    def cuMemAlloc(self, size: int) -> Any:
        """Return the address of size bytes of the current device's."""
        give = ledger.take(current.ordinal(), int(size), memory.most_of(settings()))
        if give is None:
            free, _ = self.cuMemGetInfo()
            raise self._failing("CUDA_ERROR_OUT_OF_MEMORY", f"{size} bytes; {free} are free")
        return self._types.CUdeviceptr(self._allocate(int(size), give))

    def cuMemAllocManaged(self, size: int, flags: int) -> Any:
        """Return the address of size bytes that host and device use."""
        return self._types.CUdeviceptr(self._allocate(int(size)))

    def cuMemHostAlloc(self, size: int, flags: int) -> int:
        """Return the address of size bytes of the host's."""
        return self._allocate(int(size))

    def cuMemHostGetDevicePointer(self, pointer: Any, flags: int) -> Any:
        """Return the address of host memory on the device: the same."""
        return self._types.CUdeviceptr(int(pointer))

    def cuMemFree(self, pointer: Any) -> None:
        """Free an allocation."""
        if int(pointer) not in self._allocations:
            raise self._failing("CUDA_ERROR_INVALID_VALUE", f"nothing was allocated at {int(pointer):#x}")
        self._allocations.free(int(pointer))

    cuMemFreeHost = cuMemFree

    def cuMemGetAddressRange(self, pointer: Any) -> tuple[Any, int]:
        """Return the allocation around an address: its address and size."""
        if (found := self._allocations.around(int(pointer))) is None:
            raise self._failing("CUDA_ERROR_NOT_FOUND", f"nothing was allocated around {int(pointer):#x}")
        return self._types.CUdeviceptr(found[0]), found[1]

    def cuPointerGetAttribute(self, attribute: Any, pointer: Any) -> Any:
        """Return an address's own address or its context; any other question is refused."""
        names = self._types.CUpointer_attribute
        if attribute == names.CU_POINTER_ATTRIBUTE_CONTEXT:
            return self._types.CUcontext(context_handle(current.ordinal()))
        if attribute not in (names.CU_POINTER_ATTRIBUTE_DEVICE_POINTER, names.CU_POINTER_ATTRIBUTE_HOST_POINTER):
            return self.refused("cuPointerGetAttribute")()
        return self._types.CUdeviceptr(int(pointer))

    def cuMemcpy(self, destination: Any, source: Any, size: int, stream: Any = None) -> None:
        """Copy size bytes in a stream's order, and wait for that."""
        HOST.do(int(stream or 0), lambda: ctypes.memmove(int(destination), int(source), int(size)))

    cuMemcpyHtoD = cuMemcpyDtoH = cuMemcpyDtoD = cuMemcpy
    cuMemcpyHtoDAsync = cuMemcpyDtoHAsync = cuMemcpyDtoDAsync = cuMemcpyAsync = cuMemcpy

    def cuMemsetD8(self, pointer: Any, value: int, count: int, stream: Any = None) -> None:
        """Set count bytes in a stream's order, and wait for that."""
        HOST.do(int(stream or 0), lambda: ctypes.memset(int(pointer), int(value), int(count)))

    cuMemsetD8Async = cuMemsetD8

    def _allocate(self, size: int, give: Callable[[], None] | None = None) -> int:
        if size <= 0:
            raise self._failing("CUDA_ERROR_INVALID_VALUE", f"{size} bytes")
        return self._allocations.make(size, give)

    # -- streams and events ------------------------------------------------------------------------------------------

    def cuStreamCreate(self, flags: int) -> Any:
        """Return a new stream."""
        return self._types.CUstream(self._noted(HOST.create_stream()))

    def cuStreamDestroy(self, stream: Any) -> None:
        """Forget a stream."""
        self._handles.discard(int(stream))
        HOST.destroy_stream(int(stream))

    def cuStreamSynchronize(self, stream: Any) -> None:
        """Wait for a stream."""
        HOST.synchronize(int(stream or 0))

    def cuStreamQuery(self, stream: Any) -> None:
        """Raise the driver's error if a stream has work left."""
        if not HOST.done(int(stream or 0)):
            raise self._failing("CUDA_ERROR_NOT_READY", "the stream has work left")

    def cuStreamWaitEvent(self, stream: Any, event: Any, flags: int = 0) -> None:
        """Make later work in a stream wait for an event."""
        HOST.wait(int(stream or 0), int(event))

    def cuEventQuery(self, event: Any) -> None:
        """Raise the driver's error if an event has not happened yet."""
        if not HOST.event_done(int(event)):
            raise self._failing("CUDA_ERROR_NOT_READY", "the event has not happened yet")

    def cuEventSynchronize(self, event: Any) -> None:
        """Wait for an event."""
        HOST.synchronize_event(int(event))

    def cuStreamAddCallback(self, stream: Any, callback: Any, data: Any, flags: int) -> None:
        """Call a C function after a stream's work so far."""
        handle, function, given = int(stream or 0), _CALLBACK(int(callback)), int(data)
        HOST.call_back(handle, lambda: function(handle, 0, given))

    def cuEventCreate(self, flags: int) -> Any:
        """Return a new event."""
        return self._types.CUevent(self._noted(HOST.create_event()))

    def cuEventDestroy(self, event: Any) -> None:
        """Forget an event's time."""
        self._handles.discard(int(event))
        HOST.destroy_event(int(event))

    def cuEventRecord(self, event: Any, stream: Any) -> None:
        """Note the time."""
        HOST.record(int(event), int(stream or 0))

    def cuEventElapsedTime(self, start: Any, end: Any) -> float:
        """Return the milliseconds between two events that were recorded."""
        return HOST.elapsed_ms(int(start), int(end))

    def _noted(self, handle: int) -> int:
        self._handles.add(handle)
        return handle


_ALIGNMENT = 256


class SimulatedAllocations:
    """Blocks of this process's memory, by their addresses."""

    def __init__(self) -> None:
        # In order, and the blocks: size, owner, and a function that is called when it is freed.
        self._addresses: list[int] = []
        self._blocks: dict[int, tuple[int, Any, Callable[[], None] | None]] = {}

    def __contains__(self, address: int) -> bool:
        return address in self._blocks

    def make(self, size: int, freed: Callable[[], None] | None = None) -> int:
        """Return the address of a new block of size bytes, aligned as on a GPU; freed is called when it is freed."""
        memory = np.zeros(size + _ALIGNMENT, np.uint8)
        address = -(-int(memory.ctypes.data) // _ALIGNMENT) * _ALIGNMENT
        bisect.insort(self._addresses, address)
        self._blocks[address] = size, memory, freed
        return address

    def free(self, address: int) -> None:
        """Free the block of an address, once streams have done their work so far."""
        del self._addresses[bisect.bisect_left(self._addresses, address)]
        _, memory, freed = self._blocks.pop(address)
        HOST.keep(memory)
        if freed is not None:
            freed()

    def around(self, address: int) -> tuple[int, int] | None:
        """Return the address and size of the block around an address; None if there is none."""
        at = bisect.bisect_right(self._addresses, address) - 1
        base = self._addresses[at] if at >= 0 else 0
        size = self._blocks[base][0] if base else 0
        return (base, size) if address < base + size else None
