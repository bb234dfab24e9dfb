"""Interrupts staged at the very calls where one could cost most, and launches out of the middle of a compile."""

from __future__ import annotations

import contextlib
import functools
import gc
import itertools
import signal
import sys
import threading
from _thread import start_new_thread
from collections.abc import Callable, Iterator
from types import CodeType, FrameType
from typing import Any

import numpy as np
import pytest

import gridjit
from gridjit import cuda
from gridjit.base import interrupts, stacks
from gridjit.base.forking import held
from gridjit.compiler.frontend.bindings import replacing
from gridjit.compiler.frontend.isolated import isolation
from gridjit.compiler.frontend.narrow.contexts import contexts_may_be_half_read
from gridjit.compiler.process import locks as foreign_locks
from gridjit.compiler.process.locks import compiling_locks

pytestmark = pytest.mark.usefixtures("llvm_makes_all_objects")

_numbers = itertools.count(1)


class Interrupt(BaseException):
    """Ctrl-C, or any other."""


def fresh() -> tuple[Any, int]:
    """Return a kernel that nobody has compiled, which calls a device function, and the number that it stores."""
    number = next(_numbers)

    @gridjit.jit(device=True)
    def callee(a):
        return a + number

    @gridjit.jit(cache=False, target="host")
    def kernel(x):
        i = cuda.grid(1)
        if i < x.size:
            x[i] = callee(x[i])

    return kernel, number


def compiles() -> bool:
    """Return whether a new kernel compiles and does what it says."""
    kernel, number = fresh()
    x = np.zeros(4)
    kernel[1, 4](x)
    return x.tolist() == [number] * 4


@functools.cache
def has_compiled() -> bool:
    """Return whether this process has compiled, and so has what only its first compile makes."""
    return compiles()


@contextlib.contextmanager
def at_calls(act: Callable[[FrameType], None]) -> Iterator[None]:
    """Have act called at the start of every function that this thread calls."""

    def seen(frame: FrameType, event: str, _: Any) -> None:
        if event == "call":
            act(frame)

    sys.setprofile(seen)
    try:
        yield
    finally:
        sys.setprofile(None)


def once(wanted: Callable[[FrameType], bool], act: Callable[[], None]) -> tuple[Callable[[FrameType], None], list[int]]:
    """Return what acts at the first call that is wanted, and a list with an item once it has."""
    done: list[int] = []

    def look(frame: FrameType) -> None:
        if not done and wanted(frame):
            done.append(1)
            act()

    return look, done


def interrupt() -> None:
    raise Interrupt


def is_as_it_should_be() -> bool:
    from numba.core import target_extension

    return (
        target_extension.current_target() == "cpu"
        and replacing.changes_now() == 0
        and not any(map(held, [*compiling_locks(), *foreign_locks.llvm_locks()]))
    )


def leaves(name: str, method: str) -> Callable[[FrameType], bool]:
    """Return what knows the call that enters or leaves the block of a context manager by its function's name."""

    def wanted(frame: FrameType) -> bool:
        if frame.f_code.co_name != method or frame.f_globals is not vars(contextlib):
            return False
        return getattr(getattr(frame.f_locals["self"], "gen", None), "__name__", "") == name

    return wanted


@pytest.mark.each_value_once
@pytest.mark.parametrize("number", [1, 2])
@pytest.mark.parametrize("name", ["numba_target_override", "push_code_library", "register"])
def test_an_interrupt_where_a_block_of_numbas_is_left_restores_nothing_late(name: str, number: int) -> None:
    assert has_compiled()
    count, left, kept = itertools.count(1), leaves(name, "__exit__"), []
    look, done = once(lambda frame: left(frame) and next(count) == number, interrupt)
    try:
        with at_calls(look):
            compiles()
    except Interrupt as error:
        kept.append(error)
    assert kept and done
    assert is_as_it_should_be()

    def let_go() -> None:
        kept.clear()
        gc.collect()

    look, done = once(left, let_go)
    with at_calls(look):
        assert compiles()
    assert done
    assert is_as_it_should_be()


_ENDING: list[CodeType] = [
    interrupts.surely.__code__,
    replacing.undo_to.__code__,
    foreign_locks.give_back.__code__,
    foreign_locks.compiling_locks.__code__,
    interrupts.leave_managers.__code__,
]


