"""Values of drawn kernels: integers, conditions and floats, drawn with the threads that agree on them.

Integers stay small, divisors are positive, and floats become integers within their range. Products of floats are exact,
so that it does not matter whether a sum is fused with them.
"""

# mypy: ignore-errors
from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any, NamedTuple

from tests.end_to_end.oracle_threads import FULL

# Levels: a value's threads that agree on it, and a place's threads that come to it together.
GRID, BLOCK, WARP, THREAD = range(4)
# What variables hold, and intermediate results.
BOUND, MOST = 2**20, 2**50
# Items of the arrays that kernels read; threads of the largest block and grid.
ITEMS, THREADS, ALL = 640, 128, 512
INTEGERS = {"v0": THREAD, "v1": THREAD, "w0": THREAD, "p0": WARP, "b0": BLOCK, "g0": GRID}


class Value(NamedTuple):
    """An integer expression, its bounds and its level."""

    text: str
    low: int
    high: int
    level: int


class Loop(NamedTuple):
    """A loop around a place: its body's level and mask, the states at its head, and the ways to leave a turn."""

    level: int
    mask: str | None
    states: dict[str, tuple]
    ways: tuple[str, ...]


class Scope(NamedTuple):
    """A place of a program. level, mask: the threads and lanes that come to it together; no mask if that is unknown.

    values: the loops' variables. own, ownf: the thread's own items of integers and of floats.
    """

    level: int = GRID
    mask: str | None = str(FULL)
    values: tuple[Value, ...] = ()
    own: tuple[str, ...] = ("own[i]",)
    ownf: tuple[str, ...] = ("ownf[i]",)
    loop: Loop | None = None
    depth: int = 0

    def within(self, level: int, **changes: Any) -> Scope:
        """Return the scope of statements that a value of some level guards."""
        mask = self.mask if level <= WARP else None
        return self._replace(**{"level": max(self.level, level), "mask": mask, "depth": self.depth + 1, **changes})

    @property
    def whole(self) -> bool:
        """Whether whole warps come here."""
        return self.level <= WARP


class Tile(NamedTuple):
    """A shared array: its declaration, the type of its items, and the indices of each thread's own item.

    any, near: make an integer the index of any thread's item, or of one of the own warp (None: of the whole grid's).
    """

    name: str
    made: str
    kind: str
    own: tuple[str, ...]
    any: Callable[[str], str]
    near: Callable[[str], str] | None


