"""Recording: one compilation's reads of its launch, and its requests. A ConfigView's memory, not reachable from it.

All reads through a view, its arguments or a copy of it end here, so nothing of a launch is handed out unrecorded.
"""

from __future__ import annotations

import dataclasses
import sys
import threading
import weakref
from collections.abc import Callable, Sequence
from typing import Any, ParamSpec, Protocol, TypeAlias, TypeVar

from gridjit.compiler.values.errors import ConfigError
from gridjit.compiler.values.footprint import (
    ELSEWHERE,
    MARKABLE,
    PRESENCE,
    Fact,
    FactValue,
    Footprint,
    current_value,
    is_very_object,
)
from gridjit.compiler.values.launch_config import LaunchConfig
from gridjit.compiler.view.arguments import ArgumentsView

Result = TypeVar("Result")
Given = ParamSpec("Given")
# A launch's configuration and arguments.
LaterLaunch: TypeAlias = "tuple[LaunchConfig, Sequence[Any]]"


class Listener(Protocol):
    """Hears of each use of the launch by a compilation."""

    def hear_read(self, fact: Fact) -> None:
        """Hear that a field was read, even if it had been read before."""

    def hear_effect(self, what: str) -> None:
        """Hear of anything else: a mark, a requirement, a reason to keep the result private."""


class Shelf(Protocol):
    """A store where a compilation finds others' results for the functions that it calls, and leaves its own.

    around: its surroundings, as a text that is the same in another process. was_used: whether a result was taken.
    """

    around: str
    was_used: bool

    def get(self, key: str) -> bytes | None:
        """Return the data put under key, or None."""

    def put(self, key: str, data: bytes) -> None:
        """Keep data under key, for compilations that begin later."""

    def leave_nothing(self) -> None:
        """Forget the results that the compilation left: they may be of another toolchain."""

    def when_it_went_well(self, do: Callable[[], None]) -> None:
        """Call do once the compilation's code is made: until then, a result that was taken may be wrong."""


# Frames of these packages do not count: the reader of a fact is the first frame outside them.
_MACHINERY = ("gridjit.compiler", "gridjit.runtime", "numba", "numba_cuda", "contextlib", "copy", "pickle")


