"""instrument: a kernel's body with a call before each access to memory, and around whatever orders accesses."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace

from gridjit.compiler.targets.host.checks import order_ir
from gridjit.compiler.targets.host.checks.access_ir import access_name
from gridjit.compiler.targets.host.checks.places import Places, without_location
from gridjit.compiler.targets.host.checks.record import BLOCK_AT, BLOCK_BITS, GRID_JOIN, STATE, THREAD_AT
from gridjit.compiler.targets.host.library.intrinsics import GRID_BARRIER, OUTSIDE, SHARED_ARRAY
from gridjit.compiler.targets.host.regions.body import NAME, Block, Body, defined, opcode
from gridjit.compiler.targets.host.retarget import LOCAL, SharedArray

# Where the threads of a block, and of its warps, note that they arrive.
JOINS = SharedArray(
    name="gridjit.joins", type=f"[{order_ir.JOINS * order_ir.JOIN_BYTES} x i8]", align=16, dynamic=False
)

_TYPE = r"(?P<type>[^,]+?)"
_POINTER = rf"ptr (?P<at>{NAME}|@[^\s,]+|inttoptr \([^)]*\)|getelementptr [^)]*\))"
_LOAD = re.compile(rf"= load (?P<atomic>atomic )?(?:volatile )?{_TYPE}, {_POINTER}")
_STORE = re.compile(rf"^store (?P<atomic>atomic )?(?:volatile )?(?P<type>[^%@]*?) \S+, {_POINTER}")
_AGGREGATE = re.compile(rf"^store (?:volatile )?(?P<type>(?:\{{.*?\}}|\[.*?\]|<.*?>)) .*, {_POINTER}")
_RMW = re.compile(rf"= atomicrmw (?:volatile )?(?P<operation>\w+) {_POINTER}, (?P<type>\S+) ")
_EXCHANGE = re.compile(rf"= cmpxchg (?:weak )?(?:volatile )?{_POINTER}, (?P<type>\S+) ")
_COPY = re.compile(
    rf"call void @llvm\.mem(?:cpy|move)\.\S+\(ptr [^%@]*(?P<to>{NAME}|@[^\s,]+), ptr [^%@]*(?P<at>{NAME}|@[^\s,]+), "
    r"i\d+ (?P<size>\S+),"
)
_FILL = re.compile(rf"call void @llvm\.memset\.\S+\(ptr [^%@]*(?P<at>{NAME}|@[^\s,]+), i8 \S+, i\d+ (?P<size>\S+),")
_MEETS = (
    ("block", re.compile(r'call [^@]*@"?gridjit\.nvvm\.barrier')),
    ("warp", re.compile(r'call [^@]*@"?gridjit\.nvvm\.bar\.warp\.sync')),
    ("grid", re.compile(rf'call [^@]*@"?{re.escape(GRID_BARRIER)}')),
)
_OUTSIDE = re.compile(
    rf'call void @"?{re.escape(OUTSIDE)}"?\(i64 (?:\w+ )*(?P<index>\S+), i64 (?:\w+ )*(?P<size>\S+)\)'
)
_LOCAL = re.compile(rf'call void @"?{re.escape(LOCAL)}"?\(ptr [^%]*(?P<at>{NAME}), i64 (?:\w+ )*(?P<size>\S.*)\)')
_GEP = re.compile(rf"getelementptr [^%@]*?ptr ({NAME})")
_SHARED = re.compile(rf'call [^@]*@"?{re.escape(SHARED_ARRAY)}')
_ALLOCA = " = alloca "
_CLOCK, _WHO, _JOINS = "%gj.clock", "%gj.who", "%gj.joins"
# Types of values that are compared with what is there, and integers of their size.
_BITS = {**{f"i{n}": f"i{n}" for n in (8, 16, 32, 64)}, "half": "i16", "float": "i32", "double": "i64"}
# What locks are made of.
_LOCKS = ("xchg",)


@dataclass(slots=True)
class Instrumenter:
    """Writes the calls of one kernel. accesses: whether accesses are looked at; else only indices out of bounds are."""

    places: Places
    definitions: Mapping[str, str]
    locals: frozenset[str]
    accesses: bool
    orders: bool
    fresh: int = 0

    def block(self, block: Block) -> Block:
        """Return a block with its calls."""
        lines = list[str]()
        for line in block.lines:
            lines += self._line(line)
        return Block(label=block.label, lines=tuple(lines))

    def _line(self, line: str) -> list[str]:
        plain = without_location(line)
        if found := _OUTSIDE.search(plain):
            return [f"call void @gridjit.check.outside(i64 {found['index']}, i64 {found['size']}, "
                    f"i64 %gj.block, i64 %gj.number)"]  # fmt: skip
        if found := _LOCAL.search(plain):
            return [f"call void @gridjit.check.local(ptr {found['at']}, i64 {found['size']})"] if self.accesses else []
        if not self.accesses:
            return [plain]
        if opcode(plain) == "call":
            return self._call(line, plain)
        if opcode(plain) == "fence":
            return [f"call void @gridjit.check.fence(ptr {_CLOCK})", plain]
        return [*self._access(line, plain), plain, *self._synchronizes(plain)]

    def _call(self, line: str, plain: str) -> list[str]:
        for who, pattern in _MEETS:
            if pattern.search(plain):
                return self._meeting(who, plain)
        if found := _COPY.search(plain):
            size = found["size"]
            return [
                *self._tell("read", found["at"], size, line),
                *self._tell("write", found["to"], size, line),
                plain,
            ]
        # Nothing but a local array's own zeros, with which it does not count as written.
        if (found := _FILL.search(plain)) and self._space(found["at"]) != "local":
            return [*self._tell("write", found["at"], found["size"], line), plain]
        return [plain]

    def _meeting(self, who: str, plain: str) -> list[str]:
        if not self.orders:
            return [plain, f"call void @gridjit.check.passes(ptr {_CLOCK})"]
        lines, join = self._join(who)
        counter = order_ir.PASSED[who]
        return [
            *lines,
            f"call void @gridjit.check.arrive(ptr {_CLOCK}, ptr {join}, i64 {counter})",
            plain,
            # Again: a region that begins here does not see what comes before.
            *(again := self._join(who))[0],
            f"call void @gridjit.check.pass(ptr {_CLOCK}, ptr {again[1]}, i64 {counter}, "
            f"i1 {str(who == 'grid').lower()})",
        ]

    def _join(self, who: str) -> tuple[list[str], str]:
        """Return where threads that meet note that they do."""
        self.fresh += 1
        at, n = f"%gj.join.{self.fresh}", self.fresh
        if who == "grid":
            state = f"%gj.of.grid.{n}"
            return [f"{state} = load ptr, ptr @{STATE}", f"{at} = getelementptr i8, ptr {state}, i64 {GRID_JOIN}"], at
        base = [f'%gj.joins.{n} = call ptr @"{SHARED_ARRAY}{JOINS.name}"()']
        if who == "block":
            return base, f"%gj.joins.{n}"
        return [
            *base,
            f"%gj.warp.{n} = lshr i32 %gj.thread, 5",
            f"%gj.warp.next.{n} = add i32 %gj.warp.{n}, 1",
            f"{at} = getelementptr [{order_ir.JOIN_BYTES} x i8], ptr %gj.joins.{n}, i32 %gj.warp.next.{n}",
        ], at

    def _access(self, line: str, plain: str) -> list[str]:
        if (found := _LOAD.search(plain)) is not None:
            return self._tell("atomic" if found["atomic"] else "read", found["at"], _size(found["type"]), line)
        if plain.startswith("store ") and (found := _AGGREGATE.search(plain) or _STORE.search(plain)) is not None:
            if "store atomic" in plain:
                return self._tell("atomic", found["at"], _size(found["type"]), line)
            lines, same = self._comparison(plain, found)
            return [*lines, *self._tell("write", found["at"], _size(found["type"]), line, same)]
        if (found := _RMW.search(plain) or _EXCHANGE.search(plain)) is not None:
            return self._tell("atomic", found["at"], _size(found["type"]), line)
        return []

    def _synchronizes(self, plain: str) -> list[str]:
        if not self.orders or (found := _RMW.search(plain) or _EXCHANGE.search(plain)) is None:
            return []
        lock = "operation" not in found.groupdict() or found["operation"] in _LOCKS
        return [f"call void @gridjit.check.sync(ptr {found['at']}, ptr {_CLOCK}, i1 {str(lock).lower()})"]

    def _comparison(self, plain: str, found: re.Match[str]) -> tuple[list[str], str]:
        """Return the code that compares what a store writes with what is there, and its result."""
        kind, value = found["type"], plain.partition(found["type"])[2].split(", ptr ")[0].strip()
        if (bits := _BITS.get(kind)) is None or self._space(found["at"]) in (None, "local"):
            return [], "false"
        self.fresh += 1
        names = [f"%gj.{word}.{self.fresh}" for word in ("there", "new", "same")]
        there, new, same = names
        return [
            f"{there} = load {bits}, ptr {found['at']}, align 1",
            f"{new} = bitcast {kind} {value} to {bits}",
            f"{same} = icmp eq {bits} {there}, {new}",
        ], same

    def _tell(self, kind: str, at: str, size: str, line: str, same: str = "false") -> list[str]:
        """Return the call that tells of an access."""
        space = self._space(at)
        if space is None or (space == "local" and kind == "atomic"):
            return []
        number = self.places.number(line)
        name = access_name(kind, space)
        more = f", i1 {same}" if kind == "write" else ""
        return [f"call void @{name}(ptr {at}, i64 {size}, i64 {number}, i64 {_WHO}, ptr {_CLOCK}{more})"]

    def _space(self, at: str) -> str | None:
        """Return what memory an address is in; "global" is any that is not known, None what is not an array."""
        roots = self._roots(at, set())
        if roots == {"local"}:
            return "local"
        if roots == {"private"}:
            return None
        return "shared" if roots == {"shared"} else "global"

    def _roots(self, at: str, seen: set[str]) -> set[str]:
        line = self.definitions.get(at)
        if line is None or at in seen:
            return set() if at in seen else {"constant" if at.startswith("@") else "global"}
        seen.add(at)
        if _SHARED.search(line):
            return {"shared"}
        if _ALLOCA in line:
            return {"local" if at in self.locals else "private"}
        if opcode(line) == "getelementptr" and (found := _GEP.search(line)):
            return self._roots(found[1], seen)
        if opcode(line) in ("phi", "select", "freeze"):
            values = re.findall(rf"(?:ptr |\[ )({NAME})", line.partition(" = ")[2])
            return set().union(*(self._roots(value, seen) for value in values))
        return {"global"}


def instrument(body: Body, places: Places, checks: Collection[str]) -> Body:
    """Return body with the calls that checks need, and without debug locations."""
    lines = [without_location(line) for block in body.blocks for line in block.lines]
    definitions = {name: line for line in lines if (name := defined(line)) is not None}
    arrays = frozenset(found["at"] for line in lines if (found := _LOCAL.search(line)))
    accesses = bool({"races", "uninitialized"} & set(checks))
    writer = Instrumenter(places, definitions, arrays, accesses, orders=_orders(lines))
    first, *others = (writer.block(block) for block in body.blocks)
    return replace(body, blocks=(_begun(first, writer), *others))


def _orders(lines: Collection[str]) -> bool:
    """Return whether anything but barriers of whole blocks orders accesses."""
    meets = [pattern for who, pattern in _MEETS if who != "block"]
    return any(
        opcode(line) in ("atomicrmw", "cmpxchg") or any(pattern.search(line) for pattern in meets) for line in lines
    )


def _begun(block: Block, writer: Instrumenter) -> Block:
    """Return a kernel's first block, begun with the thread's clock and who it is."""
    joins, at = writer._join("block") if writer.orders else ([], "null")
    lines = [
        f"{_CLOCK} = alloca {order_ir.CLOCK}, align 8",
        *(f"%gj.wide.{name} = zext i32 %gj.{name} to i64" for name in _WIDE),
        "%gj.plane = mul i64 %gj.wide.ctaid.z, %gj.wide.nctaid.y",
        "%gj.row = add i64 %gj.plane, %gj.wide.ctaid.y",
        "%gj.rows = mul i64 %gj.row, %gj.wide.nctaid.x",
        "%gj.block = add i64 %gj.rows, %gj.wide.ctaid.x",
        "%gj.number = zext i32 %gj.thread to i64",
        f"%gj.block.low = and i64 %gj.block, {(1 << BLOCK_BITS) - 1}",
        f"%gj.block.bits = shl i64 %gj.block.low, {BLOCK_AT}",
        f"%gj.thread.bits = shl i64 %gj.number, {THREAD_AT}",
        f"{_WHO} = or i64 %gj.block.bits, %gj.thread.bits",
        *joins,
        f"call void @gridjit.check.begin(ptr {_CLOCK}, ptr {at}, i32 %gj.thread)",
    ]
    return Block(label=block.label, lines=(*lines, *block.lines))


_WIDE = ("ctaid.x", "ctaid.y", "ctaid.z", "nctaid.x", "nctaid.y")


def _size(kind: str) -> str:
    """Return the bytes of an LLVM type, as a constant."""
    return f"ptrtoint (ptr getelementptr ({kind}, ptr null, i64 1) to i64)"
