"""Touched memory: what a forked process wrote to is told, and another one copies it before it writes to it."""

from __future__ import annotations

import ctypes
import mmap
import os
import re
import resource
from collections.abc import Callable, Iterator

import numpy as np
import pytest

from gridjit.runtime.workers import touched
from gridjit.runtime.workers.forks import fork
from gridjit.runtime.workers.touched import Stretch, copy_ahead, touched_by

_PAGES = 400
_WRITTEN = range(100, 300)
# A kernel may be another system's that only looks like Linux.
tells_pages = pytest.mark.skipif(
    not os.access("/proc/self/pagemap", os.R_OK)
    or tuple(map(int, re.findall(r"\d+", os.uname().release)[:2])) < (5, 14),
    reason="only Linux 5.14 and later tells which pages were copied, and copies them when asked to",
)


@pytest.fixture
def memory() -> Iterator[mmap.mmap]:
    """Return pages of this process's own, all of which have been written to."""
    with mmap.mmap(-1, _PAGES * mmap.PAGESIZE, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS) as made:
        made[:] = b"\1" * len(made)
        yield made


def _write(memory: mmap.mmap, pages: range) -> None:
    for page in pages:
        memory[page * mmap.PAGESIZE] = 2


def _inside(stretches: tuple[Stretch, ...], memory: mmap.mmap) -> set[int]:
    """Return which pages of memory are in stretches."""
    start = ctypes.addressof(ctypes.c_char.from_buffer(memory))
    places = {place for first, size in stretches for place in range(first, first + size, mmap.PAGESIZE)}
    return {page for page in range(_PAGES) if start + page * mmap.PAGESIZE in places}


def _in_a_child(work: Callable[[], int]) -> int:
    """Return what work returns in a forked process, a number."""
    ours, theirs = os.pipe()
    if not (pid := fork()):
        try:
            os.write(theirs, str(work()).encode())
        finally:
            os._exit(0)
    os.close(theirs)
    with open(ours) as told:
        found = int(told.read())
    os.waitpid(pid, 0)
    return found


def _faults() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt


@tells_pages
def test_what_a_forked_process_wrote_to_is_told(memory: mmap.mmap) -> None:
    found = _inside(touched_by(lambda: _write(memory, _WRITTEN)), memory)
    assert found == {*_WRITTEN}
    assert memory[_WRITTEN[0] * mmap.PAGESIZE] == 1  # nothing of it happened here


@tells_pages
def test_what_is_copied_ahead_is_written_to_without_a_fault_and_not_changed(memory: mmap.mmap) -> None:
    stretches = touched_by(lambda: _write(memory, _WRITTEN))

    def faults(stretches: tuple[Stretch, ...]) -> int:
        copy_ahead(stretches)
        assert memory[:] == b"\1" * len(memory)
        before = _faults()
        _write(memory, _WRITTEN)
        return _faults() - before

    assert _in_a_child(lambda: faults(())) >= len(_WRITTEN)
    assert _in_a_child(lambda: faults(stretches)) < len(_WRITTEN) // 2


@tells_pages
def test_memory_that_has_gone_meanwhile_is_passed_over(memory: mmap.mmap) -> None:
    gone = mmap.mmap(-1, 4 * mmap.PAGESIZE, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    start = ctypes.addressof(ctypes.c_char.from_buffer(gone))
    gone.close()
    stretches = ((start, 4 * mmap.PAGESIZE), *touched_by(lambda: _write(memory, _WRITTEN)))

    def copied() -> int:
        copy_ahead(stretches)
        before = _faults()
        _write(memory, _WRITTEN)
        return _faults() - before

    assert _in_a_child(copied) < len(_WRITTEN) // 2


def test_nothing_is_told_where_the_system_does_not_tell_pages(
    memory: mmap.mmap, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(touched, "_PAGEMAP", "/proc/self/no such file")
    assert touched_by(lambda: _write(memory, _WRITTEN)) == ()


def test_nothing_is_told_where_there_are_no_more_processes(memory: mmap.mmap, monkeypatch: pytest.MonkeyPatch) -> None:
    def none() -> int:
        raise BlockingIOError

    monkeypatch.setattr(touched, "fork", none)
    assert touched_by(lambda: _write(memory, _WRITTEN)) == ()


def test_nothing_is_told_of_what_ends_in_the_middle(memory: mmap.mmap, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(touched, "_touched_by", lambda work: np.zeros(3, np.uint8))
    assert touched_by(lambda: _write(memory, _WRITTEN)) == ()


def test_what_it_prints_is_not_seen(memory: mmap.mmap, capfd: pytest.CaptureFixture[str]) -> None:
    touched_by(lambda: os.write(1, b"said") + os.write(2, b"said"))
    assert capfd.readouterr() == ("", "")


def test_nothing_is_told_of_what_fails(memory: mmap.mmap) -> None:
    def failing() -> None:
        raise ValueError("it does not compile")

    assert touched_by(failing) == ()
