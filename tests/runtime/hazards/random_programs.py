"""Program: a program of streams, drawn by hypothesis, and what the rules say of each of its steps."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from hypothesis import strategies as st

import gridjit
from gridjit import HazardError, cuda
from tests.runtime.hazards.happens_before import LEGACY, HappensBefore

COUNT = 64
# Items, and whether work writes them.
Used: TypeAlias = "tuple[frozenset[int], bool]"


class Step(NamedTuple):
    """What is done: by which thread, in which streams' with blocks, and in or with which streams, arrays and event."""

    what: str
    thread: int
    within: tuple[int, ...]
    stream: int
    other: int
    array: int
    second: int
    event: int


class Memory(NamedTuple):
    """An array, and its items' numbers, of which no two items have the same."""

    array: Any
    items: Any

    @property
    def known(self) -> frozenset[int]:
        """The items' numbers."""
        return frozenset(self.items.tolist())


@gridjit.jit
def scale(values: Any, factor: float) -> None:
    """Write."""
    i = cuda.grid(1)
    if i < values.size:
        values[i] *= factor


@gridjit.jit
def add(into: Any, values: Any) -> None:
    """Write, and read another."""
    i = cuda.grid(1)
    if i < values.size and i < into.size:
        into[i] += values[i]


@gridjit.jit
def look(values: Any, factor: float) -> None:
    """Read."""
    i = cuda.grid(1)
    if i < values.size:
        factor += values[i]


@gridjit.jit
def nothing(number: float) -> None:
    """Use no memory."""


# The default stream, two blocking streams, two that are not, each thread's own default stream, and the current one.
DEFAULT, BLOCKING, OTHERS, PER_THREAD, CURRENT = 0, (1, 2), (3, 4), 5, 6
LAUNCHES = ("scale", "add", "look", "nothing")
COPIES = ("copy", "copy from host", "copy to host", "make", "allocate")
ORDERS = ("record", "wait", "wait for stream", "synchronize", "query", "synchronize event", "query event")
RARE = (
    "synchronize device",
    "call back",
    "run graph",
    "record graph",
    "close",
    "new event",
    "launch with host's",
    "in place",
)
AGAIN = tuple(f"{name} again" for name in LAUNCHES)
WHAT = LAUNCHES * 3 + AGAIN * 4 + COPIES + ORDERS * 2 + RARE
STEPS = st.builds(
    Step,
    what=st.sampled_from(WHAT),
    thread=st.sampled_from((0, 0, 0, 1)),
    within=st.sampled_from(((), (), (), (1,), (3,), (DEFAULT,), (1, DEFAULT), (2, PER_THREAD))),
    stream=st.sampled_from((0, 0, 1, 1, 2, 2, 3, 4, PER_THREAD, CURRENT, CURRENT)),
    other=st.integers(0, CURRENT),
    array=st.integers(0, 7),
    second=st.integers(0, 7),
    event=st.integers(0, 1),
)


@st.composite
def programs(draw: st.DrawFn) -> list[Step]:
    """Few steps, each of them done many times, in turns and in a row: so machine code sees launches made again."""
    steps = draw(st.lists(STEPS, min_size=4, max_size=12))
    places, times = st.integers(0, len(steps) - 1), st.sampled_from((1, 1, 1, 2, 4))
    turns = draw(st.lists(st.tuples(places, times), min_size=15, max_size=40))
    return [steps[at] for at, times in turns for _ in range(times)]


