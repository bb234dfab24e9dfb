"""A kernel's code under numba-cuda's names: what it uses, and how a multiprocessor's memory is split for it."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

import gridjit
from gridjit.compiler.values.errors import ConfigError
from gridjit.runtime.numba_names.code_library import CodeLibrary, FunctionAttributes


@pytest.fixture
def function(device, artifact):
    """Return the function of a kernel that is loaded on the stand-in."""
    loaded = device.load(artifact())
    return CodeLibrary(SimpleNamespace(entry_name="entry", _loaded=lambda: loaded)).get_cufunc()  # type: ignore[arg-type]


def test_a_function_has_the_kernels_handle_and_what_it_uses(api, function):
    assert function.attrs == FunctionAttributes(regs=40, shared=1024, local=0, const=0, maxthreads=1024)
    function.cache_config()
    [(handle, _, device)] = api.called("cuKernelSetCacheConfig")
    assert handle == function.handle
    assert (device, function.device.id) == (function.device.handle, 0)


@pytest.mark.parametrize(
    ("given", "preference"),
    [
        ({}, "NONE"),
        ({"prefer_cache": True}, "L1"),
        ({"prefer_shared": True}, "SHARED"),
        ({"prefer_equal": True}, "EQUAL"),
        ({"prefer_cache": True, "prefer_shared": True}, "EQUAL"),
    ],
)
def test_a_preference_is_the_drivers(api, function, given, preference):
    function.cache_config(**given)
    [(_, config, device)] = api.called("cuKernelSetCacheConfig")
    assert (config.name, device) == (f"CU_FUNC_CACHE_PREFER_{preference}", 0)


def test_the_carveout_is_set_on_the_kernel_of_the_current_device(api, function):
    api.context = 0xC1
    function.set_shared_memory_carveout(60)
    [(attribute, percent, handle, device)] = api.called("cuKernelSetAttribute")
    assert attribute.name == "CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT"
    assert (percent, handle, device) == (60, function.handle, 1)


@pytest.mark.parametrize("percent", [-2, 101])
def test_a_carveout_out_of_range_is_refused(api, function, percent):
    with pytest.raises(ValueError, match=f"shared_memory_carveout={percent}"):
        function.set_shared_memory_carveout(percent)
    assert api.called("cuKernelSetAttribute") == []


def increment(x):
    x[0] += 1


def test_host_code_has_text_and_no_function():
    kernel = gridjit.jit("void(float64[::1])", target="host")(increment)
    (overload,) = kernel.overloads.values()
    library = overload._codelibrary
    assert "define" in library.get_llvm_str() and library.get_asm_str() == overload.inspect_asm()
    assert library._linking_files == ()
    with pytest.raises(ConfigError, match="compiled for the host"):
        library.get_cufunc()
