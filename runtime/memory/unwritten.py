"""unwritten: the bytes of device arrays on the host that are still unwritten, for the checks of debug kernels.

A new array is filled with a pattern. Any write replaces it: bytes that still have the pattern are unwritten. This is
judged by whole words of 8 bytes, so that data that happens to equal the pattern is not taken for unwritten; writes of
debug kernels are known by the byte. Arrays made before the process's first debug kernel count as written.
"""

from __future__ import annotations

import functools
import weakref
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from gridjit.runtime.memory.space import Memory

# Whether new arrays are followed. One element for each reason, so that its truth value is enough.
tracked: list[str] = []
_PATTERN_BYTES = 1 << 16
# So few unwritten bytes of a word may equal the pattern by chance.
_LEAST = 4


def track() -> None:
    """Follow arrays that are made from now on."""
    if not tracked:
        tracked.append("debug kernels")


class Unwritten:
    """A followed piece of memory. mask: for each byte, 1 if no debug kernel wrote it; None before the first look()."""

    __slots__ = ("__weakref__", "address", "mask", "memory", "size")

    def __init__(self, memory: Memory) -> None:
        self.memory = weakref.ref(memory, functools.partial(_forget, memory.address))
        self.address, self.size = memory.address, memory.size
        self.mask: Any = None

    def look(self) -> Any:
        """Return the current mask."""
        import ctypes

        import numpy as np

        words = -(-self.size // 8)
        expected = np.resize(_pattern(), words * 8)
        found = expected.copy()
        found[: self.size] = np.ctypeslib.as_array((ctypes.c_uint8 * self.size).from_address(self.address))
        before = np.ones(words * 8, bool)
        if self.mask is not None:
            before[: self.size] = self.mask[: self.size] != 0
        before[self.size :] = False
        equal = ((found == expected) | ~before).reshape(-1, 8).all(axis=1)
        enough = before.reshape(-1, 8).sum(axis=1) >= min(_LEAST, self.size)
        self.mask = (before.reshape(-1, 8) & (equal & enough)[:, None]).reshape(-1).astype(np.uint8)
        return self.mask


_followed: dict[int, Unwritten] = {}


def note(memory: Memory) -> None:
    """Fill new host memory with the pattern, and follow it."""
    if memory.space.device is not None or not memory.size:
        return
    import ctypes

    pattern = _pattern().tobytes()
    for start in range(0, memory.size, _PATTERN_BYTES):
        ctypes.memmove(memory.address + start, pattern, min(_PATTERN_BYTES, memory.size - start))
    _followed[memory.address] = Unwritten(memory)


def unwritten() -> list[Unwritten]:
    """Return the memory that has unwritten bytes; written memory is not followed any more."""
    found = []
    for address, one in list(_followed.items()):
        memory = one.memory()
        if memory is None or not one.look().any():
            _followed.pop(address, None)
        else:
            found.append(one)
    return found


def _forget(address: int, gone: Any) -> None:
    one = _followed.get(address)
    if one is not None and one.memory is gone:
        _followed.pop(address, None)


@functools.cache
def _pattern() -> Any:
    import random

    import numpy as np

    return np.frombuffer(random.Random("gridjit").randbytes(_PATTERN_BYTES), np.uint8)
