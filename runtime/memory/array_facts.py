"""ArrayFacts: properties of a device's array that need not read its items: layout, memory, kind."""

from __future__ import annotations

import ctypes
import functools
import struct
from collections.abc import Callable, Hashable
from typing import Any, NoReturn

import numpy as np

from gridjit.compiler.values.errors import ArgumentError
from gridjit.compiler.values.item_types import copy_of, identity
from gridjit.compiler.values.signature import array_codes, array_struct, layout_letter
from gridjit.runtime.environment.tracebacks import for_users
from gridjit.runtime.memory.copies import Array, address_of
from gridjit.runtime.memory.space import Memory, Space

# (dtype, ndim, layout, writable, aligned, device, the dtype's other distinctions): equal kinds are one object, so that
# identity tells them apart.
Kind = tuple[np.dtype[Any], int, str, bool, bool, int | None, Hashable]
_kinds: dict[Kind, Kind] = {}


class Flags(dict[str, bool]):
    """An array's properties by NumPy's names, as keys, and in small letters as attributes."""

    def __getattr__(self, name: str) -> bool:
        try:
            return self[name.upper()]
        except KeyError:
            raise AttributeError(f"no flag {name!r}; there are {', '.join(self)}") from None


class _NumPysOwn:
    """An attribute of NumPy's arrays that device arrays lack: reading it raises advice."""

    __slots__ = ("_name",)

    def __init__(self, name: str) -> None:
        self._name = name

    def __get__(self, instance: object, owner: type | None = None) -> NoReturn:
        name = self._name
        way = f"copy_to_host().{name} is the copy's; on a GPU, cupy.asarray(array) has NumPy's methods, without a copy"
        if name == "fill":
            way = "array[:] = value fills it"
        raise AttributeError(f"an array on the device does not have NumPy's {name!r}: {way}", name=name)


class _OfOthers:
    """A method of other libraries' arrays that copies to the host: reading it raises advice."""

    __slots__ = ("_name",)

    def __init__(self, name: str) -> None:
        self._name = name

    def __get__(self, instance: object, owner: type | None = None) -> NoReturn:
        way = "copy_to_host() returns its items as a NumPy array"
        raise AttributeError(f"an array on the device has no method {self._name!r}: {way}", name=self._name)


class _WithNumPysNames:
    """The base of classes that look like a NumPy array, with a part of its attributes."""

    __slots__ = ()

    def __dir__(self) -> list[str]:
        """Return the names of the attributes, without NumPy's names that only raise advice."""
        own = {name for one in type(self).__mro__ if one is not _WithNumPysNames for name in vars(one)}
        return [name for name in super().__dir__() if name in own]


for _name in dir(np.ndarray):
    if not _name.startswith("_"):
        setattr(_WithNumPysNames, _name, _NumPysOwn(_name))
for _name in ("asnumpy", "cpu", "get", "numpy", "to", "to_cpu", "to_host"):
    setattr(_WithNumPysNames, _name, _OfOthers(_name))


# Python's operators of two values, with the names of their methods; and of one value.
_OF_TWO = {"+": "add", "-": "sub", "*": "mul", "/": "truediv", "//": "floordiv", "%": "mod", "**": "pow", "@": "matmul"}
_OF_TWO |= {"&": "and", "|": "or", "^": "xor", "<<": "lshift", ">>": "rshift", "divmod": "divmod"}
_ORDER = {"<": "lt", "<=": "le", ">": "gt", ">=": "ge"}
_OF_ONE = {"-": "neg", "+": "pos", "~": "invert", "abs": "abs"}
# Python's numbers do not know device arrays; other values may have operators for them, as NumPy's have.
_PYTHONS_NUMBERS = (bool, int, float, complex)


@functools.cache
def _refusing(sign: str) -> Callable[..., Any]:
    """Return the method of an operator, or of its reflection, that tells how to compute with a device array."""

    @for_users
    def operate(array: object, *others: object) -> Any:
        if all(type(other) in _PYTHONS_NUMBERS or isinstance(other, _WithNumPysNames) for other in others):
            raise ArgumentError(
                f"an array on the device has no operator {sign}: compute its items in a kernel, or with NumPy from "
                "copy_to_host(); on a GPU, cupy.asarray(array) has NumPy's operators, without a copy"
            )
        return NotImplemented

    return operate


@functools.cache
def _comparing(sign: str) -> Callable[..., Any]:
    """Return the method of == or !=: with the array itself, and with values of other kinds, identity decides."""
    refuse = _refusing(sign)

    @for_users
    def compare(array: object, other: object) -> Any:
        return NotImplemented if other is array else refuse(array, other)

    return compare


