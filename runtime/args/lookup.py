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
# The modules of all kinds but StridedMemoryView's, which is registered by the module of that class.
_ALL = (
    *("cupy", "dates", "device_arrays", "direction", "enums", "host_arrays", "host_objects", "interfaces"),
    *("numba_values", "numbers", "pointers", "records", "tensors", "tuples", "type_objects", "unified_arrays"),
)


def find(value: Any) -> ArgumentHandler | None:
    """Return the handler of value's class, or None if no kind is responsible for it."""
    python_type = type(value)
    if (home := _HOMES.get(class_name(python_type))) is not None:
        _load(home)
        if (found := registered(python_type)) is not None:
            return found
    load_all()
    return registered(python_type) or _buffer_handler(value)


def load_all() -> None:
    """Load every kind of argument, which registers it."""
    for name in _ALL:
        _load(name)


def _load(name: str) -> None:
    importlib.import_module(f"gridjit.runtime.args.{name}")


def _buffer_handler(value: Any) -> ArgumentHandler | None:
    """Return the handler of an object whose class only has the buffer protocol, which only a value shows."""
    from gridjit.runtime.args.host_objects import buffer_handler

    return buffer_handler(value)


search_with(find)
