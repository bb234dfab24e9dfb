"""errors: the driver's error codes as exceptions that name the code, say what it means, and advise."""

from __future__ import annotations

from gridjit.compiler.values.errors import DeviceError, LaunchError

# Advice, by the driver's name of the error.
ADVICE = {
    "CUDA_ERROR_OUT_OF_MEMORY": "drop device arrays that are not needed, or use smaller ones",
    "CUDA_ERROR_NOT_INITIALIZED": (
        "CUDA initialized before forking cannot be used in the child: start processes with multiprocessing's spawn"
    ),
    "CUDA_ERROR_DEINITIALIZED": "the driver is shutting down; do not use the device from exit handlers",
    "CUDA_ERROR_INVALID_CONTEXT": "no device is current in this thread, or its context was destroyed",
    "CUDA_ERROR_CONTEXT_IS_DESTROYED": "the context was reset; make new streams, events and arrays",
    "CUDA_ERROR_INVALID_HANDLE": "a stream or event was destroyed, or belongs to another device",
    "CUDA_ERROR_NO_BINARY_FOR_GPU": "the code is for another architecture; compile it for this device's",
    "CUDA_ERROR_INVALID_IMAGE": "the code image is damaged; clear the cache",
    "CUDA_ERROR_UNSUPPORTED_PTX_VERSION": "update the driver, or install the cu12 extra",
    "CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES": "use smaller blocks, or jit(max_registers=...)",
    "CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE": (
        "all blocks of a cooperative launch must be resident at once: use fewer or smaller ones"
    ),
    "CUDA_ERROR_INVALID_CLUSTER_SIZE": (
        "the grid must be a multiple of the cluster, and a cluster has at most 8 blocks (16 on some devices)"
    ),
    "CUDA_ERROR_INVALID_PC": "the device's state is lost; restart the process",
    "CUDA_ERROR_ILLEGAL_ADDRESS": (
        "a thread accessed memory outside its arrays: jit(debug=True, opt=False) names it, and compute-sanitizer does; "
        "the context is lost, restart the process"
    ),
    "CUDA_ERROR_MISALIGNED_ADDRESS": "an array is not aligned to its items; the context is lost, restart the process",
    "CUDA_ERROR_LAUNCH_FAILED": (
        "a kernel failed, for instance because its recursion took more than its thread's stack, 1 KB unless "
        "cuCtxSetLimit changed that: find out where with compute-sanitizer; the context is lost, restart the process"
    ),
    "CUDA_ERROR_LAUNCH_TIMEOUT": "a kernel ran longer than the display driver allows; split its work",
    "CUDA_ERROR_ASSERT": "an assertion in a kernel failed; the context is lost, restart the process",
    "CUDA_ERROR_ILLEGAL_INSTRUCTION": "the context is lost, restart the process",
    "CUDA_ERROR_HARDWARE_STACK_ERROR": "recursion too deep in a kernel; the context is lost, restart the process",
    "CUDA_ERROR_ECC_UNCORRECTABLE": "the device's memory is faulty",
    "CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED": "do this before the capture begins",
    "CUDA_ERROR_STREAM_CAPTURE_IMPLICIT": "the default stream cannot be used during a capture; name a stream",
    "CUDA_ERROR_STREAM_CAPTURE_ISOLATION": "a captured stream would wait for work outside the capture; wait before it",
    "CUDA_ERROR_STREAM_CAPTURE_UNJOINED": "a stream that joined the capture must be waited for before it ends",
    "CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD": "end a capture in the thread that began it",
    "CUDA_ERROR_STREAM_CAPTURE_INVALIDATED": "an earlier call broke the capture; begin it again",
    "CUDA_ERROR_SYSTEM_DRIVER_MISMATCH": "the driver and its kernel module differ in version; restart the machine",
    "CUDA_ERROR_INSUFFICIENT_DRIVER": "update the driver",
}

# Errors of a kernel, returned by a later call.
ASYNCHRONOUS = frozenset(
    {
        "CUDA_ERROR_ILLEGAL_ADDRESS",
        "CUDA_ERROR_MISALIGNED_ADDRESS",
        "CUDA_ERROR_LAUNCH_FAILED",
        "CUDA_ERROR_LAUNCH_TIMEOUT",
        "CUDA_ERROR_ASSERT",
        "CUDA_ERROR_ILLEGAL_INSTRUCTION",
        "CUDA_ERROR_INVALID_ADDRESS_SPACE",
        "CUDA_ERROR_INVALID_PC",
        "CUDA_ERROR_HARDWARE_STACK_ERROR",
    }
)

# Errors of calls in a thread that has no current device yet, or whose context was reset.
LOST_CONTEXT = ("CUDA_ERROR_INVALID_CONTEXT", "CUDA_ERROR_CONTEXT_IS_DESTROYED")


class DriverError(DeviceError):
    """The driver refused a call.

    name, code: the driver's own name of the error, like "CUDA_ERROR_INVALID_VALUE", and its number (0: not known).
    """

    __module__ = "gridjit"  # as users, tracebacks and pickles name it

    also = ("numba.cuda.cudadrv.driver:CudaAPIError", "cuda.core._utils.cuda_utils:CUDAError")

    def __init__(self, message: str, name: str, code: int = 0) -> None:
        super().__init__(message, name, code)
        self.msg = message
        self.name = name
        self.code = code

    def saying(self, message: str) -> DriverError:
        """Return the same error with another message."""
        return type(self)(message, self.name, self.code)


class KernelError(LaunchError, DriverError):
    """A kernel could not be launched, or failed while it ran, by the driver's account."""

    __module__ = "gridjit"  # as users, tracebacks and pickles name it


class LostDeviceError(KernelError):
    """The error of every call on a context that a kernel's error destroyed; the message tells that error."""

    __module__ = "gridjit"  # as users, tracebacks and pickles name it


def driver_error(call: str, name: str, text: str, about: str = "", code: int = 0) -> DriverError:
    """Return the exception for a driver error that call reported; about: the action under way."""
    words = [f"{about}: " if about else "", f"{name} from {call}"]
    if text:
        words.append(f" ({text})")
    if advice := ADVICE.get(name):
        words.append(f"; {advice}")
    kind = KernelError if name in ASYNCHRONOUS or call.startswith("cuLaunch") else DriverError
    return kind("".join(words), name, code)


def lost_device_error(call: str, name: str, first: str, code: int = 0) -> LostDeviceError:
    """Return the exception for a call on a context that an earlier error destroyed; first: that error's message."""
    words = f"{name} from {call}: the device was lost to an earlier error; restart the process. The error was: {first}"
    return LostDeviceError(words, name, code)
