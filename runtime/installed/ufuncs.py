"""ufuncs: numba-cuda's vectorize and guvectorize over gridjit's kernels and arrays, on either target.

numba-cuda's code broadcasts the arguments and chooses the signatures: its modules are imported once more, without a
name, and use the kernels and arrays of this file in place of their own.
"""

from __future__ import annotations

import functools
import importlib
import importlib.util
import inspect
from collections.abc import Callable
from types import FunctionType, SimpleNamespace
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from gridjit.compiler.frontend.bindings.bootstrap import numba_cuda
from gridjit.compiler.frontend.bindings.signatures import parsed
from gridjit.compiler.values.errors import ConfigError, shown
from gridjit.runtime.arrays.create import as_device_array, device_array, to_device
from gridjit.runtime.installed.gufunc_call import GUFuncCall
from gridjit.runtime.installed.replaced import Replaced
from gridjit.runtime.installed.ufunc_call import (
    SIGNATURES,
    UFuncCall,
    reducible,
    repeated,
)
from gridjit.runtime.jit import jit
from gridjit.runtime.memory.device_array import DeviceArray
from gridjit.runtime.numba_names.functions import is_cuda_array, stream
from gridjit.runtime.process.session import session

if TYPE_CHECKING:
    from gridjit.runtime.accepted import BinaryUFunc, UFunc

Made = TypeVar("Made")


def vectorize(
    ftylist_or_function: Any = (), target: str = "cuda", **kws: Any
) -> Callable[[Callable[..., Any]], BinaryUFunc]:
    """Return a decorator that makes a ufunc from a function of numbers, as numba-cuda's vectorize does.

    ftylist_or_function: a signature, or a list of them. target: "cuda", also where kernels run on the host. kws:
    numba-cuda's options. The ufunc takes host or device arrays, and the keywords out and stream.

        @cuda.vectorize(["float32(float32, float32)"])
        def hypot(x, y):
            return math.sqrt(x * x + y * y)
    """
    made: Callable[[Callable[..., Any]], BinaryUFunc]
    if inspect.isfunction(ftylist_or_function):
        raise ConfigError(f"vectorize: {ftylist_or_function.__name__} does not have a signature; {SIGNATURES}")
    made = decorators().vectorize(_parsed(ftylist_or_function), target, **kws)
    return _of_functions("vectorize", made)


def guvectorize(ftylist: Any, signature: str, **kws: Any) -> Callable[[Callable[..., Any]], UFunc]:
    """Return a decorator that makes a generalized ufunc from a function of arrays, as numba-cuda's guvectorize does.

    ftylist: a signature, or a list of them. signature: the layout of the axes, as "(n),(n)->()". kws: numba-cuda's
    options.

        @cuda.guvectorize(["void(float64[:], float64[:])"], "(n)->()")
        def total(x, out):
            out[0] = 0
            for value in x:
                out[0] += value
    """
    made: Callable[[Callable[..., Any]], UFunc] = decorators().guvectorize(_parsed(ftylist), signature, **kws)
    return _of_functions("guvectorize", made)


def _of_functions(name: str, decorate: Callable[[Callable[..., Any]], Made]) -> Callable[[Callable[..., Any]], Made]:
    """Return a decorator that refuses anything but a Python function."""

    @functools.wraps(decorate)
    def decorated(function: Callable[..., Any]) -> Made:
        if not isinstance(function, FunctionType):
            raise ConfigError(f"{name} decorates functions made with def or lambda, not {shown(function)}")
        return decorate(function if function.__name__.isidentifier() else _named(function))

    return decorated


def _named(function: FunctionType) -> FunctionType:
    """Return a lambda's function by a name: numba-cuda's code for it defines a function of that name."""
    made = FunctionType(
        function.__code__, function.__globals__, "function", function.__defaults__, function.__closure__
    )
    made.__module__, made.__doc__ = function.__module__, function.__doc__
    return made


def _parsed(given: Any) -> Any:
    """Return signatures, with texts parsed: numba would evaluate them."""
    if isinstance(given, str):
        given = [given]
    if isinstance(given, list | tuple):
        return [parsed(one) if isinstance(one, str) else one for one in given]
    return given


@functools.cache
def decorators() -> Any:
    """Return numba-cuda's module with vectorize and guvectorize; these make gridjit's ufuncs."""
    made = _again("numba.cuda.np.ufunc.decorators")
    own = builders()
    made.Vectorize.target_registry = {"cuda": own.Vectorize}
    made.GUVectorize.target_registry = {"cuda": own.GUVectorize}
    return made


def replace_builders(replaced: Replaced) -> None:
    """Make vectorize(target="cuda") of numba and of numba-cuda create gridjit's ufuncs."""
    own, theirs = builders(), importlib.import_module("numba.cuda.vectorizers")
    for package in ("numba.np.ufunc.decorators", "numba.cuda.np.ufunc.decorators"):
        module = importlib.import_module(package)
        _replace_builder(replaced, module.Vectorize.target_registry, own.Vectorize)
        _replace_builder(replaced, module.GUVectorize.target_registry, own.GUVectorize)
    # A registry may be taking its builder from there at this moment: some programs import numba-cuda so.
    replaced.replace(theirs, "CUDAVectorize", own.Vectorize)
    replaced.replace(theirs, "CUDAGUFuncVectorize", own.GUVectorize)


