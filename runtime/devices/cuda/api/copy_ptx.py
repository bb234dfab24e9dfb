"""copy_ptx: the kernels that copy between any two layouts, as PTX for the driver to finish: for each size of a unit.

Both take one block of parameters; records of three words (count, destination's step, source's step, in bytes) are the
axes. Branches are the same for a whole block. tile: two axes go through shared memory, so that both sides are read and
written along their own fastest axis. gather: one unit a thread, in the order of the destination.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence

# An axis, as the kernels read it: count, destination's step, source's step.
Axis = tuple[int, int, int]

UNITS = (16, 8, 4, 2, 1)
# A tile's side, with one more column, so that columns lie in different banks; and threads of a block.
SIDE, LANES = 32, (32, 8)
THREADS = 256
# Axes beside the two of a tile, and axes of a gather.
MOST_BESIDE, MOST_AXES = 6, 8
_HEAD = ".version 6.4\n.target sm_52\n.address_size 64\n"
_TILE_AXES, _GATHER_AXES, _AXIS = 72, 24, 24
_TYPES = {1: "u8", 2: "u16", 4: "u32", 8: "u64", 16: "v2.u64"}


def tile_parameters(
    addresses: tuple[int, int], fast: tuple[Axis, Axis], tiles: tuple[int, int, int], beside: Sequence[Axis]
) -> bytes:
    """Return the parameters of tile. addresses: destination's, source's. fast: the axes on which these are fastest."""
    (width, to_width, of_width), (height, to_height, of_height) = fast
    steps = (to_width, of_width, to_height, of_height)
    head = struct.pack("=2Q4q6I", *addresses, *steps, width, height, *tiles, len(beside))
    return head + _packed(beside, MOST_BESIDE)


def gather_parameters(addresses: tuple[int, int], total: int, axes: Sequence[Axis]) -> bytes:
    """Return the parameters of gather. axes: the destination's fastest one first."""
    return struct.pack("=2Q2I", *addresses, total, len(axes)) + _packed(axes, MOST_AXES)


def _packed(axes: Sequence[Axis], room: int) -> bytes:
    return b"".join(struct.pack("=I4x2q", *axis) for axis in [*axes, *[(1, 0, 0)] * (room - len(axes))])


