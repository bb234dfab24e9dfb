"""The oracle: the arrays that a kernel leaves, found by running each of its threads as a Python generator.

A thread yields a request where it waits: for its block, for lanes of its warp, or for the grid. A scheduler answers
when all threads that the request names have come, so nothing here knows of regions, loops over threads or vectors.
Threads run in an order that a seed draws, and shared and local memory begins as noise: a program whose results depend
on either has a race, or reads memory that nothing has written.
"""

# mypy: ignore-errors
from __future__ import annotations

import itertools
import random
from collections.abc import Callable, Generator, Iterator, Sequence
from types import SimpleNamespace
from typing import Any, NamedTuple

import numpy as np

FULL = 2**32 - 1
WARP = 32


class Launch(NamedTuple):
    """The shape of a launch: blocks, threads of a block, bytes of dynamic shared memory."""

    grid: tuple[int, ...]
    block: tuple[int, ...]
    sharedmem: int = 0


class Request(NamedTuple):
    """A thread's wait: its kind, the lanes that it waits for (None: its block, or the grid), and its operands."""

    kind: str
    mask: int | None = None
    value: Any = 0
    argument: int = 0


class NeverEnds(Exception):
    """Threads wait for others that wait elsewhere."""


class _Thread:
    """A thread, its place in the block, and the request that it waits with; None before it begins and when it ended."""

    def __init__(self, code: Generator[Request, Any, None], place: int) -> None:
        self.code = code
        self.place = place
        self.request: Request | None = None

    def go_on(self, answer: Any = None) -> None:
        """Run the thread to its next request."""
        try:
            self.request = self.code.send(answer)
        except StopIteration:
            self.request = None


def run_threads(function: Callable[..., Any], launch: Launch, arguments: Sequence[Any], seed: int = 0) -> None:
    """Run a generator function for every thread of a launch; function(cuda, *arguments) yields requests."""
    draw = random.Random(seed)
    blocks = [_block(function, place, launch, arguments, draw) for place in _places(launch.grid)]
    for threads in blocks:
        for thread in draw.sample(threads, len(threads)):
            thread.go_on()
        _settle(threads, draw)
    while alive := [thread for threads in blocks for thread in threads if thread.request]:
        if any(thread.request.kind != "grid" for thread in alive):
            raise NeverEnds(f"threads wait with {sorted({thread.request[:2] for thread in alive}, key=str)}")
        for thread in draw.sample(alive, len(alive)):
            thread.go_on()
        for threads in blocks:
            _settle(threads, draw)


def _block(
    function: Callable[..., Any], place: Sequence[int], launch: Launch, arguments: Sequence[Any], draw: random.Random
) -> list[_Thread]:
    memory = _Memory(launch.sharedmem, draw)
    threads = enumerate(_places(launch.block))
    return [_Thread(function(Cuda(place, thread, launch, memory), *arguments), number) for number, thread in threads]


def _places(extent: Sequence[int]) -> Iterator[tuple[int, int, int]]:
    x, y, z = (*extent, 1, 1)[:3]
    return ((i, j, k) for k, j, i in itertools.product(range(z), range(y), range(x)))


# -- waiting ------------------------------------------------------------------------------------------------------


def _settle(threads: Sequence[_Thread], draw: random.Random) -> None:
    """Answer requests until no warp of a block and not the block itself goes on."""
    warps = [threads[first : first + WARP] for first in range(0, len(threads), WARP)]
    moved = True
    while moved:
        went = [_warp_goes_on(warp, draw) for warp in draw.sample(warps, len(warps))]
        moved = any(went) or _block_goes_on(threads, draw)


def _warp_goes_on(warp: Sequence[_Thread], draw: random.Random) -> bool:
    """Answer the lanes that wait for each other; return whether there were lanes to answer."""
    waiting = {thread.request[:2] for thread in warp if thread.request and thread.request.mask is not None}
    for kind, mask in sorted(waiting):
        group = [thread for thread in warp if thread.request and mask >> thread.place % WARP & 1]
        if group and all(thread.request[:2] == (kind, mask) for thread in group):
            answers = _exchanged(kind, {thread.place % WARP: thread.request for thread in group})
            for thread in draw.sample(group, len(group)):
                thread.go_on(answers[thread.place % WARP])
            return True
    return False


def _block_goes_on(threads: Sequence[_Thread], draw: random.Random) -> bool:
    alive = [thread for thread in threads if thread.request]
    kinds = {thread.request.kind for thread in alive if thread.request.mask is None}
    if len(kinds) != 1 or kinds == {"grid"} or any(thread.request.mask is not None for thread in alive):
        return False
    given = [bool(thread.request.value) for thread in alive]
    answer = {"barrier": 0, "count": sum(given), "and": int(all(given)), "or": int(any(given))}[kinds.pop()]
    for thread in draw.sample(alive, len(alive)):
        thread.go_on(answer)
    return True


# Each shuffle's source, of a lane and an argument. A lane that reads from none of the group gets its own value.
_SOURCES = {
    "shfl": lambda lane, by: by & 31,
    "shfl_up": lambda lane, by: lane - by,
    "shfl_down": lambda lane, by: lane + by,
    "shfl_xor": lambda lane, by: lane ^ by,
}


