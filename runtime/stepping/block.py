"""Block: the threads of one block as threads of Python. One runs at a time, until it waits or ends.

They take turns in the order of their numbers, so each run is like the last.
"""

from __future__ import annotations

import ctypes
import sys
import threading
from collections.abc import Callable
from typing import Any

import numpy as np

from gridjit.compiler.errors import LaunchError
from gridjit.compiler.launch_config import Dim3, LaunchConfig

# Where threads that wait are: the code and the instruction that called.
Where = tuple[Any, int]
WARP = 32


class Left(BaseException):
    """Raised in a thread that still waits when its block has ended, so that it ends too."""


class Lane:
    """One thread of a block. waits: for whom ("block", "warp" or nobody in particular), where, and with what value."""

    def __init__(self, block: Block, number: int) -> None:
        self.block, self.number = block, number
        x, rest = number % block.config.blockdim[0], number // block.config.blockdim[0]
        self.position: Dim3 = (x, rest % block.config.blockdim[1], rest // block.config.blockdim[1])
        self.go = threading.Semaphore(0)
        self.runs = self.ended = False
        self.waits: tuple[str, Where, Any] | None = None
        self.answer: Any = None
        self.error: BaseException | None = None

    def wait(self, whom: str, value: Any = None, depth: int = 2) -> Any:
        """Let others run until all of whom are here; return what they answer."""
        self.waits = (whom, where(depth + 1), value)
        self.pause()
        return self.answer

    def pause(self) -> None:
        """Let others run."""
        self.block.turn.release()
        self.go.acquire()
        if self.block.over:
            raise Left


class Block:
    """A block that is run."""

    def __init__(self, config: LaunchConfig, position: Dim3, sharedmem: int) -> None:
        self.config, self.position = config, position
        self.dynamic = np.zeros(sharedmem, np.uint8)
        self.shared: dict[Where, Any] = {}
        self.turn = threading.Semaphore(0)
        self.over = False
        size = config.blockdim[0] * config.blockdim[1] * config.blockdim[2]
        self.lanes = [Lane(self, number) for number in range(size)]

    def run(self, work: Callable[[], None]) -> Lane | None:
        """Have each thread do work; return the one that raised, or None. An interrupt ends all."""
        trace = sys.gettrace()
        threads = [_thread(lane, work, trace) for lane in self.lanes]
        for thread in threads:
            thread.start()
        try:
            return self._take_turns()
        except BaseException:
            self._stop(threads)
            raise
        finally:
            self.over = True
            for lane in self.lanes:
                lane.go.release()
            for thread in threads:
                thread.join()

    def _stop(self, threads: list[threading.Thread]) -> None:
        """Make the thread whose turn it is leave, wherever it is; the others leave where they wait."""
        for one, thread in zip(self.lanes, threads, strict=True):
            if one.runs and not one.ended:
                ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(thread.ident or 0), ctypes.py_object(Left))

    def _take_turns(self) -> Lane | None:
        while running := [lane for lane in self.lanes if not lane.ended]:
            for lane in running:
                if lane.waits is None:
                    lane.runs = True
                    lane.go.release()
                    self.turn.acquire()
                    lane.runs = False
                    if lane.error is not None:
                        return lane
            self._meet()
        return None

    def _meet(self) -> None:
        """Let those threads go on that wait for others which are all here."""
        waiting = [lane for lane in self.lanes if lane.waits is not None]
        alive = [lane for lane in self.lanes if not lane.ended]
        if waiting and len(waiting) == len(alive):
            places = {lane.waits[:2] for lane in waiting if lane.waits}
            if len(places) == 1 and next(iter(places))[0] == "block":
                _answer(waiting)
            else:
                self._meet_in_warps(waiting)

    def _meet_in_warps(self, waiting: list[Lane]) -> None:
        """Let the warps go on whose threads wait for each other; raises LaunchError if there are none."""
        groups: dict[tuple[int, Where], list[Lane]] = {}
        for lane in waiting:
            if lane.waits is not None and lane.waits[0] == "warp":
                groups.setdefault((lane.number // WARP, lane.waits[1]), []).append(lane)
        if not groups:
            last = waiting[-1]
            raise LaunchError(
                f"tid={list(last.position)} ctaid={list(self.position)}: threads of the block wait at different "
                "barriers, so none can go on; call the barrier where all of them reach it"
            )
        for lanes in groups.values():
            _answer(lanes)


def _answer(lanes: list[Lane]) -> None:
    values = {lane.number: lane.waits[2] for lane in lanes if lane.waits}
    for lane in lanes:
        lane.waits, lane.answer = None, values


def _thread(lane: Lane, work: Callable[[], None], trace: Any) -> threading.Thread:
    name = f"gridjit-step-{lane.number}"
    return threading.Thread(target=_live, args=(lane, work, trace), name=name, daemon=True)


def _live(lane: Lane, work: Callable[[], None], trace: Any) -> None:
    _current.lane = lane
    lane.go.acquire()
    try:
        if not lane.block.over:
            sys.settrace(trace)
            with np.errstate(all="ignore"):
                work()
    except Left:
        pass
    except BaseException as error:
        lane.error = error
    finally:
        sys.settrace(None)
        lane.ended = True
        lane.block.turn.release()


class _Current(threading.local):
    lane: Lane | None = None


_current = _Current()


def lane() -> Lane:
    """Return the kernel's thread that is running; raises LaunchError outside kernels."""
    if _current.lane is None:
        raise LaunchError("this operation works only in a kernel; call it in a jit function, and launch that")
    return _current.lane


def is_stepping() -> bool:
    """Return whether the calling thread is a kernel's."""
    return _current.lane is not None


def where(depth: int) -> Where:
    """Return the place, so many calls above this one, from which a kernel's own code called."""
    frame = sys._getframe(depth)
    return frame.f_code, frame.f_lasti
