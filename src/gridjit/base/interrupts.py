"""interrupts: work that ends before an interrupt is raised, clean-up that always completes, exceptions of handlers.

Ctrl-C, a signal's handler or PyThreadState_SetAsyncExc raise an exception at any call of the thread that they are for.
They come at calls and at the start of functions, not between plain assignments.

A handler's error may be an Exception; TimeoutError is even an OSError. If a cache took it for a fault of the disk, or a
walk over a value took it for an error of that value's code, a program would run on after its time is up.
"""

from __future__ import annotations

import contextlib
import itertools
import sys
from _thread import LockType, allocate_lock
from collections.abc import Callable, Iterator
from types import BuiltinFunctionType, CodeType, FrameType, TracebackType

from gridjit.base.stacks import on_new_thread

# More often than anyone interrupts work of microseconds.
_TRIES = 100
# Wrappers in wrappers are followed no deeper.
_DEEPEST = 8


def uninterrupted(work: Callable[[], object]) -> None:
    """Do work in a thread of its own, which no interrupt reaches; the caller's interrupt is raised when it is done.

    For work that nothing could repair, as a module that is imported halfway. Its locks must not be the caller's. The
    thread that takes `begun` does the work, or prevents it. No lock that Python code takes is waited for: an interrupt
    could keep it forever, as the locks with which threading starts threads.
    """
    failed: list[BaseException] = []
    begun, done = allocate_lock(), allocate_lock()
    done.acquire()

    def run() -> None:
        try:
            if begun.acquire(blocking=False):
                work()
        except BaseException as error:
            failed.append(error)
        finally:
            done.release()

    try:
        _started(run)
        _wait_for(done)
    except BaseException:
        if not begun.acquire(blocking=False):
            _wait_for(done)
        raise
    if failed:
        raise failed[0]


def _started(run: Callable[[], None]) -> None:
    """Have run called, on a new thread if there can be one."""
    try:
        on_new_thread(run)
    except RuntimeError:
        run()  # no more threads, or the interpreter is ending


def _wait_for(done: LockType) -> None:
    """Wait until a lock was released once, in C; an interrupt is raised then."""
    try:
        with done:
            pass
    except BaseException:
        # Waited for all the same: whoever comes next must not meet the work half done.
        _wait_for(done)
        raise


def surely(restore: Callable[[], object], *, tries: int | None = _TRIES) -> None:
    """Call a function that may be called repeatedly until it completes; then raise an interrupt's exception.

    tries: how often it is called at the most; None: until it completes, for work that must not be left undone.
    """
    interrupted: BaseException | None = None
    for _ in itertools.count() if tries is None else range(tries):
        try:
            restore()
            break
        except BaseException as error:
            interrupted = error
    if interrupted is not None:
        raise interrupted


def leave_managers(error: BaseException) -> None:
    """Leave each block of a context manager that error, just caught, kept from being left.

    An interrupt at the call of `__enter__` or `__exit__` leaves a generator of contextlib's waiting. It would go on
    when the traceback is freed: much later, perhaps in another thread, and restore an outdated state then.
    """
    seen: list[BaseException] = []
    caught: BaseException | None = error
    while caught is not None and caught not in seen:
        seen.append(caught)
        for frame in reversed([step.tb_frame for step in _steps(caught.__traceback__)]):
            if frame.f_globals is vars(contextlib):
                with contextlib.suppress(Exception):  # it runs, or was left already
                    frame.f_locals["self"].gen.close()
        caught = caught.__context__


def _steps(step: TracebackType | None) -> Iterator[TracebackType]:
    """Yield each step of a traceback, the outermost first; without the module traceback, which no start needs."""
    while step is not None:
        yield step
        step = step.tb_next


def let_through(error: BaseException) -> None:
    """Raise the exception of a signal's handler, if it is error, just caught, or in its causes."""
    if (raised := raised_by_a_handler(error)) is not None:
        raise raised


def raised_by_a_handler(error: BaseException) -> BaseException | None:
    """Return the exception of a signal's handler, if it is error, just caught, or in its causes; else None."""
    step = error.__traceback__
    if step is None or (step.tb_next is None and error.__context__ is None):
        return None  # most are raised where they are caught, and by nobody's handler
    codes = _handlers()
    found = (one for one in _chain(error) if any(step.tb_frame.f_code in codes for step in _steps(one.__traceback__)))
    first = next(found, None) if codes else None
    # A program that handles such an error, and launches meanwhile, has that one as the context of all others.
    return None if first is None or _is_of_a_caller(first, step.tb_frame) else first


class tolerated(contextlib.suppress):  # noqa: N801  # used as contextlib.suppress is
    """contextlib.suppress, for all exceptions but a signal handler's."""

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, step: TracebackType | None
    ) -> bool:
        """Return whether the error is of these classes, and no handler raised it."""
        suppressed = bool(super().__exit__(kind, error, step))
        return suppressed and (error is None or raised_by_a_handler(error) is None)


def _chain(error: BaseException | None) -> Iterator[BaseException]:
    """Yield an error and its chain of causes, the last first."""
    seen = set[int]()
    while error is not None and id(error) not in seen:
        seen.add(id(error))
        yield error
        error = error.__cause__ or error.__context__


def _handlers() -> set[CodeType]:
    """Return the code of the program's handlers of signals."""
    signals = sys.modules.get("_signal")  # whoever set one has imported it
    if signals is None:
        return set()
    found = (signals.getsignal(number) for number in range(1, signals.NSIG))
    return {code for handler in found if callable(handler) for code in _code_of(handler)}


def _code_of(handler: object) -> Iterator[CodeType]:
    for _ in range(_DEEPEST):
        code = getattr(handler, "__code__", None)
        if isinstance(code, CodeType):
            yield code
        if isinstance(code, CodeType) or isinstance(handler, BuiltinFunctionType):
            return
        inner = getattr(handler, "__func__", None) or getattr(handler, "func", None)
        handler = inner if inner is not None else type(handler).__call__


def _is_of_a_caller(error: BaseException, catching: FrameType) -> bool:
    """Return whether a function caught an error, is still running, and called the function that catches now."""
    frame = catching.f_back
    while frame is not None:
        if error.__traceback__ is not None and frame is error.__traceback__.tb_frame:
            return True
        frame = frame.f_back
    return False
