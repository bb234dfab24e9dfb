"""kernel_for: numba-cuda's `kernel.specialize(...)`, a kernel for one signature only."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from gridjit.compiler.frontend.bindings.types import parse_signature
from gridjit.compiler.values.errors import ConfigError
from gridjit.compiler.values.signature import Signature
from gridjit.runtime.process.arguments import signature_of

if TYPE_CHECKING:
    from gridjit.runtime.kernel import Kernel


class AlreadySpecializedError(ConfigError, RuntimeError):
    """A kernel for one signature was asked to specialize again."""

    __module__ = "gridjit"  # as users, tracebacks and pickles name it


def kernel_for(kernel: Kernel, args: tuple[Any, ...]) -> Kernel:
    """Return the kernel for arguments like args, or of numba's types; the same kernel each time."""
    if kernel.specialized:
        raise AlreadySpecializedError(f"{kernel.name}: Dispatcher already specialized, for {kernel.declared[0]}")
    signature = parse_signature(args) if _are_types(args) else signature_of(kernel, args)
    if (found := kernel._specialized_kernels.get(signature)) is None:
        found = kernel._specialized_kernels.setdefault(signature, _made(kernel, signature))
    return found


def _made(kernel: Kernel, signature: Signature) -> Kernel:
    made = type(kernel)(kernel.py_func, kernel.options, **kernel._settings)
    made.may_compile = kernel.may_compile
    made.declare(signature)
    made.specialized = True
    return made


def _are_types(args: tuple[Any, ...]) -> bool:
    """Return whether args are numba's types rather than values."""
    return bool(args) and all(type(arg).__module__.startswith(("numba.core.types", "numba.cuda.types")) for arg in args)
