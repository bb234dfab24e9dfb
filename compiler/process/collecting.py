"""collecting: Python's garbage collector runs rarely while a kernel is compiled.

A compile makes some hundred thousand objects, and most of them live until it ends. By default, Python's collector goes
through them each time a few hundred have been added, which takes a sixth of a compile's time. A program's own settings
stay: a collector that is off, a higher threshold, or a threshold that is set while a kernel is compiled.

Objects that numba-cuda makes once, before the first compile, live as long as the process. They are put among the old
objects at once; the collector would otherwise go through all of them three times before they count as old.
"""

from __future__ import annotations

import functools
import gc
from collections.abc import Callable
from typing import TypeVar

import numpy

from gridjit.base.forking import in_child
from gridjit.base.interrupts import surely

Result = TypeVar("Result")

# How many objects a compile may make before the collector looks at them: a number that nobody else sets.
RARELY = 100_003
# The same while numba-cuda is imported: more objects than that makes.
HARDLY_EVER = 10_000_019
# A program's gc.freeze() takes more objects than this; Python 3.12 itself takes a few hundred when it starts.
FROZEN_BY_PROGRAMS = 1000
# Whether frozen objects stay frozen in this process.
_frozen_for_good = False
# The program's thresholds.
_usual: list[tuple[int, int, int]] = []


def collecting_rarely(work: Callable[[], Result]) -> Result:
    """Return work(), while which the collector runs rarely in all threads."""
    first, *others = gc.get_threshold()
    if not 0 < first < RARELY:
        return work()
    _usual[:] = [(first, others[0], others[1])]
    try:
        gc.set_threshold(RARELY, *others)
        return work()
    finally:
        try:
            _as_usual()
        except BaseException:  # an interrupt, perhaps at the call itself
            surely(_as_usual)
            raise


def making_what_stays(work: Callable[[], Result]) -> Result:
    """Return work(), and make all objects until its end old for the collector."""
    first, *others = gc.get_threshold()
    if first != RARELY or not gc.isenabled():
        return work()
    try:
        gc.set_threshold(HARDLY_EVER, *others)
        result = work()
        _grow_old()
        return result
    finally:
        if gc.get_threshold()[0] == HARDLY_EVER:
            gc.set_threshold(RARELY, *others)


def freeze_for_good() -> None:
    """Keep all objects from the collector in this process and its children, and later objects that stay as well."""
    global _frozen_for_good
    _frozen_for_good = True
    gc.freeze()


def _grow_old() -> None:
    """Make all objects old, unless the program keeps some from the collector: these would come back."""
    if _frozen_for_good:
        gc.freeze()  # to count frozen objects, a look at each, takes tens of milliseconds
    elif gc.get_freeze_count() < FROZEN_BY_PROGRAMS:
        gc.freeze()
        gc.unfreeze()


def _as_usual() -> None:
    if _usual and gc.get_threshold()[0] in (RARELY, HARDLY_EVER):
        gc.set_threshold(*_usual[0])


in_child(_as_usual)


# Pieces as large as this, and twice as much in all, stay with the process from then on.
_PIECE = 16 << 20


@functools.cache
def keep_freed_memory() -> None:
    """Make the process keep freed memory: allocate a piece of the largest size to keep, unused, and free it."""
    numpy.empty(_PIECE, dtype=numpy.uint8)
