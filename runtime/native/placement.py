"""Placement: the native functions of this process, each placed in memory once, and the record of what they all use."""

from __future__ import annotations

import ctypes
import platform
from collections.abc import Callable
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


# What there is once in a process; filled before the first function is placed.
environment = for_ever(records.EnvironmentRecord())

_placing = lock()
_addresses: dict[str, int | None] = {}


def launch_address(store: Store) -> int | None:
    """Return the address of the launch function; None where launches go through Python."""
    return _address_of("launch", (object_layout(),), _launch_text, store)


def index_address(store: Store, hot: int, callbacks: int, weak: int) -> int | None:
    """Return the address of the indexing function, given the offsets of its slots; None where Python does that."""
    slots = (hot, callbacks, weak)
    return _address_of("indexing", (object_layout(), slots), lambda: _index_text(*slots), store)


def grids_address(store: Store) -> int | None:
    """Return the address of what tells where the functions that run grids are; None where Python runs them."""
    from gridjit.runtime.native.layout.grid_records import known_machine

    if not known_machine():
        return None
    return _address_of("grids", platform.machine(), _grids_text, store)


def environment_address() -> int:
    """Return the address of the record of what there is once in a process."""
    return ctypes.addressof(environment)


def _address_of(name: str, inputs: object, text: Callable[[], str], store: Store) -> int | None:
    if name not in _addresses:
        with section(), _placing:
            if name not in _addresses:
                _addresses[name] = _address_in_memory(name, inputs, text, store)
    return _addresses[name]


def _address_in_memory(name: str, inputs: object, text: Callable[[], str], store: Store) -> int | None:
    if object_layout() is None:
        return None
    from gridjit.runtime.native.object_code import code_of, object_code, put_in_memory  # for launches in machine code

    _fill_environment()
    code = code_of(object_code(name, inputs, text, store))
    return None if code is None else put_in_memory(code)


def _fill_environment() -> None:
    for name in records.API:
        setattr(environment, name, ctypes.cast(getattr(ctypes.pythonapi, name), ctypes.c_void_p).value)
    for name, value in zip(records.OBJECTS, (None, True, False, bytes, int), strict=True):
        setattr(environment, name, id(value))


def _launch_text() -> str:
    # Only a process that finds no code in its cache needs the text that it is made from.
    from gridjit.runtime.native.launches.launch_ir import launch_ir

    found = object_layout()
    assert found is not None
    return launch_ir(found)


def _index_text(hot: int, callbacks: int, weak: int) -> str:
    from gridjit.runtime.native.index_ir import SlotOffsets, index_ir

    found = object_layout()
    assert found is not None
    return index_ir(found, SlotOffsets(hot=hot, callbacks=callbacks, weak=weak))


def _grids_text() -> str:
    from gridjit.runtime.native.grids.grid_ir import grid_ir

    return grid_ir(platform.machine())