def _replace_builder(replaced: Replaced, registry: Any, builder: Any) -> None:
    """Put builder for "cuda" into a registry, whether it has numba-cuda's yet or will ask for it on demand."""
    if "cuda" in registry:
        replaced.put(registry, "cuda", builder)
        return
    replaced.put(registry.ondemand, "cuda", lambda: builder)
    replaced.then(lambda: registry.pop("cuda", None))


@functools.cache
def builders() -> SimpleNamespace:
    """Return the classes that make ufuncs and generalized ufuncs of functions."""
    module = _again("numba.cuda.vectorizers")
    module.cuda = _vocabulary()

    class Mechanism(module.CUDAUFuncMechanism):  # type: ignore[misc,name-defined]
        def _broadcast(self, arys: list[Any]) -> list[Any]:
            # Not numba-cuda's: it matches axes from the left, so that (4,) with (3, 4) repeats the first item.
            shape = module.deviceufunc._multi_broadcast(*(ary.shape for ary in arys))
            return [repeated(a, shape) if self.is_device_array(a) else np.broadcast_to(a, shape) for a in arys]

    class UFunc(_Pickled, module.CUDAUFuncDispatcher):  # type: ignore[misc,name-defined]
        def __call__(self, *args: Any, **keywords: Any) -> Any:
            """Return out, or a new array. out: takes the result. stream: of the kernel."""
            return UFuncCall.of(self.__name__, Mechanism, self.functions, keywords).result(args)

        def reduce(self, arg: Any, stream: Any = 0) -> Any:
            """Return the items of an array with one axis, combined two by two by the function."""
            stream = stream or module.cuda.stream()
            return super().reduce(reducible(self.__name__, self.functions, arg, stream), stream)

    class GUFunc(_Pickled, module.CUDAGeneralizedUFunc):  # type: ignore[misc,name-defined]
        def __call__(self, *args: Any, **keywords: Any) -> Any:
            """Return the result, or several. out: takes it. stream: of the kernel."""
            return GUFuncCall.of(self.__name__, self.kernelmap, self.engine, keywords).result(args)

    class Vectorize(module.CUDAVectorize):  # type: ignore[misc,name-defined]
        def _compile_core(self, sig: Any) -> tuple[Any, Any]:
            core = jit(device=True, inline="always")(self.pyfunc)
            return core, _result(self.pyfunc, sig) if sig.return_type is None else sig.return_type

        def _get_globals(self, core: Any) -> dict[str, Any]:
            return {**super()._get_globals(core), "__cuda__": numba_cuda()}

    class GUVectorize(module.CUDAGUFuncVectorize):  # type: ignore[misc,name-defined]
        def _get_globals(self, sig: Any) -> dict[str, Any]:
            return {**super()._get_globals(sig), "__cuda__": numba_cuda()}

    # The module's functions look for them there.
    module.CUDAUFuncMechanism, module.CUDAUFuncDispatcher, module.CUDAGeneralizedUFunc = Mechanism, UFunc, GUFunc
    return SimpleNamespace(Vectorize=Vectorize, GUVectorize=GUVectorize, UFunc=UFunc, GUFunc=GUFunc)


class _Pickled:
    """A ufunc, whose class another process finds here: no module has the class by name."""

    def __reduce__(self) -> tuple[Any, ...]:
        return _restored, (type(self).__name__, vars(self))


def _restored(kind: str, state: dict[str, Any]) -> Any:
    """Return a pickled ufunc."""
    found = getattr(builders(), kind)
    made = found.__new__(found)
    vars(made).update(state)
    return made


def _again(name: str) -> Any:
    """Return a module of numba-cuda's, imported once more."""
    numba_cuda()
    spec = importlib.util.find_spec(name)
    assert spec is not None and spec.loader is not None
    made = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(made)
    return made


def _vocabulary() -> SimpleNamespace:
    """Return gridjit's values for the module's names of numba.cuda."""
    arrays = SimpleNamespace(is_cuda_ndarray=lambda value: isinstance(value, DeviceArray))
    return SimpleNamespace(
        jit=jit,
        stream=stream,
        to_device=to_device,
        device_array=device_array,
        as_cuda_array=as_device_array,
        is_cuda_array=lambda value: isinstance(value, DeviceArray) or is_cuda_array(value),
        cudadrv=SimpleNamespace(devicearray=arrays),
    )


def _result(function: Any, sig: Any) -> Any:
    """Return a function's return type, if its signature does not say: by numba-cuda's inference."""
    from numba.cuda.decorators import jit as numba_jit

    if session().simulates:  # numba-cuda reads the device and its target
        from gridjit.runtime.simulated import under_numba

        under_numba.place()
    return numba_jit(sig, device=True)(function).overloads[sig.args].signature.return_type
