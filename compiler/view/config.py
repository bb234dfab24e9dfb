"""ConfigView: the launch configuration as a compilation sees it. It records every field that is read.

A view belongs to one compilation. It is visible only in the compiling thread, and only while that compiles. It holds
nothing of the launch in its attributes: each way to a field, including a copy of the view, records the read.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from typing import Any

from gridjit.compiler.values.errors import ConfigError
from gridjit.compiler.values.footprint import HAS_ARGUMENTS, PRESENCE, Effects, FactValue, Footprint, Markable
from gridjit.compiler.values.launch_config import Dim3, LaunchConfig
from gridjit.compiler.view.arguments import ArgumentsView
from gridjit.compiler.view.recording import LaterLaunch, Recording, recording_of, remember, visible_view
from gridjit.compiler.view.recording import while_current as while_current


class ConfigView:
    """The launch configuration as a compilation sees it.

    Reading griddim, blockdim, sharedmem, cluster, cooperative or args makes the compiled code depend on that field.
    Writing sharedmem raises the dynamic shared memory (bytes) of this launch and of every later launch of the artifact.
    Appending to pre_launch_callbacks registers hooks called with (kernel, config) before each launch.
    A copy of it, or a pickle, is a LaunchConfig, and depends on all of that.
    A hook may keep it after the compilation: it then describes the launch whose hooks are being called.
    """

    def __init__(
        self, config: LaunchConfig | None, args: Sequence[Any] | None = None, dispatcher: Any = None, required: int = 0
    ) -> None:
        remember(self, Recording(config, args, required))
        self.dispatcher = dispatcher
        self._begin()

    def _begin(self) -> None:
        self.pre_launch_callbacks: list[Callable[..., Any]] = []

    @property
    def griddim(self) -> Dim3:
        """Blocks in the grid, (x, y, z)."""
        value: Dim3 = _read(self, "griddim")
        return value

    @property
    def blockdim(self) -> Dim3:
        """Threads in a block, (x, y, z)."""
        value: Dim3 = _read(self, "blockdim")
        return value

    @property
    def sharedmem(self) -> int:
        """Dynamic shared memory of a block, bytes. Assign to require more for this launch and all later ones."""
        _read(self, "sharedmem")
        return recording_of(self).sharedmem

    @sharedmem.setter
    def sharedmem(self, size: int) -> None:
        try:
            wanted = operator.index(size)
        except TypeError:
            wanted = -1
        if wanted < 0:
            raise ConfigError(f"sharedmem = {size!r}: give 0 or more bytes")
        recording_of(self).require(wanted)

    @property
    def cluster(self) -> Dim3 | None:
        """Blocks in a cluster, (x, y, z), or None."""
        value: Dim3 | None = _read(self, "cluster")
        return value

    @property
    def cooperative(self) -> bool:
        """Whether the launch is cooperative."""
        return bool(_read(self, "cooperative"))

    @property
    def config(self) -> LaunchConfig | None:
        """The whole configuration as a plain value, or None without a launch. All of it counts as read."""
        return recording_of(self).snapshot()

    @property
    def args(self) -> ArgumentsView | None:
        """The launch's arguments, or None without a launch; see ArgumentsView for the reads that count."""
        return recording_of(self).arguments_view if self.read(HAS_ARGUMENTS) else None

    @property
    def ahead_of_launch(self) -> bool:
        """Whether this compilation is for no launch. Not recorded: that was, when the view was asked for."""
        return recording_of(self).config is None

    def read(self, name: str, where: str = "") -> FactValue:
        """Record that a field was read, at where (by default the calling code), and return its value."""
        return recording_of(self).read(name, where)

    def read_static(self, name: str, where: str = "") -> FactValue:
        """Return a field's value as a constant of the kernel; shared memory includes the amount required so far."""
        found = self.read(name, where)
        return recording_of(self).say_sharedmem() if name == "sharedmem" else found

    def begin_again(self) -> bool:
        """Return whether the code must be made again because its constant for shared memory is less than it requires.

        If so, of the compilation so far only the requirement counts, which is now known from the start.
        """
        recording = recording_of(self)
        if recording.said_sharedmem in (None, recording.sharedmem):
            return False
        recording.begin(recording.required)
        self._begin()
        return True

    def until_now(self) -> Callable[[], None]:
        """Return a function that drops all requests from now on, for a compilation that begins again from here.

        Reads remain: code that was told a value may remember it, and not read it again.
        """
        recording, hooks = recording_of(self), [*self.pre_launch_callbacks]
        required, said = recording.required, recording.said_sharedmem

        def begin_again() -> None:
            recording.required, recording.said_sharedmem = required, said
            self.pre_launch_callbacks = hooks

        return begin_again

    def settle(self) -> None:
        """End the compilation. A hook that holds this view may read all of it, in any launch: so all of it counts."""
        from gridjit.compiler.hooks.description import holds

        for callback in self.pre_launch_callbacks:
            if not callable(callback):
                raise ConfigError(
                    f"pre_launch_callbacks got {callback!r}, which cannot be called with (kernel, config)"
                )
        if any(holds(callback, self) for callback in self.pre_launch_callbacks):
            recording_of(self).snapshot()

    def follow(self, later: Callable[[], LaterLaunch | None]) -> None:
        """Tell, once the compilation has ended, of the launch that later returns; see Recording.follow."""
        recording_of(self).follow(later)

    def keep_private(self, reason: str) -> None:
        """Keep the result in this process's memory, for a reason that explain() shows."""
        recording_of(self).keep_private(reason)

    def mark_kernel_as_launch_config_sensitive(self, *names: Markable) -> None:
        """Make the kernel depend on the fields in names; without any, on the fields it reads, and call it sensitive."""
        recording_of(self).mark(names)

    def get_kernel_launch_config_sensitive(self) -> bool | None:
        """Return True once the kernel is marked or known to depend on this configuration, and None before."""
        return True if recording_of(self).marked or self.footprint.sensitive else None

    def is_kernel_launch_config_sensitive(self) -> bool:
        """Return whether the kernel is marked or known to depend on this configuration."""
        return bool(self.get_kernel_launch_config_sensitive())

    _is_kernel_launch_config_sensitive = is_kernel_launch_config_sensitive  # the name numba-cuda's backend calls

    @property
    def footprint(self) -> Footprint:
        """The facts read so far."""
        return recording_of(self).footprint

    @property
    def effects(self) -> Effects:
        """The effects asked for so far: shared memory, and the hooks that another process can make again."""
        return self.asked_for()[0]

    @property
    def reasons_to_keep_private(self) -> tuple[str, ...]:
        """Why the result must stay in this process's memory; empty if it may be stored."""
        return self.asked_for()[1]

    def asked_for(self) -> tuple[Effects, tuple[str, ...]]:
        """Return effects and reasons_to_keep_private as of one moment: each hook is among one of them."""
        from gridjit.compiler.hooks.description import described

        recording = recording_of(self)
        hooks, reasons = described("pre-launch hook", self.pre_launch_callbacks)
        return Effects(sharedmem=recording.required, hooks=hooks), (*recording.private, *reasons)

    def __copy__(self) -> LaunchConfig | None:
        return self.config

    def __deepcopy__(self, memo: object) -> LaunchConfig | None:
        return self.config

    def __reduce__(self) -> tuple[Callable[[LaunchConfig | None], LaunchConfig | None], tuple[LaunchConfig | None]]:
        return _itself, (self.config,)

    def __repr__(self) -> str:
        return f"<the launch configuration that {self.dispatcher!r} is compiled for>"


def _read(view: ConfigView, name: str) -> Any:
    """Return a field of the launch, recorded. Without a launch, raise RuntimeError and record that."""
    recording = recording_of(view)
    if (config := recording.launch_config) is None:
        view.read(PRESENCE)
        raise RuntimeError("No launch config set for this thread")
    recording.read(name)
    return getattr(config, name)


def current_view() -> ConfigView | None:
    """Return the view of the compilation running in this thread, or None outside one."""
    found: ConfigView | None = visible_view()
    return found


def visible_config() -> ConfigView | None:
    """Return the view that user code sees: of a launch's compilation, or None. The question is recorded."""
    view = current_view()
    return view if view is not None and view.read(PRESENCE) else None


def _itself(config: LaunchConfig | None) -> LaunchConfig | None:
    """Return the configuration that a view was pickled as."""
    return config
