"""What hooks do before a launch: they note it, and pack arguments that only this library knows."""

from __future__ import annotations

from typing import Any

# (operation, threads, griddim, blockdim, kernel's name) of each launch that a hook ran before.
LAUNCHES: list[tuple[Any, ...]] = []


def note(operation: str, threads: int, kernel: Any, config: Any) -> None:
    """Note a launch."""
    name = getattr(kernel, "__name__", "")
    LAUNCHES.append((operation, threads, tuple(config.griddim), tuple(config.blockdim), name))


class Packer:
    """An extension of a kernel, in numba-cuda's sense: gives the fields of this library's values as a tuple."""

    def prepare_args(self, ty: Any, val: Any, stream: Any, retr: Any) -> Any:
        """Return the type and the value that are passed."""
        from numba.cuda import types

        from blockwise.records import Quantity, Span, Tag, Wanted

        if isinstance(val, Span):
            return types.UniTuple(types.float64, 2), (float(val.start), float(val.length))
        if isinstance(val, Quantity):
            return types.UniTuple(types.float64, 1), (float(val.value),)
        return (types.Tuple(()), ()) if isinstance(val, (Tag, Wanted)) else (ty, val)


PACKER = Packer()


def attach(kernel: Any, config: Any) -> None:
    """A pre-launch hook: has the kernel pack this library's arguments, unless it does so already."""
    if PACKER not in kernel.extensions:
        kernel.extensions.append(PACKER)
