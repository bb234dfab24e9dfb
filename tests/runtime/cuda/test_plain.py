"""The driver's functions without cuda.bindings: called as cuda.h declares them, with the same answers and numbers."""

from __future__ import annotations

import ctypes
import importlib.util
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from gridjit.runtime.arrays.create import to_device
from gridjit.runtime.devices.cuda.api.driver import Driver
from gridjit.runtime.devices.cuda.api.plain_api import PlainApi, PoolProperties
from gridjit.runtime.devices.cuda.api.plain_table import ERRORS, FUNCTIONS, NUMBERS
from gridjit.runtime.devices.cuda.device import CudaDevice
from gridjit.runtime.devices.errors import DriverError
from tests.runtime.cuda.conftest import StandIn

_C: dict[str, Any] = {
    "i": ctypes.c_int,
    "u": ctypes.c_uint,
    "p": ctypes.c_void_p,
    "z": ctypes.c_size_t,
    "Q": ctypes.c_ulonglong,
    "s": ctypes.c_char_p,
}
_OPAQUE = {"CUcontext", "CUstream", "CUevent", "CUlibrary", "CUkernel", "CUfunction", "CUmemoryPool", "CUdeviceptr"}


def bindings() -> Any:
    return pytest.importorskip("cuda.bindings.driver")


def header() -> str:
    """Return cuda.h, as NVIDIA's packages have it."""
    spec = importlib.util.find_spec("nvidia")
    places = list(spec.submodule_search_locations or ()) if spec else []
    found = next((file for place in places for file in Path(place).glob("*/include/cuda.h")), None)
    if found is None:
        pytest.skip("cuda.h is not installed")
    return found.read_text()


def kind_of(parameter: str, returned: bool) -> str:
    """Return how the table writes a parameter that cuda.h declares."""
    words = parameter.replace("const", "").replace("*", " * ").split()
    stars, base = words.count("*"), [word for word in words if word != "*"]
    base = base[:-1] if len(base) > 1 else base
    if stars == 1 and base == ["char"]:
        return "s"
    if returned:
        stars -= 1
        if stars == 1 and base == ["char"]:
            return "s"
    if stars or base[0] in _OPAQUE:
        return "p"
    return {"unsigned int": "u", "size_t": "z", "cuuint64_t": "Q", "unsigned long long": "Q"}.get(" ".join(base), "i")


@pytest.mark.cuda_toolkit
@pytest.mark.parametrize("name", FUNCTIONS)
def test_functions_are_called_as_cudas_header_declares_them(name: str) -> None:
    text = header()
    symbol, kinds = FUNCTIONS[name]
    plain = re.sub(r"_v\d$", "", symbol)
    declared = re.search(rf"CUresult CUDAAPI {plain}\(([^;]*)\);", text)
    assert declared is not None
    parameters = [] if declared[1].strip() == "void" else [part.strip() for part in declared[1].split(",")]
    returned = [at > 0 and kinds[at - 1] == ">" for at, kind in enumerate(kinds) if kind != ">"]
    assert "".join(map(kind_of, parameters, returned)) == kinds.replace(">", "")
    newest = re.search(rf"#define {plain}\s+(?:__CUDA_API_\w+\()?{plain}(_v\d)", text)
    assert symbol.removeprefix(plain) in ("", newest[1] if newest else "")


def test_numbers_and_names_are_those_of_cuda_bindings() -> None:
    api = bindings()
    for family, numbers in NUMBERS.items():
        assert {name: int(getattr(getattr(api, family), name)) for name in numbers} == numbers
    known = {int(code): code.name for code in api.CUresult if int(code) in ERRORS}  # older ones know fewer
    assert len(known) > 90
    assert known.items() <= ERRORS.items()


def test_a_pools_properties_lie_as_cuda_bindings_has_them() -> None:
    api = bindings()
    theirs, ours = api.CUmemPoolProps(), PoolProperties()
    theirs.allocType = api.CUmemAllocationType.CU_MEM_ALLOCATION_TYPE_PINNED
    theirs.location.type = api.CUmemLocationType.CU_MEM_LOCATION_TYPE_DEVICE
    theirs.location.id = 3
    ours.allocType, ours.location.type, ours.location.id = 1, 1, 3
    assert bytes(ours)[:24] == ctypes.string_at(theirs.getPtr(), 24)
    assert not any(bytes(ours)[16:])


