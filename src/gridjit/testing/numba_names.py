"""Puts gridjit's functions under numba.cuda's names, in this process, for programs that import them from there."""

from __future__ import annotations

import contextlib
import functools
import importlib
from types import FunctionType, ModuleType, SimpleNamespace
from typing import Any

import gridjit.cuda
import gridjit.launchconfig
from gridjit.compiler.frontend.bootstrap import numba_cuda
from gridjit.runtime.session import session
from gridjit.runtime.streams import Stream

# Names of numba.cuda that become gridjit's; its contexts and devices stay its own, as tests look into them.
NAMES = (
    "In",
    "InOut",
    "Out",
    "as_cuda_array",
    "default_stream",
    "device_array",
    "device_array_like",
    "event",
    "event_elapsed_time",
    "external_stream",
    "is_available",
    "is_cuda_array",
    "managed_array",
    "mapped_array",
    "mapped_array_like",
    "per_thread_default_stream",
    "pinned",
    "pinned_array",
    "pinned_array_like",
    "stream",
    "synchronize",
    "to_device",
)
_HOST_CAPABILITY = (9, 0)
# Modules whose own kernels and arrays stay numba-cuda's: they reach into its dispatchers.
_LEFT_ALONE = ("numba.cuda.vectorizers", "numba.cuda.deviceufunc", "numba.cuda.memory_management.nrt")


@functools.cache
def install() -> None:
    """Replace the names; once per process, before anything imports them from numba.cuda."""
    cuda = numba_cuda()
    api, launchconfig = (importlib.import_module(f"numba.cuda.{name}") for name in ("api", "launchconfig"))
    _leave_alone(cuda)
    # numba.cuda.decorators.jit stays: numba-cuda compiles its own overloads with it.
    cuda.jit = _jit(cuda.jit)  # type: ignore[attr-defined]  # a module's name
    _take_streams(cuda.external_stream)
    for name in NAMES:
        for module in (cuda, api):
            if hasattr(module, name):
                setattr(module, name, getattr(gridjit.cuda, name))
    for name in gridjit.launchconfig.__all__:
        setattr(launchconfig, name, getattr(gridjit.launchconfig, name))
    if session().device(None).target.kind == "host":
        _answer_capability()


def _jit(numba_jit: Any) -> Any:
    """Return gridjit's jit, but numba-cuda's own for device functions: tests look into their dispatchers."""

    @functools.wraps(gridjit.cuda.jit)
    def jit(func_or_sig: Any = None, device: bool = False, **options: Any) -> Any:
        if device:
            return numba_jit(func_or_sig, device=True, **options)
        return gridjit.cuda.jit(func_or_sig, **options)

    return jit


def _take_streams(numba_stream: Any) -> None:
    """Have numba-cuda's own launches and copies take gridjit's streams."""

    def taking(function: Any) -> Any:
        @functools.wraps(function)
        def take(stream: Any) -> Any:
            return function(numba_stream(stream.handle) if isinstance(stream, Stream) else stream)

        return take

    for owner in ("cudadrv.driver", "memory_management.nrt", "cudadrv.devicearray"):
        module = importlib.import_module(f"numba.cuda.{owner}")
        for name in ("_to_core_stream", "_stream_handle"):
            if hasattr(module, name):
                setattr(module, name, taking(getattr(module, name)))


@functools.cache
def original() -> ModuleType:
    """Return numba.cuda as it was before install(), as a module that kernels know too."""
    from numba.cuda import types
    from numba.cuda.descriptor import cuda_target

    cuda = numba_cuda()
    made = ModuleType(cuda.__name__, cuda.__doc__)
    made.__dict__.update(cuda.__dict__, **_functions(importlib.import_module("numba.cuda.api")))
    cuda_target.typing_context.insert_global(made, types.Module(cuda))
    return made


def _functions(api: ModuleType) -> dict[str, Any]:
    """Return the functions that api has now, by name: they go on to call each other, not what replaces them."""
    names = dict(vars(api))
    for name, value in list(names.items()):
        if isinstance(value, FunctionType) and value.__globals__ is vars(api):
            names[name] = copied = FunctionType(value.__code__, names, name, value.__defaults__, value.__closure__)
            copied.__kwdefaults__ = value.__kwdefaults__
            functools.update_wrapper(copied, value)
    return {name: value for name, value in names.items() if isinstance(value, FunctionType)}


def _leave_alone(cuda: ModuleType) -> None:
    """Give modules that need it numba.cuda as it was."""
    unpatched = original()
    for name in _LEFT_ALONE:
        module: Any = importlib.import_module(name)
        if getattr(module, "cuda", None) is cuda:
            module.cuda = unpatched


def _answer_capability() -> None:
    """Have who asks for a compute capability on the host get sm_90's, whose view of the language the host takes."""
    device = SimpleNamespace(compute_capability=_HOST_CAPABILITY)
    for name in ("api", "compiler", "dispatcher"):
        module: Any = importlib.import_module(f"numba.cuda.{name}")
        module.get_current_device = lambda: device
    library: Any = importlib.import_module("numba.cuda.codegen").CUDACodeLibrary
    library._ensure_cc = lambda self, cc: cc or (*_HOST_CAPABILITY, "a")
    with contextlib.suppress(ImportError):  # numba-cuda's own tests need filecheck; others need not have it
        testing: Any = importlib.import_module("numba.cuda.testing")
        testing.cc_X_or_above = lambda major, minor: (major, minor) <= _HOST_CAPABILITY
