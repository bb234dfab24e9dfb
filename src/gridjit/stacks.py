"""stacks: how large this thread's stack is, and new threads with room for libraries, whatever size the program set."""

from __future__ import annotations

import threading
from _thread import allocate_lock, stack_size, start_new_thread
from collections.abc import Callable
from typing import TypeVar

Started = TypeVar("Started")

# What the program set for its own threads may be as small as 32 KB, which LLVM does not run in.
_SMALL, _ROOM = 1 << 20, 8 << 20
# Less than this is little for LLVM where it only links.
_LITTLE = 240 << 10


def with_room(start: Callable[[], Started]) -> Started:
    """Return what start() returns; a thread that it starts has room."""
    given = stack_size()
    if not 0 < given < _SMALL:
        return start()
    stack_size(_ROOM)
    try:
        return start()
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
    """Return what work() returns, or raise what it raises; it runs on a thread with room if this one has little."""
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

    with_room(lambda: start_new_thread(run, ()))
    with done:
        pass
    if failed:
        raise failed[0]
    return made[0]
