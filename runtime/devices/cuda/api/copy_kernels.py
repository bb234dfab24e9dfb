"""copy_kernels: copies within a device that no pitched copy fits, by gridjit's kernels, in as few launches as can be.

The driver finishes a kernel when it is first needed, for one size of unit, and keeps it on disk by itself.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from gridjit.base.forking import lock, section
from gridjit.base.values import dataclass
from gridjit.compiler.values.launch_config import LaunchConfig
from gridjit.runtime.devices.cuda.api.copy_ptx import (
    LANES,
    MOST_AXES,
    MOST_BESIDE,
    SIDE,
    THREADS,
    UNITS,
    Axis,
    gather_parameters,
    gather_ptx,
    tile_parameters,
    tile_ptx,
)
from gridjit.runtime.devices.errors import DriverError
from gridjit.runtime.memory.copies import Array, address_of, paired_axes

if TYPE_CHECKING:
    from gridjit.runtime.devices.cuda.device import CudaDevice

# The largest count in one launch; larger copies are launched in pieces.
_MOST = 1 << 30
# The driver's errors for text that it cannot finish.
_REFUSALS = frozenset(
    f"CUDA_ERROR_{name}"
    for name in (
        "INVALID_PTX",
        "UNSUPPORTED_PTX_VERSION",
        "JIT_COMPILER_NOT_FOUND",
        "JIT_COMPILATION_DISABLED",
        "NO_BINARY_FOR_GPU",
    )
)
# Along an axis that is shorter, a tile would be mostly empty.
_LEAST = 8


@dataclass(frozen=True, slots=True, kw_only=True)
class KernelLaunch:
    """A launch of a copy kernel. name: "tile" or "gather". unit: bytes that a thread copies at once."""

    name: str
    unit: int
    blocks: int
    parameters: bytes


def launches_for(destination: Array, source: Array) -> list[KernelLaunch]:
    """Return the launches that copy one straightened ghost into another of the same shape and type."""
    if not destination.size:
        return []
    places = address_of(destination), address_of(source)
    unit, axes = _in_units(paired_axes(destination, source), destination.itemsize, places)
    fast = _fast(axes)
    beside = [axis for number, axis in enumerate(axes) if number not in fast]
    most = MOST_BESIDE if fast else MOST_AXES
    loops = _too_many(beside, most, [axes[number] for number in fast])
    inner = beside[len(loops) :][::-1]
    return [_launch(unit, at, [axes[number] for number in fast], inner) for at in _places(places, loops)]


def _in_units(axes: Sequence[Axis], itemsize: int, places: tuple[int, int]) -> tuple[int, list[Axis]]:
    """Return the largest unit that divides items, their run and all steps, and the axes, the units' own last."""
    outer, width = list(axes), itemsize
    if outer and outer[-1][1:] == (itemsize, itemsize):
        width *= outer.pop()[0]
    unit = math.gcd(UNITS[0], width, *places, *(step for _, *steps in outer for step in steps))
    return unit, [*outer, (width // unit, unit, unit)] if width > unit else outer


def _fast(axes: Sequence[Axis]) -> tuple[int, ...]:
    """Return the numbers of the axes on which destination and source are fastest; none if a tile is of no use."""
    stepping = [number for number, (_, _, of) in enumerate(axes) if of]
    if len(stepping) < 2:
        return ()
    to, of = len(axes) - 1, min(stepping, key=lambda number: abs(axes[number][2]))
    return (to, of) if to != of and min(axes[to][0], axes[of][0]) >= _LEAST else ()


def _too_many(axes: Sequence[Axis], most: int, fast: Sequence[Axis]) -> Sequence[Axis]:
    """Return the outer axes that one launch has no room for."""
    outer = max(0, len(axes) - most)
    units = math.prod(count for count, _, _ in fast)
    while outer < len(axes) and units * math.prod(count for count, _, _ in axes[outer:]) > _MOST:
        outer += 1
    return axes[:outer]


def _places(places: tuple[int, int], loops: Sequence[Axis]) -> Iterator[tuple[int, int]]:
    """Yield each launch's two addresses."""
    for index in itertools.product(*(range(count) for count, _, _ in loops)):
        steps = [(i * to, i * of) for i, (_, to, of) in zip(index, loops, strict=True)]
        yield places[0] + sum(to for to, _ in steps), places[1] + sum(of for _, of in steps)


def _launch(unit: int, places: tuple[int, int], fast: Sequence[Axis], inner: Sequence[Axis]) -> KernelLaunch:
    if not fast:
        total = math.prod(count for count, _, _ in inner)
        parameters = gather_parameters(places, total, inner)
        return KernelLaunch(name="gather", unit=unit, blocks=-(-total // THREADS), parameters=parameters)
    (across, down), first, second = [-(-count // SIDE) for count, _, _ in fast], fast[0], fast[1]
    tiles = across * down * math.prod(count for count, _, _ in inner)
    parameters = tile_parameters(places, (first, second), (across, down, tiles), inner)
    return KernelLaunch(name="tile", unit=unit, blocks=tiles, parameters=parameters)


class CopyKernels:
    """A device's copy kernels, by name and unit; each is loaded when it is first launched, and stays."""

    def __init__(self, device: CudaDevice) -> None:
        self._device = device
        self._loaded: dict[tuple[str, int], int] = {}
        self._loading = lock()

    def launch(self, launch: KernelLaunch, stream: int) -> bool:
        """Launch a kernel in a stream of the current context; return whether it could be loaded."""
        if not (kernel := self._kernel(launch.name, launch.unit)):
            return False
        block = LANES if launch.name == "tile" else (THREADS,)
        config = LaunchConfig.of(min(launch.blocks, _MOST), block)
        self._device.driver.launch(kernel, config, stream, 0, launch.parameters)
        return True

    def _kernel(self, name: str, unit: int) -> int:
        with section(), self._loading:
            if (name, unit) not in self._loaded:
                self._loaded[name, unit] = self._load(name, (tile_ptx if name == "tile" else gather_ptx)(unit))
            return self._loaded[name, unit]

    def _load(self, name: str, text: str) -> int:
        """Return a kernel, finished by the driver; 0 if it does not take the text."""
        driver = self._device.driver
        try:
            with driver.while_capturing():  # a stream of this thread may be
                return driver.kernel(driver.load_library(text.encode() + b"\0"), name)
        except DriverError as error:
            if error.name not in _REFUSALS:
                raise
            return 0