def _exchanged(kind: str, requests: dict[int, Request]) -> dict[int, Any]:
    """Return each lane's answer."""
    values = {lane: request.value for lane, request in requests.items()}
    group = _mask(values)
    if source := _SOURCES.get(kind):
        return {lane: values.get(source(lane, requests[lane].argument), own) for lane, own in values.items()}
    if kind == "match_any":
        return {lane: signed(_mask(k for k in values if values[k] == own)) for lane, own in values.items()}
    if kind == "match_all":
        same = len(set(values.values())) == 1
        return dict.fromkeys(values, (signed(group) if same else 0, same))
    yes = _mask(lane for lane, value in values.items() if value)
    answers = {"all": yes == group, "any": yes != 0, "eq": yes in (0, group), "ballot": signed(yes), "syncwarp": 0}
    return dict.fromkeys(values, int(answers[kind]))


def _mask(lanes: Any) -> int:
    return sum(1 << lane for lane in lanes)


def signed(word: int) -> int:
    """Return 32 bits as an int32."""
    return (word + 2**31) % 2**32 - 2**31


# -- numba.cuda of a thread, and NumPy's types as compiled code has them --------------------------------------------


class _Memory:
    """A block's shared memory: static arrays by their number, and the dynamic bytes."""

    def __init__(self, sharedmem: int, draw: random.Random) -> None:
        self._draw = draw
        self._arrays: dict[int, np.ndarray] = {}
        self._dynamic = np.frombuffer(draw.randbytes(sharedmem), np.uint8).copy()

    def array(self, number: int, shape: Any, kind: Cast) -> np.ndarray:
        """Return the block's array of a number; the dynamic memory if the shape is 0."""
        if shape == 0:
            return self._dynamic[: self._dynamic.size // kind.size * kind.size].view(kind.name)
        if number not in self._arrays:
            self._arrays[number] = self.noise(shape, kind)
        return self._arrays[number]

    def noise(self, shape: Any, kind: Cast) -> np.ndarray:
        """Return new memory, which nothing has written."""
        return np.full(shape, self._draw.randrange(128), kind.name)


class Cuda:
    """numba.cuda as one thread sees it. Operations of several threads return requests, for the thread to yield."""

    def __init__(self, block: Sequence[int], thread: Sequence[int], launch: Launch, memory: _Memory) -> None:
        sizes = ((*launch.grid, 1, 1)[:3], (*launch.block, 1, 1)[:3])
        self.gridDim, self.blockDim, self.blockIdx, self.threadIdx = map(_xyz, (*sizes, block, thread))
        self._ids = [b * size + t for b, size, t in zip(block, sizes[1], thread, strict=True)]
        self._sizes = [a * b for a, b in zip(*sizes, strict=True)]
        x, y, z = thread
        self.laneid = (x + sizes[1][0] * (y + sizes[1][1] * z)) % WARP
        numbers = itertools.count()
        self.shared = SimpleNamespace(array=lambda shape, kind: memory.array(next(numbers), shape, kind))
        self.local = SimpleNamespace(array=memory.noise)
        self.atomic = SimpleNamespace(**_ATOMICS)
        self.cg = SimpleNamespace(this_grid=lambda: SimpleNamespace(sync=lambda: Request("grid")))

    def grid(self, count: int) -> Any:
        """Return the thread's position in the grid."""
        return self._ids[0] if count == 1 else tuple(self._ids[:count])

    def gridsize(self, count: int) -> Any:
        """Return the grid's threads along its axes."""
        return self._sizes[0] if count == 1 else tuple(self._sizes[:count])

    def syncthreads(self) -> Request:
        """Wait for the block."""
        return Request("barrier")

    def syncwarp(self, mask: int = FULL) -> Request:
        """Wait for lanes."""
        return Request("syncwarp", mask & FULL)

    def __getattr__(self, name: str) -> Callable[..., Request]:
        """Return a barrier that counts, or an operation of lanes: cuda.shfl_up_sync(mask, value, delta)."""
        if name.startswith("syncthreads_"):
            return lambda value: Request(name.removeprefix("syncthreads_"), None, value)
        kind = name.removesuffix("_sync")
        return lambda mask, value, argument=0: Request(kind, mask & FULL, value, argument)


def _xyz(values: Sequence[int]) -> SimpleNamespace:
    return SimpleNamespace(**dict(zip("xyz", values, strict=True)))


def _atomic(change: Callable[[int, int], int]) -> Callable[[np.ndarray, Any, int], int]:
    def update(array: np.ndarray, index: Any, value: int) -> int:
        old = int(array[index])
        array[index] = change(old, value)
        return old

    return update


def _cas(array: np.ndarray, index: Any, expected: int, value: int) -> int:
    old = int(array[index])
    array[index] = value if old == expected else old
    return old


_ATOMICS = {
    "cas": _cas,
    "add": _atomic(lambda old, value: old + value),
    "max": _atomic(max),
    "min": _atomic(min),
    "xor": _atomic(lambda old, value: old ^ value),
    "exch": _atomic(lambda old, value: value),
}


class Cast(NamedTuple):
    """A type of NumPy's, called as compiled code does: integers wrap, and are Python's afterwards."""

    name: str
    size: int

    def __call__(self, value: Any) -> Any:
        """Return a number in this type."""
        if self.name.startswith("float"):
            return np.dtype(self.name).type(value)
        low = 0 if self.name.startswith("u") else 1 << 8 * self.size - 1
        return (int(value) + low) % (1 << 8 * self.size) - low


_TYPES = [f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64)] + ["float32", "float64"]
# The names that a program's text has in the oracle.
NAMES = {
    "np": SimpleNamespace(**{name: Cast(name, np.dtype(name).itemsize) for name in _TYPES}),
    "math": SimpleNamespace(sqrt=np.sqrt),
}
