"""lookup: finds the handler of a class that is passed for the first time, loading the kinds that it may be of."""

from __future__ import annotations

import importlib
from typing import Any

from gridjit.runtime.args import host_arrays, numbers
from gridjit.runtime.args.handler import ArgumentHandler, class_name, registered, search_with

__all__ = ["find", "host_arrays", "numbers"]

# Classes that many programs pass -> the one module that their launches load; other classes load every kind.
_HOMES = {
    "gridjit.runtime.memory.device_array.DeviceArray": "device_arrays",
    "torch.Tensor": "tensors",
    "torch.nn.parameter.Parameter": "tensors",
    "cupy.ndarray": "cupy",
}


def find(value: Any) -> ArgumentHandler | None:
    """Return the handler of value's class, or None if no kind is responsible for it."""
    python_type = type(value)
    home = _HOMES.get(class_name(python_type), "all_kinds")
    found = _handler_in(home, python_type) or _handler_in("all_kinds", python_type)
    return found or _buffer_handler(value)


def _handler_in(home: str, python_type: type) -> ArgumentHandler | None:
    """Return the handler of a class once a module of kinds is loaded."""
    importlib.import_module(f"gridjit.runtime.args.{home}")
    return registered(python_type)


def _buffer_handler(value: Any) -> ArgumentHandler | None:
    """Return the handler of an object whose class only has the buffer protocol, which only a value shows."""
    from gridjit.runtime.args.host_objects import buffer_handler

    return buffer_handler(value)


search_with(find)
