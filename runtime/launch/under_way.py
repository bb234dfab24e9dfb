"""under_way: a thread's current launch, from its hooks on: its arguments and its hooks."""

from __future__ import annotations

import contextlib
import threading
import weakref
from collections.abc import Callable, Iterable, Iterator, MutableSequence
from typing import TYPE_CHECKING, Any

from gridjit.base.values import dataclass
from gridjit.compiler.values.errors import ArgumentError, shown

if TYPE_CHECKING:
    from gridjit.compiler.values.launch_config import LaunchConfig
    from gridjit.runtime.launch.configured import ConfiguredKernel
    from gridjit.runtime.launch.launched_kernel import LaunchedKernel

Callback = Callable[..., Any]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class UnderWay:
    """A launch whose hooks are called. hooks: its code's hooks, in the code's own list."""

    configured: ConfiguredKernel
    args: tuple[Any, ...]
    hooks: list[Callback]


class _Launches(threading.local):
    """A thread's launches, the innermost last."""

    all: tuple[UnderWay, ...] = ()


_launches = _Launches()


class Callbacks(MutableSequence[Callback]):
    """The hooks of a launch's code, then the callbacks of its object, as one list; changes reach both."""

    def __init__(self, *lists: list[Callback]) -> None:
        self._lists = lists

    def __len__(self) -> int:
        return sum(map(len, self._lists))

    def __getitem__(self, index: Any) -> Any:
        return [one for part in self._lists for one in part][index]

    def __delitem__(self, index: Any) -> None:
        kept = list(self)
        del kept[index]
        self.keep(kept)

    def __setitem__(self, index: Any, value: Any) -> None:
        kept = list(self)
        kept[index] = value
        self.keep(kept)

    def insert(self, index: int, value: Callback) -> None:
        """Insert before index; a callback that is not a hook of the code is the object's."""
        kept = list(self)
        kept.insert(index, value)
        self.keep(kept)

    def keep(self, callbacks: Iterable[Callback]) -> None:
        """Keep the code's hooks that are among callbacks, and make the other callbacks the object's."""
        hooks, own = self._lists
        kept: list[Callback] = []
        rest: list[Callback] = []
        for callback in callbacks:
            (kept if hooks.count(callback) > kept.count(callback) else rest).append(callback)
        hooks[:] = kept
        own[:] = rest

    def __repr__(self) -> str:
        return repr(list(self))


class Hooks(list[Callback]):
    """The hooks of one specialization, which can be referred to weakly."""

    __slots__ = ("__weakref__",)


def launches_with(hooks: Hooks) -> Callable[[], tuple[LaunchConfig, tuple[Any, ...]] | None]:
    """Return a function that returns this thread's launch whose code has these hooks, or None; it keeps no launch."""
    known = weakref.ref(hooks)

    def find() -> tuple[LaunchConfig, tuple[Any, ...]] | None:
        wanted, launches = known(), reversed(getattr(_launches, "all", ()))
        found = (one for one in launches if wanted is not None and one.hooks is wanted)
        return next(((one.configured.launcher.config, one.args) for one in found), None)

    return find


@contextlib.contextmanager
def launching(configured: ConfiguredKernel, args: tuple[Any, ...], hooks: list[Callback]) -> Iterator[None]:
    """Make a launch this thread's innermost."""
    before = _launches.all
    _launches.all = (*before, UnderWay(configured=configured, args=args, hooks=hooks))
    try:
        yield
    finally:
        _launches.all = before


def launch_of(configured: ConfiguredKernel) -> UnderWay | None:
    """Return this thread's innermost launch through an object, or None."""
    return next((one for one in reversed(_launches.all) if one.configured is configured), None)


def callable_one(callback: Callback) -> Callback:
    """Return a callback; raises ArgumentError if it cannot be called."""
    if not callable(callback):
        raise ArgumentError(
            f"pre_launch_callbacks has {shown(callback)} in it, which cannot be called; "
            "give functions of (kernel, config)"
        )
    return callback


def call_all(kernel: LaunchedKernel, configured: ConfiguredKernel, hooks: list[Callback]) -> None:
    """Call hooks, then the object's own callbacks. They may remove each other, and add further callbacks."""
    waiting = [*hooks, *configured.own_callbacks]
    known = tuple(waiting)
    while waiting:
        callable_one(waiting.pop(0))(kernel, configured)
        now = (*hooks, *configured.own_callbacks)
        if now != known:
            waiting = [one for one in waiting if one in now] + [one for one in now if one not in known]
            known = now
