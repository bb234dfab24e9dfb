"""Isolation: what one compile may share with others inside numba-cuda, and what it may not.

numba-cuda caches device functions, overload implementations and intrinsics by argument types alone. One that was
compiled while a launch configuration was read is right for that configuration only, so it is forgotten when the
compile ends; all others stay. Everything here happens under numba's global compiler lock and is undone after.
"""

from __future__ import annotations

import contextlib
import hashlib
import inspect
import weakref
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any

from gridjit.compiler.frontend.bootstrap import numba_cuda
from gridjit.compiler.frontend.rewrites import foreign_rewrites
from gridjit.compiler.view import ConfigView

# NVVM's data layout and IR version (IR 2.0, debug metadata 3.2) are the same from CUDA 12 on; they are stated here so
# that the IR does not depend on which libraries this machine happens to have.
_NVVM_IR_VERSION = (2, 0, 3, 2)
_FIRST_USER_CODE, _LAST_CODE = 1024, 2**31 - 1

# Device functions that gridjit compiled and may reuse: dispatcher -> argument types -> the conditions it was for.
_reusable: weakref.WeakKeyDictionary[Any, dict[Any, Any]] = weakref.WeakKeyDictionary()
# Every exception that compiled code can return, by its code; codes are digests, so they agree between processes.
_exceptions: dict[int, tuple[Any, Any, Any]] = {}


@dataclass(slots=True)
class Isolation:
    """One compile's record of what it put into numba-cuda's shared tables."""

    view: ConfigView
    conditions: tuple[Any, ...]
    discovered: dict[Any, None] = field(default_factory=dict)
    device_functions: list[tuple[Any, Any]] = field(default_factory=list)
    implementations: list[tuple[dict[Any, Any], Any]] = field(default_factory=list)


@contextlib.contextmanager
def isolated(view: ConfigView, compute_capability: tuple[Any, ...], boundscheck: bool) -> Iterator[Isolation]:
    """Run one compile for an architecture; yields the record whose `discovered` lists implementations it used."""
    numba_cuda()
    from numba.cuda.core.compiler_lock import global_compiler_lock

    record = Isolation(view=view, conditions=(compute_capability, boundscheck, foreign_rewrites()))
    with global_compiler_lock, contextlib.ExitStack() as undo:
        _answer_device(undo, compute_capability)
        _set_boundscheck(undo, boundscheck)
        _number_exceptions(undo)
        _watch_device_functions(undo, record)
        _watch_implementations(undo, record)
        inner = _internal_functions()
        known = set(inner)
        try:
            yield record
        finally:
            if view.footprint.facts:
                _forget(record)
                for key in set(inner) - known:
                    del inner[key]


def exception_of(code: int) -> tuple[Any, Any, Any] | None:
    """Return (type, arguments, location) of the exception a return code stands for, or None."""
    return _exceptions.get(code)


def _replace(undo: contextlib.ExitStack, owner: Any, name: str, value: Any) -> Any:
    original = inspect.getattr_static(owner, name)
    undo.callback(setattr, owner, name, original)
    setattr(owner, name, value)
    return original


def _answer_device(undo: contextlib.ExitStack, compute_capability: tuple[Any, ...]) -> None:
    from numba.cuda import compiler, dispatcher
    from numba.cuda.cudadrv import nvvm

    device = SimpleNamespace(compute_capability=compute_capability)
    _replace(undo, compiler, "get_current_device", lambda: device)
    _replace(undo, dispatcher, "get_current_device", lambda: device)
    library = SimpleNamespace(data_layout=nvvm._datalayout, get_ir_version=lambda: _NVVM_IR_VERSION)
    _replace(undo, nvvm, "NVVM", lambda: library)


def _set_boundscheck(undo: contextlib.ExitStack, boundscheck: bool) -> None:
    from numba.cuda.target import CUDATargetContext

    _replace(undo, CUDATargetContext, "enable_boundscheck", boundscheck)


def _number_exceptions(undo: contextlib.ExitStack) -> None:
    """Number exceptions by what they are: numba-cuda counts from 1 in every function, so callees' codes collide."""
    from numba.cuda.core import callconv

    def add(helper: Any, exception: Any, arguments: Any, location: Any) -> int:
        text = repr((exception.__module__, exception.__qualname__, arguments, location))
        digest = int.from_bytes(hashlib.blake2b(text.encode(), digest_size=8).digest(), "little")
        code = _FIRST_USER_CODE + digest % (_LAST_CODE - _FIRST_USER_CODE)
        _exceptions[code] = helper.exceptions[code] = (exception, arguments, location)
        return code

    _replace(undo, callconv._MinimalCallHelper, "_add_exception", add)


def _watch_device_functions(undo: contextlib.ExitStack, record: Isolation) -> None:
    from numba.cuda.dispatcher import CUDADispatcher

    def compile_device(dispatcher: Any, args: Any, return_type: Any = None) -> Any:
        reusable = _reusable.setdefault(dispatcher, {})
        if args in dispatcher.overloads and reusable.get(args) != record.conditions:
            _remove_overload(dispatcher, args)
        fresh = args not in dispatcher.overloads
        result = original(dispatcher, args, return_type)
        if fresh:
            reusable[args] = record.conditions
            record.device_functions.append((dispatcher, args))
            if (result.metadata or {}).get("launch_config_sensitive"):
                record.view.mark_kernel_as_launch_config_sensitive()
        return result

    original = _replace(undo, CUDADispatcher, "compile_device", compile_device)


def _watch_implementations(undo: contextlib.ExitStack, record: Isolation) -> None:
    """Record which @overload and @intrinsic implementations are used, and which are built now."""
    from numba.cuda.typing import templates

    def watched(original: Callable[..., Any], function: str) -> Callable[..., Any]:
        def call(template: Any, args: Any, kws: Any) -> Any:
            cache = template._impl_cache
            known = set(cache)
            result = original(template, args, kws)
            record.discovered[getattr(template, function)] = None
            record.implementations.extend((cache, key) for key in set(cache) - known)
            return result

        return call

    for name, method, function in (
        ("_OverloadFunctionTemplate", "_get_impl", "_overload_func"),
        ("_IntrinsicTemplate", "generic", "_definition_func"),
    ):
        owner = getattr(templates, name)
        _replace(undo, owner, method, watched(getattr(owner, method), function))


def _internal_functions() -> dict[Any, Any]:
    from numba.cuda.descriptor import cuda_target

    return cuda_target.target_context.cached_internal_func  # type: ignore[no-any-return]  # numba is untyped


def _forget(record: Isolation) -> None:
    for dispatcher, args in record.device_functions:
        if args in dispatcher.overloads:
            _remove_overload(dispatcher, args)
        _reusable[dispatcher].pop(args, None)
    for cache, key in record.implementations:
        cache.pop(key, None)


def _remove_overload(dispatcher: Any, args: Any) -> None:
    result = dispatcher.overloads.pop(args)
    result.target_context.remove_user_function(result.entry_point)