class Program:
    """A program that is run beside the rules. Raises AssertionError for the first step of which they say otherwise."""

    def __init__(self, threads: ThreadPoolExecutor) -> None:
        self.rules = HappensBefore()
        self._made: list[Any] = []
        self._threads = threads
        self._streams: dict[int, tuple[Any, str]] = {DEFAULT: (gridjit.default_stream(), LEGACY)}
        for number in (*BLOCKING, *OTHERS):
            self._make_stream(number)
        whole = [self._new(cuda.to_device(np.ones(COUNT))) for _ in range(2)]
        keys = (np.s_[:40], np.s_[30:], np.s_[::2], np.s_[1::2], np.s_[5:10])
        self._arrays = [*whole, *(self._view(whole[0], key) for key in keys), self._view(whole[1], np.s_[8:])]
        self._events = [gridjit.create_event() for _ in range(2)]
        self._configured: dict[tuple[str, str], Any] = {}
        self._of_graph = cuda.to_device(np.ones(COUNT))
        cuda.synchronize()
        with gridjit.graph() as self._graph:
            scale[1, COUNT, self._graph.stream](self._of_graph, 1.0)

    def run(self, steps: list[Step]) -> list[bool]:
        """Do all steps; returns of each whether it was refused."""
        return [self._threads.submit(self._do, s).result() if s.thread else self._do(s) for s in steps]

    # -- what there is -----------------------------------------------------------------------------------------------

    def _make_stream(self, number: int) -> None:
        made = gridjit.create_stream(nonblocking=number in OTHERS)
        self._streams[number] = made, f"stream {made.handle}"
        self.rules.add_stream(f"stream {made.handle}", blocking=number in BLOCKING)

    def _stream(self, number: int, thread: int, current: str) -> tuple[Any, str]:
        """Return a stream as it is given, and its name."""
        if number == CURRENT:
            return 0, current
        if number == PER_THREAD:
            self.rules.add_stream(f"thread {thread}", blocking=True)
            return cuda.per_thread_default_stream(), f"thread {thread}"
        return self._streams[number]

    def _new(self, array: Any) -> Memory:
        self._made.append(array)  # which is kept, so that nothing else is where it was
        return Memory(array, np.arange(COUNT) + COUNT * len(self._made))

    def _view(self, memory: Memory, key: Any) -> Memory:
        return Memory(memory.array[key], memory.items[key])

    # -- what is done ------------------------------------------------------------------------------------------------

    def _do(self, step: Step) -> bool:
        current = LEGACY
        with ExitStack() as stack:
            for number in step.within:
                stream, current = self._stream(number, step.thread, current)
                stack.enter_context(stream)
            return self._do_in(step, current)

    def _do_in(self, step: Step, current: str) -> bool:
        stream, name = self._stream(step.stream, step.thread, current)
        kind, memory = step.what.removesuffix(" again"), self._arrays[step.array]
        if kind in LAUNCHES:
            return self._launch(kind, step, stream, name)
        if kind in COPIES:
            return self._copy(kind, step, stream, name)
        if kind == "launch with host's":
            values = np.ones(COUNT)
            return self._awaited(name, [(memory.known, True)], lambda: add[1, COUNT, stream](memory.array, values))
        if kind == "in place":
            return self._use_in_place(memory)
        self._order(kind, step, stream, name, current)
        return False

    def _refused(self, stream: str, uses: list[Used], call: Callable[[], object]) -> bool:
        expected = self.rules.conflict(stream, uses)
        try:
            call()
        except HazardError as error:
            assert expected, f"not a hazard: {error}"
            return True
        assert not expected, f"a hazard that was not found, in {stream}"
        self.rules.give(stream, uses)
        return False

    def _launch(self, kind: str, step: Step, stream: Any, name: str) -> bool:
        kernel = {"scale": scale, "add": add, "look": look, "nothing": nothing}[kind]
        one, two = self._arrays[step.array], self._arrays[step.second]
        args, uses = {
            "scale": ((one.array, 1.0), [(one.known, True)]),
            "add": ((one.array, two.array), [(one.known, True), (two.known, False)]),
            "look": ((one.array, 1.0), [(one.known, False)]),
            "nothing": ((1.0,), []),
        }[kind]
        if kind == step.what:
            return self._refused(name, uses, lambda: kernel[1, COUNT, stream](*args))
        key = kind, name if step.stream in (*BLOCKING, *OTHERS) else str(step.stream)
        if key not in self._configured:
            self._configured[key] = kernel[1, COUNT, stream]
        return self._refused(name, uses, lambda: self._configured[key](*args))

    def _copy(self, kind: str, step: Step, stream: Any, name: str) -> bool:
        if kind in ("make", "allocate"):
            self._arrays[step.array] = self._make(kind, stream, name)
            return False
        one, two = self._arrays[step.array], self._arrays[step.second]
        into = one.array.bind(0)  # else it would be copied in the stream that it was made in, where none is named
        if kind == "copy":
            if one.array.shape != two.array.shape:
                return False
            uses = [(one.known, True), (two.known, False)]
            return self._refused(name, uses, lambda: into.copy_to_device(two.array, stream=stream))
        if kind == "copy to host":
            return self._awaited(name, [(one.known, False)], lambda: into.copy_to_host(stream=stream))
        values, write = np.ones(one.array.shape), self._awaited if name == LEGACY else self._refused
        return write(name, [(one.known, True)], lambda: into.copy_to_device(values, stream=stream))

    def _make(self, kind: str, stream: Any, name: str) -> Memory:
        """Return a new array. In the default stream, it is there for all, and a copy from the host is waited for."""
        if kind == "make":
            made = self._new(cuda.to_device(np.ones(COUNT), stream=stream))
            self.rules.give(name, [(made.known, True)])
            if name == LEGACY:
                self.rules.synchronize(LEGACY)
            return made
        made = self._new(cuda.device_array(COUNT, stream=stream))
        if name != LEGACY:
            self.rules.give(name, [(made.known, True)])
        return made

    def _awaited(self, stream: str, uses: list[Used], call: Callable[[], object]) -> bool:
        """Make what is done when it returns, as _refused."""
        refused = self._refused(stream, uses, call)
        if not refused:
            self.rules.synchronize(stream)
        return refused

    def _use_in_place(self, memory: Memory) -> bool:
        self.rules.synchronize(LEGACY)
        expected = self.rules.in_use(memory.known)
        try:
            np.asarray(gridjit.StridedMemoryView(memory.array.bind(0)))
        except HazardError as error:
            assert expected, f"not a hazard: {error}"
            return True
        assert not expected, "a hazard of the host that was not found"
        return False

    def _order(self, kind: str, step: Step, stream: Any, name: str, current: str) -> None:
        rules, event = self.rules, self._events[step.event]
        actual = gridjit.current_stream() if step.stream == CURRENT else stream
        if kind == "record":
            event.record(stream)
            rules.record(event, name)
        elif kind == "wait":
            event.wait(stream)
            rules.wait(name, event)
        elif kind == "wait for stream":
            other, other_name = self._stream(step.other, step.thread, current)
            actual.wait(other)
            if other_name != name:
                rules.wait_for_stream(name, other_name)
        elif kind == "synchronize" or (kind == "query" and actual.query()):
            actual.synchronize()
            rules.synchronize(name)
        elif kind == "synchronize event" or (kind == "query event" and event.query()):
            event.synchronize()
            rules.synchronize_event(event)
        else:
            self._do_rarely(kind, step, actual, name)

    def _do_rarely(self, kind: str, step: Step, stream: Any, name: str) -> None:
        rules, number = self.rules, step.stream
        if kind == "synchronize device":
            cuda.synchronize()
            rules.host = rules.all
        elif kind == "call back":
            came = threading.Event()
            stream.on_complete(came.set)
            done = rules.give(name)
            assert came.wait(60)
            rules.host |= done
        elif kind == "run graph":
            self._graph.launch(stream)
            rules.give(name)
        elif kind == "record graph" and number in (*BLOCKING, *OTHERS):
            with gridjit.graph(stream):
                scale[1, COUNT, stream](self._arrays[step.array].array, 1.0)
                stream.wait(stream.record())
        elif kind == "close" and number in (*BLOCKING, *OTHERS):
            stream.close()
            self._make_stream(number)
        elif kind == "new event":
            self._events[step.event].close()
            self._events[step.event] = gridjit.create_event()
        elif kind == "view" and len(self._arrays[step.second].items) > 12:
            self._arrays[step.array] = self._view(self._arrays[step.second], np.s_[3:])
