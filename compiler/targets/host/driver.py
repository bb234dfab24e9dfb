"""Driver: the function that runs blocks of a kernel - loops over blocks, regions and threads - as LLVM IR text.

    i32 entry(ptr params, ptr launch, i64 first, i64 last, ptr status)

params: the kernel's parameters, each at its natural alignment. launch: {i32 griddim[3]; i32 blockdim[3]; i32 dynamic
shared bytes}. Runs blocks first to last-1 (x fastest) and returns 0, or the first exception code (1 and up) or a
reserved negative code, with status = {i32 code; i32 block[3]; i32 thread[3]} filled. What the blocks need of memory
is taken from the C library and given back before the return.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from gridjit.compiler.targets.host import guard
from gridjit.compiler.targets.host.body import Parameter, rename
from gridjit.compiler.targets.host.coordinates import PLACE
from gridjit.compiler.targets.host.intrinsics import COORDINATES
from gridjit.compiler.targets.host.region_text import region_name
from gridjit.compiler.targets.host.slots import Slot

# Codes that no kernel returns.
DIVERGENT = -1
NO_MEMORY = -2

# Metadata numbers far above those of any kernel.
_GROUP, _RANGES, _UNROLLING, _LOOPS = 900000, 900010, 900090, 900100
_INVARIANT = f"!invariant.load !{_RANGES + 9}"

_SIZES = {"i1": 1, "i8": 1, "i16": 2, "i32": 4, "i64": 8, "half": 2, "float": 4, "double": 8, "ptr": 8}


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """What the driver has to know of a kernel.

    regions: how many there are. guarded: whether it has a guard. fails: whether a thread can return an exception code.
    parallel: whether the threads' accesses are independent between barriers. shared, slab: static shared bytes of a
    block and slab bytes of a thread. bank: bytes of the values that all threads share, uniforms; renewed: those of
    them that each region may change. dynamic: whether dynamic shared memory is used.
    """

    entry: str
    parameters: tuple[Parameter, ...]
    regions: int
    guarded: bool
    fails: bool
    parallel: bool
    shared: int
    slab: int
    bank: int
    uniforms: tuple[Slot, ...]
    renewed: tuple[tuple[Slot, ...], ...]
    dynamic: bool

    @property
    def watched(self) -> bool:
        """Whether the driver must look at what each thread returned."""
        return self.regions > 1 or self.fails

    @property
    def scratch(self) -> bool:
        """Whether a run needs memory of its own."""
        return self.watched or self.shared > 0 or self.dynamic


def access_group(text: str) -> str:
    """Return a region's text with every load and store in the group that the loops declare independent."""
    return "\n".join(
        f"{line}, !llvm.access.group !{_GROUP}" if " = load " in line or line.startswith("  store ") else line
        for line in text.split("\n")
    )


def driver_text(plan: Plan) -> str:
    """Return the functions that run plan's kernel, and the metadata they use."""
    loops = _Loops(plan=plan)
    parts = [_entry(plan)]
    if plan.watched:
        parts += [loops.run(0, "all"), _watched_block(plan)]
        parts += [loops.run(number, kind) for number in range(1, plan.regions) for kind in ("all", "some")]
    else:
        parts.append(loops.plain_block())
    return "\n".join([*parts, "declare ptr @aligned_alloc(i64, i64)", "declare void @free(ptr)", loops.metadata()])


_CONTEXT = (
    "ptr noalias %params, ptr noalias %launch, i32 %ctaid.x, i32 %ctaid.y, i32 %ctaid.z, "
    "ptr %shared, ptr %slab, ptr noalias %bank, ptr noalias %states, ptr noalias %status"
)
_CONTEXT_VALUES = (
    "ptr %params, ptr %launch, i32 %ctaid.x, i32 %ctaid.y, i32 %ctaid.z, "
    "ptr %shared, ptr %slab, ptr %bank, ptr %states, ptr %status"
)
_LAUNCH = ("nctaid.x", "nctaid.y", "nctaid.z", "ntid.x", "ntid.y", "ntid.z")


