"""ConfiguredKernel: `kernel[grid, block, stream, sharedmem]`, ready to be called with arguments."""

from __future__ import annotations

import functools
from collections.abc import Callable, Hashable, Iterable
from typing import TYPE_CHECKING, Any

from gridjit.compiler.launch_config import Dim3, LaunchConfig
from gridjit.runtime.dispatch import Launcher, launch
from gridjit.runtime.native.function import KEYWORDS_GIVEN

if TYPE_CHECKING:
    from gridjit.runtime.kernel import Kernel

Callback = Callable[["Kernel", "ConfiguredKernel"], Any]


class ConfiguredKernel:
    """A kernel with the shape of its launch.

    Call it with the kernel's arguments. Each function in pre_launch_callbacks is called with (kernel, config) before
    every launch made through this object; another object, even of an equal configuration, has its own.
    """

    # Calling an object calls what its type's __call__ gives for it. Here that is a slot, and in the slot is the
    # builtin function that launches: no Python code runs in between.
    __slots__ = ("__call__", "__weakref__", "_callbacks", "launcher")

    __call__: Callable[..., None]
    launcher: Launcher

    @classmethod
    def of(cls, launcher: Launcher) -> ConfiguredKernel:
        """Return a new configured kernel over what equal ones share."""
        made = cls()
        made.launcher = launcher
        made.__call__ = launcher.fast or functools.partial(_call, made)
        return made

    @property
    def pre_launch_callbacks(self) -> list[Callback]:
        """The functions called with (kernel, config) before every launch made through this object."""
        try:
            return self._callbacks
        except AttributeError:
            self.pre_launch_callbacks = ()
            return self._callbacks

    @pre_launch_callbacks.setter
    def pre_launch_callbacks(self, callbacks: Iterable[Callback]) -> None:
        self._callbacks: list[Callback] = list(callbacks)
        # From now on somebody may add one at any time, so calls come by here.
        self.__call__ = functools.partial(_call, self)

    @property
    def dispatcher(self) -> Kernel:
        """The kernel."""
        return self.launcher.kernel

    @property
    def config(self) -> LaunchConfig:
        """The shape of the launch."""
        return self.launcher.config

    @property
    def stream(self) -> Any:
        """Where it is launched."""
        return self.launcher.stream

    @property
    def griddim(self) -> Dim3:
        """Blocks in the grid, (x, y, z)."""
        return self.launcher.config.griddim

    @property
    def blockdim(self) -> Dim3:
        """Threads in a block, (x, y, z)."""
        return self.launcher.config.blockdim

    @property
    def sharedmem(self) -> int:
        """Dynamic shared memory of a block, in bytes."""
        return self.launcher.config.sharedmem

    def mark_kernel_as_launch_config_sensitive(self, *fields: str) -> None:
        """Declare that the kernel depends on the named launch fields; on all of them if none is named."""
        self.dispatcher.mark_launch_config_sensitive(*fields)

    def get_kernel_launch_config_sensitive(self) -> bool | None:
        """Return whether the kernel depends on its configuration; None if nothing of it is compiled yet."""
        if self.dispatcher.marks:
            return True
        known = self.dispatcher.specializations
        return any(found.launch_config_sensitive for found in known) if known else None

    def is_kernel_launch_config_sensitive(self) -> bool:
        """Return whether the kernel is known to depend on its configuration."""
        return bool(self.get_kernel_launch_config_sensitive())

    def __repr__(self) -> str:
        return f"<{self.dispatcher!r} configured for {self.config}>"


class Indexable:
    """What can be configured by indexing: `kernel[grid, block]` again is a look-up that gives a new object.

    1, True and 1.0 are equal, but only whole numbers are dimensions. So what is found by equality counts only if it is
    an int, or the very object that was given before.
    """

    INDEXINGS = 1024

    # What was given -> the launcher, and grid and block as they were.
    _indexings: dict[Hashable, tuple[Launcher, Any, Any]]

    def __getitem__(self, launch: Any) -> ConfiguredKernel:
        """Return the kernel configured by [griddim, blockdim(, stream(, sharedmem))]."""
        # The whole of it stands here: each call that it could be split into costs a tenth of it.
        try:
            if len(launch) == 2:
                grid, block = launch
                launcher, same_grid, same_block = self._indexings[launch]
            else:
                grid, block, stream = launch
                launcher, same_grid, same_block = self._indexings[_key(grid, block, stream)]
        except (KeyError, TypeError, ValueError):
            return self._index(launch)
        if (grid is same_grid or grid.__class__ is int) and (block is same_block or block.__class__ is int):
            made = ConfiguredKernel()
            made.launcher = launcher
            made.__call__ = launcher.fast or functools.partial(_call, made)
            return made
        return self._index(launch)

    def _index(self, launch: Any) -> ConfiguredKernel:
        """Return the kernel configured by what was between the brackets, and remember it."""
        made = self._configure(launch)
        if type(launch) is tuple and 2 <= len(launch) <= 3 and all(map(_is_exact, launch[:2])):
            if len(self._indexings) >= self.INDEXINGS:
                self._indexings = {}
            key = launch if len(launch) == 2 else _key(*launch)
            self._indexings[key] = (made.launcher, launch[0], launch[1])
        return made

    def _configure(self, launch: Any) -> ConfiguredKernel:
        """Return the kernel configured by what was between the brackets; raises ConfigError."""
        raise NotImplementedError


def _is_exact(dims: Any) -> bool:
    return type(dims) is int or (type(dims) is tuple and all(type(dim) is int for dim in dims))


def _key(grid: Any, block: Any, stream: Any) -> Hashable:
    """Return what stands for a launch in a stream, known by its identity; the launcher keeps it alive."""
    return (grid, block, 0, stream) if stream.__class__ is int else (grid, block, id(stream))


def _call(configured: ConfiguredKernel, /, *args: Any, **keywords: Any) -> None:
    """Launch from Python, for objects that may have callbacks, until the native function is known to do."""
    launcher, watched = configured.launcher, hasattr(configured, "_callbacks")
    if keywords:
        launcher.failed(KEYWORDS_GIVEN)
    if launcher.fast is None or (watched and configured._callbacks):
        launch(launcher, args, configured)
        return
    if not watched:
        configured.__call__ = launcher.fast
    launcher.fast(*args)
