"""Indexable: `kernel[grid, block]`, remembered; by machine code, once it is available."""

from __future__ import annotations

from collections.abc import Hashable
from typing import TYPE_CHECKING, Any

from gridjit.cache.store import Store
from gridjit.runtime.launch.configured import ConfiguredKernel
from gridjit.runtime.launch.dispatch import Launcher
from gridjit.runtime.native.indexing.special_method import set_getitem
from gridjit.runtime.native.placement import environment, environment_address, for_ever, index_address
from gridjit.runtime.native.probes import slot_offset
from gridjit.runtime.session import session

if TYPE_CHECKING:
    from gridjit.runtime.accepted import LaunchLike

_NONE_YET = (environment_address().to_bytes(8, "little"),)


class Indexable:
    """What can be configured by indexing: `kernel[grid, block]` again is a look-up that gives a new object.

    1, True and 1.0 are equal, but only whole numbers are dimensions. So what is found by equality counts only if it is
    an int, or the very object that was given before.

    Machine code looks among the last few (program_index says how), before __getitem__ does among more of them.
    """

    __slots__ = ("_hot", "_indexings", "_misses")

    INDEXINGS = 1024
    # Those that machine code looks at, and how many misses there may be before one of them makes room.
    HOT = 8
    PATIENCE = 32

    # What was given -> the launcher, and grid and block as they were.
    _indexings: dict[Hashable, tuple[Launcher, Any, Any]]
    # What machine code knows: the environment, then configured kernels, each with the index that it was made for.
    _hot: tuple[Any, ...]
    _misses: int

    def forget_indexings(self) -> None:
        """Remember nothing: for a kernel that is new, or whose code is to be looked up again."""
        self._indexings = {}
        self._misses = 0
        self._hot = _NONE_YET

    def __getitem__(self, launch: LaunchLike) -> ConfiguredKernel:
        """Return the kernel configured by [griddim, blockdim(, stream(, sharedmem))]."""
        try:
            if len(launch) == 2:
                grid, block = launch
                launcher, same_grid, same_block = self._indexings[launch]
            else:
                given: Any = launch  # maybe of four, which is a ValueError
                grid, block, stream = given
                launcher, same_grid, same_block = self._indexings[_key(grid, block, stream)]
        except (KeyError, TypeError, ValueError):
            return self._index(launch)
        if (grid is same_grid or grid.__class__ is int) and (block is same_block or block.__class__ is int):
            if _untried and launcher.fast is not None:
                index_natively(session().store(launcher.kernel.cached))
            return ConfiguredKernel.of(launcher)
        return self._index(launch)

    def _index(self, launch: Any) -> ConfiguredKernel:
        """Return the kernel configured by what was between the brackets, and remember it."""
        made = self._configure(launch)
        if _is_exact(launch) and len(launch) <= 3:
            if len(self._indexings) >= self.INDEXINGS:
                self._indexings = {}
            key = launch if len(launch) == 2 else _key(*launch)
            self._indexings[key] = (made.launcher, launch[0], launch[1])
        return made

    def _show(self, launch: Any, made: ConfiguredKernel) -> None:
        """Have machine code give made out again for such an index, once nobody else has it."""
        if made.launcher.fast is None or not _is_exact(launch):
            return
        place = len(self._hot)
        if place > 2 * self.HOT:
            self._misses += 1
            if self._misses % self.PATIENCE:
                return
            place = 1 + self._misses // self.PATIENCE % self.HOT * 2
        self._hot = (*self._hot[:place], made, launch, *self._hot[place + 2 :])

    def _hide(self, made: ConfiguredKernel) -> None:
        """Let go of what is never to be given out again: made, for it has callbacks of its own."""
        hot = self._hot
        place = next((place for place in range(1, len(hot), 2) if hot[place] is made), None)
        if place is not None:
            self._hot = (*hot[:place], *hot[place + 2 :])

    def _configure(self, launch: Any) -> ConfiguredKernel:
        """Return the kernel configured by what was between the brackets; raises ConfigError."""
        raise NotImplementedError


_getitem = Indexable.__getitem__
# Whether machine code was not asked for yet: it is when an index comes again whose launches go through it.
_untried = [True]


def _missed(indexable: Indexable, launch: Any) -> ConfiguredKernel:
    """Return what __getitem__ would, for machine code that did not find it, and show it for the next time."""
    made = _getitem(indexable, launch)
    indexable._show(launch, made)
    return made


def index_natively(store: Store) -> None:
    """Have everything Indexable be indexed through machine code from now on, where that can be."""
    _untried.clear()
    if vars(Indexable)["__getitem__"] is not _getitem:
        return
    hot, callbacks = slot_offset(Indexable, "_hot"), slot_offset(ConfiguredKernel, "_callbacks")
    if hot is None or callbacks is None:
        return
    environment.index = id(for_ever(_missed))
    address = index_address(store, hot, callbacks, ConfiguredKernel.__weakrefoffset__)
    if address is not None:
        set_getitem(Indexable, address)


def _is_exact(launch: Any) -> bool:
    """Return whether an index is one that nothing else is the same as, stream aside."""
    return (
        type(launch) is tuple
        and 2 <= len(launch) <= 4
        and all(map(_is_dims, launch[:2]))
        and (len(launch) < 4 or type(launch[3]) is int)
    )


def _is_dims(dims: Any) -> bool:
    return type(dims) is int or (type(dims) is tuple and all(type(dim) is int for dim in dims))


def _key(grid: Any, block: Any, stream: Any) -> Hashable:
    """Return what stands for a launch in a stream, known by its identity; the launcher keeps it alive."""
    return (grid, block, 0, stream) if stream.__class__ is int else (grid, block, id(stream))
