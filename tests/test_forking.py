"""A fork waits for sections, and its child finds every lock free."""

from __future__ import annotations

import importlib
import os
import re
import signal
import threading
import time
import tokenize
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from gridjit.base import forking
from gridjit.base.forking import cached_property, held, in_child, lock, section
from tests.programs import run_new_python

SOON_S = 60.0
ROOT = Path(__file__).parents[1]
# What belongs to one launch or one call, whose own thread waits for it; what runs elsewhere but holds nothing.
OTHERS = {
    "cache/remote/askers.py": "threading.Event( threading.Condition(",  # of one call; on a lock of forking's
    "cache/remote/limits.py": "allocate_lock allocate_lock",  # of one call
    "runtime/devices/cuda/memory/carrying.py": "allocate_lock allocate_lock",  # of one copy
    "runtime/devices/host/launch.py": "allocate_lock allocate_lock threading.Condition( allocate_lock",
    "runtime/queues/queue.py": "threading.Condition(",  # on a lock of forking's
    "runtime/stepping/block.py": " ".join(["threading.Semaphore("] * 3),
    "src/gridjit/base/interrupts.py": " ".join(["allocate_lock"] * 3),
    "src/gridjit/base/stacks.py": " ".join(["allocate_lock"] * 3),
}

pytestmark = pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning")


@pytest.fixture
def other_thread() -> Iterator[Callable[[Callable[[], object]], None]]:
    """What runs something on another thread, which is done when the test is."""
    threads = []

    def start(run: Callable[[], object]) -> None:
        threads.append(threading.Thread(target=run))
        threads[-1].start()

    yield start
    for thread in threads:
        thread.join(SOON_S)
        assert not thread.is_alive()


def in_a_child(check: Callable[[], bool]) -> bool:
    """Return what check says in a forked child."""
    child = os.fork()
    if child == 0:
        try:
            os._exit(0 if check() else 1)
        finally:  # the child must not run the tests again
            os._exit(1)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


def begun() -> threading.Event:
    """An event that is set when the next fork begins, before it waits for anything."""
    section()  # has the wait registered, if there are new modules: what registers last is called first
    event = threading.Event()
    os.register_at_fork(before=event.set)
    return event


def test_a_fork_waits_until_other_threads_are_in_no_section(other_thread: Callable[..., None]) -> None:
    inside, fork_begun, table = threading.Event(), begun(), []

    def work() -> None:
        with section():
            table.append("half")
            inside.set()
            fork_begun.wait(SOON_S)
            table.append("whole")

    other_thread(work)
    inside.wait(SOON_S)
    assert in_a_child(lambda: table == ["half", "whole"])


