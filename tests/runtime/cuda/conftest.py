"""A stand-in for the driver: it records every call, keeps "device" memory on the host, and fails when told to."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from gridjit.compiler.values.artifact import Artifact
from gridjit.compiler.values.footprint import Effects, Footprint
from gridjit.compiler.values.target import ExceptionEntry, Target
from gridjit.runtime.devices.cuda.api.driver import Driver
from gridjit.runtime.devices.cuda.device import CudaDevice
from tests.ptx import run_ptx

CONTEXT = 0xC0
ATTRIBUTES = {
    "COMPUTE_CAPABILITY_MAJOR": 9,
    "COMPUTE_CAPABILITY_MINOR": 0,
    "MULTIPROCESSOR_COUNT": 132,
    "MAX_SHARED_MEMORY_PER_BLOCK_OPTIN": 232448,
    "MEMORY_POOLS_SUPPORTED": 1,
    "MANAGED_MEMORY": 1,
}
KERNEL_ATTRIBUTES = {
    "NUM_REGS": 40,
    "SHARED_SIZE_BYTES": 1024,
    "LOCAL_SIZE_BYTES": 0,
    "CONST_SIZE_BYTES": 0,
    "MAX_THREADS_PER_BLOCK": 1024,
}


class StandIn:
    """cuda.bindings.driver's functions, as far as gridjit calls them; its types are the real ones."""

    def __init__(self) -> None:
        self.calls: list[tuple[str, tuple[Any, ...]]] = []
        self.failures: dict[str, str] = {}
        self.context = 0
        # Whether somebody else made the primary context before.
        self.active = True
        self.epoch = 1
        self.capturing: set[int] = set()
        self.contexts: dict[int, int] = {}
        self.priorities: dict[int, int] = {}
        self.memory: dict[int, np.ndarray] = {}
        self.pointers: dict[int, dict[str, int]] = {}
        self.globals: dict[bytes, ctypes.c_int32] = {}
        self.packed: list[bytes] = []
        self.called_back: list[tuple[Any, int]] = []
        self.attributes = dict(ATTRIBUTES)
        self.mode: Any = None
        # Nodes of the graph that is captured, and parameters that nodes were given later.
        self.libraries: dict[int, bytes] = {}
        self.texts: dict[int, str] = {}
        self.nodes: list[Any] = []
        self.set_parameters: list[tuple[int, bytes]] = []
        self._next = 0x100

    def __getattr__(self, name: str) -> Any:
        from cuda.bindings import driver

        if not name.startswith("cu") or not name[2].isupper():
            return getattr(driver, name)
        known = self._functions.get(name)
        if known is None:
            raise AttributeError(f"the stand-in has no {name}")

        def recorded(*arguments: Any) -> tuple[Any, ...]:
            self.calls.append((name, arguments))
            if (failure := self.failures.get(name)) is not None:
                return (self.code(failure), 0, 0)
            values = known(self, *arguments)
            return (self.code("CUDA_SUCCESS"), *(values if isinstance(values, tuple) else (values,)))

        return recorded

    def code(self, name: str) -> Any:
        return getattr(self.CUresult, name)

    def called(self, name: str) -> list[tuple[Any, ...]]:
        """Return the arguments of each call of a function."""
        return [arguments for called, arguments in self.calls if called == name]

    def handle(self) -> int:
        self._next += 16
        return self._next

    def allocate(self, size: int) -> int:
        block = np.full(size + 256, 0xAA, np.uint8)
        address = -(-block.__array_interface__["data"][0] // 256) * 256
        self.memory[address] = block
        return address

    def free(self, address: int) -> tuple[()]:
        del self.memory[int(address)]
        return ()

    def set_context(self, context: int) -> tuple[()]:
        self.context = int(context)
        return ()

    def launch(self, *arguments: Any) -> tuple[()]:
        extra = arguments[-1]
        if extra:
            at = (ctypes.c_size_t * 5).from_address(extra)
            assert (at[0], at[2], at[4]) == (1, 2, 0)
            self.packed.append(ctypes.string_at(at[1], ctypes.c_size_t.from_address(at[3]).value))
        else:
            self.packed.append(b"")
        if isinstance(arguments[0], int) and (text := self.texts.get(arguments[0])) is not None:
            run_ptx(text, arguments[1], arguments[4:6], self.packed[-1])
        return ()

    def copy(self, destination: Any, source: Any, size: int, stream: Any = None) -> tuple[()]:
        ctypes.memmove(int(destination), int(source), size)
        return ()

    def copy_2d(self, copy: Any, stream: Any = None) -> tuple[()]:
        assert copy.srcPitch >= copy.WidthInBytes and copy.dstPitch >= copy.WidthInBytes
        for row in range(copy.Height):
            source = int(copy.srcDevice) + row * copy.srcPitch
            ctypes.memmove(int(copy.dstDevice) + row * copy.dstPitch, source, copy.WidthInBytes)
        return ()

    def copy_3d(self, copy: Any, stream: Any = None) -> tuple[()]:
        assert copy.srcHeight >= copy.Height and copy.dstHeight >= copy.Height
        for plane in range(copy.Depth):
            for row in range(copy.Height):
                source = int(copy.srcDevice) + (plane * copy.srcHeight + row) * copy.srcPitch
                to = int(copy.dstDevice) + (plane * copy.dstHeight + row) * copy.dstPitch
                ctypes.memmove(to, source, copy.WidthInBytes)
        return ()

    def load_library(self, image: bytes, *_: Any) -> int:
        handle = self.handle()
        self.libraries[handle] = image
        return handle

    def kernel(self, library: int, name: bytes) -> int:
        """Return a kernel's handle; text of ours is run by an interpreter when it is launched."""
        handle = self.handle()
        if self.libraries.get(int(library), b"").startswith(b".version"):
            self.texts[handle] = self.libraries[int(library)].rstrip(b"\0").decode()
        return handle

    def create_stream(self, flags: int, priority: int) -> int:
        self.contexts[handle := self.handle()] = self.context
        self.priorities[handle] = priority
        return handle

    def global_variable(self, library: int, name: bytes) -> tuple[int, int]:
        return (ctypes.addressof(self.globals[name]), 4)

    def fill(self, address: int, value: int, count: int, stream: int, kind: Any = ctypes.c_uint32) -> tuple[()]:
        for index in range(count):
            kind.from_address(address + ctypes.sizeof(kind) * index).value = value
        return ()

    def exchange_mode(self, mode: Any) -> Any:
        self.mode, before = mode, self.mode
        return before

    def begin_capture(self, stream: int, mode: Any) -> tuple[()]:
        self.capturing.add(int(stream))
        self.nodes = []
        return ()

    def end_capture(self, stream: int) -> int:
        self.capturing.discard(int(stream))
        return self.handle()

    def capture_info(self, stream: int) -> tuple[Any, ...]:
        given = [name for name, arguments in self.calls if name in ("cuLaunchKernel", "cuMemcpyAsync")]
        if len(given) > len(self.nodes):
            self.nodes += [0x9000 + number for number in range(len(self.nodes), len(given))]
        return (1, 7, 0x77, self.nodes[-1:], [], 1)

    def set_node(self, executable: int, node: int, parameters: Any) -> tuple[()]:
        at = (ctypes.c_size_t * 5).from_address(int(parameters.extra))
        packed = ctypes.string_at(at[1], ctypes.c_size_t.from_address(at[3]).value)
        self.set_parameters.append((node, packed))
        return ()

    _functions: dict[str, Callable[..., Any]] = {
        "cuGetErrorString": lambda self, code: b"what the driver says",
        "cuInit": lambda self, flags: (),
        "cuDriverGetVersion": lambda self: 13000,
        "cuGetProcAddress": lambda self, name, version, flags: (0xADD2E55, 0),
        "cuDeviceGetCount": lambda self: 2,
        "cuDeviceGet": lambda self, ordinal: ordinal,
        "cuDeviceGetName": lambda self, length, device: b"Stand-in\0\0",
        "cuDeviceGetAttribute": lambda self, name, device: self.attributes[
            name.name.removeprefix("CU_DEVICE_ATTRIBUTE_")
        ],
        "cuCtxGetCurrent": lambda self: self.context,
        "cuCtxGetDevice": lambda self: self.context - CONTEXT,
        "cuCtxSetCurrent": set_context,
        "cuCtxGetId": lambda self, context: self.epoch,
        "cuCtxSynchronize": lambda self: (),
        "cuDevicePrimaryCtxGetState": lambda self, device: (0, int(self.active)),
        "cuDevicePrimaryCtxRetain": lambda self, device: CONTEXT + device,
        "cuLibraryLoadData": load_library,
        "cuLibraryUnload": lambda self, library: (),
        "cuLibraryGetKernel": kernel,
        "cuKernelGetFunction": lambda self, kernel: int(kernel) + 0x10000 * self.epoch,
        "cuLibraryGetGlobal": global_variable,
        "cuKernelGetAttribute": lambda self, name, kernel, device: KERNEL_ATTRIBUTES[
            name.name.removeprefix("CU_FUNC_ATTRIBUTE_")
        ],
        "cuKernelSetAttribute": lambda self, *_: (),
        "cuKernelSetCacheConfig": lambda self, *_: (),
        "cuOccupancyMaxPotentialBlockSize": lambda self, *_: (264, 768),
        "cuOccupancyMaxActiveBlocksPerMultiprocessor": lambda self, *_: 2,
        "cuLaunchKernel": launch,
        "cuLaunchKernelEx": launch,
        "cuStreamCreateWithPriority": create_stream,
        "cuStreamGetCtx": lambda self, stream: self.contexts.get(stream, self.context),
        "cuStreamGetPriority": lambda self, stream: self.priorities.get(int(stream), 0),
        "cuCtxGetStreamPriorityRange": lambda self: (0, -5),
        "cuStreamDestroy": lambda self, stream: (),
        "cuStreamSynchronize": lambda self, stream: (),
        "cuStreamQuery": lambda self, stream: (),
        "cuStreamWaitEvent": lambda self, *_: (),
        "cuStreamIsCapturing": lambda self, stream: int(stream in self.capturing),
        "cuStreamBeginCapture": begin_capture,
        "cuStreamEndCapture": end_capture,
        "cuStreamGetCaptureInfo": capture_info,
        "cuGraphGetNodes": lambda self, graph: ([], len(self.nodes)),
        "cuGraphInstantiate": lambda self, graph, flags: self.handle(),
        "cuGraphLaunch": lambda self, executable, stream: (),
        "cuGraphExecDestroy": lambda self, executable: (),
        "cuGraphDestroy": lambda self, graph: (),
        "cuGraphExecKernelNodeSetParams": set_node,
        "cuLaunchHostFunc": lambda self, stream, function, number: self.called_back.append((function, number)) or (),
        "cuMemHostRegister": lambda self, address, size, flags: (),
        "cuMemHostUnregister": lambda self, address: (),
        "cuEventCreate": lambda self, flags: self.handle(),
        "cuEventDestroy": lambda self, event: (),
        "cuEventRecord": lambda self, event, stream: (),
        "cuEventSynchronize": lambda self, event: (),
        "cuEventQuery": lambda self, event: (),
        "cuEventElapsedTime": lambda self, start, end: 1.5,
        "cuMemPoolCreate": lambda self, properties: self.handle(),
        "cuMemPoolSetAttribute": lambda self, *_: (),
        "cuMemPoolTrimTo": lambda self, *_: (),
        "cuMemAllocFromPoolAsync": lambda self, size, pool, stream: self.allocate(size),
        "cuMemFreeAsync": lambda self, address, stream: self.free(address),
        "cuMemAlloc": lambda self, size: self.allocate(size),
        "cuMemFree": free,
        "cuMemHostAlloc": lambda self, size, flags: self.allocate(size),
        "cuMemFreeHost": free,
        "cuMemAllocManaged": lambda self, size, flags: self.allocate(size),
        "cuThreadExchangeStreamCaptureMode": exchange_mode,
        "cuMemcpy": copy,
        "cuMemcpyAsync": copy,
        "cuMemcpyPeerAsync": lambda self, to, there, of, here, size, stream: self.copy(to, of, size, stream),
        "cuMemcpy2DUnaligned": copy_2d,
        "cuMemcpy2DAsync": copy_2d,
        "cuMemcpy3D": copy_3d,
        "cuMemcpy3DAsync": copy_3d,
        "cuMemsetD8Async": lambda self, *rest: self.fill(*rest, kind=ctypes.c_uint8),
        "cuMemsetD16Async": lambda self, *rest: self.fill(*rest, kind=ctypes.c_uint16),
        "cuMemsetD32Async": fill,
        "cuPointerGetAttribute": lambda self, name, address: self.pointers[int(address)][
            name.name.removeprefix("CU_POINTER_ATTRIBUTE_")
        ],
    }


@pytest.fixture
def api() -> StandIn:
    """Return the stand-in that the device below talks to."""
    pytest.importorskip("cuda.bindings.driver", reason="the driver's types come from cuda.bindings")
    api = StandIn()
    api.failures["cuLibraryGetGlobal"] = "CUDA_ERROR_NOT_FOUND"
    return api


@pytest.fixture
def device(api: StandIn) -> CudaDevice:
    """Return device 0 of the stand-in."""
    return CudaDevice(Driver(api), 0)


def make_artifact(**changes: Any) -> Artifact:
    """Return an artifact for the stand-in's architecture."""
    values: dict[str, Any] = {
        "target": Target(kind="ptx", arch="sm_90"),
        "image": b"cubin",
        "suffix": ".cubin",
        "entry": "entry",
        "kernel": "module.saxpy",
        "signature": "(int64)",
        "parameters": "@q",
        "resources": {},
        "exceptions": {5: ExceptionEntry(module="builtins", qualname="IndexError", arguments=("out of bounds",))},
        "footprint": Footprint(facts=()),
        "effects": Effects(),
    }
    return Artifact(**values | changes)


@pytest.fixture
def artifact() -> Callable[..., Artifact]:
    """Return a function that makes artifacts."""
    return make_artifact
