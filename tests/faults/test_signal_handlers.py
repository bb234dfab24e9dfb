"""What a signal's handler raises ends the launch that it interrupts, TimeoutError too, and the next launch works."""

from __future__ import annotations

import functools
import inspect
import os
import signal
import sys
import weakref
from collections.abc import Callable, Iterator
from types import FrameType
from typing import Any

import numpy as np
import pytest

import gridjit
from gridjit import cache, compiler, cuda, runtime
from gridjit.base.interrupts import let_through, raised_by_a_handler, tolerated
from tests.conftest import fresh_session

SOURCE = """
@gridjit.jit(device=True)
def plus(a):
    return a + {0}

@gridjit.jit
def kernel(x):
    x[cuda.grid(1)] = plus(0) + cuda.blockDim.x
"""
# Where gridjit's code is.
ROOMS = tuple(f"{os.path.dirname(file)}{os.sep}" for file in (runtime.__file__, compiler.__file__, cache.__file__))


def time_is_up(*_: object) -> None:
    raise TimeoutError("time is up")


class Clock:
    """A handler that is an object, and one that is its method."""

    def __call__(self, *given: object) -> None:
        time_is_up(*given)

    def strike(self, number: int, frame: FrameType | None) -> None:
        raise TimeoutError("it struck")


HANDLERS: dict[str, Callable[..., object]] = {
    "a function": time_is_up,
    "a partial": functools.partial(time_is_up, "given"),
    "a method": Clock().strike,
    "an object": Clock(),
}


@pytest.fixture(autouse=True)
def restored() -> Iterator[None]:
    """Leave the signal as it was."""
    before = signal.getsignal(signal.SIGUSR1)
    yield
    sys.setprofile(None)
    signal.signal(signal.SIGUSR1, before)


def fresh(number: int) -> Any:
    names: dict[str, Any] = {"gridjit": gridjit, "cuda": cuda, "__name__": "made"}
    exec(compile(SOURCE.format(number), f"made_{number}.py", "exec"), names)
    return names["kernel"]


def launched(kernel: Any) -> list[float]:
    x = np.zeros(2)
    kernel[1, 2](x)
    return list(x.tolist())


def may_raise(frame: FrameType) -> bool:
    """Return whether a function of gridjit begins; what ends an object, such as a generator, cannot raise."""
    code = frame.f_code
    ends = code.co_flags & inspect.CO_GENERATOR or code.co_name in ("<lambda>", "forget")
    return code.co_filename.startswith(ROOMS) and not ends


def in_finalizer(frame: FrameType | None) -> bool:
    """Return whether a function was called because an object ended, which is not the launch's affair."""
    while frame is not None and frame.f_globals is not vars(weakref):
        frame = frame.f_back
    return frame is not None


def calls_until(kernel: Any, last: int | None) -> int:
    """Launch a kernel; where that many functions of gridjit were called, a signal comes. Returns how many were."""
    count = 0

    def note(frame: FrameType, event: str, _: object) -> None:
        nonlocal count
        if event == "call" and may_raise(frame):
            count += 1
            if last is not None and count >= last and not in_finalizer(frame):
                sys.setprofile(None)
                signal.raise_signal(signal.SIGUSR1)

    sys.setprofile(note)
    try:
        launched(kernel)
    finally:
        sys.setprofile(None)
    return count


@pytest.mark.parametrize("kept", [False, True], ids=["first launch", "launch from the cache"])
def test_a_launch_ends_with_what_a_handler_raises_wherever_it_comes(kept: bool) -> None:
    signal.signal(signal.SIGUSR1, time_is_up)
    number = 10 if kept else 1000
    launched(fresh(1))
    if kept:
        launched(fresh(number))
    # The first launches of a process do more than others, which find device functions that are kept.
    launched(fresh(number + 1))
    fresh_session()
    total = calls_until(fresh(number), None) * 9 // 10
    places = 8
    for place in range(places):
        number = number if kept else number + 1
        fresh_session()
        with pytest.raises(TimeoutError, match="time is up"):
            calls_until(fresh(number), 1 + total * place // places)
        assert launched(fresh(number)) == [number + 2.0] * 2


@pytest.mark.parametrize("handler", HANDLERS.values(), ids=HANDLERS)
def test_what_any_kind_of_handler_raises_is_known(handler: Callable[..., object]) -> None:
    signal.signal(signal.SIGUSR1, handler)
    with pytest.raises(TimeoutError), tolerated(OSError):
        signal.raise_signal(signal.SIGUSR1)
    with pytest.raises(TimeoutError):
        try:
            try:
                signal.raise_signal(signal.SIGUSR1)
            except TimeoutError as error:
                raise RuntimeError("a library's words for it") from error
        except RuntimeError as error:
            let_through(error)


def test_what_the_disk_raises_is_tolerated() -> None:
    signal.signal(signal.SIGUSR1, time_is_up)
    with tolerated(OSError):
        os.stat("/nowhere/at/all")
    with tolerated(OSError):
        raise TimeoutError("a file system's")


def test_a_program_that_handles_such_an_error_can_launch_meanwhile() -> None:
    signal.signal(signal.SIGUSR1, time_is_up)

    def fails() -> None:
        raise OSError("of the disk")

    def cached() -> BaseException | None:
        try:
            fails()
        except OSError as error:
            return raised_by_a_handler(error)
        return None

    try:
        signal.raise_signal(signal.SIGUSR1)
    except TimeoutError:
        assert cached() is None
        assert launched(fresh(7)) == [9.0, 9.0]
