"""stacks: how large this thread's stack is, new threads that are sure to begin, with enough stack for libraries, and
room for the frames of Python functions.
"""

from __future__ import annotations

import itertools
import sys
import threading
from _thread import allocate_lock, stack_size, start_new_thread
from collections.abc import Callable
from types import FunctionType
from typing import Any, TypeVar

Started = TypeVar("Started")

# The program's size for its own threads may be as small as 32 KB, in which LLVM does not run.
_SMALL, _ROOM = 1 << 20, 8 << 20
# Less than this is little for LLVM where it only links.
_LITTLE = 240 << 10
# How long a new thread may take to begin, at first, before another is started.
_SOON_S = 0.05
# Words that a frame asks for where there is to be room. CPython rounds up to a power of two: as much again is left, for
# the frames of 2500 calls or so.
_WORDS = 1 << 16


def on_new_thread(run: Callable[[], object]) -> None:
    """Call run on a new thread with room, and return once it has begun. RuntimeError: there can be no thread.

    Until a new thread runs, Pythons before 3.12 take it for its starter. They may give it the starter's exception of
    PyThreadState_SetAsyncExc, and it ends before its first step. Then another thread is started; run is called once,
    even if the first was only slow, or the caller is interrupted meanwhile.
    """
    turn, begun, patience = itertools.count(), allocate_lock(), _SOON_S
    begun.acquire()

    def work() -> None:
        if next(turn) == 0:
            begun.release()
            run()

    start_with_room(work)
    while not begun.acquire(timeout=patience):
        patience *= 2
        try:
            start_with_room(work)
        except RuntimeError:
            if next(turn) == 0:
                raise
            return


def start_with_room(run: Callable[[], object]) -> None:
    """Start a thread with room, even if the program set a small size. RuntimeError: there can be no thread."""
    if sys.is_finalizing():  # Pythons before 3.12 would start one that never begins
        raise RuntimeError("no thread begins any more: the interpreter is ending")
    given = stack_size()
    if not 0 < given < _SMALL:
        start_new_thread(run, ())
        return
    stack_size(_ROOM)
    try:
        start_new_thread(run, ())
    finally:
        stack_size(given)


def stack_bytes() -> int | None:
    """Return the bytes of the calling thread's stack, or None for the main thread's and where they are not known."""
    if threading.get_ident() == threading.main_thread().ident:
        return None
    import ctypes  # asked for only where something is compiled

    low, size = ctypes.c_void_p(), ctypes.c_size_t()
    attributes = ctypes.create_string_buffer(512)
    library = ctypes.CDLL(None)
    if not hasattr(library, "pthread_getattr_np"):
        return None
    if library.pthread_getattr_np(ctypes.c_ulong(threading.get_ident()), attributes):
        return None
    library.pthread_attr_getstack(attributes, ctypes.byref(low), ctypes.byref(size))
    library.pthread_attr_destroy(attributes)
    return size.value


def in_room(work: Callable[[], Started]) -> Started:
    """Return work(), or raise its exception; it runs on a thread with room if this one has little."""
    size = stack_bytes()
    if size is None or size >= _LITTLE:
        return work()
    made: list[Started] = []
    failed: list[BaseException] = []
    done = allocate_lock()
    done.acquire()

    def run() -> None:
        try:
            made.append(work())
        except BaseException as error:
            failed.append(error)
        finally:
            done.release()

    on_new_thread(run)
    with done:
        pass
    if failed:
        raise failed[0]
    return made[0]


def _called(work: Callable[[], Any]) -> Any:
    return work()


# Up to Python 3.10, each frame is an object of its own.
_called_with_room = (
    _called
    if sys.version_info < (3, 11)
    else FunctionType(_called.__code__.replace(co_stacksize=_WORDS), globals(), "_called_with_room")
)


def with_room_for_frames(work: Callable[[], Started]) -> Started:
    """Return work(), whose calls have room for their frames in one piece of memory.

    CPython keeps a thread's frames in pieces of 16 KB, about eighty frames each. When the last of them in a piece calls
    a function, the system maps another piece, and unmaps it when that returns. A function called again and again just
    at this depth takes ten times as long, which nobody can foresee: for numba's passes, a quarter of a compile. A frame
    that asks for more than a piece gets a larger piece, which its callees share. The rest of it is only memory once it
    is used.
    """
    found: Started = _called_with_room(work)
    return found
