"""The records that the native launch function reads, as ctypes has them; C has them in c/records.h."""

from __future__ import annotations

import ctypes

# The ways to read an argument; their places here are the cases of the native function's switch.
READS = (
    "copy",
    "doubles_to_floats",
    "int",
    "unsigned",
    "int_to_double",
    "int_to_float",
    "bool",
    "slot",
    "strided",
    "dlpack",
    "ignored",  # no operation says so
    "itself",
    "directed",
)
PLACES = 10

# C API functions and objects the native function uses, in the order of its environment record.
API = (
    "PyLong_AsLongLongAndOverflow",
    "PyLong_AsUnsignedLongLong",
    "PyLong_FromLong",
    "PyErr_Occurred",
    "PyErr_Clear",
    "PyTuple_New",
    "PyTuple_SetItem",
    "PyObject_Call",
    "PyObject_CallFunctionObjArgs",
    "Py_IncRef",
    "Py_DecRef",
    "PyEval_SaveThread",
    "PyEval_RestoreThread",
    "PyBytes_FromStringAndSize",
)
OBJECTS = ("Py_None", "Py_True", "Py_False", "PyBytes_Type", "PyLong_Type")

# Where objects that are launched keep the address of the function that launches them, and of its CellRecord.
FUNCTION = 48
CELL = 56

HOLD_GIL = 1
PADDED = 2
# The function launches grids on the host, and reports failures in so many bytes: a status, then the handle.
HOST = 4
REPORT_BYTES = 40
REPORT_HANDLE = 32
# The code of launches that were given keywords, which machine code does not read.
KEYWORDS_GIVEN = -1
# A function's result once a Python error is set.
INTERRUPTED = -1000
# Host arrays are copied for the launch, as the record at `staging` says.
STAGED = 8
# Nothing is launched: the answer is the object at `handle`, and the parameters.
DESCRIBED = 16
MAX_BUFFER = 4096
MAX_ARGUMENTS = 1024


class OperationRecord(ctypes.Structure):
    """An Operation in memory.

    read: its place in READS. offset: of the parameters in the buffer. type: id of the Python type. size: bytes of
    parameters. at: offsets in the object. The meaning of the other words is the reader's.
    """

    _fields_ = [
        ("read", ctypes.c_int32),
        ("offset", ctypes.c_int32),
        ("type", ctypes.c_int64),
        ("size", ctypes.c_int64),
        ("tag", ctypes.c_int64),
        ("mask", ctypes.c_int64),
        ("limit", ctypes.c_int64),
        ("itemsize", ctypes.c_int64),
        ("ndim", ctypes.c_int32),
        ("layout", ctypes.c_int32),
        ("call", ctypes.c_int64),
        *((f"at{index}", ctypes.c_int64) for index in range(PLACES)),
    ]


class TableRecord(ctypes.Structure):
    """A launch's data; the operations follow it in memory.

    last: the number of its last launch, 0 if there was none.
    guard: a slot that must hold the object `guarded`. context: the number of the context that must be current, as the
    function at `ask` tells (0: any may be). follow: a function without arguments that must return `followed`.
    staging: address of a StagingRecord, if flags say so.
    """

    _fields_ = [
        ("next", ctypes.c_int64),
        ("nargs", ctypes.c_int32),
        ("flags", ctypes.c_int32),
        ("size", ctypes.c_int64),
        ("launch", ctypes.c_int64),
        ("handle", ctypes.c_int64),
        ("stream", ctypes.c_int64),
        ("guard", ctypes.c_int64),
        ("guarded", ctypes.c_int64),
        ("ask", ctypes.c_int64),
        ("context", ctypes.c_int64),
        ("follow", ctypes.c_int64),
        ("followed", ctypes.c_int64),
        ("last", ctypes.c_int64),
        ("staging", ctypes.c_int64),
        *((name, ctypes.c_int32) for name in ("gx", "gy", "gz", "bx", "by", "bz", "shared", "padding")),
    ]


class CellRecord(ctypes.Structure):
    """The one mutable word of a native function, its first table, and the functions it calls when no table fits."""

    _fields_ = [(name, ctypes.c_int64) for name in ("table", "slow", "failed", "environment")]


class EnvironmentRecord(ctypes.Structure):
    """The record that is once in a process, so that the code needs no linking.

    Addresses of CPython's functions and objects. launches: how many there were so far. index: the Python function
    (kernel, index) that configures a kernel for an index that machine code does not remember.
    """

    _fields_ = [
        ("launches", ctypes.c_int64),
        *((name, ctypes.c_int64) for name in (*API, *OBJECTS, "index")),
    ]
