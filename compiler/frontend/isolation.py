"""Isolation: a compile finds none of what other compiles left inside numba-cuda, and leaves nothing there.

numba-cuda keeps device functions, overload implementations, intrinsics and internal functions by argument types
alone. What one of them was compiled from may have changed since, and what it read of the launch configuration, the
hooks it registered and the extensions it used would be lost to whoever finds it. So every kernel's compile starts
with these tables empty and puts the old ones back, under numba's global compiler lock.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import sys
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any

from gridjit.compiler.errors import CompileError
from gridjit.compiler.frontend.bootstrap import numba_cuda
from gridjit.compiler.frontend.recording import record_reads
from gridjit.compiler.frontend.replacing import replace
from gridjit.compiler.reads import Reads
from gridjit.compiler.view import ConfigView

# NVVM's data layout and IR version (IR 2.0, debug metadata 3.2) are the same from CUDA 12 on; they are stated here so
# that the IR does not depend on which libraries this machine happens to have.
_NVVM_IR_VERSION = (2, 0, 3, 2)
_FIRST_USER_CODE, _LAST_CODE = 1024, 2**31 - 1
# What templates of @overload and of @intrinsic remember from one compile to the next.
_TEMPLATE_TABLES = ("_impl_cache", "_compiled_overloads", "_inline_overloads", "_overload_cache")


@dataclass(slots=True)
class Isolation:
    """One compile's record of what it used.

    discovered: functions of @overload and @intrinsic, in the order of their use.
    exceptions: (type, arguments, location) by return code. Codes are digests: callees' never collide with a kernel's,
        and they agree between processes.
    """

    view: ConfigView
    discovered: dict[Any, None] = field(default_factory=dict)
    exceptions: dict[int, tuple[Any, Any, Any]] = field(default_factory=dict)
    emptied: set[int] = field(default_factory=set)


@contextlib.contextmanager
def isolated(
    view: ConfigView, compute_capability: tuple[Any, ...], boundscheck: bool, reads: Reads
) -> Iterator[Isolation]:
    """Run one compile for an architecture; yields the record of what it uses."""
    numba_cuda()
    from numba.cuda.core.compiler_lock import global_compiler_lock
    from numba.cuda.descriptor import cuda_target

    record = Isolation(view=view)
    with global_compiler_lock, contextlib.ExitStack() as undo:
        _running.append(undo)
        undo.callback(_running.remove, undo)
        _answer_device(undo, compute_capability)
        _set_boundscheck(undo, boundscheck)
        _number_exceptions(undo, record)
        replace(undo, cuda_target.target_context, "cached_internal_func", {})
        _empty_device_functions(undo, record)
        _empty_templates(undo, record)
        record_reads(undo, reads)
        yield record


# What undoes the changes of the compile that is running, and of those it runs inside.
_running: list[contextlib.ExitStack] = []


def _after_fork_in_child() -> None:
    """Undo what another thread's compile had changed when this process was forked, and free numba's locks of it."""
    while _running:
        _running[-1].close()
    for name in ("numba.core.compiler_lock", "numba.cuda.core.compiler_lock"):
        for lock in vars(sys.modules.get(name, sys)).values():
            if type(lock).__name__ == "_CompilerLock":
                lock._lock = threading.RLock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork_in_child)


def _answer_device(undo: contextlib.ExitStack, compute_capability: tuple[Any, ...]) -> None:
    from numba.cuda import compiler, dispatcher
    from numba.cuda.cudadrv import nvvm

    device = SimpleNamespace(compute_capability=compute_capability)
    replace(undo, compiler, "get_current_device", lambda: device)
    replace(undo, dispatcher, "get_current_device", lambda: device)
    library = SimpleNamespace(data_layout=nvvm._datalayout, get_ir_version=lambda: _NVVM_IR_VERSION)
    replace(undo, nvvm, "NVVM", lambda: library)


def _set_boundscheck(undo: contextlib.ExitStack, boundscheck: bool) -> None:
    from numba.cuda.target import CUDATargetContext

    replace(undo, CUDATargetContext, "enable_boundscheck", boundscheck)


def _number_exceptions(undo: contextlib.ExitStack, record: Isolation) -> None:
    """Number exceptions by what they are: numba-cuda counts from 1 in every function, so callees' codes collide."""
    from numba.cuda.core import callconv

    def add(helper: Any, exception: Any, arguments: Any, location: Any) -> int:
        text = repr((exception.__module__, exception.__qualname__, arguments, location))
        digest = int.from_bytes(hashlib.blake2b(text.encode(), digest_size=8).digest(), "little")
        code = _FIRST_USER_CODE + digest % (_LAST_CODE - _FIRST_USER_CODE)
        found = record.exceptions.setdefault(code, (exception, arguments, location))
        if found != (exception, arguments, location):
            raise CompileError(f"two exceptions of the kernel have the code {code}: {found} and {text}; reword one")
        helper.exceptions[code] = found
        return code

    replace(undo, callconv._MinimalCallHelper, "_add_exception", add)


def _empty_device_functions(undo: contextlib.ExitStack, record: Isolation) -> None:
    from numba.cuda.dispatcher import CUDADispatcher
    from numba.cuda.utils import pysignature

    def empty(dispatcher: Any) -> None:
        """Forget what a device function was compiled to, and from: its defaults are those of today."""
        if id(dispatcher) in record.emptied:
            return
        record.emptied.add(id(dispatcher))
        compiled = dispatcher.overloads
        replace(undo, dispatcher, "overloads", type(compiled)())
        replace(undo, dispatcher._compiler, "pysig", pysignature(dispatcher.py_func))
        if not dispatcher._can_compile:
            # For declared signatures it was compiled when it was decorated, from the globals of that moment.
            for args, result in compiled.items():
                if hasattr(result, "fndesc"):
                    dispatcher.compile_device(args, result.signature.return_type)

    def compile_device(dispatcher: Any, args: Any, return_type: Any = None) -> Any:
        empty(dispatcher)
        fresh = args not in dispatcher.overloads
        result = compile_original(dispatcher, args, return_type)
        if fresh:
            undo.callback(result.target_context.remove_user_function, result.entry_point)
            if (result.metadata or {}).get("launch_config_sensitive"):
                record.view.mark_kernel_as_launch_config_sensitive()
        return result

    def get_call_template(dispatcher: Any, args: Any, kws: Any) -> Any:
        empty(dispatcher)
        return template_original(dispatcher, args, kws)

    compile_original = replace(undo, CUDADispatcher, "compile_device", compile_device)
    template_original = replace(undo, CUDADispatcher, "get_call_template", get_call_template)


def _empty_templates(undo: contextlib.ExitStack, record: Isolation) -> None:
    """Empty the tables of each @overload and @intrinsic template when it is first used, and record its function."""
    from numba.cuda.typing import templates

    def watched(original: Callable[..., Any], function: str) -> Callable[..., Any]:
        def call(template: Any, args: Any, kws: Any) -> Any:
            owner = type(template)
            if id(owner) not in record.emptied:
                record.emptied.add(id(owner))
                for name in _TEMPLATE_TABLES:
                    if hasattr(owner, name):
                        replace(undo, owner, name, {})
            record.discovered[getattr(template, function)] = None
            return original(template, args, kws)

        return call

    for name, method, function in (
        ("_OverloadFunctionTemplate", "generic", "_overload_func"),
        ("_OverloadFunctionTemplate", "_get_impl", "_overload_func"),
        ("_IntrinsicTemplate", "generic", "_definition_func"),
    ):
        owner = getattr(templates, name)
        replace(undo, owner, method, watched(getattr(owner, method), function))
