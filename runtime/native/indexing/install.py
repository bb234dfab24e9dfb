"""install: makes a class of kernels indexed through machine code; `uninstall` ends that."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from gridjit.cache.store import Store
from gridjit.runtime.native.indexing.special_method import set_getitem
from gridjit.runtime.native.placement import environment, for_ever, index_address
from gridjit.runtime.native.probes import slot_offset


def install(kernels: Any, configured: Any, missed: Callable[[Any, Any], Any], store: Store) -> bool:
    """Have a class of kernels, and its subclasses, be indexed through machine code; return whether they are.

    Such a kernel has a slot `_hot`, which holds a tuple as `recent` describes it, of objects of the class configured.
    missed: called with kernel and index for what is not found there; the same function each time.
    """
    hot, callbacks = slot_offset(kernels, "_hot"), slot_offset(configured, "_callbacks")
    if hot is None or callbacks is None:
        return False
    if environment.index != id(missed):
        environment.index = id(for_ever(missed))
    address = index_address(store, hot, callbacks, configured.__weakrefoffset__)
    return address is not None and set_getitem(kernels, address)


def uninstall(kernels: Any, getitem: Callable[[Any, Any], Any]) -> None:
    """Have a class of kernels be indexed by a function of Python again."""
    kernels.__getitem__ = getitem
