"""SharedLayout: where a kernel's shared arrays lie in a block's memory. Also how large its local arrays are."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from gridjit.compiler.targets.host.analysis.value_types import type_of
from gridjit.compiler.targets.host.ir.body import Body
from gridjit.compiler.targets.host.ir.contexts import ValueType
from gridjit.compiler.targets.host.ir.parse import parse
from gridjit.compiler.targets.host.nvvm.retarget import SharedArray
from gridjit.compiler.values.target import Target

# A page's: what the C library aligns memory to at most without more ado, and more than a GPU offers.
_LARGEST_ALIGNMENT = 4096


@dataclass(frozen=True, slots=True, kw_only=True)
class SharedLayout:
    """Where each shared array starts, the bytes of the static ones, and whether there is a dynamic one.

    Dynamic arrays all start where the static ones end, as on the device. align: of the memory of all of them. sizes:
    the bytes of static arrays by where they start.
    """

    offsets: Mapping[str, int]
    sizes: Mapping[int, int]
    size: int
    dynamic: bool
    align: int


def lay_out_shared(arrays: Sequence[SharedArray], target: Target) -> SharedLayout:
    """Return a place for each array."""
    unique = {array.name: array for array in arrays}.values()
    offsets: dict[str, int] = {}
    sizes: dict[int, int] = {}
    end = 0
    for array in unique:
        if not array.dynamic:
            offsets[array.name] = start = _rounded(end, _alignment(array))
            sizes[start] = type_of(array.type, target).size
            end = start + sizes[start]
    dynamic = [array for array in unique if array.dynamic]
    size = _rounded(end, max([16, *map(_alignment, dynamic)])) if dynamic else end
    return SharedLayout(
        offsets=offsets | {array.name: size for array in dynamic},
        sizes=sizes,
        size=size,
        dynamic=bool(dynamic),
        align=max([1, *map(_alignment, unique)]),
    )


def _alignment(array: SharedArray) -> int:
    return min(array.align, _LARGEST_ALIGNMENT)


def _rounded(size: int, align: int) -> int:
    return -(-size // align) * align


def local_arrays(body: Body, target: Target) -> dict[str, ValueType]:
    """Return the size and alignment of every local array that is left in body after cleaning."""
    allocas = (made for made in map(parse, body.lines) if made.opcode == "alloca")
    found = {}
    for made in allocas:
        one = type_of(made.type, target)
        count = int(made.values[0]) if made.values else 1
        align = min(max(one.align, made.alignment), _LARGEST_ALIGNMENT)
        found[made.result] = ValueType(text=made.type, size=one.size * count, align=align)
    return found
