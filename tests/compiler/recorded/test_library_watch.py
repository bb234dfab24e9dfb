"""LibraryWatch: what a compile registered is left out of keys, where no other thread can have registered it."""

from __future__ import annotations

import threading
from _thread import allocate_lock, start_new_thread

from gridjit.compiler.recorded.library_watch import _alone


def test_a_thread_that_threading_did_not_start_counts_until_it_ends_and_no_longer() -> None:
    known, over, ended = allocate_lock(), allocate_lock(), allocate_lock()
    for one in (known, over, ended):
        one.acquire()

    def work() -> None:
        threading.current_thread()  # has something stand for this thread, for ever
        known.release()
        over.acquire()
        ended.release()

    before = _alone()
    start_new_thread(work, ())
    known.acquire()
    during = _alone()
    over.release()
    ended.acquire()
    assert not during
    assert any(_alone() == before for _ in range(1_000_000))  # it may still be at its last steps
