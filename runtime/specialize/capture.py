"""The launch configuration during compilation: gridjit.launchconfig's functions."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator
from dataclasses import fields
from typing import TYPE_CHECKING, Any, TypedDict

from gridjit.base.values import dataclass, field
from gridjit.compiler.values.errors import ConfigError
from gridjit.compiler.values.launch_config import LaunchConfig

if TYPE_CHECKING:
    from gridjit.compiler.view.config import ConfigView
    from gridjit.runtime.kernel import Kernel

    class CompileCapture(TypedDict):
        """The answer of capture_compile_config. config: the configuration of the last compilation, or None."""

        config: CapturedConfig | None


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class CapturedConfig(LaunchConfig):
    """The configuration that a compilation saw; equal to a LaunchConfig of the same shape. dispatcher: the kernel."""

    dispatcher: Kernel = field(repr=False)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, LaunchConfig) and _shape(self) == _shape(other)

    def __hash__(self) -> int:
        return hash(_shape(self))


class _Captures(threading.local):
    """A thread's open captures: each kernel with its capture."""

    def __init__(self) -> None:
        self.active: list[tuple[Kernel, CompileCapture]] = []


_captures = _Captures()


def current_launch_config() -> ConfigView | None:
    """Return the configuration of the launch that this thread is compiling a kernel for, or None.

    The compiled kernel depends on the fields that are read.
    """
    from gridjit.compiler.view.config import visible_config

    return visible_config()


def ensure_current_launch_config() -> ConfigView:
    """Return the configuration of the launch that this thread is compiling for; raises RuntimeError outside one."""
    view = current_launch_config()
    if view is None:
        raise RuntimeError("No launch config set for this thread")
    return view


@contextlib.contextmanager
def capture_compile_config(kernel: Kernel) -> Iterator[CompileCapture]:
    """Record the launch configuration that a compilation of kernel saw, in this thread, inside the `with` block.

    Yields a dictionary: capture["config"] has griddim, blockdim and sharedmem of the last compilation that a launch
    triggered, and the kernel as `dispatcher`, once it has ended, or stays None if nothing was compiled.

        with gridjit.launchconfig.capture_compile_config(kernel) as capture:
            kernel[grid, block](x)
        print(capture["config"])
    """
    from gridjit.runtime.launch.indexing import Indexable

    if not isinstance(kernel, Indexable):
        raise ConfigError(f"capture_compile_config takes a kernel made by gridjit.jit, not {kernel!r}")
    capture: CompileCapture = {"config": None}
    entry = (kernel, capture)
    active = _captures.active
    active.append(entry)
    try:
        yield capture
    finally:
        active[:] = [other for other in active if other is not entry]


def is_captured(kernel: Kernel) -> bool:
    """Return whether this thread captures a kernel's compiles."""
    return any(captured == kernel for captured, _ in _captures.active)


def note_compile(kernel: Kernel, config: LaunchConfig | None) -> None:
    """Tell the captures of this thread that kernel was compiled for config."""
    for captured, capture in _captures.active:
        if captured == kernel and config is not None:
            capture["config"] = CapturedConfig(dispatcher=captured, **_named(config))


def _named(config: LaunchConfig) -> dict[str, Any]:
    return {f.name: getattr(config, f.name) for f in fields(LaunchConfig)}


def _shape(config: LaunchConfig) -> LaunchConfig:
    """Return a plain LaunchConfig of it."""
    return LaunchConfig(**_named(config))