@pytest.mark.some(2)
@pytest.mark.parametrize("code", _ENDING, ids=lambda code: code.co_name)
def test_an_interrupt_at_any_call_that_restores_does_not_keep_it_from_being_done(code: CodeType) -> None:
    assert has_compiled()
    for number in range(1, 4):
        count = itertools.count(1)
        look, done = once(lambda frame: frame.f_code is code and next(count) == number, interrupt)  # noqa: B023
        with contextlib.suppress(Interrupt), at_calls(look):
            compiles()
        assert is_as_it_should_be(), number
        assert compiles()
        if not done:
            break


def test_a_target_that_was_not_restored_is_by_the_next_compile() -> None:
    from numba.core import target_extension

    assert has_compiled()
    isolation._left.target = "cpu"  # as a compile leaves it that cannot even assign
    target_extension._active_context.target = "cuda"
    assert compiles()
    assert is_as_it_should_be()


# -- work that must not be interrupted -------------------------------------------------------------------------------


@pytest.mark.parametrize("place", ["_started", "_wait_for"])
def test_uninterrupted_work_is_done_whole_or_not_at_all_and_never_waited_for_in_vain(place: str) -> None:
    code = getattr(interrupts, place).__code__
    begun, done = [], []

    def work() -> None:
        begun.append(1)
        done.append(1)

    look, _ = once(lambda frame: frame.f_code is code, interrupt)
    with pytest.raises(Interrupt), at_calls(look):
        interrupts.uninterrupted(work)
    assert begun == done


def test_an_interrupt_right_behind_the_start_of_the_thread_waits_for_its_work(monkeypatch: pytest.MonkeyPatch) -> None:
    at_work, go_on, done = threading.Event(), threading.Event(), []

    def work() -> None:
        at_work.set()
        go_on.wait()
        done.append(1)

    def start(run: Callable[[], None], args: tuple[()]) -> None:
        start_new_thread(run, args)
        at_work.wait()
        threading.Thread(target=go_on.set).start()
        raise Interrupt

    monkeypatch.setattr(stacks, "start_new_thread", start)
    with pytest.raises(Interrupt):
        interrupts.uninterrupted(work)
    assert done == [1]


def test_uninterrupted_work_needs_no_lock_that_python_code_takes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(threading.Condition, "__enter__", interrupt)
    monkeypatch.setattr(threading.Event, "wait", interrupt)
    done: list[int] = []
    interrupts.uninterrupted(lambda: done.append(1))
    assert done == [1]


# -- launches out of the middle of a compile -------------------------------------------------------------------------


def in_the_middle(name: str, act: Callable[[], None]) -> tuple[bool, list[int]]:
    """Compile a kernel while act is done at the first call of a function by its name; return whether it is right."""
    look, done = once(lambda frame: frame.f_code.co_name == name, act)
    with at_calls(look):
        right = compiles()
    return right, done


_PLACES = [
    *("install_registry", "refresh", "new_registrations", "_stream", "insert_func_defn"),
    *("resolve_function_type", "_resolve_user_function_type", "register", "push_code_library", "get_getattr"),
    *("compile_device", "undo_to", "replace", "run_pass", "_best_signature", "_select_compatible", "__enter__"),
    *("give_back", "_run", "optimize", "link_in", "mend_contexts", "number_exceptions", "finalize"),
]


@pytest.mark.some(3)
@pytest.mark.parametrize("place", _PLACES)
def test_a_kernel_launched_out_of_the_middle_of_a_compile_works_and_harms_nothing(place: str) -> None:
    assert has_compiled()
    contexts_may_be_half_read()  # as after one that was cut short: the registries are read again, by gridjit's streams
    inner: list[bool] = []

    def launch() -> None:
        sys.setprofile(None)
        inner.append(compiles())

    right, done = in_the_middle(place, launch)
    assert right and done and inner == [True]
    assert is_as_it_should_be()
    assert compiles()


def test_the_kernel_that_is_being_compiled_can_be_launched_by_a_signals_handler() -> None:
    kernel, number = fresh()
    inner = np.zeros(4)
    before = signal.signal(signal.SIGALRM, lambda *_: kernel[1, 4](inner))

    def ring() -> None:
        sys.setprofile(None)
        signal.raise_signal(signal.SIGALRM)

    try:
        look, done = once(lambda frame: frame.f_code.co_name == "resolve_function_type", ring)
        outer = np.zeros(4)
        with at_calls(look):
            kernel[1, 4](outer)
    finally:
        signal.signal(signal.SIGALRM, before)
    assert done and outer.tolist() == inner.tolist() == [number] * 4
    assert is_as_it_should_be()