def tile_ptx(unit: int) -> str:
    """Return the kernel tile for units of so many bytes."""
    steps = range(SIDE // LANES[1])
    return f"""{_HEAD}
.visible .entry tile(.param .align 8 .b8 given[{_TILE_AXES + _AXIS * MOST_BESIDE}])
{{
{_tile_begins(unit, steps)}
next:
  setp.ge.u32 %done, %tile, %total;
  @%done bra end;
  rem.u32 %column, %tile, %across;
  div.u32 %left, %tile, %across;
  rem.u32 %row, %left, %down;
  div.u32 %left, %left, %down;
{_placed(_TILE_AXES, MOST_BESIDE, "%beside")}
  shl.b32 %column, %column, 5;
  shl.b32 %row, %row, 5;
{_tile_reads(unit, steps)}
  bar.sync 0;
{_tile_writes(unit, steps)}
  bar.sync 0;
  add.u32 %tile, %tile, %step;
  bra next;
end:
  ret;
}}
"""


def _tile_begins(unit: int, steps: range) -> str:
    """Return tile's declarations, and the lines that read its parameters and find the thread's places in a tile."""
    return f"""  .reg .pred %done, %in, {", ".join(f"%in{j}" for j in steps)};
  .reg .b32 %x, %y, %tile, %total, %step, %across, %down, %beside;
  .reg .b32 %width, %height, %column, %row, %left, %count, %place, %base, %put, %get;
  .reg .b64 %to, %of, %to_w, %of_w, %to_h, %of_h, %there, %here, %at, %jump, %wide, %by;
{_registers(unit, len(steps))}
  .shared .align 16 .b8 items[{SIDE * (SIDE + 1) * unit}];
  ld.param.u64 %to, [given];
  ld.param.u64 %of, [given+8];
  ld.param.u64 %to_w, [given+16];
  ld.param.u64 %of_w, [given+24];
  ld.param.u64 %to_h, [given+32];
  ld.param.u64 %of_h, [given+40];
  ld.param.u32 %width, [given+48];
  ld.param.u32 %height, [given+52];
  ld.param.u32 %across, [given+56];
  ld.param.u32 %down, [given+60];
  ld.param.u32 %total, [given+64];
  ld.param.u32 %beside, [given+68];
  mov.u32 %x, %tid.x;
  mov.u32 %y, %tid.y;
  mov.u32 %tile, %ctaid.x;
  mov.u32 %step, %nctaid.x;
  mov.u32 %base, items;
  mad.lo.u32 %place, %y, {SIDE + 1}, %x;
  mad.lo.u32 %put, %place, {unit}, %base;
  mad.lo.u32 %place, %x, {SIDE + 1}, %y;
  mad.lo.u32 %get, %place, {unit}, %base;"""


def _tile_reads(unit: int, steps: range) -> str:
    """Return the lines that bring a tile into shared memory, along the source's fastest axis."""
    row = LANES[1] * (SIDE + 1) * unit
    return f"""  add.u32 %count, %row, %x;
  add.u32 %place, %column, %y;
  setp.lt.u32 %in, %count, %height;
  cvt.u64.u32 %wide, %count;
  mad.lo.s64 %at, %wide, %of_h, %here;
  cvt.u64.u32 %wide, %place;
  mad.lo.s64 %at, %wide, %of_w, %at;
  shl.b64 %jump, %of_w, 3;
{
        _each(
            steps,
            lambda j: (
                f'''
  setp.lt.and.u32 %in{j}, %place, %width, %in;
  @%in{j} ld.global.{_TYPES[unit]} {_value(unit, j)}, [%at];
  add.u64 %at, %at, %jump;
  add.u32 %place, %place, 8;'''
            ),
        )
    }
{_each(steps, lambda j: f"  @%in{j} st.shared.{_TYPES[unit]} [%put+{row * j}], {_value(unit, j)};")}"""


def _tile_writes(unit: int, steps: range) -> str:
    """Return the lines that take a tile out of shared memory, along the destination's fastest axis."""
    return f"""  add.u32 %count, %column, %x;
  add.u32 %place, %row, %y;
  setp.lt.u32 %in, %count, %width;
  cvt.u64.u32 %wide, %count;
  mad.lo.s64 %at, %wide, %to_w, %there;
  cvt.u64.u32 %wide, %place;
  mad.lo.s64 %at, %wide, %to_h, %at;
  shl.b64 %jump, %to_h, 3;
{
        _each(
            steps,
            lambda j: (
                f'''
  setp.lt.and.u32 %in{j}, %place, %height, %in;
  @%in{j} ld.shared.{_TYPES[unit]} {_value(unit, j)}, [%get+{LANES[1] * unit * j}];
  add.u32 %place, %place, 8;'''
            ),
        )
    }
{
        _each(
            steps,
            lambda j: (
                f'''
  @%in{j} st.global.{_TYPES[unit]} [%at], {_value(unit, j)};
  add.u64 %at, %at, %jump;'''
            ),
        )
    }"""


def gather_ptx(unit: int) -> str:
    """Return the kernel gather for units of so many bytes."""
    return f"""{_HEAD}
.visible .entry gather(.param .align 8 .b8 given[{_GATHER_AXES + _AXIS * MOST_AXES}])
{{
  .reg .pred %done, %in;
  .reg .b32 %first, %index, %total, %step, %axes, %left, %count, %place;
  .reg .b64 %to, %of, %there, %here, %wide, %by;
{_registers(unit, 1)}
  ld.param.u64 %to, [given];
  ld.param.u64 %of, [given+8];
  ld.param.u32 %total, [given+16];
  ld.param.u32 %axes, [given+20];
  mov.u32 %first, %ctaid.x;
  mul.lo.u32 %first, %first, {THREADS};
  mov.u32 %index, %tid.x;
  add.u32 %index, %index, %first;
  mov.u32 %step, %nctaid.x;
  mul.lo.u32 %step, %step, {THREADS};
next:
  setp.ge.u32 %done, %first, %total;
  @%done bra end;
  setp.lt.u32 %in, %index, %total;
  mov.u32 %left, %index;
{_placed(_GATHER_AXES, MOST_AXES, "%axes")}
  @%in ld.global.{_TYPES[unit]} {_value(unit, 0)}, [%here];
  @%in st.global.{_TYPES[unit]} [%there], {_value(unit, 0)};
  add.u32 %first, %first, %step;
  add.u32 %index, %index, %step;
  bra next;
end:
  ret;
}}
"""


def _placed(start: int, most: int, count: str) -> str:
    """Return the lines that find the place of a number in %left along the axes: %there and %here."""
    lines = ["  mov.u64 %there, %to;", "  mov.u64 %here, %of;"]
    for number in range(most):
        axis = start + _AXIS * number
        lines += [
            f"  setp.le.u32 %done, {count}, {number};",
            "  @%done bra placed;",
            f"  ld.param.u32 %count, [given+{axis}];",
            "  rem.u32 %place, %left, %count;",
            "  div.u32 %left, %left, %count;",
            "  cvt.u64.u32 %wide, %place;",
            f"  ld.param.u64 %by, [given+{axis + 8}];",
            "  mad.lo.s64 %there, %wide, %by, %there;",
            f"  ld.param.u64 %by, [given+{axis + 16}];",
            "  mad.lo.s64 %here, %wide, %by, %here;",
        ]
    return "\n".join([*lines, "placed:"])


def _registers(unit: int, count: int) -> str:
    """Return the declarations of registers."""
    names = [f"%v{j}" for j in range(count)] + [f"%w{j}" for j in range(count) if unit == 16]
    return f"  .reg .b{64 if unit >= 8 else 32} {', '.join(names)};"


def _value(unit: int, number: int) -> str:
    return f"{{%v{number}, %w{number}}}" if unit == 16 else f"%v{number}"


def _each(numbers: range, line: object) -> str:
    return "\n".join(line(number).lstrip("\n") for number in numbers)  # type: ignore[operator]
