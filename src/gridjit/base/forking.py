"""forking: the sections that a fork of this process waits for, and locks that a forked child finds free.

A forked child has only the thread that forked. Work that other threads had begun is never finished there: locks stay
held, tables half changed, and nobody can free the hidden locks of LLVM and SQLite. So a fork waits until no other
thread is in a `section`, for PATIENCE_S at most. If another thread still holds a `lock` then, the child finds it free.
A fork also waits for imports of any thread, for a second. Python does not free import locks in a child; here, the child
imports anew what another thread was still importing.

An interpreter that ends leaves its main thread as alone as a fork does: other threads stop where they next ask for the
GIL, with all that they hold. So the main thread, whose finalizers may launch, finds the same state as a child.

Two rules keep such waits short. A lock that is held for moments is taken inside a section:
`with section(), self._lock:`. A lock held while others compile is taken outside: `with compile_lock, section():`.
"""

from __future__ import annotations

import _imp
import os
import sys
import threading
import time
import weakref
from _thread import RLock as Lock
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Generic, TypeAlias, TypeVar, overload

Value = TypeVar("Value")
Member = TypeVar("Member")
_MISSING = object()
# When this process, or the one that it was forked from, imported gridjit.
IMPORTED_NS = time.time_ns()

__all__ = [
    "Lock",
    "WeakList",
    "cached_property",
    "forked_alone",
    "free_in_child",
    "held",
    "in_child",
    "lock",
    "section",
    "wait_before_fork",
]

# How long a fork waits for others' sections: for a slow compile, but not for one waiting for the forking thread.
PATIENCE_S = 10.0
# And for imports outside sections, which take milliseconds unless a program runs inside one.
IMPORT_PATIENCE_S = 1.0


class WeakList(Generic[Member]):
    """Objects that are known as long as they live; gone through while other threads add to them.

    It has no lock: a child that is forked meanwhile has nothing to wait for.
    """

    def __init__(self) -> None:
        self._members: dict[int, weakref.ref[Member]] = {}

    def add(self, member: Member) -> Member:
        """Know member from now on, and return it."""
        key, members = id(member), self._members
        members[key] = weakref.ref(member, lambda _: members.pop(key, None))
        return member

    def list(self) -> list[Member]:
        """Return the members that live now."""
        # Copied in one step: other threads add and drop members meanwhile.
        return [member for known in [*self._members.values()] if (member := known()) is not None]


_locks: WeakList[Any] = WeakList()
_sections: WeakList[Any] = WeakList()
# Python does not call a function at exit that another one registered. It does call finalizers made that late, if there
# was an earlier one: this, which does nothing. So gridjit's files have finalizers for the exit.
weakref.finalize(WeakList, int)
# Held by the thread that forks, so that sections of threads that begin meanwhile begin after it.
_forking = Lock()
_in_child: list[Callable[[], None]] = []
_foreign: list[Callable[[], Iterable[Any]]] = []
_native: list[Callable[[], Iterable[Any]]] = []
_borrowed: list[Any] = []
# Python's locks of modules being imported, by name, and the imports that a fork has waited for in vain.
_module_locks: dict[str, Callable[[], Any]] = getattr(sys.modules.get("_frozen_importlib"), "_module_locks", {})
_long_imports: weakref.WeakSet[Any] = weakref.WeakSet()
# Whether the thread that forked last was the only one that ran Python.
_alone = False
# How many modules were imported when the wait was last registered, and the threads that wait or have waited to fork.
_modules_seen = 0
# Whether the main thread has begun to go on alone, as the interpreter ends.
_finalized = False
_has_waited: set[int] = set()


class _Own(threading.local):
    """The calling thread's section. A lock of its own, so that entering and leaving it is one step for interrupts."""

    def __init__(self) -> None:
        if threading.get_ident() != threading.main_thread().ident:
            self.end = _End()
        with _forking:
            self.section: Lock = _sections.add(Lock())


def _do_nothing() -> None:
    pass


class _End:
    """The end of a thread. An interpreter that ends drops it first of all, on the only thread that still runs."""

    __slots__ = ()

    def __del__(self) -> None:
        global _finalized
        if sys.is_finalizing() and not _finalized:
            # Python frees the lock of all imports in a child, but not here. Even dropping a module's lock takes it.
            _imp.acquire_lock = _imp.release_lock = _do_nothing
            _finalized = True
            _begin_alone()


_own = _Own()


def lock() -> Lock:
    """Return a new reentrant lock, which a child is forked with free unless the forking thread itself holds it."""
    made = Lock()
    _locks.add(made)
    return made


def held(known: Lock) -> int:
    """Return how often the calling thread has taken a reentrant lock and not released it."""
    # Only its repr tells in every Python, in one step.
    return int(repr(known).partition(" count=")[2].split()[0]) if known._is_owned() else 0  # type: ignore[attr-defined]


def section() -> Lock:
    """Return the lock to enter for work that no other thread may fork in the middle of; it is reentrant."""
    if len(sys.modules) != _modules_seen:
        _wait_first()
    return _own.section


def _wait_first() -> None:
    """Make a fork wait for sections before it takes locks of modules imported since, such as logging's.

    A thread in a section may need these locks. The last function registered is called first, so it registers again.
    """
    global _modules_seen
    _modules_seen = len(sys.modules)
    if hasattr(os, "register_at_fork"):
        os.register_at_fork(before=_wait_before_fork)


