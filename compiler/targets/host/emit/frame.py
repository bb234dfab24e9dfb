"""Frame: values for all functions around the regions: the launch, the parameters, the block and its memory."""

from __future__ import annotations

from collections.abc import Sequence

from gridjit.compiler.targets.host.emit.metadata import COUNTER_RANGE, DYNAMIC_RANGE, INVARIANT, LAUNCH, launch_range
from gridjit.compiler.targets.host.emit.plan import PLANES, ROWS, LoopPlan
from gridjit.compiler.targets.host.ir.body import Parameter
from gridjit.compiler.targets.host.ir.coordinates import PLACE
from gridjit.compiler.targets.host.ir.intrinsics import COORDINATES
from gridjit.compiler.targets.host.passes.divisions import NOTHING
from gridjit.compiler.targets.host.passes.privatization import ALONE
from gridjit.compiler.targets.host.passes.stack_overflow import NOTE

# The parameters of the functions that run a block, and what they hand on.
CONTEXT = (
    "ptr noalias %params, ptr noalias %launch, i32 %ctaid.x, i32 %ctaid.y, i32 %ctaid.z, "
    "ptr %shared, ptr %slab, ptr noalias %bank, ptr noalias %states, ptr noalias %status"
)
CONTEXT_VALUES = (
    "ptr %params, ptr %launch, i32 %ctaid.x, i32 %ctaid.y, i32 %ctaid.z, "
    "ptr %shared, ptr %slab, ptr %bank, ptr %states, ptr %status"
)
# Further parameters of the block function of a kernel without barriers: how many threads are run along x and y. They
# may be of several blocks.
EXTENT = ", i32 range(i32 1, 1073741825) %width, i32 range(i32 1, 1073741825) %depth"
# Where threads lie, for functions that are called for one row or plane of them after the other.
OUTSIDE = {"": "", ROWS: ", i32 range(i32 0, -2147483648) %row.number", PLANES: ", i32 range(i32 0, 64) %tid.z"}
_SIZES = {"i1": 1, "i8": 1, "i16": 2, "i32": 4, "i64": 8, "half": 2, "float": 4, "double": 8, "ptr": 8}


def supported_parameter(parameter: Parameter) -> bool:
    """Return whether a parameter of this type can be read from the packed buffer."""
    return parameter.type in _SIZES


def launch_loads() -> list[str]:
    """Return the loads of the launch's dimensions, with their limits."""
    lines = []
    for index, name in enumerate(LAUNCH):
        lines += [
            f"  %launch.{name} = getelementptr inbounds i8, ptr %launch, i64 {4 * index}",
            f"  %{name} = load i32, ptr %launch.{name}, align 4, {launch_range(index)}, {INVARIANT}",
        ]
    return [
        *lines,
        "  %launch.dynamic = getelementptr inbounds i8, ptr %launch, i64 24",
        f"  %dynamic = load i32, ptr %launch.dynamic, align 4, {DYNAMIC_RANGE}, {INVARIANT}",
        "  %plane = mul nuw nsw i32 %ntid.x, %ntid.y",
        "  %volume = mul nuw nsw i32 %plane, %ntid.z",
        "  %threads = zext nneg i32 %volume to i64",
    ]


def position_of(number: str) -> list[str]:
    """Return the code that finds where in its block the thread of a number is: %tid.x, %tid.y and %tid.z."""
    return [
        f"  %tid.x = urem i32 {number}, %ntid.x",
        f"  {number}.row = udiv i32 {number}, %ntid.x",
        f"  %tid.y = urem i32 {number}.row, %ntid.y",
        f"  %tid.z = udiv i32 {number}.row, %ntid.y",
    ]


def note_stack(plan: LoopPlan) -> list[str]:
    """Return the code that notes where the thread's stack ends, for functions that call themselves."""
    return [f"  call void @{NOTE}()"] if plan.recursive else []