class Values:
    """Draws values that are known at a place of a program, and the states of shared arrays at that place.

    tiles: the shared arrays. locals: each thread's own arrays, with their sizes. n, m: the scalar arguments.
    """

    def __init__(self, draw: random.Random) -> None:
        self.draw = draw
        self.depth = draw.choice((0, 1, 1, 2))
        self.tiles: list[Tile] = []
        self.states: dict[str, tuple] = {}
        self.locals: list[tuple[str, int]] = []
        self.n, self.m = self.one(1, 13, 32, 64, 100, 200, 257, 300), draw.randrange(1, 6)

    def one(self, *options: Any) -> Any:
        return self.draw.choice(options)

    def often(self, share: float) -> bool:
        return self.draw.random() < share

    # -- integers -------------------------------------------------------------------------------------------------

    def integer(self, scope: Scope, level: int = THREAD, depth: int | None = None) -> Value:
        """Return an integer that all threads of a level agree on; depth: of its expression, at most."""
        depth = self.depth if depth is None else depth
        kind = self.draw.randrange(16)
        if depth == 0 or kind < 3:
            return self.leaf(scope, level)
        if kind == 3 and level == THREAD:
            bits = self.one(32, 64)
            limits = f"np.float{bits}(-1000.0)), np.float{bits}(1000.0)"
            return Value(f"np.int64(min(max({self.float(scope, bits)}, {limits}))", -1000, 1000, THREAD)
        one = self.integer(scope, level, depth - 1)
        if kind in (4, 5):
            return self.converted(one)
        if kind == 6:
            text, at = self.condition(scope, level)
            other = self.integer(scope, level, depth - 1)
            bounds = min(one.low, other.low), max(one.high, other.high)
            return Value(f"({one.text} if {text} else {other.text})", *bounds, max(one.level, other.level, at))
        if kind == 7:
            text, at = self.condition(scope, level)
            return Value(f"np.int64({text})", 0, 1, at)
        return self.operated(one, self.integer(scope, level, depth - 1))

    def leaf(self, scope: Scope, level: int) -> Value:
        known = [
            Value(str(number := self.draw.randrange(12)), number, number, GRID),
            Value("n", self.n, self.n, GRID),
            Value("m", self.m, self.m, GRID),
            Value("nt", 1, THREADS, GRID),
            Value("bs", 1, 4, GRID),
            Value("b", 0, 3, BLOCK),
            Value("warp", 0, 3, WARP),
            Value("t", 0, THREADS - 1, THREAD),
            Value("lane", 0, 31, THREAD),
            Value("i", 0, ALL - 1, THREAD),
            Value("(s0 & 0xFFF)", 0, 0xFFF, THREAD),
            Value("np.int64(h0 & np.uint64(0xFFF))", 0, 0xFFF, THREAD),
            Value("np.int64(q0 >> np.uint32(20))", 0, 0xFFF, THREAD),
            *(Value(name, -BOUND, BOUND, at) for name, at in INTEGERS.items()),
            *scope.values * 3,
            *(Value(f"(np.int64({cell}) & 0xFFF)", 0, 0xFFF, THREAD) for cell in scope.own),
            *(Value(f"{name}[{self.index(size)}]", -BOUND, BOUND, THREAD) for name, size in self.locals),
        ]
        known = [value for value in known if value.level <= level]
        kind = self.draw.randrange(4)
        if kind == 0:
            return self.item(self.draw.choice(known))
        if kind == 1 and (value := self.tile_item(scope, level)):
            return value
        return self.draw.choice(known)

    def index(self, size: int) -> str:
        return self.one(f"v1 % {size}", f"t % {size}", str(self.draw.randrange(size)))

    def item(self, at: Value) -> Value:
        """Return an item of an array that kernels only read."""
        name, low, high = self.one(("x", 0, 99), ("k", -50, 49), ("c", 0, 255))
        return Value(f"np.int64({name}[{self.within_items(at)}])", low, high, at.level)

    def within_items(self, at: Value) -> str:
        shift = self.draw.randrange(-3, 4)
        if at.low - 3 > -ITEMS and at.high + 3 < ITEMS:
            return f"{at.text} + {shift}" if shift > 0 else f"{at.text} - {-shift}" if shift else at.text
        return self.one(f"({at.text}) % {ITEMS}", f"({at.text}) & 511")

    def converted(self, one: Value) -> Value:
        bits, sign = self.one(8, 16, 32), self.one("", "u")
        low, high = (0, 2**bits - 1) if sign else (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1)
        if low <= one.low and one.high <= high:
            low, high = one.low, one.high
        return Value(f"np.int64(np.{sign}int{bits}({one.text}))", low, high, one.level)

    def operated(self, one: Value, other: Value) -> Value:
        """Return an operation on two integers that stays in their bounds."""
        level = max(one.level, other.level)
        a, b = one.text, other.text
        size = max(abs(bound) for bound in (one.low, one.high, other.low, other.high))
        power = 1 << size.bit_length()
        divisor = Value(str(number := self.draw.randrange(1, 12)), number, number, GRID)
        if self.often(0.5):
            divisor = Value(f"(({b}) % {number} + 1)", 1, number, other.level)
        by = self.draw.randrange(1, 7)
        corners = [p * q for p in (one.low, one.high) for q in (other.low, other.high)]
        options = [
            Value(f"({a} + {b})", one.low + other.low, one.high + other.high, level),
            Value(f"({a} - {b})", one.low - other.high, one.high - other.low, level),
            Value(f"({a} * {b})", min(corners), max(corners), level),
            Value(f"({a} * {by} + {b})", min(one.low * by, 0) + other.low, max(one.high * by, 0) + other.high, level),
            Value(f"({a} // {divisor.text})", -size, size, max(one.level, divisor.level)),
            Value(f"({a} % {divisor.text})", 0, divisor.high - 1, max(one.level, divisor.level)),
            Value(f"({a} & {2**by - 1})", 0, 2**by - 1, one.level),
            Value(f"({a} ^ {b})", -power, power, level),
            Value(f"({a} | {b})", -power, power, level),
            Value(f"({a} & {b})", -power, power, level),
            Value(f"({a} >> {by})", one.low >> by, one.high >> by, one.level),
            Value(f"min({a}, {b})", min(one.low, other.low), min(one.high, other.high), level),
            Value(f"max({a}, {b})", max(one.low, other.low), max(one.high, other.high), level),
            Value(f"abs({a})", 0, size, one.level),
            Value(f"(-{a})", -one.high, -one.low, one.level),
        ]
        found = self.draw.choice(options)
        return found if found.low > -MOST and found.high < MOST else Value(f"({a} & 0xFF)", 0, 0xFF, one.level)

    def small(self, scope: Scope, level: int = THREAD, bound: int = BOUND) -> Value:
        """Return an integer of some size at most."""
        one = self.integer(scope, level)
        if -bound <= one.low and one.high <= bound:
            return one
        mask = (1 << bound.bit_length() - 1) - 1
        bits = 8 * (bound.bit_length() > 8) + 8 * (bound.bit_length() > 16)
        options = [Value(f"({one.text} & {mask})", 0, mask, one.level)]
        if bits:
            kept = Value(f"np.int64(np.int{bits}({one.text}))", -(2 ** (bits - 1)), 2 ** (bits - 1) - 1, one.level)
            options += [kept, Value(f"({one.text} % 251)", 0, 250, one.level)]
        return self.draw.choice(options)

    def condition(self, scope: Scope, level: int) -> tuple[str, int]:
        """Return a condition that all threads of a level at most agree on, and its level."""
        kind = self.draw.randrange(10)
        if kind == 0:
            (one, a), (other, b) = self.condition(scope, level), self.condition(scope, level)
            return f"({one} {self.one('and', 'or')} {other})", max(a, b)
        if kind == 1:
            one, a = self.condition(scope, level)
            return f"(not {one})", a
        if kind == 2 and level == THREAD:
            bits = self.one(32, 64)
            return f"({self.float(scope, bits, 1)} {self.one('<', '>=')} {self.float(scope, bits, 0)})", THREAD
        if kind in (3, 4, 5):
            usual = (("i < n", 3), ("t == 0", 3), ("lane < 16", 3), ("t < m", 3), ("t == nt - 1", 3), ("t + 1 < nt", 3))
            usual += (
                ("warp == 0", 2),
                ("warp % 2 == 1", 2),
                ("b == 0", 1),
                ("b % 2 == 0", 1),
                ("n > 64", 0),
                ("m < 3", 0),
            )
            return self.draw.choice([one for one in usual if one[1] <= level])
        one = self.integer(scope, level, 1)
        if kind in (6, 7):
            return f"({one.text} % {self.one(2, 3, 5)} {self.one('==', '!=')} 0)", one.level
        other = self.leaf(scope, level)
        return f"({one.text} {self.one('<', '<=', '>', '==', '!=')} {other.text})", max(one.level, other.level)

    # -- floats ---------------------------------------------------------------------------------------------------

    def float(self, scope: Scope, bits: int, depth: int | None = None) -> str:
        """Return a float32 or float64; depth: of its expression, at most."""
        depth = self.depth if depth is None else depth
        kind = self.draw.randrange(12)
        if depth == 0 or kind < 3:
            return self.float_leaf(scope, bits)
        one = self.float(scope, bits, depth - 1)
        if kind == 3:
            return f"np.float{bits}({self.float(scope, 96 - bits, depth - 1)})"
        if kind == 4:
            return f"({one} / (abs({self.float(scope, bits, depth - 1)}) + np.float{bits}(1.0)))"
        if kind == 5:
            return f"math.sqrt(abs({one}))"
        if kind == 6:
            return f"({one} if {self.condition(scope, THREAD)[0]} else {self.float(scope, bits, depth - 1)})"
        if kind == 7:
            factors = (f"np.float{bits}({self.small(scope, THREAD, 2**10).text})" for _ in range(2))
            return f"({' * '.join(factors)} {self.one('+', '-')} {one})"
        if kind == 8:
            return f"{self.one('abs', '-')}({one})"
        other = self.float(scope, bits, depth - 1)
        return self.one(f"({one} + {other})", f"({one} - {other})", f"min({one}, {other})", f"max({one}, {other})")

    def float_leaf(self, scope: Scope, bits: int) -> str:
        tiles = [self.load(scope, tile, THREAD) for tile in self.tiles if tile.kind == f"float{bits}"]
        known = [
            f"np.float{bits}({self.one('0.5', '0.1', '3.0', '-1.25')})",
            f"np.float{bits}({self.leaf(scope, THREAD).text})",
            *(("f0", "f1") if bits == 32 else ("d0", "d1")),
            f"{'xs' if bits == 32 else 'xd'}[{self.within_items(self.leaf(scope, THREAD))}]",
            *(f"np.float{bits}({cell})" for cell in scope.ownf),
            *(one[0] for one in tiles if one),
        ]
        return self.draw.choice(known)

    def bounded(self, text: str, bits: int) -> str:
        return f"max(min({text}, np.float{bits}(100000.0)), np.float{bits}(-100000.0))"

    # -- items of shared arrays ----------------------------------------------------------------------------------

    def load(self, scope: Scope, tile: Tile, level: int) -> tuple[str, int] | None:
        """Return an item that a thread may read here, and its level."""
        state = self.states[tile.name]
        if state[0] == "own" and level == THREAD:
            return f"{tile.name}[{tile.own[state[1]]}]", THREAD
        least = GRID if tile.name == "relay" else BLOCK
        if state[0] == "read" and level >= least:
            at = self.integer_at(scope, level)
            if level == THREAD and self.often(0.5):
                at = self.one("t + 1", "nt - 1 - t", "t * 5 + 3", "i + 1"), THREAD
            return f"{tile.name}[{tile.any(at[0])}]", max(at[1], least)
        if state[0] == "near" and level >= WARP:
            at = self.integer_at(scope, level) if self.often(0.5) else ("lane + 1" if level == THREAD else "3", level)
            first = "t - lane" if level == THREAD else "warp * 32"
            return f"{tile.name}[{tile.near(f'{first} + ({at[0]}) % min(32, nt - warp * 32)')}]", max(at[1], WARP)
        return None

    def integer_at(self, scope: Scope, level: int) -> tuple[str, int]:
        named = [
            ("n", GRID),
            ("m", GRID),
            ("b0", BLOCK),
            ("v0", THREAD),
            *((one.text, one.level) for one in scope.values),
        ]
        text, at = self.draw.choice([one for one in named if one[1] <= level])
        return f"{text} + {self.draw.randrange(5)}", at

    def tile_item(self, scope: Scope, level: int) -> Value | None:
        tiles = [tile for tile in self.tiles if "int" in tile.kind]
        found = self.load(scope, tile := self.draw.choice(tiles), level) if tiles else None
        if found is None:
            return None
        text, at = found
        if tile.kind in ("uint8", "int16"):
            bounds = (0, 255) if tile.kind == "uint8" else (-(2**15), 2**15 - 1)
            return Value(f"np.int64({text})", *bounds, at)
        return Value(f"(np.int64({text}) & 0xFFFF)", 0, 0xFFFF, at)
