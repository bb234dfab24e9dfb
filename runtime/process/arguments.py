"""arguments: a call's arguments as a kernel takes them: handlers, kinds, types, parameters.

An argument's error while it is inspected becomes an ArgumentError that names it and its kernel.
"""

from __future__ import annotations

import itertools
import struct
from collections.abc import Callable, Hashable, Iterable, Sequence
from typing import TYPE_CHECKING, Any

from gridjit.base.interrupts import let_through
from gridjit.compiler.values.errors import ArgumentError, GridjitError
from gridjit.compiler.values.signature import ForeignType, Signature
from gridjit.runtime.args.handler import ArgumentHandler, Place, handler_of, unreadable
from gridjit.runtime.memory.staging import Transfer
from gridjit.runtime.process.session import session

if TYPE_CHECKING:
    from gridjit.runtime.args.conversion import Converter
    from gridjit.runtime.devices.base import Device
    from gridjit.runtime.kernel import Kernel
    from gridjit.runtime.launch.ready import Ready

# Types whose values are the same at each inspection.
_CONSTANT = (bool, int, float, complex)


def place_of(kernel: Kernel) -> Place:
    """Return a kernel's place."""
    return place_on(session().device(kernel._target))


def place_on(device: Device) -> Place:
    """Return the place of a device's kernels: the memory that they can use."""
    return Place() if device.staging is None else Place(kind="ptx", ordinal=device.ordinal)


def signature_of(kernel: Kernel, args: tuple[Any, ...]) -> Signature:
    """Return the types of args; raises ArgumentError naming the first bad argument."""
    return types_of(kernel, handlers_of(kernel, args), args)


def types_of(kernel: Kernel, handlers: Sequence[ArgumentHandler], args: tuple[Any, ...]) -> Signature:
    """Return the types of args, by the handlers of each."""
    place = place_of(kernel)
    typed = zip(kernel.parameter_names, handlers, args, strict=True)
    return Signature(arguments=tuple(_named(kernel, name, handler.type_of, arg, place) for name, handler, arg in typed))


def handlers_of(kernel: Kernel, args: tuple[Any, ...]) -> list[ArgumentHandler]:
    """Return the handler of each of args; raises ArgumentError if there are too many, or too few."""
    names = kernel.parameter_names
    if len(args) != len(names):
        defaults = "; the defaults of its parameters are not used" if kernel.py_func.__defaults__ else ""
        given = f"{len(args)} given{defaults}"
        listed = f" ({', '.join(names)})" if names else ""
        count = f"{len(names) or 'no'} argument{'s' * (len(names) != 1)}"
        raise ArgumentError(f"{kernel.name} takes {count}{listed}; {given}")
    found = zip(names, args, prepared_types(kernel), strict=False)
    return [handler_for(wanted, arg) or _named(kernel, name, handler_of, arg) for name, arg, wanted in found]


def prepared_types(kernel: Kernel) -> Iterable[ForeignType | None]:
    """Return, for each argument, its declared type if that is an extension's and the argument is to be prepared.

    The value is not inspected then: the kernel's extensions make the type's value of it.
    """
    if not kernel.extensions or len(kernel.declared) != 1:
        return itertools.repeat(None)
    declared = kernel.declared[0].arguments
    return [one if isinstance(one, ForeignType) else None for one in declared]


def handler_for(wanted: ForeignType | None, arg: Any) -> ArgumentHandler | None:
    """Return the handler of a value that is to be prepared for a type; None for any other value."""
    if wanted is None:
        return None
    from gridjit.runtime.args.numba_values import Declared, Prepared

    return None if isinstance(arg, Prepared) else Declared(wanted)


def kinds_of(kernel: Kernel, handlers: Sequence[ArgumentHandler], args: tuple[Any, ...]) -> tuple[Hashable, ...]:
    """Return the kind of each of args: equal kinds have one type, and are launched alike."""
    try:
        return tuple([handler.kind(arg) for handler, arg in zip(handlers, args, strict=True)])
    except Exception as error:
        let_through(error)
        for name, handler, arg in zip(kernel.parameter_names, handlers, args, strict=True):
            _named(kernel, name, handler.kind, arg)
        raise


def parameters_of(
    kernel: Kernel, ready: Ready, handlers: Sequence[ArgumentHandler], args: tuple[Any, ...], transfer: Transfer
) -> list[Any]:
    """Return the parameters for args; arrays are copied by transfer where the device needs that."""
    parameters: list[Any] = []
    for name, handler, arg, convert in zip(kernel.parameter_names, handlers, args, ready.converters, strict=True):
        own = _named(kernel, name, handler.parameters, arg, transfer)
        parameters += own if convert is None else _named(kernel, name, convert, own)
    return parameters


def in_bytes(kernel: Kernel, ready: Ready, args: tuple[Any, ...], parameters: list[Any]) -> bytes:
    """Return a launch's parameters, packed; an argument may have changed while it was inspected."""
    try:
        return ready.pack(*parameters)
    except (struct.error, TypeError) as error:
        names = ", ".join(
            f"'{name}'" for name, arg in zip(kernel.parameter_names, args, strict=True) if type(arg) not in _CONSTANT
        )
        raise ArgumentError(f"argument {names} of {kernel.name}: it changed while it was inspected: {error}") from None


def _named(kernel: Kernel, name: str, function: Callable[..., Any], *given: Any) -> Any:
    """Return function's result; an ArgumentError names the argument and its kernel.

    So does an error of the argument itself when it is inspected: proxies, mocks and the like run code of their own.
    """
    try:
        return function(*given)
    except ArgumentError as error:
        raise ArgumentError(f"argument '{name}' of {kernel.name}: {error}") from None
    except (GridjitError, MemoryError, Warning):  # a warning is an error only if its user said so
        raise
    except Exception as error:
        let_through(error)
        raise ArgumentError(f"argument '{name}' of {kernel.name}: {unreadable(given[0], error)}") from error


def nearest_declared(kernel: Kernel, given: Signature) -> Signature:
    """Return the declared signature that the given arguments are converted to; given if none is declared."""
    if not kernel.declared:
        return given
    from gridjit.runtime.args.conversion import resolve

    try:
        return resolve(given, kernel.declared, kernel.parameter_names, kernel.py_func)
    except ArgumentError as error:
        raise ArgumentError(f"{kernel.name}: {error}") from None


def conversions(given: Signature, declared: Signature) -> tuple[tuple[Converter | None, ...], str]:
    """Return the converters from given to declared types, and the struct codes of the converted values.

    The codes are of this launch: an artifact has the codes of the launch that it was made for.
    """
    if given == declared:
        return (None,) * len(given.arguments), given.codes
    from gridjit.runtime.args.conversion import codes_of, converter

    pairs = list(zip(given.arguments, declared.arguments, strict=True))
    return tuple(converter(*pair) for pair in pairs), "@" + "".join(codes_of(*pair) for pair in pairs)
