"""Indexable: `kernel[grid, block]`, remembered; by machine code, once it is available."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from gridjit.cache.store import Store
from gridjit.compiler.values.errors import GridjitError
from gridjit.runtime.environment.tracebacks import for_users, trim
from gridjit.runtime.launch.configured import ConfiguredKernel
from gridjit.runtime.launch.ready import ReadyTable, launch_key
from gridjit.runtime.native.placement import environment_address
from gridjit.runtime.process.session import session

if TYPE_CHECKING:
    from collections.abc import Hashable

    from gridjit.runtime.accepted import LaunchLike
    from gridjit.runtime.devices.base import LoadedKernel
    from gridjit.runtime.launch.launcher import Launcher

# Not classes that are made of them: those may say which number they are as they like.
_NUMPY_INTEGERS = frozenset(np.dtype(code).type for code in np.typecodes["AllInteger"])


class Indexable:
    """What can be configured by indexing: `kernel[grid, block]` again is a look-up that gives a new object.

    1, True and 1.0 are equal, but only whole numbers are dimensions. So what is found by equality counts only if it is
    made of ints, or the very object that was given before. NumPy's integers are looked up as ints.

    Machine code looks among the last few (native/c/index.c says how), before __getitem__ does among more of them.
    """

    __slots__ = ("_hot", "_misses", "_ready")

    # What machine code looks at: the environment, then pairs of a configured kernel and its index. How often it missed.
    _hot: tuple[Any, ...]
    _misses: int
    # All that is ready for launches, and the indexings themselves.
    _ready: ReadyTable

    def __init__(self) -> None:
        self._ready = ReadyTable()
        self._misses = 0
        self._hot = NONE_YET

    def __getitem__(self, launch: LaunchLike) -> ConfiguredKernel:
        """Return the kernel configured by [griddim, blockdim(, stream(, sharedmem))]."""
        try:
            if len(launch) == 2:
                grid, block = launch
                launcher, same_grid, same_block = self._ready.launchers[launch]
            else:
                given: Any = launch  # maybe of four, which is a ValueError
                grid, block, stream = given
                launcher, same_grid, same_block = self._ready.launchers[launch_key(grid, block, stream)]
        except (KeyError, TypeError, ValueError):
            pass  # an index that is wrong is told of without this error
        else:
            if (grid is same_grid or grid.__class__ is int) and (block is same_block or block.__class__ is int):
                return _again(launcher)
        try:  # as for_users does, without its call for each index
            return self._index(launch)
        except GridjitError as error:
            trim(error)
            raise

    def _index(self, launch: Any) -> ConfiguredKernel:
        """Return the kernel configured by what was between the brackets, remembered or to be remembered."""
        exact = _exact(launch)
        if exact is None:
            return self._configure(launch)
        key = _key(exact)
        if (found := self._ready.launchers.get(key)) is not None:
            return _again(found[0])
        made = self._configure(exact)
        self._ready.remember(key, made.launcher, exact[0], exact[1])
        return made

    def _drop(self, gone: Sequence[LoadedKernel] | None = None) -> None:
        """Let launches be looked up anew, all of them or those that use the code of one of these."""
        self._ready.drop(gone)
        # Those that are let go have forgotten what they could launch natively.
        self._hot = kept(self._hot, lambda made: made.launcher.fast is not None)

    def _show(self, launch: Any, made: ConfiguredKernel) -> None:
        """Have machine code give made out again for such an index, once nobody else has it."""
        if made.launcher.fast is None:
            return
        if is_full(self._hot):
            self._misses += 1
            if self._misses % PATIENCE:
                return
        # NumPy's integers never change either, so machine code may know them by being the same objects.
        if _exact(launch) is None:
            return
        self._hot = added(self._hot, made, launch, self._misses)

    def _hide(self, made: ConfiguredKernel) -> None:
        """Let go of what is never to be given out again: made, for it has callbacks of its own."""
        if any(one is made for one in self._hot):
            self._hot = kept(self._hot, lambda one: one is not made)

    def _configure(self, launch: Any) -> ConfiguredKernel:
        """Return the kernel configured by what was between the brackets; raises ConfigError."""
        raise NotImplementedError


_getitem = Indexable.__getitem__
# Whether machine code was not asked for yet: it is when an index comes again whose launches go through it.
_untried = [True]


@for_users
def _missed(indexable: Indexable, launch: Any) -> ConfiguredKernel:
    """Return what __getitem__ would, for machine code that did not find it, and show it for the next time."""
    made = _getitem(indexable, launch)
    indexable._show(launch, made)
    return made


def is_native() -> bool:
    """Return whether machine code is what indexes."""
    return vars(Indexable)["__getitem__"] is not _getitem


def index_natively(store: Store) -> bool:
    """Have all that is Indexable be indexed through machine code from now on; return whether that can be."""
    _untried.clear()
    if is_native():
        return True
    from gridjit.runtime.native.special_method import install  # a process that never indexes twice has no use for it

    return install(Indexable, ConfiguredKernel, _missed, store)


def index_from_python(*, until_tried: bool = False) -> None:
    """Have all that is Indexable be indexed by __getitem__ from now on, until machine code is asked for.

    until_tried: it is asked for where it pays, as in a new process; else by index_natively() alone.
    """
    _untried[:] = [True] * until_tried
    if is_native():
        from gridjit.runtime.native.special_method import uninstall

        uninstall(Indexable, _getitem)


def _again(launcher: Launcher) -> ConfiguredKernel:
    """Return a new configured kernel for an index that comes again."""
    if _untried and launcher.fast is not None:
        index_natively(session().store(launcher.kernel.cached))
    return ConfiguredKernel.of(launcher)


def _exact(launch: Any) -> tuple[Any, ...] | None:
    """Return an index with its numbers as ints, stream aside; None if it has anything else, which may change."""
    if type(launch) is not tuple or not 2 <= len(launch) <= 4:
        return None
    grid, block, sharedmem = _ints(launch[0]), _ints(launch[1]), _int(launch[3]) if len(launch) == 4 else 0
    if grid is None or block is None or sharedmem is None:
        return None
    return (grid, block, *launch[2:3], *([sharedmem] if len(launch) == 4 else ()))


def _ints(dims: Any) -> Any:
    """Return a dimension's number or numbers as ints, or None."""
    if type(dims) is not tuple:
        return _int(dims)
    made = tuple(map(_int, dims))
    return None if None in made else made


