"""The exceptions gridjit raises; every one derives from GridjitError.

If numba-cuda is imported, some are also instances of its own exceptions for the same case.
"""

from __future__ import annotations

import contextlib
import sys
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar, cast

from gridjit.base.interrupts import let_through

if TYPE_CHECKING:
    from collections.abc import Callable

    from gridjit.compiler.frontend.explained.diagnosis import Diagnosis
    from gridjit.compiler.values.artifact import Artifact

Ours = TypeVar("Ours", bound="SharedError")


class SharedError:
    """The first base of an exception class. also: further classes that it is an instance of, each as "module:Class".

    An instance's class is then made for it, of its own name. Its pickle has all parts that the other process can have.
    """

    also: ClassVar[tuple[str, ...]] = ()
    args: tuple[Any, ...]

    def __new__(cls: type[Ours], *args: Any, **_keywords: Any) -> Ours:
        # Keywords are for a subclass's __init__, as with any exception.
        wanted = cls if "plain" in vars(cls) else combined(cls, tuple(filter(None, map(_imported, cls.also))))
        return super().__new__(wanted, *args)

    def __init__(self, *args: Any) -> None:
        # Not the next base's, because another library's may take any arguments.
        BaseException.__init__(self, *args)  # type: ignore[arg-type]

    def __str__(self) -> str:
        return str(self.args[0]) if self.args else ""

    def __reduce__(self) -> tuple[Any, ...]:
        mine, taken = type(self), vars(self).get(_TAKEN, frozenset())
        left = {_TAKEN, "original", "functions", "answer", *taken}
        own = {name: value for name, value in vars(self).items() if name not in left}
        plain = vars(mine).get("plain")
        others = [] if plain is None else [_pickled(other) for other in mine.__bases__[1:]]
        attributes = {name: _pickled(vars(self)[name]) for name in sorted(taken & vars(self).keys())}
        return _again, (plain or mine, self.args, others, attributes), own


def _again(plain: type[Ours], args: tuple[Any, ...], others: list[bytes], attributes: dict[str, bytes]) -> Ours:
    """Return an error that was pickled, with the other library's classes and attributes as far as they load."""
    made = plain(*args)
    classes = (*filter(None, map(_imported, plain.also)), *filter(None, map(_unpickled, others)))
    with contextlib.suppress(TypeError):  # they are laid out differently here, or derive from each other
        made = combined(plain, tuple(dict.fromkeys(classes)))(*args)
    vars(made).update({name: _unpickled(data) for name, data in attributes.items() if data})
    if taken := vars(made).keys() & attributes.keys():
        vars(made)[_TAKEN] = frozenset(taken)
    return made


def _pickled(value: object) -> bytes:
    """Return the pickle of another library's value; b"" if it cannot be pickled, which may fail in any way."""
    import pickle

    try:
        return pickle.dumps(value)
    except Exception as error:
        let_through(error)
        return b""


def _unpickled(data: bytes) -> Any:
    """Return the pickled value; None if it does not load in this process."""
    import pickle

    try:
        return pickle.loads(data) if data else None
    except Exception as error:
        let_through(error)
        return None


def for_cause(ours: type[Ours], message: str, cause: BaseException) -> Ours:
    """Return one of gridjit's errors to raise from another library's: of both classes, with cause's attributes."""
    if isinstance(cause, StopIteration | StopAsyncIteration):
        return ours(message)  # a loop would take it for its end
    try:
        made = combined(ours, (type(cause),))(message)
    except TypeError:  # the two cannot be one: their instances are laid out differently
        return ours(message)
    vars(made).update(vars(cause), **{_TAKEN: frozenset(vars(cause))})
    return made


def combined(ours: type[Ours], others: tuple[type, ...]) -> type[Ours]:
    """Return ours as a class that is also each of others."""
    bases = (ours, *(other for other in others if not issubclass(ours, other)))
    if len(bases) == 1:
        return ours
    if bases not in _made:
        names = {name: getattr(ours, name) for name in ("__module__", "__qualname__", "__doc__")}
        _made[bases] = type(ours.__name__, bases, {**names, "plain": ours})
    return cast("type[Ours]", _made[bases])


# The attribute with the names of attributes taken from a cause.
_TAKEN = "_taken"
# Bases -> the class made of them.
_made: dict[tuple[type, ...], type] = {}


def _imported(name: str) -> type | None:
    module, _, attribute = name.partition(":")
    return getattr(sys.modules.get(module), attribute, None)


# Why there is no code of a kernel that needs a launch and is given none.
WITHOUT_LAUNCH = "its code depends on the launch"
# A longer text says little in a message.
_LONGEST = 60


class GridjitError(SharedError, Exception):
    """Base class of every error that gridjit itself raises."""


class ConfigError(GridjitError, ValueError):
    """A launch configuration, option or setting has an invalid value."""


class LimitError(ConfigError):
    """A dimension of a launch is beyond CUDA's limits; code: the driver's code for it."""

    also: ClassVar[tuple[str, ...]] = (
        "numba.cuda.cudadrv.driver:CudaAPIError",
        "cuda.core._utils.cuda_utils:CUDAError",
    )
    name = "CUDA_ERROR_INVALID_VALUE"
    code = 1

    def __str__(self) -> str:
        return f"{super().__str__()} ({self.name})"


class ConfigTypeError(ConfigError, TypeError):
    """A dimension or size in a launch configuration is not a number, or not a whole number."""