class Library:
    """A driver's library: each symbol is a C function that calls the stand-in, and writes what that returns."""

    def __init__(self, api: StandIn) -> None:
        self._api = api
        self._kept: list[Any] = []

    def __getattr__(self, symbol: str) -> Any:
        name, (_, kinds) = next((name, row) for name, row in FUNCTIONS.items() if row[0] == symbol)
        returned = [at > 0 and kinds[at - 1] == ">" for at, kind in enumerate(kinds) if kind != ">"]
        types = [kind for kind in kinds if kind != ">"]
        wanted = {"_load": "cuLibraryLoadData", "_create_pool": "cuMemPoolCreate", "_set_pool": "cuMemPoolSetAttribute"}

        def function(*given: Any) -> int:
            arguments = [one or 0 for one, back in zip(given, returned, strict=True) if not back]
            if name == "cuDeviceGetAttribute":
                arguments[0] = bindings().CUdevice_attribute(arguments[0])
            if name == "cuKernelGetAttribute":
                arguments[0] = bindings().CUfunction_attribute(arguments[0])
            if name == "_load":
                arguments[0] = ctypes.string_at(arguments[0])
            if name == "_exchange_mode":
                return 0
            code, *values = getattr(self._api, wanted.get(name, name))(*arguments)
            places = [(one, _C[kind]) for one, back, kind in zip(given, returned, types, strict=True) if back]
            for (place, kind), value in zip(places, values, strict=False):
                if not int(code):
                    kind.from_address(place).value = value if isinstance(value, bytes) else int(value)
            return int(code)

        made = ctypes.CFUNCTYPE(
            ctypes.c_int, *[ctypes.c_void_p if back else _C[kind] for back, kind in zip(returned, types, strict=True)]
        )(function)
        self._kept.append(made)
        address: Any = ctypes.cast(made, ctypes.c_void_p).value
        return ctypes.CFUNCTYPE(ctypes.c_int)(address)


def refused() -> Any:
    raise AssertionError("cuda.bindings is imported")


@pytest.fixture
def plain(api: StandIn) -> CudaDevice:
    """Return a device whose driver is called through ctypes, and nothing else."""
    return CudaDevice(Driver(PlainApi(Library(api), refused)), 0)


def test_an_array_is_made_copied_and_freed_without_cuda_bindings(api: StandIn, plain: CudaDevice) -> None:
    values = np.arange(100, dtype=np.float32)
    array = to_device(values, space=plain.space)
    assert (array.copy_to_host() == values).all()
    assert (plain.compute_capability, str(plain.target)) == ((9, 0), "sm_90")
    del array
    assert len(api.called("cuMemFreeAsync")) == 1


def test_streams_and_events_do_without_cuda_bindings(api: StandIn, plain: CudaDevice) -> None:
    timeline = plain.timeline
    stream, event = timeline.create_stream(-1, nonblocking=True), timeline.create_event(timing=False)
    timeline.record(event, stream)
    timeline.wait(stream, event)
    timeline.synchronize(stream)
    assert (timeline.done(stream), timeline.event_done(event), timeline.capturing(stream)) == (True, True, False)
    assert api.called("cuStreamCreateWithPriority") == [(1, -1)]
    assert api.called("cuEventRecord") == [(event, stream)]


def test_a_kernel_is_loaded_and_launched_without_cuda_bindings(api: StandIn, plain: CudaDevice, artifact: Any) -> None:
    from gridjit.compiler.values.launch_config import LaunchConfig

    kernel = plain.load(artifact(target=plain.target))
    kernel.launch(LaunchConfig.of((3, 2), 64, 128), 0x50, 128, b"parameters")
    ((handle, *rest),) = api.called("cuLaunchKernel")
    assert (handle, rest[:8]) == (kernel.handle, [3, 2, 1, 64, 1, 1, 128, 0x50])
    assert api.packed == [b"parameters"]


def test_errors_have_the_drivers_names_and_words(api: StandIn, plain: CudaDevice) -> None:
    api.failures["cuMemAllocFromPoolAsync"] = "CUDA_ERROR_NOT_PERMITTED"
    said = r"CUDA_ERROR_NOT_PERMITTED from cuMemAllocFromPoolAsync \(what the driver says\)"
    with pytest.raises(DriverError, match=said):
        to_device(np.zeros(3), space=plain.space)


def test_what_is_not_in_the_table_is_cuda_bindings(api: StandIn) -> None:
    asked: list[str] = []
    plain = PlainApi(Library(api), lambda: asked.append("whole") or api)
    assert plain.CUdevice_attribute.CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT == 16
    assert asked == []
    assert int(plain.CUdevice_attribute.CU_DEVICE_ATTRIBUTE_WARP_SIZE) == 10
    assert int(plain.cuMemHostRegister(4096, 8, 0)[0]) == 0
    assert asked == ["whole"]


def test_a_function_that_an_old_driver_lacks_is_cuda_bindings(api: StandIn) -> None:
    plain = PlainApi(object(), lambda: api)
    assert plain.cuDeviceGetCount() == api.cuDeviceGetCount()
