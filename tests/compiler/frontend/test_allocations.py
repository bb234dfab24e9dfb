"""Statistics of allocations: modules count on the device that has the counters, and nowhere else without a word."""

from __future__ import annotations

import importlib
from types import SimpleNamespace

import pytest

from gridjit.compiler.frontend import linkable
from gridjit.compiler.frontend.bindings.bootstrap import numba_cuda


class Counters:
    """Stands in for numba-cuda's runtime: notes which kernel is launched for a module."""

    def __init__(self):
        self._memsys = SimpleNamespace()
        self.launched = []

    def ensure_initialized(self):
        self.launched.append("initialized")

    def set_memsys_to_module(self, module):
        self.launched.append(module.get_function("NRT_MemSys_set").kernel)


@pytest.fixture
def counters(monkeypatch):
    """Have numba-cuda's counters on device 0, and the calling thread on device 0 too; returns them and the device."""
    numba_cuda()
    made, device = Counters(), SimpleNamespace(id=0)
    context = SimpleNamespace(device=device, synchronize=lambda: made.launched.append("synchronized"))
    monkeypatch.setattr(importlib.import_module("numba.cuda.memory_management.nrt"), "rtsys", made)
    monkeypatch.setattr(importlib.import_module("numba.cuda.cudadrv.devices"), "get_context", lambda: context)
    monkeypatch.setattr(linkable, "_device_of", lambda _: 0)
    return made, device


MODULE = SimpleNamespace(get_kernel=lambda name: f"kernel {name}")


def test_a_module_counts_before_whatever_stream_it_is_launched_in_goes_on(counters):
    made, _ = counters
    linkable.count(MODULE)
    assert made.launched == ["initialized", "kernel NRT_MemSys_set", "synchronized"]
    assert linkable._counters[id(made._memsys)] is made._memsys


def test_on_another_device_nothing_is_counted_and_a_warning_says_so(counters):
    made, device = counters
    device.id = 1
    with pytest.warns(
        RuntimeWarning, match="on device 1 are not counted: numba-cuda's counters are on device 0"
    ) as caught:
        linkable.count(MODULE)
    assert caught[0].filename == __file__
    assert made.launched == ["initialized"]