class CompileError(GridjitError):
    """A kernel could not be compiled; the message names the kernel, its argument types and the source line.

    diagnosis: the same as a value, if the front end refused the kernel; original: the front end's exception.
    """

    diagnosis: Diagnosis | None = None
    original: BaseException | None = None


class UnsupportedError(CompileError):
    """The kernel uses an operation that its target does not have."""


class LinkError(CompileError, RuntimeError):
    """A file that a kernel is linked with cannot be read, compiled or linked; the message names the file."""

    also: ClassVar[tuple[str, ...]] = ("numba.cuda.cudadrv.driver:LinkerError",)


class LinkedSourceError(LinkError):
    """CUDA C++ that a kernel is linked with does not compile; the message is NVRTC's."""

    also = ("numba.cuda.cudadrv.driver:LinkerError", "cuda.core._utils.cuda_utils:NVRTCError")


class LaunchNeededError(CompileError):
    """The kernel's code depends on its launch, but it was compiled without one.

    functions: of extensions, which the compile had used. answer: the artifact without code that is kept of it.
    is_stored: whether the answer was found in the cache, and nothing was compiled.
    """

    functions: tuple[Callable[..., object], ...] = ()
    answer: Artifact | None = None
    is_stored: bool = False


class CompileDisabledError(CompileError):
    """A compile was needed, but GRIDJIT_ASSERT_NO_COMPILE or the kernel's disable_compile() forbids it."""


class OutsideKernelError(GridjitError, NotImplementedError, AttributeError):
    """Plain Python used a name that means something only to the threads of a launch, such as cuda.grid(1)."""


class ArgumentError(GridjitError, TypeError):
    """A launch argument has a type, device or count that the kernel does not accept."""


class ShapeError(ArgumentError, ValueError):
    """Two arrays, one to be copied into the other, differ in shape or item type."""


class LayoutError(ArgumentError, ValueError):
    """A layout is impossible; the message names the shape, the strides or the axis."""


class LayoutIndexError(LayoutError, IndexError):
    """An index or an axis is beyond a layout's."""


class LayoutOverflowError(LayoutError, OverflowError):
    """An offset, a stride or a count of items of a layout is beyond 64 bits."""


class CopyNeededError(GridjitError, ValueError, NotImplementedError):
    """A view of an array on the device was requested, but only a copy could have the requested form."""


class LaunchError(GridjitError):
    """A kernel could not be launched, or failed while it ran."""


class HazardError(LaunchError):
    """Work of two streams uses the same memory, one of them writes, and nothing orders the two.

    The message names both, with their lines in the program, and what to insert. The second was not added to its stream.
    """


class CheckError(LaunchError):
    """The checks of a debug kernel on the host found a mistake; the message names places, threads and arrays."""


class RaceError(CheckError):
    """Two threads accessed the same memory, one of them wrote, and nothing orders the two."""


class UninitializedError(CheckError):
    """A thread read memory that nothing has written."""


class _WithDriversName(LaunchError):
    """A launch that the driver would have refused; the message ends with the driver's name for the error."""

    name: str

    def __str__(self) -> str:
        return f"{super().__str__()} ({self.name})"


class ResidencyError(_WithDriversName):
    """A cooperative launch has more blocks than the device has room for; code: the driver's code for it."""

    also = LimitError.also
    name = "CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE"
    code = 720


class ClusterError(_WithDriversName):
    """A cluster has more blocks than the device allows, or it launches none; code: the driver's code for it."""

    also = LimitError.also
    name = "CUDA_ERROR_INVALID_CLUSTER_SIZE"
    code = 912


class DeviceError(GridjitError):
    """The device or the driver is missing, or refused a call."""


class ConfigWarning(SharedError, UserWarning):
    """Options contradict each other; the message says which one counts."""

    also = ("numba.cuda.core.errors:NumbaInvalidConfigWarning",)


# Tracebacks show, and pickles find, these under the names that users have for them.
for _public in [known for known in vars().values() if isinstance(known, type) and issubclass(known, SharedError)]:
    if not _public.__name__.startswith("_") and _public is not SharedError:
        _public.__module__ = "gridjit"


def switch(name: str, value: object) -> bool:
    """Return a switch that was given as a bool, a number, or anything empty; raises ConfigError for all else."""
    if type(value) is bool:
        return value
    try:
        is_number = isinstance(value, float) or hasattr(type(value), "__index__") or value in (True, False)
        if is_number or not value:
            return bool(value)
    except Exception as error:  # a comparison that gives an array, or fails in a way of its own
        let_through(error)
        raise ConfigError(f"{name}={shown(value)}: give True or False") from error
    raise ConfigError(f"{name}={shown(value)}: give True or False")


def not_called(name: str, instead: str) -> ArgumentError:
    """Return the error for a class that users call, whose objects are made otherwise."""
    return ArgumentError(f"gridjit.{name}(...): users do not call this class; {instead}")


def shown(value: object) -> str:
    """Return how messages show a value that is wrong: its repr if that is a short line, else its class."""
    try:
        said = repr(value)
    except Exception as error:
        let_through(error)
        return a_class(type(value))
    return said if len(said) <= _LONGEST and said.isprintable() else a_class(type(value))


def a_class(python_type: type) -> str:
    """Return a class's name in messages: "an int", "a pandas.Series"; its metaclass is not asked."""
    if python_type is type(None):
        return "None"
    module = type.__getattribute__(python_type, "__module__")
    name: str = type.__getattribute__(python_type, "__qualname__")
    name = name if module == "builtins" else f"{module}.{name}"
    return f"{'an' if name[0] in 'aeioAEIO' else 'a'} {name}"
