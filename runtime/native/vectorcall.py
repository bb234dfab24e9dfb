"""vectorcall: classes whose objects are called by machine code, without Python looking for their __call__ (PEP 590)."""

from __future__ import annotations

import ctypes
from typing import Any, TypeVar

from gridjit.runtime.native.layout import launch_records as records
from gridjit.runtime.native.layout.probes import known_interpreter
from gridjit.runtime.queues.attention import watchers

Class = TypeVar("Class", bound=type)

_SSIZE, _UNSIGNED, _READ_ONLY = 19, 18, 1  # of PyMemberDef: T_PYSSIZET, T_ULONGLONG, READONLY
_MEMBERS = 72  # Py_tp_members
_FLAGS = 1 << 18 | 1 << 11 | 1 << 10  # Py_TPFLAGS_DEFAULT, _HAVE_VECTORCALL, _BASETYPE
# CPython keeps pointers into these.
_kept: list[object] = []


class _Member(ctypes.Structure):
    _fields_ = [
        ("name", ctypes.c_char_p),
        ("type", ctypes.c_int),
        ("offset", ctypes.c_ssize_t),
        ("flags", ctypes.c_int),
        ("doc", ctypes.c_char_p),
    ]


class _Slot(ctypes.Structure):
    _fields_ = [("slot", ctypes.c_int), ("value", ctypes.c_void_p)]


class _Spec(ctypes.Structure):
    _fields_ = [
        ("name", ctypes.c_char_p),
        ("basicsize", ctypes.c_int),
        ("itemsize", ctypes.c_int),
        ("flags", ctypes.c_uint),
        ("slots", ctypes.c_void_p),
    ]


def vectorcalled(plain: Class) -> Class:
    """Return a subclass of plain, under its name, for whose objects `arm` makes Python call machine code.

    Until then, and where there is no machine code, plain's own __call__ is called.
    """
    if not known_interpreter() or plain.__basicsize__ > records.FUNCTION:
        return plain
    members = (_Member * 4)(
        _Member(b"__vectorcalloffset__", _SSIZE, records.FUNCTION, _READ_ONLY),
        _Member(b"_function", _UNSIGNED, records.FUNCTION, 0),
        _Member(b"_cell", _UNSIGNED, records.CELL, 0),
    )
    slots = (_Slot * 2)(_Slot(_MEMBERS, ctypes.addressof(members)))
    name = f"{plain.__module__}.{plain.__qualname__}".encode()
    spec = _Spec(name, records.CELL + 8, 0, _FLAGS, ctypes.addressof(slots))
    _kept.extend((members, slots, name, spec))
    make = ctypes.pythonapi.PyType_FromSpecWithBases
    make.restype, make.argtypes = ctypes.py_object, [ctypes.c_void_p, ctypes.py_object]
    made: Class = make(ctypes.addressof(spec), (plain,))
    made.__doc__ = plain.__doc__
    return made


def arm(launched: Any, function: int, cell: int) -> None:
    """Make calls of an object go to the function at an address, which finds its CellRecord at the address cell.

    While launches are watched, calls go to Python.
    """
    if watchers:
        return
    launched._cell = cell
    launched._function = function


def disarm(launched: Any) -> None:
    """Make calls of an object go to its Python __call__ again."""
    if _kept:  # else no class is called by machine code
        launched._function = 0
