"""Launcher: a kernel with its configuration and stream, shared by all equal indexings, and its native function.

Its `fast` is the native launch function, if there is one. That function launches the kinds of arguments that it has
tables for; any other call is launched from Python, and gives the native function a table for the next time.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NoReturn

from gridjit.base.forking import lock, section
from gridjit.compiler.values.errors import ArgumentError
from gridjit.compiler.values.launch_config import LaunchConfig
from gridjit.runtime.environment.tracebacks import for_users, is_for_users, trim
from gridjit.runtime.launch.dispatch import launch
from gridjit.runtime.process.session import session
from gridjit.runtime.queues.streams import LEGACY, stream_handle

if TYPE_CHECKING:
    from gridjit.runtime.devices.base import LoadedKernel
    from gridjit.runtime.kernel import Kernel
    from gridjit.runtime.launch.ready import ConfigKey, Ready, ReadyKey, ReadyTable
    from gridjit.runtime.native.function import NativeFunction
    from gridjit.runtime.queues.attention import Repeated

_making = lock()


class Launcher:
    """A kernel with its configuration and stream. ready: the kernel's table, of which it is part.

    fast: the native function, once it knows a kind of arguments; until then None. repeats: a watcher's record of its
    last launches; None without a watcher.
    """

    __slots__ = (
        "__weakref__",
        "_told",
        "config",
        "config_key",
        "fast",
        "kernel",
        "native",
        "ready",
        "repeats",
        "stream",
    )

    # Tables made in a launcher's life; they are never freed, so a call that keeps needing new tables stays in Python.
    LIMIT = 64

    def __init__(self, kernel: Kernel, config_key: ConfigKey, stream: Any, ready: ReadyTable) -> None:
        self.kernel = kernel
        self.config_key = config_key
        self.config = config_key.config
        self.stream = stream
        self.ready = ready
        self.native: NativeFunction | None = None
        self.fast: Callable[..., None] | None = None
        self.repeats: Repeated | None = None
        # Launches that the native function knows, or cannot make: the number of a context, and a key of the table.
        self._told: list[tuple[int, ReadyKey]] = []

    @property
    def learned(self) -> int:
        """How many kinds of arguments the native function knows, or cannot know."""
        return len(self._told)

    def here(self) -> Launcher:
        """Return the launcher of the thread's current stream if this launcher's stream is not named; else itself."""
        if type(self.stream) is not int or self.stream:
            return self
        from gridjit.runtime.queues.chosen import here  # only if some thread has chosen a stream

        stream = here(session().device(self.kernel._target).timeline) or LEGACY
        return launcher_for(self.ready, self.kernel, self.config, stream)

    def slow(self, *args: Any) -> None:
        """Launch from Python, for kinds of arguments that the native function does not know."""
        try:
            launch(self, args)
        except BaseException as error:
            if is_for_users(error):
                trim(error)
            raise

    @for_users
    def failed(self, code: int | bytes, *args: Any) -> None:
        """Launch from Python after the native function could not: it raises the error, or removes its cause.

        A report in place of a code is of a launch that was made: the kernel's error is raised. So are codes of launches
        whose arrays could not be copied back.
        """
        from gridjit.runtime.native.layout.launch_records import KEYWORDS_GIVEN

        assert self.native is not None
        if isinstance(code, bytes):
            return self.native.fail(code)
        if code == KEYWORDS_GIVEN:
            self.refuse_keywords()
        if any(self.native.rooms()):
            self._staged(code, self.native)
        return launch(self, args)

    def _staged(self, code: int, native: NativeFunction) -> None:
        """Provide the room that a launch that copies arrays lacked, or raise its later error."""
        from gridjit.runtime.native.layout.staging_records import AFTER, NO_ROOM

        for rooms in native.rooms():
            if code == NO_ROOM:
                rooms.grow(stream_handle(self.stream))
            elif code >= AFTER:
                rooms.fail(code - AFTER, self.kernel.name, self.config, stream_handle(self.stream))

    def refuse_keywords(self) -> NoReturn:
        """Raise an ArgumentError: a kernel's arguments have no names in a launch."""
        raise ArgumentError(f"{self.kernel.name} takes its arguments by position, not by keyword")

    def learn(self, ready: Ready, key: ReadyKey, args: tuple[Any, ...]) -> None:
        """Let the native function launch such arguments from now on, if it can, and ready is still in the table."""
        # Only launches through machine code import any of this.
        from gridjit.runtime.native.function import MAX_TABLES

        told = self._told
        new = (ready.loaded.context, key)
        if len(told) >= self.LIMIT or new in told[-MAX_TABLES:]:
            return
        # Read after `told`: each later drop or change makes that another list.
        if self.ready.get(key) is not ready or self.kernel.extensions or self._is_open(ready.loaded):
            return
        try:
            self._tell(ready, args, new[0])
            # Last: an interrupted launch is told the next time.
            told.append(new)
        finally:
            if self._told is not told:
                self.forget()

    def _is_open(self, loaded: LoadedKernel) -> bool:
        """Return whether it is not known yet if a launch may be made before other streams' work."""
        handle = stream_handle(self.stream)
        return handle > LEGACY and loaded.device.timeline.queued(handle) and loaded.is_brief(self.config) is None

    def _tell(self, ready: Ready, args: tuple[Any, ...], context: int) -> None:
        from gridjit.runtime.launch.native_table import table_of

        table = table_of(self, ready, args, context)
        if table is not None and (native := self._native()) is not None:
            native.add(table)
            self.fast = native.call

    def _native(self) -> NativeFunction | None:
        """Return the native function, made with the first table; None if launches go through Python."""
        from gridjit.runtime.native.function import native_function

        # Objects that are launched know it by its address, so there is one, for the launcher's whole life.
        with section(), _making:
            if self.native is None:
                self.native = native_function(session().store(self.kernel.cached), self.slow, self.failed)
        return self.native

    def forget(self) -> None:
        """Let the next launch look up its specialization anew."""
        self._told = []
        self.fast = None
        if self.native is not None:
            self.native.clear()


def launcher_for(ready: ReadyTable, kernel: Kernel, config: LaunchConfig, stream: Any) -> Launcher:
    """Return the shared launcher of all indexings of a kernel with this configuration and stream."""
    return ready.launcher(config, stream, lambda config_key: Launcher(kernel, config_key, stream, ready))