_REFLECTED = {sign: f"r{name}" for sign, name in _OF_TWO.items()}
for _sign, _name in (*_OF_TWO.items(), *_REFLECTED.items(), *_ORDER.items(), *_OF_ONE.items()):
    setattr(_WithNumPysNames, f"__{_name}__", _refusing(_sign))
for _sign, _name in {"==": "eq", "!=": "ne"}.items():
    setattr(_WithNumPysNames, f"__{_name}__", _comparing(_sign))


class ArrayFacts(_WithNumPysNames):
    """The base of DeviceArray: an array's properties, without making or copying another."""

    __slots__ = ()

    _ghost: Array
    _memory: Memory

    @property
    def shape(self) -> tuple[int, ...]:
        """Items along each axis."""
        shape: tuple[int, ...] = self._ghost.shape
        return shape

    @property
    def strides(self) -> tuple[int, ...]:
        """Bytes from one item to the next along each axis."""
        return self._ghost.strides

    @property
    def dtype(self) -> np.dtype[Any]:
        """The type of an item; if it has fields, a copy: assigning to its `names` does not change the array."""
        return copy_of(self._ghost.dtype)

    @property
    def ndim(self) -> int:
        """The number of axes."""
        return self._ghost.ndim

    @property
    def size(self) -> int:
        """The number of items."""
        return self._ghost.size

    @property
    def itemsize(self) -> int:
        """Bytes of an item."""
        return self._ghost.itemsize

    @property
    def nbytes(self) -> int:
        """Bytes of all items."""
        return self._ghost.nbytes

    @property
    def data(self) -> int:
        """The address of the first item, on the device."""
        return address_of(self._ghost)

    @property
    def device(self) -> int | None:
        """The number of the GPU it is on; None on the host."""
        return self._memory.device

    @property
    def space(self) -> Space:
        """The memory that the array is in."""
        return self._memory.space

    @property
    def gpu_data(self) -> Memory:
        """The memory that the array is in, shared with its views."""
        return self._memory

    @property
    def device_ctypes_pointer(self) -> ctypes.c_size_t:
        """The address of the first item, as numba-cuda gives it."""
        return ctypes.c_size_t(self.data)

    @property
    def alloc_size(self) -> int:
        """Bytes of the memory that the array is in, which may hold more than its items."""
        return self._memory.size

    @property
    def flags(self) -> Flags:
        """C_CONTIGUOUS, F_CONTIGUOUS and WRITEABLE, as NumPy means them."""
        flags = self._ghost.flags
        return Flags({name: flags[name] for name in ("C_CONTIGUOUS", "F_CONTIGUOUS", "WRITEABLE")})

    def is_c_contiguous(self) -> bool:
        """Return whether the items lie in C order without gaps."""
        return self._ghost.flags.c_contiguous

    def is_f_contiguous(self) -> bool:
        """Return whether the items lie in Fortran order without gaps."""
        return self._ghost.flags.f_contiguous

    def __len__(self) -> int:
        return len(self._ghost)

    @property
    def described(self) -> str:
        """The type, shape, device and address, in words."""
        place = "host" if self.device is None else f"device {self.device}"
        return f"gridjit array {self.dtype}{list(self.shape)} on {place} at 0x{self.data:x}"


def descriptor(ghost: Array) -> bytes:
    """Return the launch parameters of an array, as numba lays it out."""
    parts = array_struct(address_of(ghost), ghost.size, ghost.itemsize, ghost.shape, ghost.strides)
    return struct.pack("@" + array_codes(ghost.ndim), *parts)


def kind_of(ghost: Array, device: int | None) -> Kind:
    """Return the kind of an array whose layout is ghost's, on a GPU or, without a device, on the host."""
    flags = ghost.flags
    layout = layout_letter(flags.c_contiguous, flags.f_contiguous)
    dtype, more = identity(ghost.dtype)
    kind = (_own(dtype, more), ghost.ndim, layout, flags.writeable, flags.aligned, device, more)
    return _kinds.setdefault(kind, kind)


def _own(dtype: np.dtype[Any], more: Hashable) -> np.dtype[Any]:
    """Return dtype, or one of this module's own if it has fields."""
    return dtype if more is None else _own_record(dtype, more)


@functools.lru_cache(maxsize=256)
def _own_record(dtype: np.dtype[Any], _: Hashable) -> np.dtype[Any]:
    return copy_of(dtype)
