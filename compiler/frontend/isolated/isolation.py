"""Isolation: a compile finds no results of other compiles inside numba-cuda, and leaves none there.

numba-cuda keeps device functions, overload implementations, intrinsics and internal functions by argument types
alone. Their source may have changed since. A compile that found them would not learn their reads of the launch
configuration, the hooks they registered and the extensions they used. So every kernel's compile starts with these
tables empty and puts the old tables back, under numba's global compiler lock. It then finds only its own results in
them, or results that are proven to be the same (see kept).
"""

from __future__ import annotations

import functools
import sys
import threading
import warnings
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any, TypeVar

from gridjit.base.forking import forked_alone, held, in_child, section
from gridjit.base.interrupts import leave_managers, let_through, surely, uninterrupted
from gridjit.base.values import dataclass
from gridjit.compiler.frontend.bindings.bootstrap import numba_cuda
from gridjit.compiler.frontend.bindings.replacing import changes_now, on_undo, originals, put, replace, undo_to
from gridjit.compiler.frontend.bindings.vocabulary import correct_draws, keep_functions_in_tuples
from gridjit.compiler.frontend.bindings.warp_types import widen_warp_types
from gridjit.compiler.frontend.faster import matched
from gridjit.compiler.frontend.faster.pieces import make_faster
from gridjit.compiler.frontend.isolated.closures import bind_arguments
from gridjit.compiler.frontend.isolated.failing import Failures
from gridjit.compiler.frontend.isolated.launch_visibility import hide_from_backend
from gridjit.compiler.frontend.isolated.names import make_names_readable
from gridjit.compiler.frontend.isolated.passes import time_passes
from gridjit.compiler.frontend.isolated.record import Isolation as Isolation
from gridjit.compiler.frontend.isolated.record import (
    empty,
    empty_device_functions,
    empty_templates,
    number,
    number_exceptions,
)
from gridjit.compiler.frontend.isolated.recursion import allow_depth, allow_recursion
from gridjit.compiler.frontend.isolated.taking import record_reads
from gridjit.compiler.frontend.kept.asked import Asking
from gridjit.compiler.frontend.kept.callees import Callees
from gridjit.compiler.frontend.kept.drafts import NotedReads
from gridjit.compiler.frontend.kept.keeping import Keeping
from gridjit.compiler.frontend.kept.library import find_modules_once
from gridjit.compiler.frontend.kept.noticing import note_what_spoils, reuse_internal_functions, suspend_others
from gridjit.compiler.frontend.kept.surroundings import Surroundings, allow_keeping, surroundings
from gridjit.compiler.frontend.narrow.contexts import (
    contexts_are_whole,
    contexts_may_be_half_read,
    contexts_were_read,
    make_contexts,
    mend_contexts,
    set_contexts_aside,
)
from gridjit.compiler.frontend.narrow.leaving_out import (
    are_left_out,
    are_words_left_out,
    complete_contexts,
    go_on_without,
    import_in_order,
    leave_out,
    load_words,
    may_matter,
    note_left_out,
    words_may_matter,
)
from gridjit.compiler.frontend.narrow.modules import are_imported, in_numbas_own_compiles, stop_at_narrow_floats
from gridjit.compiler.frontend.narrow.words import stop_at_words
from gridjit.compiler.key.extensions import all_registrations
from gridjit.compiler.numba_state.first_modules import note_first_modules
from gridjit.compiler.process.collecting import making_what_stays
from gridjit.compiler.process.locks import compiler_locks, compiling_locks, give_back, taken
from gridjit.compiler.recorded.reads import Reads
from gridjit.compiler.values.phases import phase
from gridjit.compiler.view.config import ConfigView
from gridjit.compiler.view.recording import recording_of

Result = TypeVar("Result")

# NVVM's data layout and IR version (IR 2.0, debug metadata 3.2) are the same from CUDA 12 on; they are stated here so
# that the IR does not depend on which libraries this machine happens to have.
_NVVM_IR_VERSION = (2, 0, 3, 2)


@dataclass(frozen=True, slots=True, kw_only=True)
class CompileConditions:
    """The launch and the device of a compile, for which numba answers in isolation. reads: notes values from Python.

    keep: whether callees may come from other compiles, and be kept for them.
    """

    view: ConfigView
    capability: tuple[Any, ...]
    boundscheck: bool
    reads: Reads
    keep: bool = True


def isolated(conditions: CompileConditions, lower: Callable[[Isolation], Result]) -> Result:
    """Return lower(record): one compile, which notes its inputs in the record and in reads.

    It is begun again with the floats of 16 and 8 bits if it ended for want of them. That shows in many ways, such as a
    name that is not there, so it is tried after every error of a compile that was without them. Only the compile itself
    knows whether it is: before and after, other threads import them. If it met a word that was left out, it is begun
    again with the words first, even if numba did without.
    """
    import_all()
    record = Isolation(view=conditions.view)
    begin_again = conditions.view.until_now()
    for words_first in (True, False):
        try:
            result = _in_isolation(conditions, record, lower)
        except Exception as error:
            let_through(error)
            if not record.without_narrow_floats:
                raise
        else:
            if not record.met_a_word and not (record.without_narrow_floats and are_imported()):
                return result
        words = words_first and record.met_a_word
        import_all(words=words, narrow_floats=not words)
        begin_again()
        record = Isolation(view=conditions.view, told_before=record.told, needs_all=not words)
        if not words:
            break
    return _in_isolation(conditions, record, lower)


