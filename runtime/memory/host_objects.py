"""host_objects: host memory that NumPy can see, as a NumPy array: the array interface, the buffer protocol.

Protocols: numpy.org, "The array interface protocol"; docs.python.org, "Buffer Protocol" (PEP 3118).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from gridjit.compiler.values.errors import ArgumentError, a_class
from gridjit.runtime.memory.foreign_array import Interface, read_interface
from gridjit.runtime.memory.staging import own

Array = np.ndarray[Any, Any]


def host_array(obj: Any) -> Array | None:
    """Return a NumPy array over obj's memory, which keeps obj alive; None if obj has neither protocol.

    A NumPy array is itself, without its subclass. NumPy's scalars and plain text have no memory to share. Raises
    ArgumentError for arrays that kernels cannot take: masked arrays, formats that NumPy does not know.
    """
    if isinstance(obj, np.ndarray):
        return own(obj)
    if isinstance(obj, np.generic):
        return None
    if isinstance(interface := getattr(obj, "__array_interface__", None), dict):
        return _array_in(obj, interface)
    try:
        memory = memoryview(obj)
    except TypeError:
        return None
    except BufferError as error:
        raise ArgumentError(f"{a_class(type(obj))} does not give its memory: {error}") from error
    return _array_over(obj, memory)


def _array_in(obj: Any, interface: Interface) -> Array:
    """Return the array that an array interface describes."""
    data = interface.get("data")
    if not isinstance(data, tuple):  # an object with the memory; None: obj itself
        try:
            memory = np.frombuffer(obj if data is None else data, np.uint8)
        except (TypeError, ValueError, BufferError) as error:
            raise ArgumentError(
                f"the __array_interface__ of {a_class(type(obj))} does not say where its data is"
            ) from error
        address = memory.__array_interface__["data"][0] + int(interface.get("offset", 0))
        interface = interface | {"data": (address, not memory.flags.writeable)}
        obj = (obj, memory)
    found = read_interface({"version": 3} | interface, "__array_interface__")
    array = found.layout.over(found.address, found.dtype, owner=obj)
    array.flags.writeable = found.writable
    return array


def _array_over(obj: Any, memory: memoryview) -> Array:
    try:
        return np.asarray(memory)
    except (ValueError, TypeError, NotImplementedError, RuntimeError) as error:
        raise ArgumentError(
            f"{a_class(type(obj))} has memory of format {memory.format!r}, which NumPy cannot read: {error}"
        ) from error
