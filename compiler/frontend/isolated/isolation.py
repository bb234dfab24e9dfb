"""Isolation: a compile finds none of what other compiles left inside numba-cuda, and leaves nothing there.

numba-cuda keeps device functions, overload implementations, intrinsics and internal functions by argument types
alone. What one of them was compiled from may have changed since, and what it read of the launch configuration, the
hooks it registered and the extensions it used would be lost to whoever finds it. So every kernel's compile starts
with these tables empty and puts the old ones back, under numba's global compiler lock. What it then finds in them is
what it compiled itself, or what is proven to be the same (see kept).
"""

from __future__ import annotations

import functools
import hashlib
import sys
import threading
import warnings
from collections.abc import Callable
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any, TypeVar

from gridjit.compiler.errors import CompileError
from gridjit.compiler.frontend.bootstrap import numba_cuda
from gridjit.compiler.frontend.isolated.contexts import (
    contexts_are_whole,
    contexts_exist,
    contexts_may_be_half_read,
    make_contexts,
    mend_contexts,
    set_contexts_aside,
)
from gridjit.compiler.frontend.isolated.depth import allow_depth
from gridjit.compiler.frontend.isolated.names import make_names_readable
from gridjit.compiler.frontend.isolated.replacing import changes_now, replace, undo_to
from gridjit.compiler.frontend.isolated.taking import record_reads
from gridjit.compiler.frontend.kept.asked import Asking, Raised
from gridjit.compiler.frontend.kept.callees import Callees, offers_what_it_is_called_with, taken_out_at_the_end
from gridjit.compiler.frontend.kept.drafts import Drafts, NotedReads
from gridjit.compiler.frontend.kept.keeping import Keeping
from gridjit.compiler.frontend.kept.library import find_modules_once
from gridjit.compiler.frontend.kept.noticing import note_what_spoils, reuse_internal_functions, suspend_others
from gridjit.compiler.frontend.kept.plain import is_numbas
from gridjit.compiler.frontend.kept.surroundings import Surroundings, surroundings
from gridjit.compiler.frontend.locks import compiler_locks, compiling_locks, give_back, taken
from gridjit.compiler.recorded.reads import Reads
from gridjit.compiler.view.config import ConfigView
from gridjit.compiler.view.recording import recording_of
from gridjit.forking import held, in_child, section
from gridjit.interrupts import leave_managers, surely, uninterrupted

