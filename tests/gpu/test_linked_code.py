"""On a GPU: kernels that allocate, callbacks of linked code, and the code's own function."""

from __future__ import annotations

import gc
import importlib
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import gridjit
from gridjit import cuda
from gridjit.runtime.devices.cuda.device import CudaDevice

pytestmark = [pytest.mark.gpu, pytest.mark.filterwarnings("ignore:.*is copied to the device and back")]

NUMBER = """
__device__ int number = 0;
extern "C" __device__ int get_number(int *out) { *out = number; return 0; }
"""


@pytest.fixture
def runtime(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """Let kernels allocate; returns numba's configuration."""
    importlib.import_module("numba.cuda.memory_management.nrt")
    config: Any = importlib.import_module("numba.cuda").config
    monkeypatch.setattr(config, "CUDA_ENABLE_NRT", True)
    monkeypatch.setattr(config, "CUDA_NRT_STATS", False)
    return config


def allocates(x, out):
    copied = x.copy()
    doubled = np.empty(x.size, x.dtype)
    for i in range(x.size):
        doubled[i] = 2 * copied[i]
    out[0] = doubled.sum()


@pytest.mark.parametrize("lto", [False, True])
def test_a_kernel_allocates(runtime: Any, lto: bool) -> None:
    out = np.zeros(1)
    gridjit.jit(allocates, lto=lto)[1, 1](np.arange(100.0), out)
    assert out[0] == 9900


def test_allocations_are_counted_if_statistics_were_asked_for(runtime: Any) -> None:
    from numba.cuda.memory_management.nrt import rtsys

    runtime.CUDA_NRT_STATS = True
    rtsys.memsys_enable_stats()
    before = rtsys.get_allocation_stats()
    kernel = gridjit.jit(allocates)
    for _ in range(2):
        kernel[1, 1](np.arange(100.0), np.zeros(1))
    cuda.synchronize()
    after = rtsys.get_allocation_stats()
    assert (after.alloc - before.alloc, after.free - before.free) == (4, 4)


WARM = """
import sys
import numpy as np
import gridjit

@gridjit.jit
def allocates(x):
    made = np.empty(4, np.int32)
    made[1] = x[0]
    x[0] = 2 * made[1]

x = np.full(1, 21, np.int32)
allocates[1, 1](x)
(found,) = allocates.specializations
print(x[0], found.origin, "numba" in sys.modules)
"""


def test_a_warm_process_allocates_without_numba(
    run_program: Callable[[str], Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NUMBA_CUDA_ENABLE_NRT", "1")
    assert run_program(WARM).stdout.split() == ["42", "compiled", "True"]
    assert run_program(WARM).stdout.split() == ["42", "disk", "False"]


# -- callbacks ---------------------------------------------------------------------------------------------------------


# A module of its own, as what a test module refers to (pytest) cannot be part of a key.
CALLBACKS = """
import ctypes
from cuda.bindings import driver

def set_number(module):
    code, address, size = driver.cuLibraryGetGlobal(module.handle, b"number")
    number = ctypes.c_int32(42)
    if int(code) or int(driver.cuMemcpyHtoD(address, ctypes.addressof(number), size)[0]):
        raise RuntimeError("the number was not set")
"""


@pytest.fixture
def set_number(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """The callback of another module that sets a module's global variable in the current context to 42."""
    (tmp_path / "number_callbacks.py").write_text(CALLBACKS)
    monkeypatch.syspath_prepend(str(tmp_path))
    yield importlib.import_module("number_callbacks").set_number
    del sys.modules["number_callbacks"]


def reader(**callbacks: Any) -> Any:
    """Return a kernel that reads the number of linked code."""
    source = importlib.import_module("numba.cuda").CUSource(NUMBER, **callbacks)
    get_number = cuda.declare_device("get_number", "int32()", link=[source])

    @gridjit.jit
    def read(out: Any) -> None:
        out[0] = get_number()

    return read


def test_a_setup_callback_changes_the_module_before_its_first_launch(
    restart: Callable[[], None], set_number: Any
) -> None:
    for origin in ("compiled", "disk"):
        restart()
        read = reader(setup_callback=set_number)
        out = np.zeros(1, np.int32)
        read[1, 1](out)
        read[1, 1](out)
        assert out[0] == 42
        (found,) = read.specializations
        assert found.origin == origin, read.explain()


def test_callbacks_get_an_object_code_and_run_once_for_all_threads() -> None:
    from cuda.core import ObjectCode

    seen: list[tuple[str, bool]] = []
    kernel = reader(
        setup_callback=lambda module: seen.append(("setup", isinstance(module, ObjectCode))),
        teardown_callback=lambda module: seen.append(("teardown", isinstance(module, ObjectCode))),
    )
    outs = [cuda.to_device(np.ones(1, np.int32)) for _ in range(4)]
    threads = [threading.Thread(target=kernel[1, 1], args=(out,)) for out in outs]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [out.copy_to_host()[0] for out in outs] == [0] * 4
    assert seen == [("setup", True)]
    del kernel, threads
    gc.collect()
    assert seen == [("setup", True), ("teardown", True)]


def test_a_reset_through_numba_cuda_tears_down_and_the_kernel_works_on(set_number: Any) -> None:
    seen: list[str] = []
    kernel = reader(
        setup_callback=lambda module: (seen.append("setup"), set_number(module)),
        teardown_callback=lambda module: seen.append("teardown"),
    )
    out = np.zeros(1, np.int32)
    kernel[1, 1](out)
    cuda.current_context().reset()
    assert seen == ["setup", "teardown"]
    kernel[1, 1](out)
    assert seen == ["setup", "teardown", "setup"] and out[0] == 42


AT_EXIT = """
import numpy as np
import gridjit
from gridjit import cuda

source = cuda.CUSource("", setup_callback=lambda m: print("setup"), teardown_callback=lambda m: print("teardown"))

@gridjit.jit(link=[source])
def increment(x):
    x[0] += 1

increment[1, 1](np.zeros(1))
"""


def test_what_is_loaded_when_the_interpreter_exits_is_torn_down(run_program: Callable[[str], Any]) -> None:
    done = run_program(AT_EXIT)
    assert (done.returncode, done.stdout.split()) == (0, ["setup", "teardown"])


# -- the function of the code ------------------------------------------------------------------------------------------


def increment(x):
    x[0] += 1


def test_the_function_is_what_launches_run(device: CudaDevice) -> None:
    kernel = gridjit.jit("void(float64[::1])")(increment)
    (overload,) = kernel.overloads.values()
    function = overload._codelibrary.get_cufunc()
    x = np.zeros(1)
    kernel[1, 1](x)
    assert x[0] == 1
    assert function.handle == overload._loaded().handle
    function.set_shared_memory_carveout(75)
    assert device.driver.kernel_attribute("PREFERRED_SHARED_MEMORY_CARVEOUT", function.handle, device.handle) == 75
    for given in ({}, {"prefer_shared": True}, {"prefer_cache": True}, {"prefer_equal": True}):
        function.cache_config(**given)
    assert function.attrs.maxthreads >= 256


def test_code_uses_what_only_its_architecture_has(device: CudaDevice) -> None:
    if device.compute_capability != (9, 0):
        pytest.skip("the instruction is sm_90a's")
    instruction = "tensormap.replace.tile.rank.shared::cta.b1024.b32 [%0], 2;"
    source = f"""
    extern "C" __device__ int replace(int *out) {{
        __shared__ alignas(128) char map[128];
        asm volatile("{instruction}" :: "r"((unsigned)__cvta_generic_to_shared(map)));
        *out = 7;
        return 0;
    }}"""
    replace = cuda.declare_device("replace", "int32()", link=[cuda.CUSource(source)])

    @gridjit.jit
    def kernel(out: Any) -> None:
        out[0] = replace()

    out = np.zeros(1, np.int32)
    kernel[1, 1](out)
    assert out[0] == 7
