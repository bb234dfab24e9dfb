"""Setup and teardown callbacks: once in each context, before the first launch there and before the module goes."""

from __future__ import annotations

import gc
import os
import sys
import threading
from types import SimpleNamespace

import pytest

from gridjit.compiler.values.artifact import ModuleCallbacks
from gridjit.compiler.values.launch_config import LaunchConfig
from gridjit.runtime.devices.cuda import load as load_module

CONFIG = LaunchConfig.of(4, 128)
FIRST, SECOND = 0xC0, 0xC1  # the stand-in's contexts


class Code:
    """Stands in for the module that callbacks get: cuda.core's needs a driver."""

    handle = 0xBEEF


@pytest.fixture
def contexts(api, monkeypatch):
    """Give each of the stand-in's contexts a number of its own; returns the ones that are lost."""
    lost = set()

    def number(_, context):
        return (
            (int(context) or api.context)
            + 0x1000 * api.epoch
            + (0x9000 if (int(context) or api.context) in lost else 0)
        )

    api._functions = {**api._functions, "cuCtxGetId": number}
    monkeypatch.setattr(load_module, "module_of", lambda image: Code())
    return lost


@pytest.fixture
def loaded(api, device, artifact, contexts):
    """Return a function that loads a kernel with callbacks, and what those saw: (name, context, launches)."""
    seen = []

    def note(name):
        return lambda code: seen.append((name, api.context, len(api.called("cuLaunchKernel"))))

    def load(setup=None, teardown=None):
        callbacks = ModuleCallbacks(
            setup=(note("setup"), *([setup] if setup else [])),
            teardown=(note("teardown"), *([teardown] if teardown else [])),
        )
        return device.load(artifact(), callbacks)

    return load, seen


def launch(kernel):
    kernel.launch(CONFIG, 0, 0, b"")


def test_setup_runs_before_the_first_launch_and_not_at_the_load_or_again(api, loaded):
    load, seen = loaded
    kernel = load()
    assert seen == []
    launch(kernel)
    launch(kernel)
    assert seen == [("setup", FIRST, 0)]


def test_teardown_runs_once_when_the_kernel_goes_and_the_module_unloads_itself(api, loaded):
    load, seen = loaded
    kernel = load()
    launch(kernel)
    del kernel
    gc.collect()
    assert seen == [("setup", FIRST, 0), ("teardown", FIRST, 1)]
    assert api.called("cuLibraryUnload") == []


def test_a_kernel_that_was_never_launched_is_not_torn_down(loaded):
    load, seen = loaded
    load()
    gc.collect()
    assert seen == []


def test_each_context_has_its_own_setup_and_teardown(api, loaded):
    load, seen = loaded
    kernel = load()
    launch(kernel)
    api.context = SECOND
    launch(kernel)
    api.context = FIRST
    launch(kernel)
    del kernel
    gc.collect()
    assert [(name, context) for name, context, _ in seen] == [
        ("setup", FIRST),
        ("setup", SECOND),
        ("teardown", FIRST),
        ("teardown", SECOND),
    ]
    assert api.context == FIRST


def test_a_context_that_was_lost_is_not_torn_down(loaded, contexts):
    load, seen = loaded
    kernel = load()
    launch(kernel)
    contexts.add(FIRST)
    del kernel
    gc.collect()
    assert [name for name, *_ in seen] == ["setup"]


def test_a_new_context_after_a_reset_is_set_up(api, loaded):
    load, seen = loaded
    kernel = load()
    launch(kernel)
    api.epoch += 1
    launch(kernel)
    assert [name for name, *_ in seen] == ["setup", "setup"]


def test_threads_that_race_wait_for_one_setup(api, loaded):
    load, seen = loaded
    started, go_on = threading.Event(), threading.Event()

    def slow(code):
        started.set()
        assert go_on.wait(30)

    kernel = load(setup=slow)
    threads = [threading.Thread(target=launch, args=(kernel,)) for _ in range(4)]
    threads[0].start()
    assert started.wait(30)
    for thread in threads[1:]:
        thread.start()
    threads[1].join(0.05)
    assert api.called("cuLaunchKernel") == []
    go_on.set()
    for thread in threads:
        thread.join(30)
    assert seen == [("setup", FIRST, 0)]
    assert len(api.called("cuLaunchKernel")) == 4


def test_what_a_setup_raises_reaches_the_caller_and_the_next_launch_tries_again(api, loaded):
    load, seen = loaded
    attempts = iter([True, False])

    def fail(code):
        if next(attempts):
            raise RuntimeError("no peers")

    kernel = load(setup=fail)
    with pytest.raises(RuntimeError, match="no peers"):
        launch(kernel)
    assert api.called("cuLaunchKernel") == []
    launch(kernel)
    del kernel
    gc.collect()
    assert [name for name, *_ in seen] == ["setup", "setup", "teardown"]


def test_a_setup_may_launch_the_kernel(api, loaded):
    load, seen = loaded
    kernels = []
    kernels.append(load(setup=lambda code: launch(kernels[0])))
    launch(kernels[0])
    assert seen == [("setup", FIRST, 0)]
    assert len(api.called("cuLaunchKernel")) == 2


def test_callbacks_get_the_module(api, device, artifact, contexts):
    codes = []
    kernel = device.load(artifact(), ModuleCallbacks(setup=(codes.append,), teardown=(codes.append,)))
    launch(kernel)
    del kernel
    gc.collect()
    assert [type(code) for code in codes] == [Code, Code] and codes[0] is codes[1]
    assert api.called("cuLibraryGetKernel")[0][0] == Code.handle


def test_every_teardown_is_called_though_one_raises(api, device, artifact, contexts):
    called = []

    def fail(code):
        raise ValueError("first")

    kernel = device.load(artifact(), ModuleCallbacks(teardown=(fail, called.append)))
    launch(kernel)
    with pytest.raises(ValueError, match="first"):
        kernel.module.tear_down()
    assert len(called) == 1


def test_a_reset_through_numba_cuda_tears_down_and_the_next_launch_sets_up_again(loaded, monkeypatch):
    load, seen = loaded
    context = SimpleNamespace(modules={})
    monkeypatch.setitem(sys.modules, "numba.cuda.cudadrv.devices", SimpleNamespace(get_context=lambda: context))
    kernel = load()
    launch(kernel)
    context.modules.clear()
    assert [name for name, *_ in seen] == ["setup", "teardown"]
    launch(kernel)
    assert [name for name, *_ in seen] == ["setup", "teardown", "setup"]
    del kernel
    gc.collect()
    assert [name for name, *_ in seen] == ["setup", "teardown", "setup", "teardown"]
    assert context.modules == {}


def test_a_forked_child_tears_nothing_down(loaded, monkeypatch):
    load, seen = loaded
    kernel = load()
    launch(kernel)
    child = os.getpid() + 1
    monkeypatch.setattr(os, "getpid", lambda: child)
    kernel.module.tear_down()
    assert [name for name, *_ in seen] == ["setup"]


def test_a_thread_without_a_context_gets_the_devices(api, loaded):
    load, seen = loaded
    kernel = load()
    api.context = 0
    launch(kernel)
    assert seen == [("setup", FIRST, 0)]