def block_loads(plan: LoopPlan) -> list[str]:
    """Return the loads at the start of a function that runs threads: launch, parameters, and uniform values."""
    nothing = [NOTHING] if plan.divided else []
    return [*launch_loads(), *parameter_loads(plan.parameters), *_bank_loads(plan), *nothing]


def parameter_offsets(parameters: Sequence[Parameter]) -> list[int]:
    """Return where each parameter lies in the packed buffer."""
    offsets, end = list[int](), 0
    for parameter in parameters:
        size = _SIZES[parameter.type]
        offsets.append(-(-end // size) * size)
        end = offsets[-1] + size
    return offsets


def parameter_loads(parameters: Sequence[Parameter]) -> list[str]:
    """Return the loads of the kernel's own parameters."""
    lines = []
    # Where arrays are gathered, the buffer is one that its caller changes.
    fixed = "" if ALONE in parameters else f", {INVARIANT}"
    for index, (parameter, offset) in enumerate(zip(parameters, parameter_offsets(parameters), strict=True)):
        size = _SIZES[parameter.type]
        lines.append(f"  %at.{index} = getelementptr inbounds i8, ptr %params, i64 {offset}")
        # A bool is a byte.
        kind = "i8" if parameter.type == "i1" else parameter.type
        lines.append(f"  %in.{index} = load {kind}, ptr %at.{index}, align {size}{fixed}")
        if kind != parameter.type:
            lines.append(f"  %bit.{index} = icmp ne i8 %in.{index}, 0")
    return lines


def _bank_loads(plan: LoopPlan) -> list[str]:
    lines = [f"  %bank.out = getelementptr inbounds i8, ptr %bank, i64 {plan.bank_bytes}"]
    for slot in plan.uniforms:
        limits = f", {COUNTER_RANGE}" if slot.counts else ""
        lines += [
            f"  %uniform.at.{slot.number} = getelementptr inbounds i8, ptr %bank, i64 {slot.offset}",
            f"  %uniform.{slot.number} = load {slot.stored}, ptr %uniform.at.{slot.number}{limits}",
        ]
    return lines


def bank_renewal(plan: LoopPlan, number: int) -> list[str]:
    """Return the code that moves the values that a region's threads left into the bank that the next one reads."""
    lines = []
    for slot in plan.renewed[number]:
        lines += [
            f"  %new.at.{slot.number} = getelementptr inbounds i8, ptr %bank.out, i64 {slot.offset}",
            f"  %new.{slot.number} = load {slot.stored}, ptr %new.at.{slot.number}",
            f"  store {slot.stored} %new.{slot.number}, ptr %uniform.at.{slot.number}",
        ]
    if not lines or not plan.outside:
        return lines
    # The threads of the block's other rows or planes read what was there before.
    return ["  br i1 %is.last, label %renew, label %renewed", "renew:", *lines, "  br label %renewed", "renewed:"]


def arguments(parameters: Sequence[Parameter], every: str, **places: str) -> str:
    """Return the arguments of a call to a region or guard; every says whether the guard is known to hold.

    places: values in place of the thread's own ("tid_x", "thread"), whether the row's indices are asked ("asks"),
    whether the thread may be one that does what others do not ("rare"), the place of the row at which conditions
    are asked ("at"), and what keeps a thread's divisions its own ("apart").
    """
    given = {
        **{f"%gj.{name}": f"%{name}" for name in COORDINATES},
        "%gj.thread": "%t",
        "%gj.all": every,
        "%gj.asks": "true",
        "%gj.rare": "true",
        "%gj.at": "0",
        "%gj.apart": "0",
    }
    given |= {"%gj.bank": "%bank.out", "%gj.turn": "0"}
    given |= {f"%gj.{name.replace('_', '.')}": value for name, value in places.items()}
    values = [f"{p.type} {given.get(p.name, '%' + p.name.removeprefix('%gj.'))}" for p in PLACE]
    own = [f"{p.type} %{'bit' if p.type == 'i1' else 'in'}.{index}" for index, p in enumerate(parameters)]
    return ", ".join(values + own)