Result = TypeVar("Result")

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
    drafts: the callees that are being compiled. keeping: what is kept of callees; None if nothing is in this compile.
    """

    view: ConfigView
    discovered: dict[Any, None] = field(default_factory=dict)
    exceptions: dict[int, tuple[Any, Any, Any]] = field(default_factory=dict)
    emptied: set[int] = field(default_factory=set)
    drafts: Drafts = field(default_factory=Drafts)
    keeping: Keeping | None = None


def isolated(
    view: ConfigView,
    compute_capability: tuple[Any, ...],
    boundscheck: bool,
    reads: Reads,
    work: Callable[[Isolation], Result],
) -> Result:
    """Return work(record): one compile for an architecture, which notes in the record and in reads what it uses.

    Whatever ends it - an interrupt at any place of numba's code, too - the next compile finds all as it should be.
    """
    numba_cuda()
    core, cuda = compiler_locks()
    if not contexts_exist() and not held(core) and not held(section()):
        uninterrupted(_make_contexts)
    # Taken in C, where having a lock and knowing it are one step; numba's own wrappers take them in Python.
    with core, cuda, section():
        return _restoring(lambda: _isolated(Isolation(view=view), compute_capability, boundscheck, reads, work))


def _make_contexts() -> None:
    """Have numba-cuda import what its first compile would, as nothing mends a module that is imported halfway."""
    core, cuda = compiler_locks()
    with core, cuda, section():
        make_contexts()


def _isolated(
    record: Isolation,
    compute_capability: tuple[Any, ...],
    boundscheck: bool,
    reads: Reads,
    work: Callable[[Isolation], Result],
) -> Result:
    from numba.cuda.descriptor import cuda_target

    outermost = _is_outermost()
    if outermost:
        undo_to(0)  # of a compile that was cut short while it undid
        mend_contexts()
        _keep_callees(record, reads, surroundings(compute_capability, boundscheck))
    start = changes_now()
    try:
        if not outermost:
            set_contexts_aside()
        allow_depth()
        suspend_others(record.drafts)
        _silence_what_cannot_speak()
        make_names_readable(replace)
        _answer_device(compute_capability)
        _set_boundscheck(boundscheck)
        _number_exceptions(record)
        replace(cuda_target.target_context, "cached_internal_func", {})
        callees = Callees(record.keeping, functools.partial(_empty, record))
        _empty_device_functions(record, callees)
        _empty_templates(record, callees)
        reuse_internal_functions(callees)
        find_modules_once()
        note_what_spoils(record.drafts)
        _listen(record)
        record_reads(NotedReads(reads, record.drafts))
        result = work(record)
        if record.keeping is not None:
            record.keeping.keep()
    finally:
        try:
            undo_to(start)
        except BaseException:  # an interrupt, perhaps at the call itself
            surely(lambda: undo_to(start))
            raise
    if outermost:
        contexts_are_whole()
    return result


def _is_outermost() -> bool:
    """Return whether the calling thread, which is compiling, is in no other compile: of gridjit's or numba's own.

    An inner one may begin at any place of the other: signals' handlers, finalizers and traces launch kernels, too.
    """
    return held(compiler_locks()[0]) == 1


class _Left(threading.local):
    """Numba's target before the calling thread's compile; after one that was cut short, what it did not restore."""

    target: str | None = None


_left = _Left()


def _restoring(compile_it: Callable[[], Result]) -> Result:
    """Return compile_it(), and have the thread's locks and numba's target as they were, however it ends.

    A target that an interrupt kept from being restored is restored by the thread's next compile.
    """
    from numba.core import target_extension

    active, locks = target_extension._active_context, taken()
    before = None if _is_outermost() else _left.target
    if before is None and _left.target is not None:
        active.target = _left.target
    _left.target = target = getattr(active, "target", target_extension._active_context_default)
    try:
        return compile_it()
    except BaseException as error:
        leave_managers(error)
        raise
    finally:
        # Assignments first: interrupts come at calls.
        active.target = target
        _left.target = before
        try:
            give_back(locks)
        except BaseException:  # an interrupt, perhaps at the call itself
            surely(lambda: give_back(locks))
            raise


def _after_fork_in_child() -> None:
    """Undo what another thread's compile had changed when this process was forked."""
    if not any(held(lock) for lock in compiling_locks()):
        undo_to(0)
        contexts_may_be_half_read()


in_child(_after_fork_in_child)


def _silence_what_cannot_speak() -> None:
    """Have numba's warnings lost where standard error is closed, which would end the compile."""
    if getattr(sys.stderr, "closed", False):
        replace(warnings, "_showwarnmsg_impl", lambda message: None)


def _answer_device(compute_capability: tuple[Any, ...]) -> None:
    from numba.cuda import compiler, dispatcher
    from numba.cuda.cudadrv import nvvm

    device = SimpleNamespace(compute_capability=compute_capability)
    replace(compiler, "get_current_device", lambda: device)
    replace(dispatcher, "get_current_device", lambda: device)
    library = SimpleNamespace(data_layout=nvvm._datalayout, get_ir_version=lambda: _NVVM_IR_VERSION)
    replace(nvvm, "NVVM", lambda: library)


def _set_boundscheck(boundscheck: bool) -> None:
    from numba.cuda.target import CUDATargetContext

    replace(CUDATargetContext, "enable_boundscheck", boundscheck)


def _number(record: Isolation, exception: Any, arguments: Any, location: Any) -> int:
    """Return the code of an exception, by what it is."""
    text = repr((exception.__module__, exception.__qualname__, arguments, location))
    digest = int.from_bytes(hashlib.blake2b(text.encode(), digest_size=8).digest(), "little")
    code = _FIRST_USER_CODE + digest % (_LAST_CODE - _FIRST_USER_CODE)
    found = record.exceptions.setdefault(code, (exception, arguments, location))
    if found != (exception, arguments, location):
        raise CompileError(f"two exceptions of the kernel have the code {code}: {found} and {text}; reword one")
    record.drafts.note(Raised(exception, arguments, location))
    return code


