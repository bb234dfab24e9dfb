"""Placement: the native functions of this process, each placed in memory once, and the record that they all use."""

from __future__ import annotations

import ctypes
import platform
from collections.abc import Mapping
from typing import TypeVar

from gridjit.base.forking import lock, section
from gridjit.cache.store import Store
from gridjit.runtime.native.layout import launch_records as records
from gridjit.runtime.native.layout.probes import object_layout

Value = TypeVar("Value")


def for_ever(value: Value) -> Value:
    """Return value, which is never freed: machine code has its address, and may run while modules are taken apart."""
    ctypes.pythonapi.Py_IncRef(ctypes.py_object(value))
    return value


# The process's one record; filled before the first function is placed.
environment = for_ever(records.EnvironmentRecord())

_placing = lock()
_addresses: dict[str, int | None] = {}


def launch_address(store: Store) -> int | None:
    """Return the address of the launch function; None where launches go through Python."""
    return _address_of("launch", {}, store)


def index_address(store: Store, hot: int, callbacks: int, weak: int) -> int | None:
    """Return the address of the indexing function, given the offsets of its slots; None where Python does that."""
    return _address_of("index", {"HOT": hot, "CALLBACKS": callbacks, "WEAK": weak}, store)


def grids_address(store: Store) -> int | None:
    """Return the address of the function that returns grids' functions; None where Python runs grids."""
    from gridjit.runtime.native.layout.grid_records import known_machine, machine_numbers

    return _address_of("grids", machine_numbers(platform.machine()), store) if known_machine() else None


def environment_address() -> int:
    """Return the address of the process's one record."""
    return ctypes.addressof(environment)


def _address_of(name: str, numbers: Mapping[str, int], store: Store) -> int | None:
    if name not in _addresses:
        with section(), _placing:
            if name not in _addresses:
                _addresses[name] = _address_in_memory(name, numbers, store)
    return _addresses[name]


def _address_in_memory(name: str, numbers: Mapping[str, int], store: Store) -> int | None:
    if (layout := object_layout()) is None:
        return None
    from gridjit.runtime.native.object_code import code_of, object_code, put_in_memory  # for launches in machine code

    _fill_environment()
    code = code_of(object_code(name, {**layout.numbers, **numbers}, store))
    return None if code is None else put_in_memory(code)


def _fill_environment() -> None:
    for name in records.API:
        setattr(environment, name, ctypes.cast(getattr(ctypes.pythonapi, name), ctypes.c_void_p).value)
    for name, value in zip(records.OBJECTS, (None, True, False, bytes, int), strict=True):
        setattr(environment, name, id(value))
