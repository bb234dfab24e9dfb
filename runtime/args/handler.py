"""ArgumentHandler: the protocol of an argument kind, and the table of all kinds."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias
from weakref import WeakKeyDictionary

from gridjit.base.interrupts import let_through
from gridjit.base.values import dataclass
from gridjit.compiler.values.errors import ArgumentError, a_class
from gridjit.compiler.values.signature import ArgType

if TYPE_CHECKING:
    from gridjit.runtime.memory.staging import Transfer
    from gridjit.runtime.native.operation import Operation

Parameters: TypeAlias = Sequence[Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """Where kernels run: kind "host" or "ptx", and the device's number (None: not known)."""

    kind: str = "host"
    ordinal: int | None = None

    @property
    def is_host(self) -> bool:
        """Whether kernels can use any memory of this process."""
        return self.kind == "host"

    def __str__(self) -> str:
        return "the host" if self.is_host else f"CUDA device {self.ordinal if self.ordinal is not None else ''}".strip()


def check_device(what: str, device: int | None, place: Place) -> None:
    """Raise ArgumentError if memory on a CUDA device (its number), or on the host (None), is not usable at place."""
    if place.is_host:
        if device is not None:
            raise ArgumentError(
                f"{what} on CUDA device {device} cannot be passed to a kernel on the host; copy it to the host first"
            )
    elif device is None:
        raise ArgumentError(
            f"{what} in host memory cannot be passed to a kernel on {place}; move it to the device first"
        )
    elif place.ordinal is not None and device != place.ordinal:
        raise ArgumentError(
            f"{what} on CUDA device {device} cannot be passed to a kernel on {place}; move it there, or make its "
            "device the current one"
        )


class ArgumentHandler(Protocol):
    """Passes one kind of Python value to kernels."""

    def kind(self, value: Any) -> Hashable:
        """Return a key of value's type, as cheaply as possible.

        Values of equal kinds have equal types, and are launched alike: `operation` serves all of them or none.
        """

    def type_of(self, value: Any, place: Place) -> ArgType:
        """Return the type a kernel is compiled for; raises ArgumentError saying why value cannot be passed."""

    def parameters(self, value: Any, transfer: Transfer) -> Parameters:
        """Return the launch parameters, in the order of the type's struct codes; transfer moves memory if need be."""

    def operation(self, value: Any, place: Place, declared: ArgType) -> Operation | None:
        """Return the native function's way to read such values as the declared type, or None if only Python can."""


class FromPython:
    """A base of handlers of values that only Python can read."""

    def operation(self, value: Any, place: Place, declared: ArgType) -> Operation | None:
        """Return None: machine code has no way to read these values."""
        return None


Finder: TypeAlias = Callable[[type], ArgumentHandler | None]

_handlers: dict[type, ArgumentHandler] = {}
# Other classes that were passed, and their handlers; it keeps no class alive.
_known: WeakKeyDictionary[type, ArgumentHandler] = WeakKeyDictionary()
_finders: list[tuple[int, Finder]] = []
# An attribute of values themselves, rather than of their class -> the handler.
_attributes: dict[str, ArgumentHandler] = {}
# Searches the handler of a new class: it knows the modules with more handlers.
_search: list[Callable[[Any], ArgumentHandler | None]] = []

ACCEPTED = (
    "pass NumPy arrays, device arrays, tensors and other objects with __cuda_array_interface__, __dlpack__, "
    "__array_interface__ or the buffer protocol, "
    "numbers, tuples, enums, dates, records and NumPy's types"
)


def register(python_type: type, handler: ArgumentHandler) -> None:
    """Make handler responsible for python_type and its subclasses."""
    _handlers[python_type] = handler


def register_finder(rank: int, find: Finder) -> None:
    """Ask find for types without a handler; if several find one, the lowest rank wins."""
    _finders.append((rank, find))
    _finders.sort(key=lambda finder: finder[0])


def handler_of(value: Any) -> ArgumentHandler:
    """Return the handler of value; raises ArgumentError for a kind that kernels cannot take."""
    return _handlers.get(type(value)) or _known.get(type(value)) or _searched(value)