def _in_isolation(conditions: CompileConditions, record: Isolation, lower: Callable[[Isolation], Result]) -> Result:
    """Return lower(record), done while numba is as one compile needs it.

    However it ends, even by an interrupt anywhere in numba's code, the next compile finds everything as it should be.
    """
    core, cuda = compiler_locks()
    # Taken in C, where taking a lock and noting it are one step; numba's own wrappers take them in Python.
    with core, cuda, section():
        before = _Before()
        try:
            _enter(conditions, record, before)
            result = lower(record)
            if record.keeping is not None:
                record.keeping.keep()
        except BaseException as error:
            leave_managers(error)
            raise
        finally:
            try:
                before.restore()
            except BaseException:  # an interrupt, perhaps at the call itself
                surely(before.restore)
                raise
        if before.is_outermost:
            contexts_are_whole()
    return result


def import_all(*, narrow_floats: bool = False, words: bool = False) -> None:
    """Import all modules of numba-cuda's first compile: nothing mends a module that was imported halfway.

    narrow_floats: also the floats of 16 and 8 bits, which are left out otherwise until a compile needs them. words:
    also libdevice's functions and the vector types, which are left out in the same way.
    """
    numba_cuda()
    if held(compiler_locks()[0]) or held(section()):
        return
    if not contexts_were_read():
        _import(_make_contexts)
    if are_left_out() if narrow_floats else may_matter():
        _import(_complete_contexts)
    elif words_may_matter() or (words and are_words_left_out()):
        _import(_load_words)


# When the contexts read all registries: how many modules were loaded, and the function that reads libraries'.
_read_at: list[tuple[int, object]] = []


def read_registries() -> None:
    """Make the contexts read all registrations, as each compile does first.

    A library that patches how contexts read registries brings its own into view only then.
    """
    import_all()
    from numba.cuda.target import CUDATypingContext

    loads = CUDATypingContext.load_additional_registries
    if _read_at == [(len(sys.modules), loads)] or held(compiler_locks()[0]) or held(section()):
        return
    _import(_read_registries)
    _read_at[:] = [(len(sys.modules), loads)]


def _read_registries() -> None:
    go_on_without(put)
    make_contexts()


def _import(work: Callable[[], None]) -> None:
    """Do work with numba-cuda's contexts that imports, while no compile is under way in this thread."""

    def do_it() -> None:
        core, cuda = compiler_locks()
        with core, cuda, section():
            start = changes_now()
            try:
                make_faster(replace)
                work()
            finally:
                undo_to(start)

    with phase("import"):
        uninterrupted(lambda: making_what_stays(do_it))


def _make_contexts() -> None:
    leave_out(replace)
    make_contexts()
    note_left_out()


def _complete_contexts() -> None:
    if are_left_out():  # another thread may have been first
        complete_contexts()


def _load_words() -> None:
    if are_words_left_out():
        go_on_without(put)  # to make a type's attribute known, numba-cuda has contexts load their registries
        load_words()


def _enter(conditions: CompileConditions, record: Isolation, before: _Before) -> None:
    """Put a compile's replacements in place in numba."""
    from numba.cuda.descriptor import cuda_target

    if before.is_outermost:
        undo_to(0)  # left by a compile that was cut short while undoing
        mend_contexts()
        if conditions.keep:
            _keep_callees(record, conditions)
    failures = Failures(record.drafts)
    on_undo(failures.forget)
    if not before.is_outermost or (record.needs_all and are_left_out()):  # where nothing can be imported for good
        _set_contexts_aside()
    allow_depth()
    allow_recursion(record.waiting, record.keeping)
    suspend_others(record.drafts)
    _silence_what_cannot_speak()
    _speak_of_what_users_can_change()
    make_names_readable(replace)
    correct_draws(replace)
    keep_functions_in_tuples(put)
    widen_warp_types(replace)
    make_faster(replace)
    replace(matched, "surroundings", _alike(record.keeping))
    _answer_device(conditions.capability)
    _set_boundscheck(conditions.boundscheck)
    number_exceptions(record)
    replace(cuda_target.target_context, "cached_internal_func", {})
    callees = Callees(record.keeping, functools.partial(empty, record))
    failures.begin()
    empty_device_functions(record, callees, failures)
    empty_templates(record, callees)
    bind_arguments()
    reuse_internal_functions(callees)
    find_modules_once()
    note_what_spoils(record.drafts)
    replace(recording_of(record.view), "listener", record.drafts)
    record_reads(NotedReads(conditions.reads, record.drafts))
    time_passes()
    _leave_out(record)
    hide_from_backend()


