"""accepted: the arguments of jit and kernels, as types for type checkers; a running program does not need them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import (
    TYPE_CHECKING,
    Any,
    Literal,
    ParamSpec,
    Protocol,
    SupportsIndex,
    TypeAlias,
    TypedDict,
    TypeVar,
    overload,
)

from gridjit.compiler.values.launch_config import DimLike, LaunchConfig
from gridjit.compiler.values.signature import Signature

if TYPE_CHECKING:
    from gridjit.runtime.device_function import DeviceFunction
    from gridjit.runtime.kernel import Kernel
    from gridjit.runtime.queues.streams import Stream
    from gridjit.runtime.specializations.table import Specialization

Parameters = ParamSpec("Parameters")
Result = TypeVar("Result")


class NumbaSignature(Protocol):
    """A signature made with numba's types: `void(float32[::1], int64)`."""

    @property
    def return_type(self) -> Any:
        """The return type."""

    @property
    def args(self) -> Any:
        """The types of the arguments."""


class NumbaType(Protocol):
    """A numba type, as in gridjit.cuda."""

    @overload
    def __call__(self, /, *arguments: NumbaType) -> NumbaSignature: ...
    @overload
    def __call__(self, value: Any, /) -> Any: ...
    def __call__(self, /, *arguments: Any) -> Any:
        """Return the signature that takes arguments of these types; in a kernel, the value converted to this type."""

    def __getitem__(self, axes: Any, /) -> NumbaType:
        """Return the type of an array: [:] for one axis, [::1] if its items have no gaps between them."""


# A text, a tuple of numba's types, a signature of numba's or of gridjit's.
SignatureLike: TypeAlias = "str | tuple[Any, ...] | NumbaSignature | Signature"
# A query for one specialization of a kernel.
CodeLike: TypeAlias = "SignatureLike | Specialization"


class _StreamProtocol(Protocol):
    def __cuda_stream__(self) -> tuple[int, int]: ...


class _TorchStream(Protocol):
    @property
    def cuda_stream(self) -> Any: ...


class _CupyStream(Protocol):
    @property
    def ptr(self) -> Any: ...


class _NumbaStream(Protocol):
    @property
    def handle(self) -> Any: ...


# 0 or None (the default stream), a handle, or the stream of any library.
StreamLike: TypeAlias = "Stream | int | _StreamProtocol | _TorchStream | _CupyStream | _NumbaStream | None"
# A launch to compile for: (griddim, blockdim), then sharedmem if needed.
LaunchShape: TypeAlias = "tuple[DimLike, DimLike] | tuple[DimLike, DimLike, SupportsIndex]"


# A launch that a program declares.
DeclaredLaunch: TypeAlias = "LaunchConfig | LaunchShape | Mapping[str, Any]"


class WhichCode(TypedDict, total=False):
    """A selection of a kernel's specializations: for a launch, and for a target."""

    config: LaunchConfig | LaunchShape | None
    target: str | None


# The index of kernel[...].
LaunchLike: TypeAlias = (
    "tuple[DimLike, DimLike] | tuple[DimLike, DimLike, StreamLike] | tuple[DimLike, DimLike, StreamLike, SupportsIndex]"
)


FastFlag: TypeAlias = Literal["fast", "nnan", "ninf", "nsz", "arcp", "contract", "afn", "reassoc"]


class FunctionOptions(TypedDict, total=False):
    """jit's options that device functions take too."""

    target: Literal["host", "cuda"] | None
    cache: bool
    max_specializations: int
    hold_gil: bool
    extensions: Sequence[Any]
    background: bool | None
    launches: Iterable[DeclaredLaunch]
    debug: bool | None
    opt: bool | int | None
    fastmath: bool | FastFlag | Iterable[FastFlag] | Mapping[FastFlag, bool] | None
    lineinfo: bool | None
    inline: Literal["never", "always"] | bool | Callable[[Any, Any, Any], Any] | None
    forceinline: bool | None


LaunchField: TypeAlias = Literal["blockdim", "griddim", "sharedmem"]


class KernelOptions(FunctionOptions, total=False):
    """jit's options for kernels."""

    max_registers: int | None
    launch_bounds: int | Sequence[int] | None
    lto: bool | None
    link: Any  # a path, an object of numba-cuda's that holds code, or several
    shared_memory_carveout: int | str | None
    specialize: LaunchField | Literal["auto"] | Sequence[LaunchField] | None
    tiered: bool | None


class UFunc(Protocol):
    """A ufunc of vectorize or guvectorize."""

    def __call__(self, /, *args: Any, out: Any = None, stream: StreamLike = 0) -> Any:
        """Return the function's results for arrays of the host or of the device, or put them into out."""


class BinaryUFunc(UFunc, Protocol):
    """A ufunc of vectorize."""

    def reduce(self, arg: Any, stream: StreamLike = 0) -> Any:
        """Return an array of one axis reduced with the function, which has two parameters."""


class KernelDecorator(Protocol):
    """The decorator of jit with options or signatures."""

    def __call__(self, function: Callable[..., Any], /) -> Kernel:
        """Return the kernel of a function."""


class FunctionDecorator(Protocol):
    """The decorator of jit(device=True)."""

    def __call__(self, function: Callable[Parameters, Result], /) -> DeviceFunction[Parameters, Result]:
        """Return the device function of a function, which has its parameters."""


class EitherDecorator(Protocol):
    """The decorator of jit(device=...) if the value is known only when the program runs."""

    def __call__(self, function: Callable[Parameters, Result], /) -> Kernel | DeviceFunction[Parameters, Result]:
        """Return the kernel or device function of a function."""
