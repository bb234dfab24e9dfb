"""ThreadBlock: the threads of one block as Python threads. One runs at a time, until it waits or ends.

They take turns in the order of their numbers, so all runs are alike.
"""

from __future__ import annotations

import ctypes
import sys
import threading
from collections.abc import Callable
from typing import Any

import numpy as np

from gridjit.base.stacks import on_new_thread
from gridjit.compiler.values.errors import LaunchError
from gridjit.compiler.values.launch_config import Dim3, LaunchConfig

# Where threads wait: the code and the instruction that called; for lanes of a warp, the code of the warp operation, and
# its mask.
Where = tuple[Any, int]
WARP = 32


class Left(BaseException):
    """Raised in a thread that still waits when its block has ended, so that it ends too."""


class Lane:
    """One thread of a block. waits: for which threads ("block", "warp", "any"), where, and with which value."""

    def __init__(self, block: ThreadBlock, number: int) -> None:
        self.block, self.number = block, number
        x, rest = number % block.config.blockdim[0], number // block.config.blockdim[0]
        self.position: Dim3 = (x, rest % block.config.blockdim[1], rest // block.config.blockdim[1])
        self.go, self.left = threading.Semaphore(0), threading.Semaphore(0)
        self.ident = 0
        self.runs = self.ended = False
        self.waits: tuple[str, Where, Any] | None = None
        self.answer: Any = None
        self.error: BaseException | None = None

    def wait(self, whom: str, value: Any = None, place: Where | None = None) -> Any:
        """Let other threads run until all of whom are here; return their values. place: the call's, if None."""
        self.waits = (whom, place or where(3), value)
        self.pause()
        return self.answer

    def pause(self) -> None:
        """Let other threads run."""
        self.block.turn.release()
        self.go.acquire()
        if self.block.over:
            raise Left


class ThreadBlock:
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
        """Do work in each thread; return the thread that raised, or None. An interrupt ends all."""
        trace = sys.gettrace()
        begun: list[Lane] = []
        try:
            for lane in self.lanes:
                _begin(lane, work, trace)
                begun.append(lane)
            return self._take_turns()
        except BaseException:
            self._stop()
            raise
        finally:
            self.over = True
            for lane in self.lanes:
                lane.go.release()
            for lane in begun:
                lane.left.acquire()

    def _stop(self) -> None:
        """Make the running thread leave, wherever it is; the others leave where they wait."""
        for one in self.lanes:
            if one.runs and not one.ended:
                ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(one.ident), ctypes.py_object(Left))

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
        """Release a barrier whose threads have all arrived."""
        waiting = [lane for lane in self.lanes if lane.waits is not None]
        alive = [lane for lane in self.lanes if not lane.ended]
        if waiting and len(waiting) == len(alive):
            places = {lane.waits[:2] for lane in waiting if lane.waits}
            if len(places) == 1 and next(iter(places))[0] == "block":
                _answer(waiting)
            else:
                self._meet_in_warps(waiting)

    def _meet_in_warps(self, waiting: list[Lane]) -> None:
        """Let lanes go on if all lanes of their mask are here, else lanes of activemask(); raise if there are none."""
        groups = _groups(waiting, "warp")
        ready = [together for lanes in groups for together in _together(lanes, self.lanes)]
        for lanes in ready or _groups(waiting, "any"):
            _answer(lanes)
        if all(lane.waits is not None for lane in waiting):
            raise LaunchError(self._stuck(waiting[-1], groups))

    def _stuck(self, last: Lane, groups: list[list[Lane]]) -> str:
        if not groups:
            return (
                f"tid={list(last.position)} ctaid={list(self.position)}: threads of the block wait at different "
                "barriers, so none can continue; call a barrier, and functions of libraries that have one, where all "
                "of them reach it"
            )
        first = groups[0][0]
        return (
            f"tid={list(first.position)} ctaid={list(self.position)}: the thread waits for lanes of its warp which its "
            "mask names and which wait elsewhere, so none can continue; name in the mask the lanes that reach the call"
        )


def _groups(waiting: list[Lane], whom: str) -> list[list[Lane]]:
    """Return the lanes that wait for whom, by warps and by where they wait."""
    groups: dict[tuple[int, Where], list[Lane]] = {}
    for lane in waiting:
        if lane.waits is not None and lane.waits[0] == whom:
            groups.setdefault((lane.number // WARP, lane.waits[1]), []).append(lane)
    return list(groups.values())


def _together(lanes: list[Lane], block: list[Lane]) -> list[list[Lane]]:
    """Return the groups of a warp's lanes that go on: a lane outside its mask alone, others if all alive are here."""
    start, mask = lanes[0].number // WARP * WARP, lanes[0].waits[1][1] if lanes[0].waits else 0
    named = [lane for lane in block[start : start + WARP] if mask >> (lane.number - start) & 1 and not lane.ended]
    alone = [[lane] for lane in lanes if lane not in named]
    return [*alone, named] if named and all(lane in lanes for lane in named) else alone


def _answer(lanes: list[Lane]) -> None:
    values = {lane.number: lane.waits[2] for lane in lanes if lane.waits}
    for lane in lanes:
        lane.waits, lane.answer = None, values


def _begin(lane: Lane, work: Callable[[], None], trace: Any) -> None:
    """Start a thread that waits for its first turn; if the block is over by then, it ends."""
    try:
        on_new_thread(lambda: _live(lane, work, trace))
    except RuntimeError as error:
        raise LaunchError(
            f"the {len(lane.block.lanes)} threads of a block that is stepped through are threads of Python, and the "
            f"system starts no more than {lane.number}; launch smaller blocks, or raise its limit (ulimit -u)"
        ) from error


def _live(lane: Lane, work: Callable[[], None], trace: Any) -> None:
    _current.lane, lane.ident = lane, threading.get_ident()
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
        lane.left.release()


class _Current(threading.local):
    lane: Lane | None = None


_current = _Current()


def lane() -> Lane:
    """Return the kernel's running thread; raises LaunchError outside kernels."""
    if _current.lane is None:
        raise LaunchError("this operation works only in a kernel; call it in a jit function, and launch that")
    return _current.lane


def is_stepping() -> bool:
    """Return whether the calling thread is a kernel's."""
    return _current.lane is not None


def where(depth: int) -> Where:
    """Return the place, so many calls above this call, from which a kernel's own code called."""
    frame = sys._getframe(depth)
    return frame.f_code, frame.f_lasti
