"""The records that the machine code which runs grids reads and writes, as ctypes has them; C has them in c/grids.h."""

from __future__ import annotations

import ctypes
import platform

# The functions that the code calls, in the order of EngineRecord: of the C library, and of CPython.
FUNCTIONS = (
    "syscall",
    "clock_gettime",
    "pthread_create",
    "pthread_detach",
    "pthread_self",
    "pthread_setname_np",
    "pthread_sigmask",
    "pthread_sigqueue",
    "sigaction",
    "_setjmp",
    "longjmp",
)
API = ("PyEval_SaveThread", "PyEval_RestoreThread", "PyErr_CheckSignals")

# Launches that threads help with at once; others run on their callers alone.
SLOTS = 8
# A shared grid is dealt from so many parts at most, each by a counter of its own.
PARTS = 64
WORKERS = 255
# Launches inside each other on the main thread, from signal handlers, that are watched: as a stack has room for.
DEPTH = 256
STATUS_BYTES = 28
# A device copies a transfer in so many pieces at most.
PIECES = 16
# A kernel's piece and chunks: few blocks at a time, so that uneven ones balance; or as many as an interrupt allows,
# where blocks side by side do one turn of a loop after the other, so that they touch neighbouring memory in each.
PIECE_PS, CHUNKS = 200_000_000, 8
LONG_PIECE_PS, LONG_CHUNKS = 20_000_000_000, 1
# A launch as kernels read it: its shape and dynamic shared memory, as launch tables have it, and the kernel's patience.
SHAPE_BYTES, PATIENCE, LAUNCH_BYTES = 28, 32, 40

# A result of functions beside 0, the codes of kernels, and INTERRUPTED.
STOPPED = -1001
NO_SLOT = -1002

# The machines that native functions are placed on or could be, and whether C calls them ARM.
_MACHINES = {"x86_64": 0, "aarch64": 1}


class EngineRecord(ctypes.Structure):
    """The record that is once in a process. main: the ident of the thread that Python runs signal handlers on.

    signal: the number of the signal that makes threads look up from a block; 0: there is none, and they do not.
    settle: the function that chooses a signal which nobody else uses.
    """

    _fields_ = [
        *((name, ctypes.c_int64) for name in (*FUNCTIONS, *API)),
        ("pool", ctypes.c_int64),
        ("main", ctypes.c_uint64),
        ("handler", ctypes.c_int64),
        ("signal", ctypes.c_int64),
        ("settle", ctypes.c_int64),
        ("name", ctypes.c_char * 16),
    ]


class KernelRecord(ctypes.Structure):
    """A kernel. low, high: where its code is. cost: of a block, in picoseconds, by its launches; 0: not known yet.

    ended: when its caller last ran blocks alone. brief: how many launches, each soon after the one before, were worth
    sharing if only a worker had been awake.
    resident: whether one thread runs all blocks in turns, as they wait for each other. patience: how long they may do
    so in vain, in nanoseconds; 0: for ever. piece: after how long, in picoseconds, a caller that is alone looks up.
    chunks: in how many pieces at least a part of a shared grid is dealt.
    """

    _fields_ = [
        *((name, ctypes.c_int64) for name in ("entry", "engine", "low", "high", "cost", "ended", "brief")),
        ("threads", ctypes.c_int32),
        ("resident", ctypes.c_int32),
        *((name, ctypes.c_int64) for name in ("patience", "piece", "chunks")),
    ]


class PieceRecord(ctypes.Structure):
    """A piece of a transfer that the device copies at once: from which byte to before which.

    left: how many bytes of it are not in page-locked memory yet. event: on the way back, when it is there. state: of
    the event, as far as known.
    """

    _fields_ = [
        *((name, ctypes.c_int64) for name in ("start", "end", "left", "event")),
        ("state", ctypes.c_int32),
        ("padding", ctypes.c_int32),
    ]