class cached_property(Generic[Value]):  # noqa: N801  # it stands where functools.cached_property did
    """functools.cached_property that every thread gets the same value of, and no child waits for."""

    def __init__(self, function: Callable[[Any], Value]) -> None:
        self._function = function
        self._lock = lock()
        self.__doc__ = function.__doc__

    def __set_name__(self, owner: type, name: str) -> None:
        self._name = name

    @overload
    def __get__(self, instance: None, owner: type) -> cached_property[Value]: ...
    @overload
    def __get__(self, instance: object, owner: type) -> Value: ...
    def __get__(self, instance: object | None, owner: type) -> cached_property[Value] | Value:
        if instance is None:
            return self
        with section(), self._lock:
            value: Any = vars(instance).get(self._name, _MISSING)
            if value is _MISSING:
                value = vars(instance)[self._name] = self._function(instance)
            return value  # type: ignore[no-any-return]


def in_child(renew: Callable[[], None]) -> None:
    """Call renew in every forked child, and where an interpreter that ends goes on alone, after locks are free."""
    _in_child.append(renew)


def forked_alone() -> bool:
    """Return, in a forked child, whether no other thread of its parent can have been in the middle of work."""
    return _alone


def free_in_child(locks: Callable[[], Iterable[Any]]) -> None:
    """Free the reentrant locks of other libraries that locks returns in every forked child."""
    _foreign.append(locks)


def wait_before_fork(locks: Callable[[], Iterable[Any]]) -> None:
    """Make every fork also wait for the reentrant locks that locks returns, which libraries hold around native code."""
    _native.append(locks)
    _foreign.append(locks)


def _wait_for_imports() -> None:
    """Wait until no other thread imports anything, or this one does; an import that takes too long, only once."""
    deadline = time.monotonic() + IMPORT_PATIENCE_S
    while waited_for := _imports_of_others():
        if time.monotonic() > deadline:
            _long_imports.update(waited_for)
            return
        time.sleep(0.001)


def _imports_of_others() -> list[Any]:
    found = [held for known in [*_module_locks.values()] if (held := known()) is not None and held.owner is not None]
    if any(held.owner == threading.get_ident() for held in found):
        return []  # they may wait for this import
    return [held for held in found if held not in _long_imports]


def _forget_imports_of_others() -> None:
    """Make the child import anew the modules that other threads were importing; it would wait for them forever."""
    for name, known in [*_module_locks.items()]:
        if (held := known()) is not None and held.owner not in (None, threading.get_ident()):
            _module_locks.pop(name, None)
            if getattr(getattr(sys.modules.get(name), "__spec__", None), "_initializing", False):
                sys.modules.pop(name, None)


def _wait_before_fork() -> None:
    global _alone
    _alone = len(sys._current_frames()) == 1
    if threading.get_ident() in _has_waited:
        return
    _has_waited.add(threading.get_ident())
    # Before sections are taken, which an import may need, and after, as code in a section may import.
    _wait_for_imports()
    _wait_for_sections()
    _wait_for_imports()


def _wait_for_sections() -> None:
    """Enter the sections of all other threads, so that none is inside one; give up sections that take too long."""
    deadline, own = time.monotonic() + PATIENCE_S, _own.section
    _forking.acquire(timeout=PATIENCE_S)
    others = [other for other in _sections.list() if other is not own]
    for waited_for in [*others, *_all(_native)]:
        if waited_for.acquire(timeout=max(0.0, deadline - time.monotonic())):
            _borrowed.append(waited_for)  # noqa: PERF401  # noted one by one, as an interrupt may come


def _leave_sections() -> None:
    _has_waited.discard(threading.get_ident())
    while _borrowed:
        _borrowed.pop().release()
    # An interrupt may have come between having one and noting it.
    for other in (*(other for other in _sections.list() if other is not _own.section), _forking):
        while other._is_owned():
            other.release()


def _begin_alone() -> None:
    """Begin as the only thread: of a forked child, or of an interpreter that ends."""
    _leave_sections()
    for held in (*_sections.list(), *_locks.list(), *_all(_foreign), _forking):
        if not held._is_owned():
            held._at_fork_reinit()
    _forget_imports_of_others()
    for renew in _in_child:
        renew()


def _all(sources: list[Callable[[], Iterable[Any]]]) -> list[Any]:
    return [found for source in sources for found in source()]


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_wait_before_fork, after_in_parent=_leave_sections, after_in_child=_begin_alone)


# By the number that the system has for a thread: the nanoseconds that it has run; None where that is not known.
ThreadTimes: TypeAlias = "Mapping[int, int | None]"


def thread_times() -> ThreadTimes:
    """Return the processor time of each other thread of the program, in nanoseconds."""
    here, running = threading.current_thread(), sys._current_frames()
    # A thread that threading did not start may be listed for ever.
    others = (one for one in threading.enumerate() if one is not here and one.ident in running)
    return {one.native_id or 0: _time(one.native_id) for one in others if not one.name.startswith("gridjit-")}


def nobody_else_ran(since: ThreadTimes) -> bool:
    """Return whether no other thread has run since its time was noted; False where that is not known."""
    return all(now is not None and now == since.get(thread) for thread, now in thread_times().items())


def _time(thread: int | None) -> int | None:
    """Return how long a thread has run: Linux numbers the clocks of threads as clock_getcpuclockid(3) does."""
    try:
        return None if thread is None else time.clock_gettime_ns(~thread * 8 + 6)
    except (OSError, OverflowError):
        return None