def test_a_section_that_does_not_end_is_not_waited_for_without_end(
    other_thread: Callable[..., None], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(forking, "PATIENCE_S", 0.05)
    inside, over, known = threading.Event(), threading.Event(), lock()

    def work() -> None:
        with section(), known:
            inside.set()
            over.wait(SOON_S)

    other_thread(work)
    inside.wait(SOON_S)
    free = in_a_child(lambda: known.acquire(blocking=False) and section().acquire(blocking=False))
    over.set()
    assert free


def test_a_lock_that_another_thread_holds_is_free_in_the_child_and_held_in_the_parent(
    other_thread: Callable[..., None],
) -> None:
    inside, over, known = threading.Event(), threading.Event(), lock()

    def work() -> None:
        with known:
            inside.set()
            over.wait(SOON_S)

    other_thread(work)
    inside.wait(SOON_S)
    free, taken = in_a_child(lambda: known.acquire(blocking=False)), known.acquire(blocking=False)
    over.set()
    assert (free, taken) == (True, False)


def test_the_locks_of_the_thread_that_forks_stay_its_own() -> None:
    known = lock()
    with section(), known, known:
        assert in_a_child(lambda: (held(known), held(section())) == (2, 1))
        assert (held(known), held(section())) == (2, 1)


def test_other_threads_enter_sections_again_after_a_fork(other_thread: Callable[..., None]) -> None:
    go_on, entered = threading.Event(), threading.Event()

    def work() -> None:
        with section():
            pass
        go_on.wait(SOON_S)
        with section():
            entered.set()

    other_thread(work)
    in_a_child(lambda: True)
    go_on.set()
    assert entered.wait(SOON_S)


def test_what_is_to_be_renewed_in_children_is_renewed_when_locks_are_free(other_thread: Callable[..., None]) -> None:
    seen, known = [], lock()
    inside, over = threading.Event(), threading.Event()

    def work() -> None:
        with known:
            inside.set()
            over.wait(SOON_S)

    in_child(lambda: seen.append(known.acquire(blocking=False)))
    other_thread(work)
    inside.wait(SOON_S)
    renewed = in_a_child(lambda: seen == [True])
    over.set()
    assert renewed
    assert seen == []


def test_all_threads_get_the_same_value_of_a_cached_property() -> None:
    both, made = threading.Barrier(2, timeout=SOON_S), []

    class Owner:
        @cached_property
        def value(self) -> object:
            """A value."""
            made.append(object())
            return made[-1]

    owner, found = Owner(), []

    def look() -> None:
        both.wait()
        found.append(owner.value)

    threads = [threading.Thread(target=look) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(SOON_S)
    assert found == made * 2
    assert Owner.value.__doc__ == "A value."


def without_text(path: Path) -> str:
    """Return the code of a module, its literal texts left empty: a name in one makes nothing."""
    lines = path.read_text().splitlines(keepends=True)
    for token in reversed(list(tokenize.generate_tokens(iter(lines).__next__))):
        if token.type == tokenize.STRING:
            (first, begin), (last, end) = token.start, token.end
            lines[first - 1 : last] = [lines[first - 1][:begin] + '""' + lines[last - 1][end:]]
    return "".join(lines)


def test_every_lock_is_made_where_forks_are_minded() -> None:
    pattern = re.compile(
        r"threading\.(?:R?Lock|Condition|(?:Bounded)?Semaphore|Event|Barrier)\(|_thread\.\w*lock|allocate_lock"
        r"|default_factory=threading|functools\.cached_property\n|register_at_fork\(|_at_fork_reinit"
    )
    modules = [
        path for folder in ("cache", "compiler", "runtime", "src") for path in sorted((ROOT / folder).rglob("*.py"))
    ]
    found = {
        str(path.relative_to(ROOT)): used
        for path in modules
        if path.name != "forking.py" and pattern.search(path.read_text())
        if (used := " ".join(pattern.findall(without_text(path))))
    }
    assert len(modules) > 100
    assert found == OTHERS


def test_a_fork_waits_for_what_another_thread_imports(
    other_thread: Callable[..., None], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(forking, "IMPORT_PATIENCE_S", SOON_S)
    monkeypatch.setattr(forking, "staged", (inside := threading.Event(), fork_begun := begun()), raising=False)
    monkeypatch.syspath_prepend(tmp_path)
    source = f"from gridjit.base.forking import staged\nstaged[0].set()\nstaged[1].wait({SOON_S})\n"
    (tmp_path / "imported_while_forking.py").write_text(source)
    other_thread(lambda: importlib.import_module("imported_while_forking"))
    inside.wait(SOON_S)
    assert not fork_begun.is_set()
    assert in_a_child(lambda: importlib.import_module("imported_while_forking") is not None)


def test_an_import_that_does_not_end_is_waited_for_once(
    other_thread: Callable[..., None], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(forking, "IMPORT_PATIENCE_S", 0.05)
    monkeypatch.setattr(forking, "staged", (inside := threading.Event(), over := threading.Event()), raising=False)
    monkeypatch.syspath_prepend(tmp_path)
    source = f"from gridjit.base.forking import staged\nstaged[0].set()\nstaged[1].wait({SOON_S})\n"
    (tmp_path / "a_program_in_an_import.py").write_text(source)
    other_thread(lambda: importlib.import_module("a_program_in_an_import"))
    inside.wait(SOON_S)
    assert in_a_child(lambda: True)
    monkeypatch.setattr(forking, "IMPORT_PATIENCE_S", SOON_S)
    begin = time.monotonic()
    assert in_a_child(lambda: True)
    over.set()
    assert time.monotonic() - begin < SOON_S


def test_a_child_imports_anew_what_another_thread_was_importing(
    other_thread: Callable[..., None], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(forking, "IMPORT_PATIENCE_S", 0.05)
    monkeypatch.setattr(forking, "staged", (inside := threading.Event(), over := threading.Event()), raising=False)
    monkeypatch.syspath_prepend(tmp_path)
    (tmp_path / "imported_halfway").mkdir()
    (tmp_path / "imported_halfway" / "__init__.py").write_text(
        "from imported_halfway import part\nwhole = part.whole\n"
    )
    source = f"from gridjit.base.forking import staged\nstaged[0].set()\nstaged[1].wait({SOON_S})\nwhole = True\n"
    (tmp_path / "imported_halfway" / "part.py").write_text(source)
    other_thread(lambda: importlib.import_module("imported_halfway"))
    inside.wait(SOON_S)

    def imports() -> bool:
        signal.alarm(int(SOON_S))  # what waits for an import lock waits forever
        over.set()
        return importlib.import_module("imported_halfway").whole is True

    imported = in_a_child(imports)
    over.set()
    assert imported


HELD_AS_IT_ENDS = """
import _imp, atexit, gc, sys, threading
from gridjit.base.forking import lock, section
from gridjit.base.stacks import on_new_thread

known, inside, for_ever = lock(), threading.Event(), threading.Event()
sys.modules["main"] = sys.modules["__main__"]

class Garbage:
    def __init__(self):
        self.itself = self

    def __del__(self):
        with known:
            import stuck
        try:
            on_new_thread(lambda: None)
        except RuntimeError:
            print("alone", flush=True)

def work():
    with section():
        {"lock": known.acquire, "import lock": _imp.acquire_lock, "module": lambda: __import__("stuck")}[sys.argv[1]]()
        inside.set()
        for_ever.wait()

gc.set_threshold(0)  # so that garbage is collected by the interpreter's end, when the other thread is no more
atexit.register(Garbage)
threading.Thread(target=work, daemon=True).start()
inside.wait()
"""
STUCK = """
import sys, main
if not sys.is_finalizing():
    main.inside.set()
    main.for_ever.wait()
"""


@pytest.mark.parametrize("held", ["lock", "import lock", "module"])
def test_an_interpreter_that_ends_waits_for_nothing_that_another_thread_held(held: str, tmp_path: Path) -> None:
    (tmp_path / "ending.py").write_text(HELD_AS_IT_ENDS)
    (tmp_path / "stuck.py").write_text(STUCK)
    done = run_new_python(tmp_path / "ending.py", held, timeout=SOON_S)
    assert (done.returncode, done.stdout, done.stderr) == (0, "alone\n", "")