def _number_exceptions(record: Isolation) -> None:
    """Number exceptions by what they are: numba-cuda counts from 1 in every function, so callees' codes collide."""
    from numba.cuda.core import callconv

    def add(helper: Any, exception: Any, arguments: Any, location: Any) -> int:
        code = _number(record, exception, arguments, location)
        helper.exceptions[code] = record.exceptions[code]
        return code

    replace(callconv._MinimalCallHelper, "_add_exception", add)


def _keep_callees(record: Isolation, reads: Reads, surrounded: Surroundings) -> None:
    """Have what is kept of callees used, and what is compiled of them kept, where nothing could alter it unseen."""
    if surrounded.allow_keeping:
        asking = Asking(reads=reads, recording=recording_of(record.view), number=functools.partial(_number, record))
        empty = functools.partial(_empty, record)
        record.keeping = Keeping(record.view, asking, surrounded, record.drafts, empty)


def _listen(record: Isolation) -> None:
    """Have what is done with the launch noted."""
    replace(recording_of(record.view), "listener", record.drafts)


def _empty(record: Isolation, dispatcher: Any) -> None:
    """Forget what a device function was compiled to, and from: its defaults are those of today."""
    from numba.cuda.utils import pysignature

    if id(dispatcher) in record.emptied:
        return
    record.emptied.add(id(dispatcher))
    compiled = dispatcher.overloads
    replace(dispatcher, "overloads", type(compiled)())
    replace(dispatcher._compiler, "pysig", pysignature(dispatcher.py_func))
    if not dispatcher._can_compile:
        # For declared signatures it was compiled when it was decorated, from the globals of that moment.
        for args, result in compiled.items():
            if hasattr(result, "fndesc"):
                dispatcher.compile_device(args, result.signature.return_type)


def _empty_device_functions(record: Isolation, callees: Callees) -> None:
    from numba.cuda.dispatcher import CUDADispatcher

    def compile_device(dispatcher: Any, args: Any, return_type: Any = None) -> Any:
        return callees.device_function(dispatcher, args, return_type, lambda: compiled(dispatcher, args, return_type))

    def compiled(dispatcher: Any, args: Any, return_type: Any) -> Any:
        fresh = args not in dispatcher.overloads
        result = compile_original(dispatcher, args, return_type)
        if fresh:
            taken_out_at_the_end(result)
            if (result.metadata or {}).get("launch_config_sensitive"):
                record.view.mark_kernel_as_launch_config_sensitive()
        return result

    def get_call_template(dispatcher: Any, args: Any, kws: Any) -> Any:
        _empty(record, dispatcher)
        if not offers_what_it_is_called_with(dispatcher):
            record.drafts.spoil("it calls a function for declared signatures")
        return template_original(dispatcher, args, kws)

    compile_original = replace(CUDADispatcher, "compile_device", compile_device)
    template_original = replace(CUDADispatcher, "get_call_template", get_call_template)


def _empty_templates(record: Isolation, callees: Callees) -> None:
    """Empty the tables of each @overload and @intrinsic template when it is first used, and record its function."""
    from numba.cuda.typing import templates

    def watched(original: Callable[..., Any], function: str) -> Callable[..., Any]:
        def call(template: Any, args: Any, kws: Any) -> Any:
            owner = type(template)
            if id(owner) not in record.emptied:
                record.emptied.add(id(owner))
                for name in _TEMPLATE_TABLES:
                    if hasattr(owner, name):
                        replace(owner, name, {})
            record.discovered[getattr(template, function)] = None
            if not is_numbas(getattr(template, function)):
                record.drafts.spoil("an extension implements what it calls")
            return original(template, args, kws)

        return call

    for name, method, function in (
        ("_OverloadFunctionTemplate", "generic", "_overload_func"),
        ("_OverloadFunctionTemplate", "_get_impl", "_overload_func"),
        ("_IntrinsicTemplate", "generic", "_definition_func"),
    ):
        owner = getattr(templates, name)
        replace(owner, method, watched(getattr(owner, method), function))

    def build(template: Any, numbas_key: Any, args: Any, kws: Any) -> Any:
        return callees.implementation(template, numbas_key, args, kws, build_original)

    build_original = replace(templates._OverloadFunctionTemplate, "_build_impl", build)
