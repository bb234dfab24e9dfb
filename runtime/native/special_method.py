"""special_method: machine code as a special method of a Python class, called as if the class were written in C."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from types import MappingProxyType
from typing import Any

from gridjit.cache.store import Store
from gridjit.runtime.native.layout.probes import peek, slot_offset
from gridjit.runtime.native.placement import environment, for_ever, index_address

_MP_SUBSCRIPT = 5  # Py_mp_subscript


class _Wrapper(ctypes.Structure):
    """PyWrapperDescrObject: a slot of a type written in C, as Python sees it."""

    _fields_ = [
        ("references", ctypes.c_ssize_t),
        *((name, ctypes.c_void_p) for name in ("type", "owner", "name", "qualname", "base", "wrapped")),
    ]


def set_getitem(owner: Any, address: int) -> bool:
    """Index objects of owner, and of its subclasses, by the function at an address; return whether that works.

    The function is PyObject *f(PyObject *self, PyObject *key).
    """
    base = _slot_definition()
    if base is None or not _works(base, address):
        return False
    owner.__getitem__ = _descriptor(owner, base, address)
    return True


def _slot_definition() -> int | None:
    """Return the address of CPython's own description of __getitem__; None if it is not found as expected."""
    # A type with this one way of being indexed.
    wrapper = _Wrapper.from_address(id(vars(MappingProxyType)["__getitem__"]))
    base = int(wrapper.base or 0)
    named = peek(base, 8)
    if named is None or peek(int.from_bytes(named, "little"), 12) != b"__getitem__\0":
        return None
    return base


def _works(base: int, address: int) -> bool:
    """Return whether CPython takes the function into the slot itself."""
    probe: Any = type("Probe", (), {})
    probe.__getitem__ = _descriptor(probe, base, address)
    get_slot = ctypes.pythonapi.PyType_GetSlot
    get_slot.restype, get_slot.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_int]
    return bool(get_slot(type("Derived", (probe,), {}), _MP_SUBSCRIPT) == address)


def _descriptor(owner: type, base: int, address: int) -> object:
    make = ctypes.pythonapi.PyDescr_NewWrapper
    make.restype, make.argtypes = ctypes.py_object, [ctypes.py_object, ctypes.c_void_p, ctypes.c_void_p]
    return make(owner, base, address)


def install(kernels: Any, configured: Any, missed: Callable[[Any, Any], Any], store: Store) -> bool:
    """Index a class of kernels, and its subclasses, through machine code; return whether that works.

    A kernel has a slot `_hot`, which holds a tuple as `recent` describes it, of objects of the class configured.
    missed: called with kernel and index if the index is not found there; the same function each time.
    """
    hot, callbacks = slot_offset(kernels, "_hot"), slot_offset(configured, "_callbacks")
    if hot is None or callbacks is None:
        return False
    if environment.index != id(missed):
        environment.index = id(for_ever(missed))
    address = index_address(store, hot, callbacks, configured.__weakrefoffset__)
    return address is not None and set_getitem(kernels, address)


def uninstall(kernels: Any, getitem: Callable[[Any, Any], Any]) -> None:
    """Index a class of kernels by a function of Python again."""
    kernels.__getitem__ = getitem