class Recording:
    """The launch that a compilation is for (config None: ahead of any), and the compilation's uses of it.

    required: dynamic shared memory that the compilation is known to require, in bytes. shelf: None if nothing is to be
    found or left. may_fold: whether jit(specialize="auto") may fold fields of the launch into the code.
    """

    def __init__(self, config: LaunchConfig | None, arguments: Sequence[Any] | None, required: int = 0) -> None:
        self.config = config
        self.arguments = arguments
        self._later: Callable[[], LaterLaunch | None] | None = None
        self.listener: Listener | None = None
        self.shelf: Shelf | None = None
        self.may_fold = True
        self.arguments_view = None if arguments is None else ArgumentsView(self, arguments)
        self.begin(required)

    def begin(self, required: int) -> None:
        """Start again: nothing has been read, marked or refused, and this much shared memory is required."""
        self.required = required
        self.marked = False
        self.private: list[str] = []
        # Files and lines that code running in the compilation asked for.
        self.places: dict[tuple[object, object], None] = {}
        # The value given for gridjit.static.sharedmem, which the code now holds as a constant.
        self.said_sharedmem: int | None = None
        self._facts: dict[str, Fact] = {}

    def follow(self, later: Callable[[], LaterLaunch | None]) -> None:
        """End the compilation. From now on, reads while hooks of its code are called see that launch.

        later: returns the launch of the code whose hooks this thread is calling, or None. It must not refer to the
        view, which hooks may hold.
        """
        self._later = later

    @property
    def later(self) -> LaterLaunch | None:
        """The launch whose hooks this thread calls after the compilation; None otherwise."""
        return None if self._later is None else self._later()

    @property
    def launch_config(self) -> LaunchConfig | None:
        """The configuration that reads see: the later launch's, else the one that the compilation is for."""
        return self.config if (later := self.later) is None else later[0]

    def read(self, name: str, where: str = "") -> FactValue:
        """Record that a field was read, at where (by default the calling code), and return its value."""
        later = self.later
        found = current_value(name, *(later or (self.config, self.arguments)))
        if later is None:
            fact = Fact(field=name, value=found, place=where or _reader())
            self._facts.setdefault(name, fact)
            if self.listener is not None:
                self.listener.hear_read(fact)
        running = running_recording()
        if running is not None and running is not self:
            running.read_elsewhere()
        return found

    def read_elsewhere(self) -> None:
        """Record that the compilation read another one's launch: no later launch is known to agree in that."""
        self._facts.setdefault(ELSEWHERE, Fact(field=ELSEWHERE, value=True, place=_reader()))
        self.keep_private("the compilation read the launch configuration of another compilation")

    def snapshot(self) -> LaunchConfig | None:
        """Return the whole configuration, recorded field by field, because later reads of it cannot be seen."""
        config = self.launch_config
        if not self.read(PRESENCE) or config is None:
            return None
        for name in MARKABLE:
            self.read(name)
        return dataclasses.replace(config, sharedmem=self.sharedmem)

    @property
    def sharedmem(self) -> int:
        """The launch's dynamic shared memory, with the amount that the compilation required so far; unrecorded."""
        config = self.launch_config
        return max(0 if config is None else config.sharedmem, self.required)

    def mark(self, names: Sequence[str]) -> None:
        """Note a mark: the named fields count. If none is named, the fields read count, as always."""
        self.tell("was marked")
        if unknown := set(names) - set(MARKABLE):
            raise ConfigError(f"mark {sorted(unknown)}: fields are {', '.join(MARKABLE)}")
        self.marked = True
        for name in names:
            self.read(name)

    def keep_private(self, reason: str) -> None:
        """Keep the result in this process's memory, for a reason that explain() shows."""
        self.tell(reason)
        if reason not in self.private:
            self.private.append(reason)

    def ask_for_place(self, file: object, line: object) -> None:
        """Note that the file, or the line, of a place in the kernel's code was asked for."""
        self.tell("asks where code stands")
        self.places[file, line] = None

    def require(self, size: int) -> None:
        """Require so much dynamic shared memory of each launch, in bytes."""
        self.tell("requires shared memory")
        self.required = max(self.required, size)

    def say_sharedmem(self) -> int:
        """Return the shared memory of each launch as a constant of the code, which has to agree in the end."""
        self.tell("was told how much shared memory there is")
        self.said_sharedmem = self.sharedmem
        return self.said_sharedmem

    def tell(self, what: str) -> None:
        """Tell the listener of an effect."""
        if self.listener is not None:
            self.listener.hear_effect(what)

    @property
    def footprint(self) -> Footprint:
        """The facts read so far. An object that was handed out counts as it is now: the compilation may use it."""
        return Footprint.of(self._as_now(fact) for fact in list(self._facts.values()))

    def _as_now(self, fact: Fact) -> Fact:
        if not is_very_object(fact.field):
            return fact
        return dataclasses.replace(fact, value=current_value(fact.field, self.config, self.arguments))


class _Visible(threading.local):
    """The view that a thread sees."""

    view: Any = None


_visible = _Visible()
# A view's recording. Nothing that a recording refers to may refer to its view, or both would live for ever.
_recordings: weakref.WeakKeyDictionary[Any, Recording] = weakref.WeakKeyDictionary()


def remember(view: Any, recording: Recording) -> None:
    """Make recording the view's."""
    _recordings[view] = recording


def recording_of(view: Any) -> Recording:
    """Return the recording of a view."""
    return _recordings[view]


def visible_view() -> Any:
    """Return the view that this thread sees, or None."""
    return _visible.view


def while_current(view: Any, call: Callable[Given, Result], *given: Given.args, **named: Given.kwargs) -> Result:
    """Return call's result. Meanwhile this thread sees view, and afterwards its former view."""
    before = visible_view()
    # Nothing is called between the call's end and the assignment, so no interrupt comes in between.
    try:
        _visible.view = view
        return call(*given, **named)
    finally:
        _visible.view = before


def running_recording() -> Recording | None:
    """Return the recording of the compilation that runs in this thread, or None."""
    view = visible_view()
    return None if view is None else _recordings[view]


def _reader() -> str:
    frame = sys._getframe(2)
    while frame.f_back is not None:
        name = frame.f_globals.get("__name__", "")
        if not any(name == package or name.startswith(package + ".") for package in _MACHINERY):
            from gridjit.compiler.source.code_place import CodePlace  # a warm start reads nothing

            return str(CodePlace.of(frame.f_code, frame.f_lasti))
        frame = frame.f_back
    return ""
