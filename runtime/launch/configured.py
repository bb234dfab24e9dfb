"""ConfiguredKernel: `kernel[grid, block, stream, sharedmem]`, ready to be called with arguments."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterable, MutableSequence
from typing import TYPE_CHECKING, Any, NoReturn

from gridjit.compiler.values.errors import ArgumentError, not_called, shown
from gridjit.compiler.values.launch_config import Dim3, LaunchConfig
from gridjit.runtime.environment.tracebacks import is_for_users, trim
from gridjit.runtime.launch.dispatch import launch
from gridjit.runtime.launch.launcher import Launcher
from gridjit.runtime.native.vectorcall import arm, disarm, vectorcalled
from gridjit.runtime.queues.attention import watchers

if TYPE_CHECKING:
    from gridjit.compiler.values.footprint import Markable
    from gridjit.runtime.kernel import Kernel

# The first parameter is a LaunchedKernel, which has the names of a Kernel too: a callback may be annotated with either.
Callback = Callable[[Any, "ConfiguredKernel"], Any]


@vectorcalled
class ConfiguredKernel:
    """A kernel with the shape of its launch.

    Call it with the kernel's arguments. Each function in pre_launch_callbacks is called with (kernel, config) before
    every launch made through this object; another object, even of an equal configuration, has its own callbacks. A
    callback's kernel is a LaunchedKernel, which equals the kernel.
    """

    # _callbacks is empty until a program asks for them: machine code looks there. Python looks at `watched`.
    __slots__ = ("__weakref__", "_callbacks", "launcher", "watched")

    launcher: Launcher
    watched: bool

    def __init__(self) -> None:
        raise not_called("ConfiguredKernel", "kernel[griddim, blockdim] makes one")

    @classmethod
    def of(cls, launcher: Launcher) -> ConfiguredKernel:
        """Return a new configured kernel over a shared launcher."""
        made = object.__new__(cls)
        made.launcher = launcher
        made.watched = False
        if launcher.native is not None and launcher.fast is not None:
            arm(made, launcher.native.address, launcher.native.cell)
        return made

    def __call__(self, /, *args: Any, **keywords: NoReturn) -> None:
        """Launch from Python, unless machine code is called in its place; that does not call callbacks."""
        try:
            launcher = self.launcher
            repeats, fast = launcher.repeats, launcher.fast
            # Only watched launches have them.
            if not (repeats is None or fast is None or keywords or self.watched) and repeats.again(args):
                fast(*args)
                return
            self._launch(args, keywords)
        except BaseException as error:
            if is_for_users(error):
                trim(error)
            raise

    def _launch(self, args: tuple[Any, ...], keywords: dict[str, Any]) -> None:
        launcher, watched = self.launcher, self.watched
        if keywords:
            launcher.refuse_keywords()
        if launcher.fast is None or launcher.native is None or (watched and self._callbacks):
            launch(launcher, args, self)
            return
        if watchers and not watchers[0].knows(launcher, args):
            launch(launcher, args, self)
            return
        if not watched:
            arm(self, launcher.native.address, launcher.native.cell)
            if self.watched:  # another thread asked for them meanwhile
                disarm(self)
        launcher.fast(*args)

    @property
    def pre_launch_callbacks(self) -> MutableSequence[Callback]:
        """The functions called with (kernel, config) before every launch made through this object.

        While the hooks of a launch run, the hooks of its code are among them; a removed hook is not called again.
        """
        from gridjit.runtime.launch.under_way import Callbacks, launch_of

        own = self._own_callbacks()
        launch = launch_of(self)
        return own if launch is None else Callbacks(launch.hooks, own)

    @pre_launch_callbacks.setter
    def pre_launch_callbacks(self, callbacks: Iterable[Callback]) -> None:
        from gridjit.runtime.launch.under_way import Callbacks, launch_of

        launch = launch_of(self)
        if launch is None:
            self._set_callbacks(callbacks)
        else:
            Callbacks(launch.hooks, self._own_callbacks()).keep(callbacks)

    @property
    def own_callbacks(self) -> tuple[Callback, ...]:
        """The current callbacks of this object alone; reading them watches nothing."""
        return tuple(self._callbacks) if self.watched else ()

    def _own_callbacks(self) -> list[Callback]:
        if not self.watched:
            self._set_callbacks(())
        return self._callbacks

    def _set_callbacks(self, callbacks: Iterable[Callback]) -> None:
        if not isinstance(callbacks, Iterable):
            raise ArgumentError(
                f"pre_launch_callbacks = {shown(callbacks)}: give a list of functions of (kernel, config)"
            )
        self._callbacks: list[Callback] = list(callbacks)
        self.watched = True
        # From now on a callback may be added at any time, so calls come by __call__.
        disarm(self)
        self.launcher.kernel._hide(self)

    def __reduce__(self) -> tuple[Callable[..., Any], tuple[Any, ...]]:
        """Pickle the kernel and the configuration; raises PicklingError if another process could not have the same."""
        if self.own_callbacks:
            raise pickle.PicklingError(
                "Cannot pickle configured launches with pre-launch callbacks; pickle the kernel and add them again"
            )
        if type(self.stream) is not int:
            raise pickle.PicklingError(f"{self!r} launches in {self.stream!r}, of this process; pickle the kernel")
        return _configured, (self.dispatcher, self.config, self.stream)

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
        """The stream that it is launched in."""
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
        """Dynamic shared memory of a block, in bytes: the given or the code's required size, whichever is more."""
        return max(self.launcher.config.sharedmem, self.launcher.config_key.required)

    @property
    def args(self) -> tuple[Any, ...] | None:
        """The given arguments of the launch whose hooks are running; None at other times."""
        from gridjit.runtime.launch.under_way import launch_of

        launch = launch_of(self)
        return None if launch is None else launch.args

    def mark_kernel_as_launch_config_sensitive(self, *fields: Markable) -> None:
        """Declare that the kernel depends on the named launch fields; see Kernel.mark_launch_config_sensitive."""
        self.dispatcher.mark_launch_config_sensitive(*fields)

    def get_kernel_launch_config_sensitive(self) -> bool | None:
        """Return whether the kernel depends on its configuration or was marked; None if it is not compiled yet."""
        if self.dispatcher.marks:
            return True
        known = self.dispatcher.specializations
        return any(found.metadata.get("launch_config_sensitive") for found in known) if known else None

    def is_kernel_launch_config_sensitive(self) -> bool:
        """Return whether the kernel is known to depend on its configuration."""
        return bool(self.get_kernel_launch_config_sensitive())

    _is_kernel_launch_config_sensitive = is_kernel_launch_config_sensitive  # numba-cuda's name

    def __repr__(self) -> str:
        return f"<{self.dispatcher!r} configured for {self.config}>"

    def _repr_html_(self) -> str:
        """Return the configured kernel for notebooks."""
        from gridjit.runtime.numba_names.specialized_signature import may_serve
        from gridjit.runtime.specializations.display import configured_page

        return configured_page(self, (found for found in self.dispatcher.in_memory() if may_serve(found, self.config)))


def _configured(kernel: Kernel, config: LaunchConfig, stream: int) -> ConfiguredKernel:
    """Return a pickled configured kernel."""
    return kernel._configured(config, stream)
