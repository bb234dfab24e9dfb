"""ConfiguredKernel: `kernel[grid, block, stream, sharedmem]`, ready to be called with arguments."""

from __future__ import annotations

import functools
from collections.abc import Callable, Hashable, Iterable
from typing import TYPE_CHECKING, Any

from gridjit.compiler.launch_config import Dim3, LaunchConfig
from gridjit.runtime.dispatch import Launcher, ReadyTable, launch
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

    def __init__(self, kernel: Kernel, config: LaunchConfig, stream: Any, ready: ReadyTable) -> None:
        self.launcher = ready.launcher(kernel, config, stream)
        self.__call__ = self.launcher.call if self.launcher.direct else functools.partial(_call, self)

    @classmethod
    def of(cls, launcher: Launcher) -> ConfiguredKernel:
        """Return a new configured kernel over what equal ones share."""
        made = _new(cls)
        made.launcher = launcher
        made.__call__ = launcher.call if launcher.direct else functools.partial(_call, made)
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


class Indexings:
    """What `kernel[...]` was given before, so that giving it again is a look-up. What comes out is always a new object.

    1, True and 1.0 are equal, but only whole numbers are dimensions. So what is found by equality counts only if it is
    an int, or the very object that was given before.
    """

    LIMIT = 1024

    __slots__ = ("_found",)

    def __init__(self) -> None:
        self._found: dict[Hashable, tuple[Launcher, Any, Any]] = {}

    def find(self, given: Any) -> ConfiguredKernel | None:
        """Return a new configured kernel for what was between the brackets, if it was there before."""
        try:
            if len(given) == 2:
                grid, block = given
                launcher, same_grid, same_block = self._found[given]
            else:
                grid, block, stream = given
                launcher, same_grid, same_block = self._found[_key(grid, block, stream)]
        except (KeyError, TypeError, ValueError):
            return None
        if (grid is same_grid or grid.__class__ is int) and (block is same_block or block.__class__ is int):
            made = _new(ConfiguredKernel)
            made.launcher = launcher
            made.__call__ = launcher.call if launcher.direct else functools.partial(_call, made)
            return made
        return None

    def remember(self, given: Any, configured: ConfiguredKernel) -> None:
        """Have find know what configured was made from; what it cannot tell from others is not kept."""
        if type(given) is not tuple or not 2 <= len(given) <= 3 or not all(map(_is_exact, given[:2])):
            return
        if len(self._found) >= self.LIMIT:
            self._found = {}
        key = given if len(given) == 2 else _key(*given)
        self._found[key] = (configured.launcher, given[0], given[1])

    def clear(self) -> None:
        """Forget everything."""
        self._found = {}


def _is_exact(dims: Any) -> bool:
    return type(dims) is int or (type(dims) is tuple and all(type(dim) is int for dim in dims))


def _key(grid: Any, block: Any, stream: Any) -> Hashable:
    """Return what stands for a launch in a stream, known by its identity; the launcher keeps it alive."""
    return (grid, block, 0, stream) if stream.__class__ is int else (grid, block, id(stream))


_new = object.__new__


def _call(configured: ConfiguredKernel, /, *args: Any, **keywords: Any) -> None:
    """Launch from Python, for objects that may have callbacks, until the native function is known to do."""
    launcher, watched = configured.launcher, hasattr(configured, "_callbacks")
    if keywords:
        launcher.failed(KEYWORDS_GIVEN)
    if not launcher.direct or (watched and configured._callbacks):
        launch(launcher, args, configured)
        return
    if not watched:
        configured.__call__ = launcher.call
    launcher.call(*args)
