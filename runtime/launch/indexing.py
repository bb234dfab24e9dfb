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

# Not subclasses of them: these may name any number as theirs.
_NUMPY_INTEGERS = frozenset(np.dtype(code).type for code in np.typecodes["AllInteger"])


class Indexable:
    """Configured by indexing: a repeated `kernel[grid, block]` is a look-up that gives a new object.

    1, True and 1.0 are equal, but only whole numbers are dimensions. So a find by equality counts only if it consists
    of ints, or is the very object that was given before. NumPy's integers are looked up as ints.

    Machine code looks among the last few (native/c/index.c says how), before __getitem__ does among more of them.
    """

    __slots__ = ("_hot", "_misses", "_ready")

    # Machine code's input: the environment, then pairs of a configured kernel and its index. How often it missed.
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
                given: Any = launch  # four values are a ValueError
                grid, block, stream = given
                launcher, same_grid, same_block = self._ready.launchers[launch_key(grid, block, stream)]
        except (KeyError, TypeError, ValueError):
            pass  # a wrong index raises its own error, without this error
        else:
            if (grid is same_grid or grid.__class__ is int) and (block is same_block or block.__class__ is int):
                return _again(launcher)
        try:  # as for_users does, without its call for each index
            return self._index(launch)
        except GridjitError as error:
            trim(error)
            raise

    def _index(self, launch: Any) -> ConfiguredKernel:
        """Return the kernel configured by an index, remembered or to be remembered."""
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
        """Let launches be looked up anew: all of them, or the launches of gone kernels."""
        self._ready.drop(gone)
        # Dropped launchers have forgotten their native launches.
        self._hot = kept(self._hot, lambda made: made.launcher.fast is not None)

    def _show(self, launch: Any, made: ConfiguredKernel) -> None:
        """Let machine code give made out again for its index, once no program has it."""
        if made.launcher.fast is None:
            return
        if is_full(self._hot):
            self._misses += 1
            if self._misses % PATIENCE:
                return
        # NumPy's integers never change either, so machine code may know them by identity.
        if _exact(launch) is None:
            return
        self._hot = added(self._hot, made, launch, self._misses)

    def _hide(self, made: ConfiguredKernel) -> None:
        """Drop made, which is never given out again, as it has callbacks of its own."""
        if any(one is made for one in self._hot):
            self._hot = kept(self._hot, lambda one: one is not made)

    def _configure(self, launch: Any) -> ConfiguredKernel:
        """Return the kernel configured by an index; raises ConfigError."""
        raise NotImplementedError


_getitem = Indexable.__getitem__
# Whether machine code was not asked for yet: it is when an index is repeated whose launches go through it.
_untried = [True]


@for_users
def _missed(indexable: Indexable, launch: Any) -> ConfiguredKernel:
    """Return __getitem__'s result for an index that machine code did not find, and show it for the next time."""
    made = _getitem(indexable, launch)
    indexable._show(launch, made)
    return made


def is_native() -> bool:
    """Return whether machine code indexes."""
    return vars(Indexable)["__getitem__"] is not _getitem


def index_natively(store: Store) -> bool:
    """Let machine code index all Indexables from now on; return whether it can."""
    _untried.clear()
    if is_native():
        return True
    from gridjit.runtime.native.special_method import install  # a process that never indexes twice has no use for it

    return install(Indexable, ConfiguredKernel, _missed, store)


def index_from_python(*, until_tried: bool = False) -> None:
    """Index all Indexables by __getitem__ from now on, until machine code is asked for.

    until_tried: it is asked for where it pays, as in a new process; else by index_natively() alone.
    """
    _untried[:] = [True] * until_tried
    if is_native():
        from gridjit.runtime.native.special_method import uninstall

        uninstall(Indexable, _getitem)


def _again(launcher: Launcher) -> ConfiguredKernel:
    """Return a new configured kernel for a repeated index."""
    if _untried and launcher.fast is not None:
        index_natively(session().store(launcher.kernel.cached))
    return ConfiguredKernel.of(launcher)


def _exact(launch: Any) -> tuple[Any, ...] | None:
    """Return an index with its numbers as ints, stream aside; None with any other values, which may change."""
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
    """Return an exact index's key. No two are mixed up: streams that are objects are not at 0."""
    return exact if len(exact) == 2 else (*launch_key(*exact[:3]), *exact[3:])


# The number of pairs for machine code, and of misses until a pair makes room.
PAIRS = 8
PATIENCE = 32

NONE_YET: tuple[Any, ...] = (environment_address().to_bytes(8, "little"),)


def is_full(recent: tuple[Any, ...]) -> bool:
    """Return whether a pair has to go before another is added."""
    return len(recent) > 2 * PAIRS


def added(recent: tuple[Any, ...], configured: object, index: object, misses: int) -> tuple[Any, ...]:
    """Return recent with another pair, in place of an older pair if it is full; misses: how many there were."""
    place = 1 + misses // PATIENCE % PAIRS * 2 if is_full(recent) else len(recent)
    return (*recent[:place], configured, index, *recent[place + 2 :])


def kept(recent: tuple[Any, ...], keep: Callable[[Any], bool]) -> tuple[Any, ...]:
    """Return recent with only the pairs whose configured kernel passes keep."""
    pairs = zip(recent[1::2], recent[2::2], strict=True)
    return (*NONE_YET, *(one for pair in pairs if keep(pair[0]) for one in pair))
