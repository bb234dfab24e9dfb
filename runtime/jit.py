"""jit: the decorator. A function and its options in, a Kernel (or a DeviceFunction for kernels to call) out."""

from __future__ import annotations

import dis
import functools
import inspect
from collections.abc import Callable, Collection, Iterable, Sequence
from types import CodeType, FunctionType, MethodType
from typing import TYPE_CHECKING, Any, Literal, overload

from gridjit.compiler.key.numba_settings import setting_now
from gridjit.compiler.values.errors import ConfigError, a_class, shown, switch
from gridjit.compiler.values.launch_config import declared_launches
from gridjit.compiler.values.options import Options, options_of
from gridjit.runtime.device_function import DeviceFunction, Parameters, Result
from gridjit.runtime.environment.tracebacks import for_users
from gridjit.runtime.kernel import Kernel
from gridjit.runtime.specializations.table import DEFAULT_LIMIT

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from gridjit.runtime.accepted import (
        DeclaredLaunch,
        EitherDecorator,
        FunctionDecorator,
        FunctionOptions,
        KernelDecorator,
        KernelOptions,
        SignatureLike,
    )

# Flags of the code of async functions.
_ASYNCHRONOUS = inspect.CO_COROUTINE | inspect.CO_ASYNC_GENERATOR


@overload
def jit(
    func_or_sig: Callable[Parameters, Result], *, device: Literal[True], **options: Unpack[FunctionOptions]
) -> DeviceFunction[Parameters, Result]: ...
@overload
def jit(
    func_or_sig: SignatureLike | Sequence[SignatureLike] | None = None,
    *,
    device: Literal[True],
    **options: Unpack[FunctionOptions],
) -> FunctionDecorator: ...
@overload
def jit(
    func_or_sig: Callable[..., Any], *, device: Literal[False] | None = None, **options: Unpack[KernelOptions]
) -> Kernel: ...
@overload
def jit(
    func_or_sig: SignatureLike | Sequence[SignatureLike] | None = None,
    *,
    device: Literal[False] | None = None,
    **options: Unpack[KernelOptions],
) -> KernelDecorator: ...
@overload
def jit(
    func_or_sig: Callable[Parameters, Result], *, device: bool | None, **options: Unpack[FunctionOptions]
) -> Kernel | DeviceFunction[Parameters, Result]: ...
@overload
def jit(
    func_or_sig: SignatureLike | Sequence[SignatureLike] | None = None,
    *,
    device: bool | None,
    **options: Unpack[FunctionOptions],
) -> EitherDecorator: ...
@for_users
def jit(
    func_or_sig: Any = None,
    *,
    target: str | None = None,
    cache: bool = True,
    max_specializations: int = DEFAULT_LIMIT,
    hold_gil: bool = False,
    extensions: Sequence[Any] = (),
    background: bool | None = None,
    launches: Iterable[DeclaredLaunch] = (),
    **options: Any,
) -> Any:
    """Make a kernel of a Python function.

        @gridjit.jit
        def scale(x, factor):
            i = cuda.grid(1)
            if i < x.size:
                x[i] *= factor

        scale[blocks, threads](x, 2.0)

    func_or_sig: the function; or a signature, or a list of them, to compile for at once.
    target: "host" or "cuda" (default: CUDA if there is a device). cache: keep results on disk.
    max_specializations: how many compiled forms to keep loaded (64); the least recently used are unloaded.
    hold_gil: keep the GIL during the driver's call: faster by 0.04 us, but unsafe with host callbacks in streams.
    background: compile signatures in other processes, and wait for each when it is used (default: if
        GRIDJIT_COMPILE_PROCESSES says how many; see docs/processes.md).
    launches: the launches that the program makes, for `gridjit certify`: (8, 64), or {"grid": 8, "block": (16, 16),
        "sharedmem": 1024} (see docs/operating.md); other launches compile as always.
    extensions: objects whose `prepare_args`, numba-cuda's, prepares arguments before each launch.
    options: numba.cuda.jit's (device, debug, opt, fastmath, lineinfo, max_registers, launch_bounds, lto, link, inline,
        forceinline, shared_memory_carveout), `specialize`, and `tiered` (docs/tiered.md).
    Raises ConfigError for an option or value that does not exist.
    """
    if isinstance(func_or_sig, classmethod | staticmethod | property):
        raise ConfigError(not_a_function(func_or_sig))
    debug, opt = bool(setting_now("NUMBA_CUDA_DEBUGINFO")), setting_now("NUMBA_OPT") != 0
    chosen = options_of(options, debug=debug, opt=opt)
    kept: dict[str, Any] = {
        "target": target,
        "cache": cache,
        "max_specializations": max_specializations,
        "hold_gil": switch("jit: hold_gil", hold_gil),
        "extensions": () if extensions is None else extensions,
        "background": background,
    }
    _check(chosen, kept)
    declared = declared_launches("jit(launches)", launches) if launches != () else ()

    @for_users  # it may also be called when jit has returned
    def decorate(function: Callable[..., Any], signatures: list[Any]) -> Any:
        function = _plain(function)
        if chosen.device:
            return DeviceFunction(function, chosen, signatures)
        kernel = _kind(chosen)(function, chosen, **kept)
        kernel.launches = declared
        for signature in signatures:
            kernel.declare(signature)
        kernel.specialized = bool(signatures) and not isinstance(func_or_sig, list)
        return kernel

    if callable(func_or_sig) and not hasattr(func_or_sig, "return_type"):
        return decorate(func_or_sig, [])
    return functools.partial(decorate, signatures=_listed(func_or_sig))


