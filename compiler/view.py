"""ConfigView: what a compilation sees as "the launch configuration". It records every field that is read.

One view belongs to one compilation. It is visible in the compiling thread only, and only while it compiles.
"""

from __future__ import annotations

import contextlib
import dataclasses
import functools
import sys
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

from gridjit.compiler.arguments_view import ArgumentsView
from gridjit.compiler.errors import ConfigError
from gridjit.compiler.footprint import (
    HAS_ARGUMENTS,
    MARKABLE,
    PRESENCE,
    Effects,
    Fact,
    FactValue,
    Footprint,
    Hook,
    current_value,
)
from gridjit.compiler.launch_config import Dim3, LaunchConfig

_visible = threading.local()
# Frames of these packages are machinery: the reader of a fact is the first frame outside them.
_MACHINERY = ("gridjit.compiler", "gridjit.runtime", "numba", "numba_cuda", "contextlib")


class ConfigView:
    """The launch configuration as a compilation sees it.

    Reading griddim, blockdim, sharedmem, cluster, cooperative or args makes the compiled code depend on that field.
    Writing sharedmem raises the dynamic shared memory (bytes) of this launch and of every later one of the artifact.
    Appending to pre_launch_callbacks registers hooks called with (kernel, config) before each launch.
    """

    def __init__(self, config: LaunchConfig | None, args: Sequence[Any] | None = None, dispatcher: Any = None) -> None:
        self.config = config
        self.dispatcher = dispatcher
        self.pre_launch_callbacks: list[Callable[..., Any]] = []
        # What linked code wants called with its module, when that is loaded and when it is unloaded.
        self.setup_callbacks: tuple[Callable[..., Any], ...] = ()
        self.teardown_callbacks: tuple[Callable[..., Any], ...] = ()
        self._private: list[str] = []
        self._arguments = args
        self._facts: dict[str, Fact] = {}
        self._required_sharedmem = 0
        self._marked = False

    @property
    def griddim(self) -> Dim3:
        """Blocks in the grid, (x, y, z)."""
        return self._launch("griddim").griddim

    @property
    def blockdim(self) -> Dim3:
        """Threads in a block, (x, y, z)."""
        return self._launch("blockdim").blockdim

    @property
    def sharedmem(self) -> int:
        """Dynamic shared memory of a block, bytes. Assign to require more for this launch and all later ones."""
        return max(self._launch("sharedmem").sharedmem, self._required_sharedmem)

    @sharedmem.setter
    def sharedmem(self, size: int) -> None:
        if not isinstance(size, int) or size < 0:
            raise ConfigError(f"sharedmem = {size!r}: give 0 or more bytes")
        self._required_sharedmem = max(self._required_sharedmem, size)

    @property
    def cluster(self) -> Dim3 | None:
        """Blocks in a cluster, (x, y, z), or None."""
        return self._launch("cluster").cluster

    @property
    def cooperative(self) -> bool:
        """Whether the launch is cooperative."""
        return self._launch("cooperative").cooperative

    @property
    def args(self) -> ArgumentsView | None:
        """The launch's arguments, or None where there is no launch; see ArgumentsView for what counts when read."""
        return None if not self.read(HAS_ARGUMENTS) or self._arguments is None else ArgumentsView(self, self._arguments)

    def read(self, name: str, where: str = "") -> FactValue:
        """Record that a field was read, at where (by default the calling code), and return its value."""
        found = current_value(name, self.config, self._arguments)
        self._facts.setdefault(name, Fact(field=name, value=found, where=where or _reader()))
        return found

    def keep_private(self, reason: str) -> None:
        """Keep the result in this process's memory, for a reason that explain() shows."""
        if reason not in self._private:
            self._private.append(reason)

    def mark_kernel_as_launch_config_sensitive(self, *names: str) -> None:
        """Make the kernel depend on the named fields; with none, on those read so far, or on all if none was."""
        self._marked = True
        if unknown := set(names) - set(MARKABLE):
            raise ConfigError(f"mark {sorted(unknown)}: fields are {', '.join(MARKABLE)}")
        for name in names or (() if self.footprint.sensitive else MARKABLE):
            self.read(name)

    def get_kernel_launch_config_sensitive(self) -> bool | None:
        """Return True once the kernel is known to depend on this configuration, None before."""
        return True if self._marked or self.footprint.sensitive else None

    def is_kernel_launch_config_sensitive(self) -> bool:
        """Return whether the kernel is known to depend on this configuration."""
        return bool(self.get_kernel_launch_config_sensitive())

    _is_kernel_launch_config_sensitive = is_kernel_launch_config_sensitive  # the name numba-cuda's backend calls

    @property
    def footprint(self) -> Footprint:
        """What has been read so far."""
        return Footprint.of(self._facts.values())

    @property
    def effects(self) -> Effects:
        """What was asked for so far: shared memory, and the functions that another process can import."""
        return Effects(
            sharedmem=self._required_sharedmem,
            hooks=_importable(self.pre_launch_callbacks),
            setup=_importable(self.setup_callbacks),
            teardown=_importable(self.teardown_callbacks),
        )

    @property
    def reasons_to_keep_private(self) -> tuple[str, ...]:
        """Why the result must stay in this process's memory; empty if it may be stored."""
        kinds = (
            ("pre-launch hook", self.pre_launch_callbacks),
            ("setup callback", self.setup_callbacks),
            ("teardown callback", self.teardown_callbacks),
        )
        unnamed = ((kind, call) for kind, calls in kinds for call in calls if importable_hook(call) is None)
        return (*self._private, *(f"the {kind} {call!r} cannot be imported by name" for kind, call in unnamed))

    def _launch(self, name: str) -> LaunchConfig:
        if self.config is None:
            raise RuntimeError("No launch config set for this thread")
        self.read(name)
        return self.config


