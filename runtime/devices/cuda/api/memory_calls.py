"""MemoryCalls: the driver's calls that allocate, free, copy and fill memory, and answer questions about addresses."""

from __future__ import annotations

from typing import Any

from gridjit.base.forking import cached_property
from gridjit.runtime.devices.cuda.api.calls import Calls, error_name

# The driver copies so many bytes of pageable memory at once, as part of the command.
AT_ONCE_BYTES = 1 << 16
_HOST_MEMORY = 1  # CU_MEMORYTYPE_HOST
_RELAXED = "CU_STREAM_CAPTURE_MODE_RELAXED"


class MemoryCalls(Calls):
    """The driver's calls about memory."""

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
        """Return size bytes of device memory, usable by later work in stream."""
        return int(self.call("cuMemAllocFromPoolAsync", size, pool, stream))

    def free_in_stream(self, address: int, stream: int) -> None:
        """Free pool memory after stream's work so far."""
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
        """Allow calls that a capture in another stream of the thread would forbid and be broken by."""
        return WhileCapturing(self)

    def exchange_capture_mode(self, mode: Any) -> Any:
        """Set the calling thread's capture mode; return the mode before."""
        return self.call("cuThreadExchangeStreamCaptureMode", mode)

    @cached_property
    def relaxed(self) -> Any:
        """The mode in which a capture forbids nothing."""
        return self._enum("CUstreamCaptureMode", _RELAXED)

    def free_host(self, address: int) -> None:
        """Free page-locked host memory."""
        self.call("cuMemFreeHost", address)

    def register_host(self, address: int, size: int) -> None:
        """Page-lock host memory that another library allocated, for every context."""
        self.call("cuMemHostRegister", address, size, 0x01)  # CU_MEMHOSTREGISTER_PORTABLE

    def unregister_host(self, address: int) -> None:
        """Undo register_host."""
        self.call("cuMemHostUnregister", address)

    def copy_rows(self, rows: Any, stream: int | None) -> None:
        """Copy a pitched block of memory: a transfer.Rows. stream: None to return when it is done."""
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
        """Copy bytes between any two addresses. stream: None to return when it is done."""
        if stream is None:
            self.call("cuMemcpy", destination, source, size)
        else:
            self.call("cuMemcpyAsync", destination, source, size, stream)

    def copy_peer(self, destination: tuple[int, int], source: tuple[int, int], size: int, stream: int) -> None:
        """Copy bytes between two devices, in stream; each place is an address and its context."""
        self.call("cuMemcpyPeerAsync", *destination, *source, size, stream)

    def fill(self, address: int, value: int, count: int, itemsize: int, stream: int) -> None:
        """Set numbers of 1, 2 or 4 bytes of device memory, in stream."""
        self.call(f"cuMemsetD{8 * itemsize}Async", address, value, count, stream)

    def memory_at(self, address: int) -> tuple[int | None, bool, bool]:
        """Return the device that memory is on, and whether the host, and devices, use it in place.

        Memory that the driver does not know is the host's alone.
        """
        attribute = self._enum("CUpointer_attribute", "CU_POINTER_ATTRIBUTE_MEMORY_TYPE")
        # Most memory is the host's: an error that is not shown is not made.
        code, *values = self.api.cuPointerGetAttribute(attribute, address)
        if error_name(code) == "CUDA_ERROR_INVALID_VALUE":
            return None, True, False
        if int(code):
            raise self.error("cuPointerGetAttribute", code)
        ordinal = int(self._pointer_attribute("DEVICE_ORDINAL", address))
        on_host = int(values[0]) == _HOST_MEMORY or bool(self._pointer_attribute("IS_MANAGED", address))
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

    def __init__(self, driver: MemoryCalls) -> None:
        self._driver = driver

    def __enter__(self) -> None:
        self._before = self._driver.exchange_capture_mode(self._driver.relaxed)

    def __exit__(self, *_: object) -> None:
        self._driver.exchange_capture_mode(self._before)