class TransferRecord(ctypes.Structure):
    """Bytes on their way between an array, page-locked memory and a device: addresses here, block and there.

    set_context, copy, query: like cuCtxSetCurrent, cuMemcpyHtoDAsync and cuEventQuery. move: memmove. outward: whether
    they come from the device. chunk: how many bytes a block brings. next: the first chunk that nobody has taken.
    """

    _fields_ = [
        *((name, ctypes.c_int64) for name in ("set_context", "context", "copy", "query", "move", "stream")),
        *((name, ctypes.c_int64) for name in ("here", "block", "there", "size", "chunk", "outward", "next")),
        ("piece", PieceRecord * PIECES),
    ]


class StepRecord(ctypes.Structure):
    """One of the launches of a graph: a KernelRecord, and the arguments of launch_grid."""

    _fields_ = [(name, ctypes.c_int64) for name in ("kernel", "shape", "params")]


class CallerRecord(ctypes.Structure):
    """A launch, on its thread's stack. state: Python's, if the GIL was released. checked: when signals were last."""

    _fields_ = [
        *((name, ctypes.c_int64) for name in ("state", "checked", "runner", "engine")),
        *((name, ctypes.c_int32) for name in ("held", "watched", "interrupted", "padding")),
    ]


class RunnerRecord(ctypes.Structure):
    """A thread that runs blocks and can be made to leave a block: where it goes on then, and whether it is in a block.

    caller: of the main thread's launch. slot: of the launch that a worker helps with. freeze: it is to be stopped for
    ever. signal: the only signal that a worker does not block. unheard: the ticker's last signal has not arrived yet.
    """

    _fields_ = [
        ("jump", ctypes.c_char * 512),
        *((name, ctypes.c_int64) for name in ("low", "high", "caller", "slot", "engine", "thread")),
        ("inside", ctypes.c_int32),
        ("freeze", ctypes.c_int32),
        ("number", ctypes.c_int64),
        ("signal", ctypes.c_int64),
        ("unheard", ctypes.c_int64),
    ]


class PartRecord(ctypes.Structure):
    """A part of a grid, in a cache line of its own: the next block to be run, and the first that is not in it."""

    _fields_ = [("next", ctypes.c_int64), ("end", ctypes.c_int64), ("padding", ctypes.c_int64 * 6)]


class SlotRecord(ctypes.Structure):
    """A launch that threads help with. Its memory is there for ever: a thread that comes late finds it closed.

    open: whether to join. working: how many workers may be looking at it. waiting: whether its caller sleeps until
    there are none. stopped: no more blocks. interrupted: running blocks may be left.
    """

    _fields_ = [
        *(
            (name, ctypes.c_int32)
            for name in ("taken", "open", "working", "waiting", "stopped", "failed", "interrupted", "parts")
        ),
        *((name, ctypes.c_int64) for name in ("kernel", "launch", "params", "chunk")),
        ("status", ctypes.c_char * STATUS_BYTES),
        ("padding", ctypes.c_char * 36),
        ("part", PartRecord * PARTS),
    ]


class PoolRecord(ctypes.Structure):
    """The threads of a process, and the launches that they look at.

    sequence: grows with each launch to help with. sleeping: how many of `size` workers wait for that. starting: being
    started by somebody. ticking: whether there is a ticker. parked: it sleeps until a launch. launches: of the main
    thread, which is in the launch of `runner`, `depth` deep. settled: whether the engine's signal was found to be free,
    and not blocked, since the last tick. blocked: the signals that the main thread blocked then, or that did not arrive
    since.
    """

    _fields_ = [
        *(
            (name, ctypes.c_int32)
            for name in ("sequence", "sleeping", "size", "starting", "ticking", "parked", "depth", "settled")
        ),
        ("launches", ctypes.c_int64),
        ("runner", ctypes.c_int64),
        ("ticker", ctypes.c_int64),
        ("rest", ctypes.c_int64),
        ("blocked", ctypes.c_int64),
        ("slot", SlotRecord * SLOTS),
        ("worker", RunnerRecord * WORKERS),
        ("main", RunnerRecord * DEPTH),
    ]


def machine_numbers(machine: str) -> dict[str, int]:
    """Return the numbers of a machine that C does not know."""
    return {"IS_ARM": _MACHINES[machine]}


def known_machine() -> bool:
    """Return whether this is a machine that grids are run on by machine code."""
    return platform.system() == "Linux" and platform.machine() in _MACHINES