def unreadable(value: Any, error: Exception) -> str:
    """Return the message for an argument that raised an error when inspected; runs none of the argument's code."""
    return f"{a_class(type(value))} cannot be passed to a kernel: inspecting it raised {_text(error)}; {ACCEPTED}"


def register_attribute(name: str, handler: ArgumentHandler) -> None:
    """Make handler responsible for values that have an attribute of this name themselves."""
    _attributes[name] = handler


def registered(python_type: type) -> ArgumentHandler | None:
    """Return the handler of a class among the loaded kinds: its own, or the first that accepts it."""
    found = next((h for base in python_type.__mro__ if (h := _handlers.get(base)) is not None), None)
    return found or next((h for _, find in _finders if (h := find(python_type)) is not None), None)


def search_with(search: Callable[[Any], ArgumentHandler | None]) -> None:
    """Search new classes by search, which loads the kinds that they may be of."""
    _search[:] = [search]


def _searched(value: Any) -> ArgumentHandler:
    python_type = type(value)
    if (found := next((h for search in _search if (h := search(value)) is not None), None)) is not None:
        _known[python_type] = found
        return found
    if (own := next((h for name, h in _attributes.items() if hasattr(value, name)), None)) is not None:
        return own
    raise ArgumentError(f"{a_class(python_type)} cannot be passed to a kernel; {_way_on(python_type)}")


_ITEMS_ONLY = "kernels have no such container: pass its items as an array, numpy.array(list(x)), or as a tuple"
_DATES = "pass numpy.{}(x, 'us')"
_CALLED = "kernels call functions that are globals: decorate it with jit(device=True), and name it in the kernel"
# Class, by its name -> the value to pass instead.
_WAYS = {
    "builtins.NoneType": "pass an array or a number, or make two kernels: one takes it, the other does not",
    "builtins.str": "kernels take no texts: pass a number that stands for it, such as a member of an IntEnum, or an "
    "array, numpy.array([x])",
    "builtins.dict": "pass its values as arrays or as a named tuple, whose fields the kernel names",
    **dict.fromkeys(
        ("builtins.set", "builtins.frozenset", "builtins.generator", "collections.abc.Iterator", "collections.deque"),
        _ITEMS_ONLY,
    ),
    **{f"builtins.{name}_iterator": _ITEMS_ONLY for name in ("list", "tuple", "range", "set", "dict_key")},
    "datetime.date": _DATES.format("datetime64"),
    "datetime.timedelta": _DATES.format("timedelta64"),
    **dict.fromkeys(("decimal.Decimal", "fractions.Fraction"), "pass float(x)"),
    **dict.fromkeys(
        (
            "builtins.function",
            "builtins.builtin_function_or_method",
            "builtins.method",
            "functools.partial",
            "gridjit.runtime.kernel.Kernel",
            "gridjit.runtime.device_function.DeviceFunction",
            "numba.cuda.dispatcher.CUDADispatcher",
        ),
        _CALLED,
    ),
    "builtins.module": "kernels use modules that are globals: name it in the kernel",
    "builtins.slice": "pass its start, stop and step as numbers, or the part of the array that it names, x[slice]",
    "gridjit.runtime.queues.streams.Stream": (
        "the stream stands between the brackets: kernel[griddim, blockdim, stream](...)"
    ),
}


def _way_on(python_type: type) -> str:
    """Return advice for a value of a class that kernels cannot take."""
    if issubclass(python_type, list | range):
        return "make an array of it, numpy.array(x), or a tuple if it is short and never changes"
    if callable(getattr(python_type, "to_numpy", None)):
        return "pass its values, x.to_numpy(), which may be a copy: what the kernel writes is then in the copy"
    for kind in python_type.__mro__:
        if (way := _WAYS.get(class_name(kind))) is not None:
            return way
    return ACCEPTED


def class_name(python_type: type) -> str:
    """Return the name of a class, whatever its metaclass returns."""
    module = type.__getattribute__(python_type, "__module__")
    return f"{module}.{type.__getattribute__(python_type, '__qualname__')}"


def _text(error: Exception) -> str:
    try:
        return f"{type(error).__name__}: {error}"
    except Exception as error:  # its message may fail, too
        let_through(error)
        return type(error).__name__