def _listed(signatures: Any) -> list[Any]:
    """Return jit's signatures: none, one or a list."""
    if signatures is None:
        return []
    return signatures if isinstance(signatures, list) else [signatures]


def _check(chosen: Options, kept: dict[str, Any]) -> None:
    """Make bools of switches; raise ConfigError for a wrong value of jit's own parameters."""
    _settle(kept, "cache", "True or False; GRIDJIT_CACHE_DIR says where the cache is")
    _settle(kept, "background", "True or False")
    if chosen.tiered and not chosen.specialize:
        raise ConfigError("jit(tiered=True): name fields in specialize=..., for which generic code serves meanwhile")
    if kept["target"] not in (None, "host", "cuda"):
        raise _wrong(kept, "target", "'host' or 'cuda'")
    if not isinstance(kept["extensions"], Iterable):
        raise _wrong(kept, "extensions", "a list of objects with prepare_args")
    if not isinstance(kept["max_specializations"], int) or kept["max_specializations"] < 1:
        raise _wrong(kept, "max_specializations", "a whole number, 1 or more")


def _settle(kept: dict[str, Any], name: str, wanted: str) -> None:
    """Make a bool of a given switch."""
    try:
        kept[name] = None if kept[name] is None else switch(name, kept[name])
    except ConfigError:
        raise _wrong(kept, name, wanted) from None


def _wrong(kept: dict[str, Any], name: str, wanted: str) -> ConfigError:
    return ConfigError(f"jit({name}={shown(kept[name])}): give {wanted}")


def _plain(function: Any) -> FunctionType:
    """Return the function to compile; raises ConfigError for anything else."""
    if isinstance(function, Kernel | DeviceFunction):
        function = function.py_func
    if not isinstance(function, FunctionType) or function.__code__.co_flags & _ASYNCHRONOUS:
        raise ConfigError(not_a_function(function))
    if (name := _assigned_around(function.__code__, function.__code__.co_freevars)) is not None:
        raise ConfigError(
            f"jit(): {function.__qualname__} assigns {name!r} of the function around it (nonlocal), which a kernel "
            "cannot: write results to an array that is an argument"
        )
    return function


def _assigned_around(code: CodeType, around: Collection[str]) -> str | None:
    """Return a variable of functions around this code that it, or code in it, assigns: compiled, it would be its own.

    around: the names of those variables.
    """
    if not around:
        return None
    stored = (one.argval for one in dis.get_instructions(code) if one.opname in ("STORE_DEREF", "DELETE_DEREF"))
    inner = (one for one in code.co_consts if isinstance(one, CodeType))
    inside = (_assigned_around(one, {*one.co_freevars} & {*around}) for one in inner)
    return next((name for name in (*stored, *inside) if name in around), None)


def not_a_function(given: object) -> str:
    """Return the error, with advice, for anything but a plain function under jit."""
    said = f"jit decorates functions made with def or lambda, not {_named(given)}"
    if isinstance(given, FunctionType):
        return f"jit(): {given.__qualname__} is asynchronous, and kernels cannot be: leave out 'async' and 'await'"
    if isinstance(given, classmethod | staticmethod | property):
        return f"{said}: write @staticmethod above @jit, as kernels have no self or cls"
    if isinstance(given, type):
        return f"{said}: decorate its functions, each under @staticmethod"
    if isinstance(given, MethodType):
        return f"{said}: decorate the function in its class, under @staticmethod"
    for name in ("py_func", "__wrapped__", "func"):
        if isinstance(_attribute(given, name), FunctionType):
            return f"{said}: decorate the function in it, its {name}"
    if type(given).__module__.startswith("numba."):
        return f"{said}: give types of arguments as a tuple, or as a string such as 'void(float32[::1])'"
    return f"{said}: write one in Python, which calls what kernels can call"


def _named(given: object) -> str:
    """Return a message's name for a value that is not a function: its own name, if any."""
    name = _attribute(given, "__qualname__") or _attribute(given, "__name__")
    kind = a_class(type(given))
    return f"the {kind.partition(' ')[2]} {name}" if isinstance(name, str) else kind


def _attribute(given: object, name: str) -> object:
    """Return an attribute, or None if there is none or a proxy fails."""
    try:
        return getattr(given, name, None)
    except Exception:
        return None


def _kind(options: Options) -> type[Kernel]:
    """Return the class for these options."""
    if not options.tiered:
        return Kernel
    from gridjit.runtime.tiered_kernel import TieredKernel  # few kernels are tiered

    return TieredKernel
