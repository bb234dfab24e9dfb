"""NativeFunction: a builtin function that launches by the first table that fits, and asks Python when none does."""

from __future__ import annotations

import ctypes
import functools
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

from gridjit.base.forking import lock, section
from gridjit.cache.store import Store
from gridjit.runtime.native.last_launches import PastLaunch, last_launches
from gridjit.runtime.native.layout import launch_records as records
from gridjit.runtime.native.layout.probes import object_layout
from gridjit.runtime.native.placement import environment_address, for_ever, launch_address
from gridjit.runtime.native.table import LaunchTable

if TYPE_CHECKING:
    from gridjit.runtime.native.layout.staging_records import Rooms

# Tables in a chain: an inline cache for a few kinds of arguments; more are launched by Python.
MAX_TABLES = 4
_FASTCALL_WITH_KEYWORDS = 0x0080 | 0x0002


class NativeFunction:
    """One launch function and its tables.

    address, cell: of the function and of its CellRecord, for objects that are called by it. call: the builtin.
    It launches by the first table that fits its arguments; else it returns slow(*args).
    When the driver returns a code that is not 0, it returns failed(code, *args); keywords are code KEYWORDS_GIVEN. A
    kernel's error on the host is a report, bytes, in place of the code, for fail() to raise.
    """

    __slots__ = ("__weakref__", "_adding", "_cell", "_count", "_tables", "address", "call", "cell")

    def __init__(self, address: int, slow: Callable[..., Any], failed: Callable[..., Any]) -> None:
        self._cell = records.CellRecord(slow=id(slow), failed=id(failed), environment=environment_address())
        self._tables: list[tuple[ctypes.Array[ctypes.c_char], LaunchTable]] = []
        self.address = address
        self.cell = ctypes.addressof(self._cell)
        self._count = 0
        self._adding = lock()
        holder = _holder(self.cell)
        holder.keep = (self._cell, self._tables, slow, failed)
        self.call = builtin(address, holder)
        last_launches.watch(self)

    def add(self, table: LaunchTable) -> None:
        """Try table first from now on; if there are too many, drop the others."""
        with section(), self._adding:
            full = self._count >= MAX_TABLES
            memory = table.in_memory(0 if full else self._cell.table)
            # A thread may be reading any older table: they all stay as long as the function does.
            self._tables.append((memory, table))
            self._count = 1 if full else self._count + 1
            self._cell.table = ctypes.addressof(memory)

    def clear(self) -> None:
        """Forget all tables: the next launch asks Python."""
        with section(), self._adding:
            self._cell.table = 0
            self._count = 0

    def fail(self, report: bytes) -> None:
        """Raise the error of a report."""
        handle = int.from_bytes(report[records.REPORT_HANDLE :], "little")
        for _, table in self._tables:
            if table.entry.handle == handle and table.entry.fail is not None:
                table.entry.fail(table.config, report)

    def rooms(self) -> Iterator[Rooms]:
        """Yield the rooms that its launches copy through."""
        yield from {id(rooms): rooms for _, table in self._tables if (rooms := table.rooms)}.values()

    def past_launches(self) -> Iterator[PastLaunch]:
        """Yield the last launch of each table that was launched by."""
        for memory, table in list(self._tables):
            if number := records.TableRecord.from_buffer(memory).last:
                yield PastLaunch(
                    number=number, kernel=table.kernel, config=table.config, stream=table.stream, device=table.device
                )

    def __del__(self) -> None:
        try:  # noqa: SIM105 - while the process ends, modules go too: suppress() may be gone
            last_launches.keep(self.past_launches())
        except (TypeError, AttributeError):
            pass


class _Holder(bytes):
    """The address of a cell where machine code looks for it, and references to objects that must live as long."""

    keep: tuple[object, ...]


def _holder(cell: int) -> _Holder:
    found = object_layout()
    assert found is not None
    return _Holder(bytes(records.CELL - found.bytes_data) + cell.to_bytes(8, "little"))


def native_function(store: Store, slow: Callable[..., Any], failed: Callable[..., Any]) -> NativeFunction | None:
    """Return a new launch function, or None where launches go through Python."""
    address = launch_address(store)
    return None if address is None else NativeFunction(address, slow, failed)


class _MethodDefinition(ctypes.Structure):
    _fields_ = [
        ("name", ctypes.c_char_p),
        ("function", ctypes.c_void_p),
        ("flags", ctypes.c_int),
        ("doc", ctypes.c_char_p),
    ]


@functools.cache
def _definition(address: int) -> _MethodDefinition:
    # CPython keeps a pointer to it in every function made from it.
    doc = b"launch(*args)\n--\n\nLaunch the kernel with its arguments."
    return for_ever(_MethodDefinition(b"launch", address, _FASTCALL_WITH_KEYWORDS, doc))


def builtin(address: int, self: object) -> Callable[..., None]:
    """Return a builtin function that calls machine code with self, the arguments, and how many there are."""
    make = ctypes.pythonapi.PyCFunction_NewEx
    make.restype = ctypes.py_object
    make.argtypes = [ctypes.c_void_p, ctypes.py_object, ctypes.py_object]
    made: Callable[..., None] = make(ctypes.addressof(_definition(address)), self, "gridjit")
    return made
