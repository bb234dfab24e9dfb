"""serializer: functions as bytes, by their code and globals, and back; cloudpickle takes them apart."""

from __future__ import annotations

import io
import pickle
from collections.abc import Callable
from types import CodeType
from typing import Any

import cloudpickle


class _Serializer(cloudpickle.Pickler):  # type: ignore[misc]  # cloudpickle has no types
    """cloudpickle's, which refuses memory of a GPU: an address is meaningless elsewhere, or in this process later.

    Code keeps its file's name, for messages and debug information; newer versions of cloudpickle leave it out.
    """

    def reducer_override(self, obj: Any) -> Any:
        """Return obj's parts; raises PicklingError for memory of a GPU."""
        if isinstance(obj, CodeType):
            make, parts = self.dispatch_table[CodeType](obj)
            # A string of its own: pickles would differ by whether other objects refer to it.
            return _code, ("".join(obj.co_filename), make, parts)
        if getattr(obj, "__cuda_array_interface__", None) is not None:
            raise pickle.PicklingError(
                f"a {type(obj).__name__} in a GPU's memory, to which a kernel or device function refers, cannot be "
                "pickled; pass it to the kernel as an argument"
            )
        return super().reducer_override(obj)


def _code(file: str, make: Callable[..., CodeType], parts: tuple[Any, ...]) -> CodeType:
    """Return code from its parts, of a file."""
    return make(*parts).replace(co_filename=file)


def dumps(value: Any) -> bytes:
    """Return value as bytes; raises PicklingError or TypeError if it is meaningless elsewhere, as a device array is."""
    with io.BytesIO() as data:
        _Serializer(data, protocol=4).dump(value)
        return data.getvalue()


def loads(data: bytes) -> Any:
    """Return the value of bytes. They must be trusted: they may run any code."""
    return pickle.loads(data)
