"""Devices, contexts and the driver's errors."""

from __future__ import annotations

import subprocess
import sys
import threading

import pytest

from gridjit.compiler.values.errors import DeviceError
from gridjit.compiler.values.target import Target
from gridjit.runtime.devices import presence
from gridjit.runtime.devices.cuda.api.driver import Driver
from gridjit.runtime.devices.cuda.device import CudaDevice, Devices
from gridjit.runtime.devices.errors import ADVICE, ASYNCHRONOUS, KernelError, driver_error


def test_the_target_is_the_compute_capability(device):
    assert device.target == Target(kind="ptx", arch="sm_90")
    assert device.name == "Stand-in"


def test_a_device_that_is_not_there_is_refused(api):
    with pytest.raises(DeviceError, match="no device 2; the last is device 1"):
        CudaDevice(Driver(api), 2)


def test_a_thread_without_a_device_gets_the_first(api):
    assert Devices(Driver(api)).current().ordinal == 0
    assert api.context


def test_the_threads_own_device_decides(api):
    devices = Devices(Driver(api))
    devices[1].make_current()
    assert devices.current() is devices[1]


def test_a_context_is_made_once_however_many_threads_ask(api, device):
    threads = [threading.Thread(target=lambda: device.context) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(api.called("cuDevicePrimaryCtxRetain")) == 1


def test_a_thread_whose_context_was_reset_gets_the_new_one(api, device, monkeypatch):
    device.make_current()
    number = device.context_id

    api.failures["cuCtxGetId"] = "CUDA_ERROR_CONTEXT_IS_DESTROYED"
    monkeypatch.setitem(api._functions, "cuDevicePrimaryCtxRetain", lambda self, _: self.reset())
    api.reset = lambda: (api.failures.pop("cuCtxGetId"), setattr(api, "epoch", 2), 0xD0)[-1]
    assert device.renew() != number
    assert api.context == 0xD0


def test_another_device_is_given_back_after_use(api):
    devices = Devices(Driver(api))
    devices[1].make_current()
    before = api.context
    with devices[0].current:
        assert api.context != before
    assert api.context == before


def test_an_error_names_call_code_text_and_advice(api, device):
    api.failures["cuMemGetInfo"] = "CUDA_ERROR_OUT_OF_MEMORY"
    api._functions.setdefault("cuMemGetInfo", lambda self: (1, 2))
    with pytest.raises(DeviceError) as caught:
        device.driver.call("cuMemGetInfo")
    assert str(caught.value) == (
        "CUDA_ERROR_OUT_OF_MEMORY from cuMemGetInfo (what the driver says); " + ADVICE["CUDA_ERROR_OUT_OF_MEMORY"]
    )


@pytest.mark.parametrize("name", sorted(ADVICE.keys() | ASYNCHRONOUS))
def test_the_names_we_know_are_the_drivers(name):
    driver = pytest.importorskip("cuda.bindings.driver")
    known = hasattr(driver.CUresult, name)
    assert known or name == "CUDA_ERROR_INSUFFICIENT_DRIVER"


def test_what_a_kernel_did_is_a_launch_error_whoever_finds_out():
    assert isinstance(driver_error("cuMemcpy", "CUDA_ERROR_ILLEGAL_ADDRESS", ""), KernelError)
    assert not isinstance(driver_error("cuMemcpy", "CUDA_ERROR_INVALID_VALUE", ""), KernelError)


@pytest.mark.skipif(presence.device_count() > 0, reason="this machine has a CUDA device")
def test_without_a_device_the_reason_is_said_and_no_bindings_are_imported():
    program = (
        "import sys\n"
        "from gridjit.runtime.devices import presence\n"
        "print(presence.why_not(), 'cuda.bindings' in sys.modules)"
    )
    said = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout
    assert "CUDA driver" in said
    assert said.strip().endswith("False")
