"""names: gridjit's functions under numba.cuda's names, in a process that has imported numba-cuda."""

from __future__ import annotations

import functools
import importlib
from collections.abc import Mapping
from types import FunctionType, ModuleType
from typing import Any

from gridjit.compiler.frontend.bindings.bootstrap import numba_cuda
from gridjit.runtime.installed import ufuncs
from gridjit.runtime.installed.replaced import Replaced
from gridjit.runtime.process.session import session
from gridjit.runtime.queues.streams import Stream
from gridjit.runtime.simulated import under_numba

# Modules whose own kernels and arrays stay numba-cuda's: they reach into its dispatchers.
_LEFT_ALONE = ("numba.cuda.vectorizers", "numba.cuda.deviceufunc", "numba.cuda.memory_management.nrt")


def replace_names(ours: Mapping[str, Any], launchconfig: Mapping[str, Any], *, device_functions: bool) -> Replaced:
    """Put our names in place of numba.cuda's and of its module launchconfig's; return the undo.

    device_functions: whether jit(device=True) is ours, too. Contexts and devices stay numba-cuda's own; on the host,
    they belong to the simulated driver. numba-cuda's own launches take gridjit's streams.
    """
    cuda, replaced = numba_cuda(), Replaced()
    api, configs = (importlib.import_module(f"numba.cuda.{name}") for name in ("api", "launchconfig"))
    _leave_alone(cuda, replaced)
    # numba.cuda.decorators.jit stays: numba-cuda compiles its own overloads with it.
    own: Any = vars(cuda)["jit"]
    replaced.replace(cuda, "jit", ours["jit"] if device_functions else _kernels_only(ours["jit"], own))
    _take_streams(vars(cuda)["external_stream"], replaced)
    for name, value in ours.items():
        for module in (cuda, api):
            if name != "jit" and hasattr(module, name):
                replaced.replace(module, name, value)
    for name, value in launchconfig.items():
        replaced.replace(configs, name, value)
    ufuncs.replace_builders(replaced)
    if session().is_host:
        from gridjit.runtime.numba_names.devices import detect  # tells that the device is simulated

        for module in (cuda, api):
            replaced.replace(module, "detect", detect)
        under_numba.place()
        replaced.then(under_numba.displace)
    return replaced


def _kernels_only(jit: Any, numba_jit: Any) -> Any:
    """Return gridjit's jit, but numba-cuda's own for device functions: tests look into their dispatchers."""

    @functools.wraps(jit)
    def either(func_or_sig: Any = None, device: bool = False, **options: Any) -> Any:
        if device:
            return numba_jit(func_or_sig, device=True, **options)
        return jit(func_or_sig, **options)

    return either


def _take_streams(numba_stream: Any, replaced: Replaced) -> None:
    """Make numba-cuda's own launches and copies take gridjit's streams."""

    def taking(function: Any) -> Any:
        @functools.wraps(function)
        def take(stream: Any) -> Any:
            return function(numba_stream(stream.handle) if isinstance(stream, Stream) else stream)

        return take

    for owner in ("cudadrv.driver", "memory_management.nrt", "cudadrv.devicearray"):
        module = importlib.import_module(f"numba.cuda.{owner}")
        for name in ("_to_core_stream", "_stream_handle"):
            if hasattr(module, name):
                replaced.replace(module, name, taking(getattr(module, name)))


@functools.cache
def original() -> ModuleType:
    """Return numba.cuda with its original names, as a module that kernels know too."""
    from numba.cuda import types
    from numba.cuda.descriptor import cuda_target

    cuda = numba_cuda()
    made = ModuleType(cuda.__name__, cuda.__doc__)
    made.__dict__.update(cuda.__dict__, **_functions(importlib.import_module("numba.cuda.api")))
    cuda_target.typing_context.insert_global(made, types.Module(cuda))
    return made


def _functions(api: ModuleType) -> dict[str, Any]:
    """Return api's current functions, by name; they still call each other, not their replacements."""
    names = dict(vars(api))
    for name, value in list(names.items()):
        if isinstance(value, FunctionType) and value.__globals__ is vars(api):
            names[name] = copied = FunctionType(value.__code__, names, name, value.__defaults__, value.__closure__)
            copied.__kwdefaults__ = value.__kwdefaults__
            functools.update_wrapper(copied, value)
    return {name: value for name, value in names.items() if isinstance(value, FunctionType)}


def _leave_alone(cuda: ModuleType, replaced: Replaced) -> None:
    """Give modules that need it the original numba.cuda."""
    unpatched = original()
    for name in _LEFT_ALONE:
        module: Any = importlib.import_module(name)
        if getattr(module, "cuda", None) is cuda:
            replaced.replace(module, "cuda", unpatched)