def _int(number: Any) -> int | None:
    kind = type(number)
    if kind is int:
        return number  # type: ignore[no-any-return]
    return int(number) if kind in _NUMPY_INTEGERS else None


def _key(exact: tuple[Any, ...]) -> Hashable:
    """Return what an exact index is remembered by. No two are mixed up: streams that are objects are not at 0."""
    return exact if len(exact) == 2 else (*launch_key(*exact[:3]), *exact[3:])


# Pairs that machine code looks at, and how many misses there may be before one of them makes room.
PAIRS = 8
PATIENCE = 32

NONE_YET: tuple[Any, ...] = (environment_address().to_bytes(8, "little"),)


def is_full(recent: tuple[Any, ...]) -> bool:
    """Return whether one pair has to go before another is looked at."""
    return len(recent) > 2 * PAIRS


def added(recent: tuple[Any, ...], configured: object, index: object, misses: int) -> tuple[Any, ...]:
    """Return recent with one more pair, in place of another if it is full; misses: how many there were."""
    place = 1 + misses // PATIENCE % PAIRS * 2 if is_full(recent) else len(recent)
    return (*recent[:place], configured, index, *recent[place + 2 :])


def kept(recent: tuple[Any, ...], keep: Callable[[Any], bool]) -> tuple[Any, ...]:
    """Return recent with those pairs only whose configured kernel is one to keep."""
    pairs = zip(recent[1::2], recent[2::2], strict=True)
    return (*NONE_YET, *(one for pair in pairs if keep(pair[0]) for one in pair))
