"""ArgumentsView: the launch's arguments as a compilation sees them. It records each read.

A number counts by its value. An array counts by its type, which is part of the signature, and by its shape or strides
if these are read. Any other argument is handed out itself. Then the code serves launches with that very object while it
stays as it is, and is not put into the cache.
"""

from __future__ import annotations

import numbers
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, NoReturn

from gridjit.compiler.source.scalars import is_number
from gridjit.compiler.values.errors import ConfigError
from gridjit.compiler.values.footprint import ARGUMENT, IN_FULL, ITSELF

if TYPE_CHECKING:
    from gridjit.compiler.view.recording import Recording

_ARRAYS = ("__array_interface__", "__array__", "__dlpack__", "__cuda_array_interface__")


class ArgumentsView(Sequence[Any]):
    """The arguments: arrays as an ArgumentView, each always the same one, and everything else as it is."""

    __slots__ = ("_count", "_get")

    def __init__(self, recording: Recording, arguments: Sequence[Any]) -> None:
        self._count = len(arguments)
        self._get = _getter(recording, tuple(arguments))

    def __len__(self) -> int:
        return self._count

    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, slice):
            return tuple(self[i] for i in range(*index.indices(len(self))))
        return self._get(range(len(self))[index])

    def __iter__(self) -> Iterator[Any]:
        return (self[position] for position in range(len(self)))

    def __copy__(self) -> ArgumentsView:
        return self

    def __deepcopy__(self, memo: object) -> ArgumentsView:
        return self

    def __reduce__(self) -> NoReturn:
        raise ConfigError("the arguments of a launch cannot be pickled while a kernel is compiled for it")


class ArgumentView:
    """An array among the arguments. dtype and ndim are free to read, as far as its type in the signature has them.

    shape and strides become facts.
    """

    __slots__ = ("_read", "_text")

    def __init__(self, position: int, argument: Any, read: Callable[[str], Any]) -> None:
        self._read = read
        self._text = f"<argument {position} of the launch, a {type(argument).__name__}>"

    def __getattr__(self, name: str) -> Any:
        return self._read(name)

    # Python looks for these on the class.

    def __len__(self) -> int:
        shape: tuple[int, ...] = self._read("shape")
        if not shape:
            raise TypeError("len() of unsized object")
        return shape[0]

    def __getitem__(self, index: Any) -> Any:
        return self._read("__getitem__")(index)

    def __iter__(self) -> Iterator[Any]:
        return (self[index] for index in range(len(self)))

    def __bool__(self) -> bool:
        try:
            ask = self._read("__bool__")
        except AttributeError:
            return len(self) > 0
        return bool(ask())

    def __repr__(self) -> str:
        return self._text

    def __copy__(self) -> ArgumentView:
        return self

    def __deepcopy__(self, memo: object) -> ArgumentView:
        return self

    def __reduce__(self) -> NoReturn:
        raise ConfigError(f"{self!r} cannot be pickled while a kernel is compiled for it; read what you need of it")


# Both keep the arguments in a closure: a value reachable from them by attribute has to be recorded.


def _getter(recording: Recording, arguments: tuple[Any, ...]) -> Callable[[int], Any]:
    arrays = {
        position: ArgumentView(position, argument, _reader(recording, position, argument))
        for position, argument in enumerate(arguments)
        if _is_array(argument)
    }

    def get(position: int) -> Any:
        if (later := recording.later) is not None:
            return later[1][position]
        if position in arrays:
            return arrays[position]
        if is_number(arguments[position]):
            recording.read(f"{ARGUMENT}{position}")
        else:
            recording.read(f"{ARGUMENT}{position}{ITSELF}")
            recording.keep_private(f"the compilation was handed argument {position} itself")
        return arguments[position]

    return get


def _is_array(argument: Any) -> bool:
    """Return whether an argument offers memory. Its class is asked, because its own attributes may run any code."""
    if isinstance(argument, numbers.Number | type) or is_number(argument):
        return False
    own = getattr(argument, "__dict__", {})
    return any(hasattr(type(argument), name) or name in own for name in _ARRAYS)


def _reader(recording: Recording, position: int, argument: Any) -> Callable[[str], Any]:
    def read(name: str) -> Any:
        if (later := recording.later) is not None:
            return getattr(later[1][position], name)
        value = getattr(argument, name)
        if name in ("dtype", "ndim") and hasattr(argument, "shape") and _is_in_the_type(name, value, argument):
            return value
        if name in ("shape", "strides"):
            recording.read(f"{ARGUMENT}{position} {name}")
            return value
        recording.read(f"{ARGUMENT}{position}{IN_FULL}")
        recording.keep_private(f"the compilation read {name} of argument {position}")
        return value

    return read


def _is_in_the_type(name: str, value: Any, argument: Any) -> bool:
    """Return whether an array's dtype or ndim says no more than its type in the signature."""
    if name == "ndim":
        return type(value) is int and value == len(argument.shape)
    if type(value).__module__ in ("numpy", "numpy.dtypes"):
        return not _says_more(value)
    return type(value).__module__ == "torch"


def _says_more(dtype: Any) -> bool:
    """Return whether a dtype, or an inner dtype, has metadata or titles, or equals a dtype of another name."""
    inner = [] if dtype.subdtype is None else [dtype.subdtype[0]]
    inner += [field[0] for field in (dtype.fields or {}).values()]
    titled = any(len(field) > 2 for field in (dtype.fields or {}).values())
    twin = dtype.char in "qQ"  # a long long is as large as a long, and equal to it
    return twin or titled or dtype.metadata is not None or any(map(_says_more, inner))
