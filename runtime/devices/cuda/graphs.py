"""CudaCapture, CudaRunnable: a driver graph, captured from a stream's work, and instantiated once.

Work of other libraries in the stream - torch, cuBLAS - is captured too, also in streams that wait for it.
"""

from __future__ import annotations

import contextlib
import ctypes
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

from gridjit.compiler.values.errors import LaunchError
from gridjit.compiler.values.launch_config import LaunchConfig
from gridjit.runtime.devices.cuda.api.calls import attributed
from gridjit.runtime.devices.cuda.api.driver import Driver
from gridjit.runtime.devices.errors import DriverError
from gridjit.runtime.queues.streams import Stream, stream_handle

if TYPE_CHECKING:
    from gridjit.runtime.devices.base import Capture, LoadedKernel, Runnable
    from gridjit.runtime.devices.cuda.device import CudaDevice
    from gridjit.runtime.memory.space import Memory

# Other threads may make calls that a capture would forbid.
_MODE = "CU_STREAM_CAPTURE_MODE_THREAD_LOCAL"


class CudaCapture:
    """A stream that is captured. A node's handle is the driver's, for both graphs."""

    def __init__(self, device: CudaDevice, stream: int) -> None:
        self._device = device
        self._stream = stream
        with device.current:
            device.driver.call("cuStreamBeginCapture", stream, getattr(device.driver.api.CUstreamCaptureMode, _MODE))

    def launch(self, loaded: LoadedKernel, config: LaunchConfig, stream: Any, sharedmem: int, parameters: bytes) -> Any:
        """Launch into the capture."""
        loaded.launch(config, stream, sharedmem, parameters)
        return self._last()

    def copy(self, destination: Any, source: Any, make: Callable[[], object]) -> Any:
        """Copy into the capture; a copy of several nodes is known by its last node."""
        make()
        return self._last()

    def _last(self) -> Any:
        """Return the capture's newest node."""
        driver = self._device.driver
        # Older versions' answer has no room for the dependences of programmatic launches.
        name = (
            "cuStreamGetCaptureInfo_v3"
            if hasattr(driver.api, "cuStreamGetCaptureInfo_v3")
            else "cuStreamGetCaptureInfo"
        )
        with self._device.current:
            values = driver.call(name, self._stream)
        # The other values differ between the driver's versions.
        nodes = next((value for value in values if isinstance(value, list)), [])
        return nodes[0] if nodes else None

    def end(self) -> CudaRunnable:
        """Return the graph, instantiated; raises LaunchError if something given to the stream broke the capture."""
        driver = self._device.driver
        with self._device.current:
            try:
                graph = driver.call("cuStreamEndCapture", self._stream)
            except DriverError as error:
                raise LaunchError(
                    f"what was given to the stream could not be recorded: {error}. While a graph is recorded, do not "
                    "synchronize its stream, and join other streams that wait for it before the with block ends"
                ) from error
            try:
                return CudaRunnable(self._device, graph)
            except BaseException:
                _quietly(driver, "cuGraphDestroy", graph)
                raise

    def cancel(self) -> None:
        """End the capture, and drop its graph."""
        with self._device.current, contextlib.suppress(DriverError):
            graph = self._device.driver.call("cuStreamEndCapture", self._stream)
            if int(graph):
                _quietly(self._device.driver, "cuGraphDestroy", graph)


class CudaRunnable:
    """An executable graph, and the graph that its nodes are known by."""

    def __init__(self, device: CudaDevice, graph: Any) -> None:
        self._device = device
        self._graph = graph
        driver = device.driver
        self.nodes = int(driver.call("cuGraphGetNodes", graph)[1])
        self._handle = driver.call("cuGraphInstantiate", graph, 0)
        self._launch = driver.api.cuGraphLaunch
        self._epoch = device.context_id
        self._streams: dict[int, None] = {}

    def launch(self, stream: int) -> None:
        """Run the graph in a stream."""
        self._streams[stream] = None
        # Without driver.call's steps: programs make this call again and again.
        if int(self._launch(self._handle, stream)[0]):
            with self._device.current, attributed(stream, self._device.ordinal):
                self._device.driver.call("cuGraphLaunch", self._handle, stream)

    def update(self, node: Any, loaded: LoadedKernel, config: LaunchConfig, sharedmem: int, parameters: bytes) -> None:
        """Replace a node's kernel, configuration and parameters in later runs."""
        driver = self._device.driver
        with self._device.current:
            packed = _Packed(parameters)
            driver.call(
                "cuGraphExecKernelNodeSetParams",
                self._handle,
                node,
                _node_parameters(driver, loaded, config, sharedmem, packed),
            )

    def keep_until_done(self, memory: Iterable[Memory]) -> None:
        """Order the release of memory after the runs so far."""
        own = {handle for handle in map(_own_stream, memory) if handle is not None}
        driver = self._device.driver
        with contextlib.suppress(DriverError):  # a stream or context that is gone has no work to wait for
            if not own or driver.context_id(self._device.context) != self._epoch:
                return
            with driver.while_capturing():
                for stream in self._streams:
                    self._order(stream, own - {stream})

    def _order(self, stream: int, others: set[int]) -> None:
        """Make later work in other streams wait for a stream's work."""
        timeline = self._device.timeline
        event = timeline.create_event(timing=False)
        try:
            timeline.record(event, stream)
            for other in others:
                timeline.wait(other, event)
        finally:
            timeline.destroy_event(event)

    def close(self) -> None:
        """Destroy it; the driver does so when its runs are done."""
        driver = self._device.driver
        try:
            if driver.context_id(self._device.context) != self._epoch:
                return  # it ended with its context
            with self._device.current, driver.while_capturing():
                _quietly(driver, "cuGraphExecDestroy", self._handle)
                _quietly(driver, "cuGraphDestroy", self._graph)
        except DriverError:
            pass  # the context is lost, and the graph with it


class _Packed:
    """Packed parameters, as the driver's `extra` refers to them."""

    def __init__(self, parameters: bytes) -> None:
        self._buffer = ctypes.create_string_buffer(parameters, len(parameters) or 1)
        self._size = ctypes.c_size_t(len(parameters))
        # CU_LAUNCH_PARAM_BUFFER_POINTER, CU_LAUNCH_PARAM_BUFFER_SIZE, CU_LAUNCH_PARAM_END
        words = (1, ctypes.addressof(self._buffer), 2, ctypes.addressof(self._size), 0)
        self._extra = (ctypes.c_void_p * 5)(*words)
        self.address = ctypes.addressof(self._extra) if parameters else 0


def _node_parameters(
    driver: Driver, loaded: LoadedKernel, config: LaunchConfig, sharedmem: int, packed: _Packed
) -> Any:
    api = driver.api
    made = api.CUDA_KERNEL_NODE_PARAMS()
    made.kern = api.CUkernel(loaded.handle or 0)
    made.gridDimX, made.gridDimY, made.gridDimZ = config.griddim
    made.blockDimX, made.blockDimY, made.blockDimZ = config.blockdim
    made.sharedMemBytes = sharedmem
    made.extra = packed.address
    return made


def _own_stream(memory: Memory) -> int | None:
    """Return the handle of the stream that memory is freed in; None if it is gone."""
    stream = memory.owner
    if isinstance(stream, Stream) and not stream.alive:
        return None
    return stream_handle(stream) if isinstance(stream, Stream | int) else None


def _quietly(driver: Driver, name: str, handle: Any) -> None:
    with contextlib.suppress(DriverError):
        driver.call(name, handle)


if TYPE_CHECKING:
    _capture: type[Capture] = CudaCapture
    _runnable: type[Runnable] = CudaRunnable