def _leave_out(record: Isolation) -> None:
    """Make the compile stop at types and words that its contexts lack, and not repeat a stopped compile's warnings."""
    if record.told_before is not None:
        record.told_before.leave_out(replace)
    if are_left_out():
        record.without_narrow_floats = True
        record.told.note(replace)
        go_on_without(put)
        stop_at_narrow_floats(replace, are_left_out)
        in_numbas_own_compiles(replace, _with_contexts_aside)
    if are_words_left_out():
        stop_at_words(replace, are_words_left_out, record.meet_a_word)


def _set_contexts_aside() -> None:
    """Begin a compile inside another one, which may be without the floats of 16 and 8 bits, and remains so."""
    if without := are_left_out():
        uninterrupted(import_in_order)  # which makes functions known to the contexts, for good
    set_contexts_aside()
    if without:
        complete_contexts()


def _with_contexts_aside(compile_it: Callable[[], Result]) -> Result:
    """Return compile_it(), a compile of numba-cuda's own inside one of ours that is without these floats."""
    if not are_left_out():
        return compile_it()
    start = changes_now()
    try:
        _set_contexts_aside()
        return compile_it()
    finally:
        try:
            undo_to(start)
        except BaseException:  # an interrupt, perhaps at the call itself
            surely(lambda: undo_to(start))
            raise


def _is_outermost() -> bool:
    """Return whether the calling thread's compile is not inside another one, of gridjit's or of numba's own.

    An inner one may begin anywhere in the other: signal handlers, finalizers and trace functions launch kernels, too.
    """
    return held(compiler_locks()[0]) == 1


class _Left(threading.local):
    """Numba's target before the calling thread's compile; if that was cut short, the target still to be restored."""

    target: str | None = None


_left = _Left()


class _Before:
    """The state restored when the calling thread's compile ends: numba's attributes, its target, the thread's locks.

    If an interrupt prevents that, the thread's next compile restores the target.
    """

    def __init__(self) -> None:
        from numba.core import target_extension

        self.is_outermost = _is_outermost()
        self._active, self._locks = target_extension._active_context, taken()
        self._changes = 0 if self.is_outermost else changes_now()
        self._left = None if self.is_outermost else _left.target
        if self._left is None and _left.target is not None:
            self._active.target = _left.target
        _left.target = self._target = getattr(self._active, "target", target_extension._active_context_default)

    def restore(self) -> None:
        """Restore all of it; done twice, it is as if done once."""
        self._active.target = self._target
        _left.target = self._left
        undo_to(self._changes)
        give_back(self._locks)


def _after_fork_in_child() -> None:
    """Undo what another thread's compile had changed when this process was forked."""
    if not any(held(lock) for lock in compiling_locks()):
        undo_to(0)
        if not forked_alone():  # otherwise it is known: no compile of numba's own was under way
            contexts_may_be_half_read()


in_child(_after_fork_in_child)


def _silence_what_cannot_speak() -> None:
    """Let numba's warnings be lost if standard error is closed; otherwise they would end the compile."""
    if getattr(sys.stderr, "closed", False):
        replace(warnings, "_showwarnmsg_impl", lambda message: None)


def _speak_of_what_users_can_change() -> None:
    """Leave out that functions as values are experimental in numba: users of gridjit can rely on them."""
    from numba.core import utils
    from numba.core.errors import NumbaExperimentalFeatureWarning
    from numba.cuda import utils as cuda_utils

    def warn(message: Any, category: type[Warning] = UserWarning, stacklevel: int = 1, **given: Any) -> None:
        if not issubclass(category, NumbaExperimentalFeatureWarning):
            warnings.warn(message, category, stacklevel + 1, **given)

    for module in (utils, cuda_utils):
        replace(module, "warnings", SimpleNamespace(warn=warn))


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


def _keep_callees(record: Isolation, conditions: CompileConditions) -> None:
    """Use kept callees, and keep new ones, where nothing could alter them unseen.

    A process's first compile looks at its surroundings when it meets a callee, as there are no units before: the first
    look takes a tenth of a small kernel's compile.
    """
    if not allow_keeping(all_registrations()):
        return

    def look_around() -> Surroundings:
        replaced = originals()
        found = surroundings(conditions.capability, conditions.boundscheck, replaced)
        if replaced:  # the compile is under way
            matched.surroundings = found if found.allow_keeping else None
        return found

    asking = Asking(
        reads=conditions.reads, recording=recording_of(record.view), number=functools.partial(number, record)
    )
    record.keeping = Keeping(record.view, asking, look_around, record.drafts, functools.partial(empty, record))
    if not note_first_modules() and not record.keeping.surroundings.allow_keeping:
        record.keeping = None


def _alike(keeping: Keeping | None) -> object | None:
    """Return an object that is the same for compiles that differ by types alone; None if that is not known."""
    if keeping is None:
        return None
    return keeping.surroundings if keeping.has_looked else object()