def _launch_loads() -> list[str]:
    """Return the loads of the launch's dimensions, with their limits."""
    lines = []
    for index, name in enumerate(_LAUNCH):
        lines += [
            f"  %launch.{name} = getelementptr inbounds i8, ptr %launch, i64 {4 * index}",
            f"  %{name} = load i32, ptr %launch.{name}, align 4, !range !{_RANGES + index}, {_INVARIANT}",
        ]
    return [
        *lines,
        "  %launch.dynamic = getelementptr inbounds i8, ptr %launch, i64 24",
        f"  %dynamic = load i32, ptr %launch.dynamic, align 4, !range !{_RANGES + 6}, {_INVARIANT}",
        "  %plane = mul nuw nsw i32 %ntid.x, %ntid.y",
        "  %volume = mul nuw nsw i32 %plane, %ntid.z",
        "  %threads = zext nneg i32 %volume to i64",
    ]


def _parameter_loads(parameters: Sequence[Parameter]) -> list[str]:
    lines, offset = [], 0
    for index, parameter in enumerate(parameters):
        size = _SIZES[parameter.type]
        offset = -(-offset // size) * size
        lines.append(f"  %at.{index} = getelementptr inbounds i8, ptr %params, i64 {offset}")
        # A bool is a byte.
        kind = "i8" if parameter.type == "i1" else parameter.type
        lines.append(f"  %in.{index} = load {kind}, ptr %at.{index}, align {size}, {_INVARIANT}")
        if kind != parameter.type:
            lines.append(f"  %bit.{index} = icmp ne i8 %in.{index}, 0")
        offset += size
    return lines


def _arguments(parameters: Sequence[Parameter], every: str) -> str:
    """Return the arguments of a call to a region or guard; every says whether the guard is known to hold."""
    given = {**{f"%gj.{name}": f"%{name}" for name in COORDINATES}, "%gj.thread": "%t", "%gj.all": every}
    given["%gj.bank"] = "%bank.out"
    values = [f"{p.type} {given.get(p.name, '%' + p.name.removeprefix('%gj.'))}" for p in PLACE]
    own = [f"{p.type} %{'bit' if p.type == 'i1' else 'in'}.{index}" for index, p in enumerate(parameters)]
    return ", ".join(values + own)


def supported_parameter(parameter: Parameter) -> bool:
    """Return whether the driver can read a parameter of this type from the packed buffer."""
    return parameter.type in _SIZES


def _bank_bytes(plan: Plan) -> int:
    """Return the bytes of a bank. There are two: what a region's threads read, and what they leave for the next."""
    return -(-plan.bank // 64) * 64


def _bank_loads(plan: Plan) -> list[str]:
    lines = [f"  %bank.out = getelementptr inbounds i8, ptr %bank, i64 {_bank_bytes(plan)}"]
    for slot in plan.uniforms:
        lines += [
            f"  %uniform.at.{slot.number} = getelementptr inbounds i8, ptr %bank, i64 {slot.offset}",
            f"  %uniform.{slot.number} = load {slot.stored}, ptr %uniform.at.{slot.number}",
        ]
    return lines


def _bank_renewal(plan: Plan, number: int) -> list[str]:
    lines = []
    for slot in plan.renewed[number]:
        lines += [
            f"  %new.at.{slot.number} = getelementptr inbounds i8, ptr %bank.out, i64 {slot.offset}",
            f"  %new.{slot.number} = load {slot.stored}, ptr %new.at.{slot.number}",
            f"  store {slot.stored} %new.{slot.number}, ptr %uniform.at.{slot.number}",
        ]
    return lines


def _entry(plan: Plan) -> str:
    states = "  %state.bytes = mul nuw nsw i64 %threads, 4" if plan.watched else "  %state.bytes = add i64 0, 0"
    take = [
        states,
        f"  %slab.bytes = mul nuw nsw i64 %threads, {plan.slab}",
        "  %dynamic.bytes = zext i32 %dynamic to i64",
        f"  %shared.some = add nuw nsw i64 %dynamic.bytes, {plan.shared + 63}",
        "  %shared.bytes = and i64 %shared.some, -64",
        "  %slab.some = add nuw nsw i64 %slab.bytes, 63",
        "  %slab.end = and i64 %slab.some, -64",
        "  %both = add nuw nsw i64 %shared.bytes, %slab.end",
        "  %sum = add nuw nsw i64 %both, %state.bytes",
        f"  %sum.some = add nuw nsw i64 %sum, {127 + 2 * _bank_bytes(plan)}",
        "  %size = and i64 %sum.some, -64",
        "  %memory = call noalias ptr @aligned_alloc(i64 64, i64 %size)",
        "  %missing = icmp eq ptr %memory, null",
        "  br i1 %missing, label %no.memory, label %ready",
        "no.memory:",
        f"  store i32 {NO_MEMORY}, ptr %status, align 4",
        f"  ret i32 {NO_MEMORY}",
        "ready:",
        "  %slab = getelementptr inbounds i8, ptr %memory, i64 %shared.bytes",
        "  %bank = getelementptr inbounds i8, ptr %slab, i64 %slab.end",
        f"  %states = getelementptr inbounds i8, ptr %bank, i64 {2 * _bank_bytes(plan)}",
    ]
    none = ["  br label %ready", "ready:"]
    values = _CONTEXT_VALUES.replace("%shared", "%memory")
    if not plan.scratch:
        values = _CONTEXT_VALUES
        for name in ("%shared", "%slab", "%bank", "%states"):
            values = values.replace(name, "null")
    return "\n".join(
        [
            f"define i32 @{plan.entry}(ptr noalias %params, ptr noalias %launch, i64 %first, i64 %last, "
            "ptr noalias %status) nounwind {",
            "entry:",
            *_launch_loads(),
            *(take if plan.scratch else none),
            "  %wide = zext nneg i32 %nctaid.x to i64",
            "  %high = zext nneg i32 %nctaid.y to i64",
            "  %any = icmp slt i64 %first, %last",
            "  br i1 %any, label %block, label %done",
            "block:",
            "  %b = phi i64 [ %first, %ready ], [ %b.next, %passed ]",
            "  %b.x = urem i64 %b, %wide",
            "  %b.row = udiv i64 %b, %wide",
            "  %b.y = urem i64 %b.row, %high",
            "  %b.z = udiv i64 %b.row, %high",
            "  %ctaid.x = trunc nuw nsw i64 %b.x to i32",
            "  %ctaid.y = trunc nuw nsw i64 %b.y to i32",
            "  %ctaid.z = trunc nuw nsw i64 %b.z to i32",
            f"  %code = call i32 @gridjit.block({values})",
            "  %failed = icmp ne i32 %code, 0",
            "  br i1 %failed, label %done, label %passed",
            "passed:",
            "  %b.next = add nuw nsw i64 %b, 1",
            "  %more = icmp slt i64 %b.next, %last",
            "  br i1 %more, label %block, label %done",
            "done:",
            "  %result = phi i32 [ 0, %ready ], [ %code, %block ], [ 0, %passed ]",
            *(["  call void @free(ptr %memory)"] if plan.scratch else []),
            "  ret i32 %result",
            "}",
            "",
        ]
    )


@dataclass(slots=True)
class _Loops:
    """Writes the loops over the threads of a block, and remembers the loops it has to name in metadata."""

    plan: Plan
    count: int = 0
    plain: tuple[int, ...] = ()

    def plain_block(self) -> str:
        """Return the block function of a kernel without barriers and exceptions: one loop, or two with a guard."""
        lines = [
            f"define internal i32 @gridjit.block({_CONTEXT}) nounwind {{",
            "entry:",
            *_launch_loads(),
            *_parameter_loads(self.plan.parameters),
            *_bank_loads(self.plan),
        ]
        if self.plan.guarded:
            lines += ["  %holds = alloca i8", "  store i8 1, ptr %holds"]
            lines += self._loop("guard", self._ask(), "entry", "asked")
            lines += ["  %answer = load i8, ptr %holds", "  %every = trunc i8 %answer to i1"]
            lines += ["  br i1 %every, label %full, label %part", "full:"]
            lines += self._loop("fast", [self._call(0, "true")], "full", "end")
            lines += ["  br label %over", "part:"]
            lines += self._loop("slow", [self._call(0, "false")], "part", "rest")
            lines += ["  br label %over", "over:", "  ret i32 0", "}", ""]
        else:
            lines += self._loop("only", [self._call(0, "false")], "entry", "over")
            lines += ["  ret i32 0", "}", ""]
        return "\n".join(lines)

    def run(self, number: int, kind: str) -> str:
        """Return the function that runs a region for all threads, or for those that wait at its barrier.

        It returns the lowest and highest state of the threads, and one less than the lowest that is not 0.
        """
        words = ("low", "high", "least")
        lines = [
            f"define internal {{ i32, i32, i32 }} @gridjit.run.{number}.{kind}({_CONTEXT}) nounwind {{",
            "entry:",
            *_launch_loads(),
            *_parameter_loads(self.plan.parameters),
            *_bank_loads(self.plan),
            *(f"  %{word} = alloca i32" for word in words),
            "  store i32 2147483647, ptr %low",
            "  store i32 -2147483648, ptr %high",
            "  store i32 -1, ptr %least",
        ]
        if kind == "all" and number == 0 and self.plan.guarded:
            lines += ["  %holds = alloca i8", "  store i8 1, ptr %holds"]
            lines += self._loop("guard", self._ask(), "entry", "asked")
            lines += ["  %answer = load i8, ptr %holds", "  %every = trunc i8 %answer to i1"]
            lines += ["  br i1 %every, label %full, label %part", "full:"]
            lines += self._loop("fast", [self._call(0, "true"), *self._note()], "full", "end")
            lines += ["  br label %over", "part:"]
            lines += self._loop("slow", [self._call(0, "false", inline=False), *self._note()], "part", "rest")
            lines += ["  br label %over", "over:"]
        elif kind == "all":
            lines += self._loop("only", [self._call(number, "false"), *self._note()], "entry", "over")
        else:
            waiting = [
                "  %old.at = getelementptr inbounds i32, ptr %states, i64 %t.wide",
                "  %old = load i32, ptr %old.at, align 4",
                f"  %waits = icmp eq i32 %old, {number}",
                "  br i1 %waits, label %go, label %noted",
                "go:",
                self._call(number, "false", inline=False),
                *self._note(),
                "  br label %noted",
                "noted:",
            ]
            lines += self._loop("some", waiting, "entry", "over", vectorize=False)
        lines += _bank_renewal(self.plan, number)
        lines += [f"  %last.{word} = load i32, ptr %{word}" for word in words]
        lines += [
            "  %r0 = insertvalue { i32, i32, i32 } poison, i32 %last.low, 0",
            "  %r1 = insertvalue { i32, i32, i32 } %r0, i32 %last.high, 1",
            "  %r2 = insertvalue { i32, i32, i32 } %r1, i32 %last.least, 2",
            "  ret { i32, i32, i32 } %r2",
            "}",
            "",
        ]
        return "\n".join(lines)

    def _call(self, number: int, every: str, *, inline: bool = True) -> str:
        """Return the call of a region; one that is not inlined keeps a rarely used loop small."""
        how = "alwaysinline" if inline else "noinline"
        own = "".join(f", {slot.stored} %uniform.{slot.number}" for slot in self.plan.uniforms)
        return f"  %state = call i32 @{region_name(number)}({_arguments(self.plan.parameters, every)}{own}) {how}"

    def _ask(self) -> list[str]:
        return [
            f"  %passes = call i1 @{guard.NAME}({_arguments(self.plan.parameters, 'false')})",
            "  %so.far = load i8, ptr %holds",
            "  %passes.byte = zext i1 %passes to i8",
            "  %still = and i8 %so.far, %passes.byte",
            "  store i8 %still, ptr %holds",
        ]

    def _note(self) -> list[str]:
        group = f", !llvm.access.group !{_GROUP}"
        return [
            "  %state.at = getelementptr inbounds i32, ptr %states, i64 %t.wide",
            f"  store i32 %state, ptr %state.at, align 4{group}",
            "  %low.old = load i32, ptr %low",
            "  %low.new = call i32 @llvm.smin.i32(i32 %low.old, i32 %state)",
            "  store i32 %low.new, ptr %low",
            "  %high.old = load i32, ptr %high",
            "  %high.new = call i32 @llvm.smax.i32(i32 %high.old, i32 %state)",
            "  store i32 %high.new, ptr %high",
            "  %state.less = sub i32 %state, 1",
            "  %least.old = load i32, ptr %least",
            "  %least.new = call i32 @llvm.umin.i32(i32 %least.old, i32 %state.less)",
            "  store i32 %least.new, ptr %least",
        ]

    def _loop(self, name: str, body: list[str], before: str, after: str, *, vectorize: bool = True) -> list[str]:
        """Return the loops over z, y and x around body; names inside are made unique by a prefix."""
        number = _LOOPS + 10 * self.count
        self.count += 1
        if not vectorize:
            self.plain += (number,)
        lines = [
            f"  br label %{name}.z",
            f"{name}.z:",
            f"  %tid.z = phi i32 [ 0, %{before} ], [ %z.next, %{name}.z.end ]",
            f"  br label %{name}.y",
            f"{name}.y:",
            f"  %tid.y = phi i32 [ 0, %{name}.z ], [ %y.next, %{name}.y.end ]",
            "  %z.rows = mul nuw nsw i32 %tid.z, %ntid.y",
            "  %row = add nuw nsw i32 %z.rows, %tid.y",
            "  %row.start = mul nuw nsw i32 %row, %ntid.x",
            f"  br label %{name}.x",
            f"{name}.x:",
            f"  %tid.x = phi i32 [ 0, %{name}.y ], [ %x.next, %{name}.x.end ]",
            "  %t = add nuw nsw i32 %row.start, %tid.x",
            "  %t.wide = zext nneg i32 %t to i64",
            *body,
            f"  br label %{name}.x.end",
            f"{name}.x.end:",
            "  %x.next = add nuw nsw i32 %tid.x, 1",
            "  %x.more = icmp ult i32 %x.next, %ntid.x",
            f"  br i1 %x.more, label %{name}.x, label %{name}.y.end, !llvm.loop !{number}",
            f"{name}.y.end:",
            "  %y.next = add nuw nsw i32 %tid.y, 1",
            "  %y.more = icmp ult i32 %y.next, %ntid.y",
            f"  br i1 %y.more, label %{name}.y, label %{name}.z.end, !llvm.loop !{number + 1}",
            f"{name}.z.end:",
            "  %z.next = add nuw nsw i32 %tid.z, 1",
            "  %z.more = icmp ult i32 %z.next, %ntid.z",
            f"  br i1 %z.more, label %{name}.z, label %{after}, !llvm.loop !{number + 2}",
            f"{after}:",
        ]
        return _prefixed(lines, name)

    def metadata(self) -> str:
        """Return the metadata of all loops written, of the ranges, and of the access group."""
        lines = [f"!{_GROUP} = distinct !{{}}", f"!{_RANGES + 9} = !{{}}"]
        for index, name in enumerate(_LAUNCH):
            low, high = COORDINATES[name]
            lines.append(f"!{_RANGES + index} = !{{i32 {low}, i32 {high if high < 2**31 else high - 2**32}}}")
        lines.append(f"!{_RANGES + 6} = !{{i32 0, i32 2147483647}}")
        lines.append(f'!{_RANGES + 7} = !{{!"llvm.loop.parallel_accesses", !{_GROUP}}}')
        lines.append(f'!{_RANGES + 8} = !{{!"llvm.loop.vectorize.enable", i1 false}}')
        # The vectorizer interleaves; copies beyond that only cost compile time.
        lines.append(f'!{_UNROLLING} = !{{!"llvm.loop.unroll.disable"}}')
        for index in range(self.count):
            for number in range(_LOOPS + 10 * index, _LOOPS + 10 * index + 3):
                hints = [f"!{_UNROLLING}", *([f"!{_RANGES + 7}"] if self.plan.parallel else [])]
                hints += [f"!{_RANGES + 8}"] if number in self.plain else []
                lines.append(f"!{number} = distinct !{{{', '.join([f'!{number}', *hints])}}}")
        return "\n".join(lines) + "\n"


_SHARED_NAMES = (
    *(f"%{name}" for name in _LAUNCH),
    *(f"%ctaid.{axis}" for axis in "xyz"),
    *("%dynamic", "%threads", "%params", "%launch", "%shared", "%slab", "%states", "%status"),
    *("%low", "%high", "%least", "%holds"),
)


def _prefixed(lines: list[str], name: str) -> list[str]:
    """Return lines with every value and label that only this loop uses made its own."""
    own = {found for line in lines if (found := _result(line)) is not None} - set(_SHARED_NAMES)
    names = {value: f"%{name}.{value[1:]}" for value in own}
    return [rename(line, names) for line in lines]


def _result(line: str) -> str | None:
    head, equals, _ = line.strip().partition(" = ")
    return head if equals and head.startswith("%") else None


def _watched_block(plan: Plan) -> str:
    """Return the block function that goes from region to region as the threads' states say."""
    arms = ["    i32 0, label %run.0.all"]
    cases = [*_case(0, "all")]
    for number in range(1, plan.regions):
        for bit, kind in enumerate(("all", "some")):
            arms.append(f"    i32 {2 * number + bit}, label %run.{number}.{kind}")
            cases += _case(number, kind)
    runs = [(0, "all"), *((number, kind) for number in range(1, plan.regions) for kind in ("all", "some"))]
    answers = ", ".join(f"[ %got.{number}.{kind}, %run.{number}.{kind} ]" for number, kind in runs)
    return "\n".join(
        [
            f"define internal i32 @gridjit.block({_CONTEXT}) nounwind {{",
            "entry:",
            *_launch_loads(),
            "  br label %step",
            "step:",
            "  %next = phi i32 [ 0, %entry ], [ %choice, %again ]",
            "  switch i32 %next, label %never [",
            *arms,
            "  ]",
            "never:",
            "  unreachable",
            *cases,
            "judge:",
            f"  %got = phi {{ i32, i32, i32 }} {answers}",
            "  %low = extractvalue { i32, i32, i32 } %got, 0",
            "  %high = extractvalue { i32, i32, i32 } %got, 1",
            "  %least = extractvalue { i32, i32, i32 } %got, 2",
            "  %raised = icmp slt i32 %low, 0",
            "  br i1 %raised, label %search, label %calm",
            "calm:",
            "  %over = icmp eq i32 %high, 0",
            "  br i1 %over, label %end, label %wait",
            "end:",
            "  ret i32 0",
            "wait:",
            "  %lowest = add i32 %least, 1",
            "  %split = icmp ne i32 %lowest, %high",
            "  br i1 %split, label %search, label %again",
            "again:",
            # Threads that have ended count as arrived; from then on only the others run, and only they are in low.
            "  %ended = icmp eq i32 %low, 0",
            "  %now = zext i1 %ended to i32",
            "  %before = and i32 %next, 1",
            "  %bit = or i32 %now, %before",
            "  %twice = shl nuw nsw i32 %high, 1",
            "  %choice = or disjoint i32 %twice, %bit",
            "  br label %step",
            "search:",
            "  %wanted = phi i32 [ 0, %judge ], [ %high, %wait ]",
            "  %s = phi i32 [ 0, %judge ], [ 0, %wait ]",
            "  br label %look",
            "look:",
            "  %i = phi i32 [ %s, %search ], [ %i.next, %look ]",
            "  %i.wide = zext nneg i32 %i to i64",
            "  %i.at = getelementptr inbounds i32, ptr %states, i64 %i.wide",
            "  %i.state = load i32, ptr %i.at, align 4",
            "  %i.raised = icmp slt i32 %i.state, 0",
            "  %i.waits = icmp eq i32 %i.state, %wanted",
            "  %i.found = select i1 %raised, i1 %i.raised, i1 %i.waits",
            "  %i.next = add nuw nsw i32 %i, 1",
            "  br i1 %i.found, label %found, label %look",
            "found:",
            "  %plain = and i32 %i.state, 2147483647",
            f"  %code = select i1 %raised, i32 %plain, i32 {DIVERGENT}",
            "  %tid.x = urem i32 %i, %ntid.x",
            "  %i.row = udiv i32 %i, %ntid.x",
            "  %tid.y = urem i32 %i.row, %ntid.y",
            "  %tid.z = udiv i32 %i.row, %ntid.y",
            *_fill_status(),
            "  ret i32 %code",
            "}",
            "",
        ]
    )


def _case(number: int, kind: str) -> list[str]:
    return [
        f"run.{number}.{kind}:",
        f"  %got.{number}.{kind} = call {{ i32, i32, i32 }} @gridjit.run.{number}.{kind}({_CONTEXT_VALUES})",
        "  br label %judge",
    ]


def _fill_status() -> list[str]:
    values = ["code", *(f"ctaid.{axis}" for axis in "xyz"), *(f"tid.{axis}" for axis in "xyz")]
    lines = []
    for index, value in enumerate(values):
        lines.append(f"  %status.{index} = getelementptr inbounds i8, ptr %status, i64 {4 * index}")
        lines.append(f"  store i32 %{value}, ptr %status.{index}, align 4")
    return lines