def current_view() -> ConfigView | None:
    """Return the view of the compilation running in this thread, or None outside one."""
    return getattr(_visible, "view", None)


def visible_config() -> ConfigView | None:
    """Return what user code sees: the view of a launch's compilation, else None. That it asked is recorded."""
    view = current_view()
    if view is None:
        return None
    view.read(PRESENCE)
    return None if view.config is None else view


@contextlib.contextmanager
def visible(view: ConfigView | None) -> Iterator[None]:
    """Make view (None: no launch) the current one of this thread; what was visible before comes back after."""
    before = current_view()
    _visible.view = view
    try:
        yield
    finally:
        _visible.view = before


def importable_hook(callback: Callable[..., Any]) -> Hook | None:
    """Return callback as a hook that another process can make again, or None.

    It is a function that importing its module and qualified name gives, or a functools.partial of one over positional
    arguments that JSON has: None, booleans, numbers and strings.
    """
    if isinstance(callback, functools.partial):
        function = importable_hook(callback.func)
        plain = all(argument is None or isinstance(argument, bool | int | float | str) for argument in callback.args)
        return (
            None
            if function is None or callback.keywords or not plain
            else dataclasses.replace(function, arguments=callback.args)
        )
    module, qualname = getattr(callback, "__module__", None), getattr(callback, "__qualname__", None)
    if not isinstance(module, str) or not isinstance(qualname, str) or module == "__main__":
        return None
    found: Any = sys.modules.get(module)
    for name in qualname.split("."):
        found = getattr(found, name, None)
    return Hook(module=module, qualname=qualname) if found is callback else None


def _importable(callbacks: Iterable[Callable[..., Any]]) -> tuple[Hook, ...]:
    hooks = (importable_hook(callback) for callback in callbacks)
    return tuple(hook for hook in hooks if hook is not None)


def _reader() -> str:
    frame = sys._getframe(2)
    while frame.f_back is not None:
        name = frame.f_globals.get("__name__", "")
        if not any(name == package or name.startswith(package + ".") for package in _MACHINERY):
            return f"{frame.f_code.co_filename.rpartition('/')[2]}:{frame.f_lineno}"
        frame = frame.f_back
    return ""
