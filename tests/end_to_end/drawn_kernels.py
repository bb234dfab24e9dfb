"""Kernels drawn from a seed: trees of statements with two texts each, a kernel and a generator for the oracle.

No drawn program has a race or undefined behaviour. Each value knows its level: how many threads agree on it. All
threads of that level take the branches that depend on it together, so barriers stand where the block is together, and
operations of warps where the lanes of their masks are. Each shared array is in one state at each place of a program:
each thread uses its own item, lanes read items of their warp, all threads read any item, or all update items
atomically. Barriers change states. Integers stay small, and products of floats are exact.
"""

# mypy: ignore-errors
from __future__ import annotations

import math
import random
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from tests.end_to_end.drawn_values import (
    ALL,
    BLOCK,
    GRID,
    INTEGERS,
    ITEMS,
    THREAD,
    THREADS,
    WARP,
    Loop,
    Scope,
    Tile,
    Value,
    Values,
)
from tests.end_to_end.oracle_threads import FULL, NAMES, Launch

BLOCKS = {
    1: ((1,), (7,), (32,), (33,), (64,), (70,), (96,), (128,)),
    2: ((1, 1), (5, 3), (8, 4), (32, 2), (33, 2), (3, 8), (40, 3), (16, 8)),
}
GRIDS = {1: ((1,), (2,), (3,), (4,)), 2: ((1, 1), (2, 1), (1, 3), (2, 2))}
PARAMETERS = "x, k, c, xs, xd, own, ownf, y, yf, z, relay, sums, tops, lows, mixes, res, resd, n, m"
HEADS = {
    1: (
        "t, nt, i, total = cuda.threadIdx.x, cuda.blockDim.x, cuda.grid(1), cuda.gridsize(1)",
        "b, bs = cuda.blockIdx.x, cuda.gridDim.x",
    ),
    2: (
        "tx, ty, w, h = cuda.threadIdx.x, cuda.threadIdx.y, cuda.blockDim.x, cuda.blockDim.y",
        "t, nt = tx + ty * w, w * h",
        "b, bs = cuda.blockIdx.x + cuda.blockIdx.y * cuda.gridDim.x, cuda.gridDim.x * cuda.gridDim.y",
        "i, total = b * nt + t, bs * nt",
        "col, row = cuda.grid(2)",
        "cols, rows = cuda.gridsize(2)",
    ),
}
BEGIN = (
    "lane, warp = cuda.laneid, t // 32",
    "v0, v1, w0, p0 = np.int64(x[i]), np.int64(t), np.int32(lane), np.int64(warp)",
    "b0, g0, s0 = np.int64(b), n, np.int64(0)",
    "f0, f1, d0, d1 = xs[i], np.float32(0.0), xd[i], 0.0",
    "h0, q0 = np.uint64(i), np.uint32(t)",
)
ENDS = (*INTEGERS, "s0", "np.int64(h0)", "np.int64(q0)"), ("f0", "f1", "d0", "d1")
SHUFFLES = ("shfl", "shfl_up", "shfl_down", "shfl_xor")

Statement = "str | tuple[str, list[Statement]]"


class Program(NamedTuple):
    """A drawn program: its statements, its launches and its scalar arguments."""

    seed: int
    statements: list[Any]
    launches: tuple[Launch, ...]
    n: int
    m: int

    def source(self) -> str:
        """Return the kernel's text."""
        return self._text().replace("⟨", "").replace("⟩", "")

    def oracle(self) -> str:
        """Return the generator's text, which yields at each request."""
        head, _, body = self._text().partition("\n")
        text = f"{head.replace('(', '(cuda, ')}\n    if False:\n        yield\n{body}"
        return text.replace("⟨", "(yield ").replace("⟩", ")")

    def _text(self) -> str:
        return "\n".join([f"def kernel({PARAMETERS}):", *_lines(self.statements, "    ")]) + "\n"

    def arguments(self) -> tuple[Any, ...]:
        """Return new arguments of a launch."""
        draw = np.random.default_rng(self.seed)
        return (
            draw.integers(0, 100, ITEMS),
            draw.integers(-50, 50, ITEMS, dtype=np.int32),
            draw.integers(0, 256, ITEMS, dtype=np.uint8),
            draw.integers(-640, 640, ITEMS).astype(np.float32) / 64,
            draw.random(ITEMS) * 10 - 5,
            draw.integers(0, 100, ALL),
            draw.random(ALL).astype(np.float32),
            draw.integers(0, 100, ITEMS),
            draw.random(ITEMS),
            draw.integers(0, 100, (self.n % 11 + 3, self.n % 37 + 4)),
            np.zeros(ALL, np.int64),
            *(np.zeros(8, np.int64) for _ in range(4)),
            np.zeros((ALL, len(ENDS[0])), np.int64),
            np.zeros((ALL, len(ENDS[1]))),
            self.n,
            self.m,
        )


def generator(program: Program) -> Any:
    """Return the oracle's function of a program."""
    names = dict(NAMES)
    exec(program.oracle(), names)
    return names["kernel"]


def drawn(seed: int, checked: bool = False) -> Program:
    """Return the program of a seed; checked: it must pass checks, for which no shuffle reads an absent lane."""
    return _Drawing(random.Random(seed), checked).program(seed)


def _lines(statements: Sequence[Any], indent: str) -> Iterator[str]:
    for one in statements:
        if isinstance(one, str):
            yield indent + one
        else:
            yield indent + one[0]
            yield from _lines(one[1] or ["pass"], indent + "    ")


def _index(at: str) -> str:
    return f"({at})" if "," in at else at


class _Drawing(Values):
    """The draws of one program, and the states of its shared arrays at the place where statements are being drawn."""

    def __init__(self, draw: random.Random, checked: bool) -> None:
        super().__init__(draw)
        self.checked = checked
        self.dims = draw.choice((1, 1, 1, 2))
        self.cooperative = draw.random() < 0.12
        self.warps = draw.random() < 0.6
        self.returns = 0 if self.cooperative or checked else draw.choice((0, 0, 1, 2))
        self.names = 0
        self.stores = draw.choice((0.1, 0.3, 0.7))
        self.favours: dict[str, float] = {}
        self.tiles = [self.tile(number) for number in range(draw.choice((0, 1, 1, 2, 3)))]
        self.tiles += [
            Tile("relay", "", "int64", ("i", "total - 1 - i"), "({}) % total".format, None)
        ] * self.cooperative
        self.states = {tile.name: ("own", 0) for tile in self.tiles}
        self.locals = [(f"l{number}", draw.choice((1, 3, 4, 8))) for number in range(draw.choice((0, 0, 1, 2)))]
        self.budget = draw.choice((4, 8, 12) if checked else (6, 10, 16, 24, 36))

    def name(self, prefix: str) -> str:
        self.names += 1
        return f"{prefix}{self.names}"

    # -- the program ----------------------------------------------------------------------------------------------

    def program(self, seed: int) -> Program:
        blocks = [block for block in BLOCKS[self.dims] if not (self.checked and math.prod(block) % 32)]
        blocks = self.draw.sample(blocks, 2 if self.checked else 3)
        launches = [Launch(self.grid(block), block, math.prod(block) * 8) for block in blocks]
        scope = Scope()
        begin = [*(tile.made for tile in self.tiles if tile.made), *HEADS[self.dims], *BEGIN]
        for name, size in self.locals:
            begin += [
                f"{name} = cuda.local.array({size}, np.int64)",
                (f"for e in range({size}):", [f"{name}[e] = e + t"]),
            ]
        begin += self.initial_stores(scope)
        return Program(seed, [*begin, *self.body(scope)], tuple(launches), self.n, self.m)

    def grid(self, block: Sequence[int]) -> tuple[int, ...]:
        """Return a grid: a large one at times, of which many blocks have nothing to do behind a guard."""
        if self.dims == 1 and self.often(0.3):
            return (self.draw.randrange(1, ALL // block[0] + 1),)
        return self.one(*GRIDS[self.dims])

    def body(self, scope: Scope) -> list[Any]:
        """Return the statements behind those that every program begins with; a guard, or a return of the rest."""
        guard, count = (
            self.one("i < n", "row < 9 and col < n") if self.dims == 2 else "i < n",
            self.draw.randrange(3, 8),
        )
        own = scope._replace(own=("own[i]", "y[i]"), ownf=("ownf[i]", "yf[i]")) if guard == "i < n" else scope
        kind = self.draw.randrange(4) if not self.cooperative else 3
        if kind == 0:
            return [(f"if {guard}:", [*self.statements(own.within(THREAD), count), *self.ending()])]
        if kind == 1 and not self.checked:
            return [(f"if not ({guard}):", ["return"]), *self.statements(own, count), *self.ending()]
        return [*self.statements(scope, count), *self.ending()]

    def initial_stores(self, scope: Scope) -> list[str]:
        """Return statements that store each thread's own items, which nothing has written before."""
        self.states = {tile.name: ("unknown",) for tile in self.tiles}
        value = self.small(scope, THREAD, 2**10).text
        self.states = {tile.name: ("own", 0) for tile in self.tiles}
        return [f"{tile.name}[{tile.own[0]}] = np.{tile.kind}({value})" for tile in self.tiles]

    def ending(self) -> list[Any]:
        """Return the statements that store what variables hold."""
        parts = (
            (f"res[i, {at}] = {text}" for at, text in enumerate(ENDS[0])),
            (f"resd[i, {at}] = {text}" for at, text in enumerate(ENDS[1])),
        )
        lines = [line for part in parts for line in part]
        return [line for line in lines if self.often(self.stores)] or lines

    def tile(self, number: int) -> Tile:
        kind = self.one("int64", "int64", "int32", "float32", "float64", "int16", "uint8")
        name = f"tile{number}"
        if self.dims == 2 and self.often(0.6):
            own = ("ty, tx", "h - 1 - ty, tx", "ty, w - 1 - tx")
            made = f"cuda.shared.array((8, {self.one(40, 41)}), np.{kind})"
            cell = "({0}) % h, ({0}) % w".format
            return Tile(name, f"{name} = {made}", kind, own, cell, lambda at: f"({at}) // w, ({at}) % w")
        size = 0 if number == 0 and self.often(0.3) else THREADS
        own = ("t", "nt - 1 - t", "(t + 1) % nt")
        return Tile(name, f"{name} = cuda.shared.array({size}, np.{kind})", kind, own, "({}) % nt".format, str)

    def statements(self, scope: Scope, count: int) -> list[Any]:
        return [line for _ in range(count) for line in self.statement(scope)]

    def statement(self, scope: Scope) -> list[Any]:
        self.budget -= 1
        together, deep = scope.level <= BLOCK, scope.depth >= 4 or self.budget < 0
        lanes = self.warps and scope.mask is not None
        kinds = (
            (self.assign, 3),
            (self.add_up, 2),
            (self.assign_float, 2),
            (self.mix, 1),
            (self.own_item, 2),
            (self.own_float, 1),
            (self.update, 1),
            (self.keep, bool(self.locals)),
            (self.use_tile, 3 * bool(self.tiles)),
            (self.barrier, 3 * together),
            (self.grid_barrier, 4 * (self.cooperative and scope.level == GRID)),
            (self.counted, together),
            (self.apart, together * (not deep)),
            (self.syncwarp, lanes and scope.whole),
            (self.shuffle, 2 * (lanes and self.all_here(scope))),
            (self.vote, 3 * lanes),
            (self.match, lanes),
            (self.elsewhere, lanes and scope.depth < 4),
            (self.chosen_lanes, 2 * (lanes and not deep)),
            (self.turns_of_lanes, lanes and not deep),
            (self.branch, 5 * (not deep)),
            (self.loop, 4 * (not deep)),
            (self.voted_loop, (lanes or together) and not deep),
            (self.stride, 3 * (not deep and len(scope.own) < 3 and scope.depth < 3)),
            (self.leave, 2 * (scope.loop is not None)),
            (self.end, self.returns > 0),
        )
        weights = [weight * self.favour(kind.__name__) for kind, weight in kinds]
        return self.draw.choices([kind for kind, _ in kinds], weights)[0](scope)

    def favour(self, kind: str) -> float:
        """Return how much this program favours a kind of statements: others are drawn in other programs."""
        return self.favours.setdefault(kind, self.one(0.02, 1, 1, 3))

    # -- statements of one thread -----------------------------------------------------------------------------------

    def target(self, scope: Scope, least: int = GRID) -> str:
        """Return a variable that may be assigned here, to a value of some level at most."""
        return self.draw.choice([name for name, level in INTEGERS.items() if level >= max(scope.level, least)])

    def assigned(self, name: str, text: str) -> str:
        return f"{name} = np.int32({text})" if name == "w0" else f"{name} = {text}"

    def assign(self, scope: Scope) -> list[Any]:
        name = self.target(scope)
        return [self.assigned(name, self.small(scope, INTEGERS[name]).text)]

    def add_up(self, scope: Scope) -> list[Any]:
        bits = self.one(0, 0, 32, 64)
        if not bits:
            return [f"s0 {self.one('+=', '-=')} {self.small(scope).text}"]
        return [f"{'f1' if bits == 32 else 'd1'} += {self.bounded(self.float(scope, bits, 1), bits)}"]

    def assign_float(self, scope: Scope) -> list[Any]:
        bits = self.one(32, 64)
        name = self.one("f0", "f1") if bits == 32 else self.one("d0", "d1")
        return [f"{name} = {self.bounded(self.float(scope, bits), bits)}"]

    def mix(self, scope: Scope) -> list[Any]:
        """Return a statement of unsigned integers, which wrap."""
        name, kind = self.one(("h0", "np.uint64"), ("q0", "np.uint32"))
        number, by = self.draw.getrandbits(32), self.draw.randrange(1, 20)
        more = f"{kind}({self.small(scope).text})"
        options = (
            f"{name} * {kind}({number}) + {more}",
            f"{name} ^ ({name} >> {kind}({by}))",
            f"({name} ^ {more}) % {kind}({number | 1})",
        )
        return [f"{name} = {kind}({self.draw.choice(options)})"]

    def own_item(self, scope: Scope) -> list[Any]:
        cell, value = self.draw.choice(scope.own), self.small(scope, THREAD, 255).text
        array, at = cell[:-1].split("[")
        atomic = (
            f"v0 = np.int64(cuda.atomic.add({array}, {_index(at)}, {value})) & 0xFFFF",
            f"v1 = np.int64(cuda.atomic.exch({array}, {_index(at)}, {value})) & 0xFFFF",
            f"cuda.atomic.cas({array}, {_index(at)}, {self.draw.randrange(4)}, {value})",
        )
        plain = (f"{cell} = {value}", f"{cell} += {value}", f"{cell} = ({cell} * 3 + {value}) & 0xFFFF")
        return [self.draw.choice(atomic if self.often(0.2) else plain)]

    def own_float(self, scope: Scope) -> list[Any]:
        cell = self.draw.choice(scope.ownf)
        bits = 32 if cell == "ownf[i]" else 64
        return [f"{cell} {self.one('=', '+=')} {self.bounded(self.float(scope, bits), bits)}"]

    def update(self, scope: Scope) -> list[Any]:
        name, array = self.one(("add", "sums"), ("add", "sums"), ("max", "tops"), ("min", "lows"), ("xor", "mixes"))
        at, value = self.integer(scope, THREAD, 1).text, self.small(scope, THREAD, 255).text
        return [f"cuda.atomic.{name}({array}, {at} % 8, {value})"]

    def keep(self, scope: Scope) -> list[Any]:
        name, size = self.draw.choice(self.locals)
        return [f"{name}[({self.integer(scope, THREAD, 1).text}) % {size}] = {self.small(scope).text}"]

    def end(self, scope: Scope) -> list[Any]:
        self.returns -= 1
        level = self.one(THREAD, THREAD, WARP, BLOCK)
        return [(f"if {self.condition(scope, level)[0]}:", [*self.ending(), "return"])]

    def leave(self, scope: Scope) -> list[Any]:
        """Return a way out of a loop or its turn, for all threads together that go round it together."""
        loop = scope.loop
        if scope.level > loop.level or scope.mask != loop.mask or self.states != loop.states:
            return self.assign(scope)
        level = loop.level if loop.mask is None else min(loop.level, WARP)
        return [(f"if {self.condition(scope, level)[0]}:", [self.draw.choice(loop.ways)])]

    # -- shared arrays ----------------------------------------------------------------------------------------------

    def stored(self, scope: Scope, tile: Tile) -> str:
        """Return a statement that stores to a thread's own item."""
        cell = f"{tile.name}[{tile.own[self.states[tile.name][1]]}]"
        if tile.kind.startswith("float"):
            return f"{cell} = {self.bounded(self.float(scope, int(tile.kind[5:])), int(tile.kind[5:]))}"
        return f"{cell} = np.{tile.kind}({self.small(scope, THREAD, 2**16).text})"

    def use_tile(self, scope: Scope) -> list[Any]:
        tile = self.draw.choice(self.tiles)
        state, value = self.states[tile.name], self.small(scope, THREAD, 255).text
        if state[0] == "own":
            if tile.kind in ("int32", "int64") and self.often(0.2):
                changed = f"cuda.atomic.{self.one('add', 'exch')}({tile.name}, {_index(tile.own[state[1]])}, {value})"
                return [f"v0 = np.int64({changed}) & 0xFFFF"]
            return [self.stored(scope, tile)]
        if state[0] == "atomic":
            at = _index(tile.any(self.integer(scope, THREAD, 1).text))
            return [f"cuda.atomic.{state[1]}({tile.name}, {at}, {value})"]
        if found := self.load(scope, tile, THREAD):
            floating = tile.kind.startswith("float")
            return [f"d0 = np.float64({found[0]})" if floating else f"s0 += np.int64({found[0]}) & 0xFFFF"]
        return self.assign(scope)

    def change_states(self, scopes: int) -> None:
        """Draw states behind a barrier of warps, of blocks or of the grid."""
        for tile in self.tiles:
            state, everywhere = self.states[tile.name], tile.name == "relay"
            if everywhere and scopes > GRID:
                continue
            if scopes == WARP and (tile.near is None or state not in (("own", 0), ("near",), ("near unknown",))):
                continue
            options = [("own", 0), ("near",)] if tile.near and self.warps else [("own", 0)]
            if scopes < WARP:
                options += [("read",)] * 3 + [("own", number) for number in range(1, len(tile.own))]
                options += [("atomic", name) for name in ("add", "max", "xor") if tile.kind in ("int32", "int64")]
            if state[0] in ("unknown", "near unknown") or self.often(0.7):
                self.states[tile.name] = self.draw.choice(options)

    def barrier(self, scope: Scope) -> list[Any]:
        wait = "⟨cuda.syncthreads()⟩" if self.often(0.8) else self.count(scope)
        self.change_states(BLOCK)
        return [wait]

    def count(self, scope: Scope) -> str:
        kind = self.one("count", "and", "or")
        name = self.target(scope, BLOCK)
        return self.assigned(
            name, f"np.int64(⟨cuda.syncthreads_{kind}(np.int32({self.condition(scope, THREAD)[0]}))⟩) + 1"
        )

    def grid_barrier(self, scope: Scope) -> list[Any]:
        self.change_states(GRID)
        return ["⟨cuda.cg.this_grid().sync()⟩"]

    def counted(self, scope: Scope) -> list[Any]:
        """Return a branch on a barrier's count."""
        condition = f"np.int32({self.condition(scope, THREAD)[0]})"
        asked = f"⟨cuda.syncthreads_{self.one('count', 'and', 'or')}({condition})⟩"
        return self.guarded(f"if {asked} {self.one('> 0', '< 3', '== 1')}:", scope.within(BLOCK))

    def apart(self, scope: Scope) -> list[Any]:
        """Return warps that wait for each other at different barriers."""
        kind = self.one("", "", "_count", "_or")
        arms = []
        for head in (f"if {self.condition(scope, WARP)[0]}:", "else:"):
            inner = scope.within(WARP)
            given = f"np.int32({self.condition(scope, THREAD)[0]})" if kind else ""
            wait = f"⟨cuda.syncthreads{kind}({given})⟩"
            wait = self.assigned(self.target(inner), f"np.int64({wait})") if kind else wait
            arms.append((head, [*self.assign(inner), wait, *self.add_up(inner)]))
        return arms

    # -- operations of warps ----------------------------------------------------------------------------------------

    def syncwarp(self, scope: Scope) -> list[Any]:
        if scope.mask != str(FULL):
            return [f"⟨cuda.syncwarp(np.int32({scope.mask}))⟩"]
        self.change_states(WARP)
        return ["⟨cuda.syncwarp()⟩"]

    def all_here(self, scope: Scope) -> bool:
        """Return whether shuffles may read any lane here."""
        return not self.checked or scope.mask == str(FULL)

    def shuffle(self, scope: Scope) -> list[Any]:
        name = self.one("v0", "v1", "w0", "f0", "d0")
        return [f"{name} = {self.shuffled(scope, name)}"]

    def shuffled(self, scope: Scope, name: str) -> str:
        given = self.small(scope).text
        given = f"np.int32({given})" if name == "w0" else f"np.int64({given})"
        if name in ("f0", "d0"):
            bits = 32 if name == "f0" else 64
            given = self.bounded(self.float(scope, bits, 1), bits)
        by = str(self.draw.randrange(32)) if self.often(0.5) else f"({self.integer(scope, THREAD, 1).text}) & 31"
        return f"⟨cuda.{self.draw.choice(SHUFFLES)}_sync({scope.mask}, {given}, {by})⟩"

    def voted(self, scope: Scope) -> str:
        kind = self.one("all", "any", "eq", "ballot")
        vote = f"np.int64(⟨cuda.{kind}_sync({scope.mask}, {self.condition(scope, THREAD)[0]})⟩)"
        return f"(({vote} >> {self.draw.randrange(16)}) & 0xFFFF)" if kind == "ballot" else vote

    def vote(self, scope: Scope) -> list[Any]:
        kind, name = self.draw.randrange(4), self.target(scope, WARP)
        if kind == 0:
            return self.guarded(f"if {self.voted(scope)} {self.one('!= 0', '== 0')}:", scope.within(WARP))
        if kind == 1:  # results of several votes, used where their ways meet
            text, level = self.condition(scope, WARP)
            arms = [[self.assigned(name, self.voted(scope.within(level)))] for _ in range(2)]
            for arm in arms:
                arm[self.draw.randrange(2) :][:0] = self.assign(scope.within(level))
            more = self.assign(scope.within(level)) if self.often(0.5) else []
            return [(f"if {text}:", [*more, *arms[0]]), ("else:", arms[1]), f"s0 += {name} & 0xFF"]
        return [self.assigned(name, self.voted(scope))]

    def match(self, scope: Scope) -> list[Any]:
        given = f"{self.one('np.int64', 'np.int32')}({self.small(scope).text} & {self.one(0, 1, 3)})"
        mask = f"np.int32({scope.mask})"
        if self.often(0.5):
            return [f"v1 = np.int64(⟨cuda.match_any_sync({mask}, {given})⟩) & 0xFFFF"]
        same, all_same = self.name("a"), self.name("a")
        made = f"{same}, {all_same} = ⟨cuda.match_all_sync({mask}, {given})⟩"
        return [made, f"v0 = (np.int64({same}) & 0xFFF) + np.int64({all_same})"]

    def elsewhere(self, scope: Scope) -> list[Any]:
        """Return lanes that do one operation together from different places."""
        kinds = ("any", "ballot", *SHUFFLES * self.all_here(scope))
        kind, name, outer = self.draw.choice(kinds), self.one("v0", "v1"), scope
        arms = []
        for head in (f"if {self.condition(scope, THREAD)[0]}:", "else:"):
            inner = outer.within(THREAD)
            value = f"np.int64({self.small(inner).text})" if kind in SHUFFLES else self.condition(inner, THREAD)[0]
            by = f", ({self.integer(inner, THREAD, 1).text}) & 31" if kind in SHUFFLES else ""
            made = f"{name} = np.int64(⟨cuda.{kind}_sync({outer.mask}, {value}{by})⟩)"
            after = [f"{name} = {name} & 0xFFFF"] if kind == "ballot" else []
            arms.append((head, [*(self.assign(inner) if self.often(0.5) else []), made, *after, *self.add_up(inner)]))
        return arms

    def chosen_lanes(self, scope: Scope) -> list[Any]:
        """Return a branch whose lanes are known: by a constant, or by a ballot."""
        if self.often(0.4):
            asked, mask = self.name("a"), self.name("a")
            begin = [
                f"{asked} = {self.condition(scope, THREAD)[0]}",
                f"{mask} = np.int64(⟨cuda.ballot_sync({scope.mask}, {asked})⟩) & {FULL}",
            ]
            return [*begin, *self.guarded(f"if {asked}:", scope.within(THREAD, mask=mask), otherwise=False)]
        lanes = self.one(0xFFFF, 0x55555555, 0xF0F0F0F0, 1, 1 << 31, self.draw.getrandbits(32))
        head, inner = f"if ({lanes} >> lane) & 1:", scope.within(THREAD, mask=f"({scope.mask} & {lanes})")
        arms = self.guarded(head, inner, otherwise=False)
        if self.often(0.4):
            arms += self.guarded("else:", inner._replace(mask=f"({scope.mask} & {FULL ^ lanes})"), otherwise=False)
        return arms

    def turns_of_lanes(self, scope: Scope) -> list[Any]:
        """Return a loop that lanes go round different numbers of times, with the mask of each turn."""
        name, mask, turns = self.name("e"), self.name("a"), self.draw.randrange(2, 4)
        masks = [sum(1 << lane for lane in range(32) if lane % (turns + 1) > turn) for turn in range(turns)]
        text = f"({masks[0]} if {name} == 0 else {masks[1]})"
        text = text if turns == 2 else f"({masks[2]} if {name} == 2 else {text})"
        inner = scope.within(THREAD, mask=mask, values=(*scope.values, Value(name, 0, turns, THREAD)), loop=None)
        body = self.around(inner, lambda: self.statements(inner, self.draw.randrange(1, 4)))
        return [(f"for {name} in range(lane % {turns + 1}):", [f"{mask} = {scope.mask} & {text}", *body])]

    # -- branches and loops -----------------------------------------------------------------------------------------

    def branch(self, scope: Scope) -> list[Any]:
        text, level = self.condition(scope, self.one(GRID, BLOCK, WARP, THREAD, THREAD))
        more = {"own": (*scope.own, "y[i]"), "ownf": (*scope.ownf, "yf[i]")} if text == "i < n" else {}
        return self.guarded(f"if {text}:", scope.within(level, **more), scope.within(level))

    def guarded(self, head: str, scope: Scope, other: Scope | None = None, otherwise: bool = True) -> list[Any]:
        """Return a branch, often with another for the rest."""
        before = dict(self.states)
        then = self.statements(scope, self.draw.randrange(1, 4))
        after, self.states = self.states, dict(before)
        rest = self.statements(other or scope, self.draw.randrange(1, 3)) if otherwise and self.often(0.4) else []
        self.states = {name: self.merged(after[name], self.states[name]) for name in before}
        return [(head, then), *([("else:", rest)] if rest else [])]

    def merged(self, one: tuple, other: tuple) -> tuple:
        """Return the state where two ways meet."""
        near = (("own", 0), ("near",), ("near unknown",))
        return one if one == other else ("near unknown",) if one in near and other in near else ("unknown",)

    def around(self, scope: Scope, draw: Callable[[], list[Any]]) -> list[Any]:
        """Return a loop's body, at whose end states are as at its begin."""
        before = dict(self.states)
        body = draw()
        changed = {name for name, state in self.states.items() if state != before[name]}
        if changed:
            wait = (
                "cuda.cg.this_grid().sync()"
                if "relay" in changed
                else "cuda.syncthreads()"
                if scope.level <= BLOCK
                else "cuda.syncwarp()"
            )
            body = [*body, f"⟨{wait}⟩"]
            self.states = before
        return body

    def loop(self, scope: Scope) -> list[Any]:
        level = self.one(GRID, BLOCK, WARP, THREAD)
        name, turns = self.name("e"), self.integer(scope, level, 1)
        most = self.draw.randrange(1, 5)
        inner = scope.within(turns.level, values=(*scope.values, Value(name, 0, most, max(scope.level, turns.level))))
        form = self.draw.randrange(3)
        text, ways = f"({turns.text}) % {most + 1}", ("break",) if form == 2 else ("break", "continue")
        inner = inner._replace(loop=Loop(inner.level, inner.mask, dict(self.states), ways))
        body = self.around(inner, lambda: self.statements(inner, self.draw.randrange(1, 4)))
        if form == 0:
            return [(f"for {name} in range({text}):", body)]
        if form == 1:
            return [(f"for {name} in range({text}, -1, -1):", body)]
        end = self.name("e")
        return [f"{name}, {end} = np.int64(0), {text}", (f"while {name} < {end}:", [*body, f"{name} += 1"])]

    def voted_loop(self, scope: Scope) -> list[Any]:
        """Return a loop that goes on while some thread of the warp or the block has turns to go."""
        together = scope.level <= BLOCK and (self.often(0.5) or not self.warps)
        name, level = self.name("e"), BLOCK if together else WARP
        asked = f"cuda.syncthreads_or(np.int32({name} > 0))" if together else f"cuda.any_sync({scope.mask}, {name} > 0)"
        inner = scope.within(level, values=(*scope.values, Value(name, -5, 5, THREAD)))
        inner = inner._replace(loop=Loop(inner.level, inner.mask, dict(self.states), ("break",)))
        body = self.around(inner, lambda: self.statements(inner, self.draw.randrange(1, 3)))
        begin = f"{name} = ({self.integer(scope, THREAD, 1).text}) % {self.draw.randrange(1, 5)}"
        return [begin, (f"while ⟨{asked}⟩:", [f"{name} -= 1", *body])]

    def stride(self, scope: Scope) -> list[Any]:
        """Return a loop whose turns are shared out among the threads of the grid."""
        form = self.draw.randrange(7 if self.dims == 1 else 10)
        if form >= 5:
            return self.nested_stride(scope, form)
        j = self.name("j")
        value = Value(j, 0, self.n - 1, THREAD)
        own = {
            "own": (*scope.own, f"y[{j}]", f"y[{j}]"),
            "ownf": (*scope.ownf, f"yf[{j}]"),
            "values": (*scope.values, value),
        }
        inner = scope.within(THREAD, **own, loop=None)
        ways = ("break",) if form == 1 else ("break", "continue")
        if form < 4:
            inner = inner._replace(loop=Loop(THREAD, None, dict(self.states), ways))
        if form == 4:
            return self.stride_of_blocks(scope, inner, j)
        body = self.around(inner, lambda: self.statements(inner, self.draw.randrange(1, 4)))
        if form == 1:
            return [f"{j} = i", (f"while {j} < n:", [*body, f"{j} += total"])]
        if form == 2:
            turn = self.name("e")
            return [(f"for {turn} in range((n - i + total - 1) // total):", [f"{j} = i + {turn} * total", *body])]
        whole = self.dims == 1 and form == 3
        return [(f"for {j} in range({'cuda.grid(1), n, cuda.gridsize(1)' if whole else 'i, n, total'}):", body)]

    def stride_of_blocks(self, scope: Scope, inner: Scope, j: str) -> list[Any]:
        first = self.name("j")
        around = scope.within(BLOCK, values=(*scope.values, Value(first, 0, self.n - 1, BLOCK)))
        around = around._replace(loop=Loop(around.level, around.mask, dict(self.states), ("break", "continue")))

        def body() -> list[Any]:
            before = self.statements(around, self.draw.randrange(0, 3))
            begin = [f"{j} = {first} + t", *before]
            return [
                *begin,
                *self.guarded(f"if {j} < n:", inner, around.within(THREAD)),
                *self.statements(around, self.draw.randrange(0, 3)),
            ]

        return [(f"for {first} in range(b * nt, n, total):", self.around(around, body))]

    def nested_stride(self, scope: Scope, form: int) -> list[Any]:
        """Return loops over an array of two dimensions, each of whose items belongs to one thread."""
        r, c = self.name("j"), self.name("j")
        height, width = self.n % 11 + 3, self.n % 37 + 4
        rows, columns = Value(r, 0, height - 1, THREAD), Value(c, 0, width - 1, THREAD)
        own = {"own": (*scope.own, f"z[{r}, {c}]", f"z[{r}, {c}]"), "values": (*scope.values, rows, columns)}
        inner = scope.within(THREAD, **own, loop=None)
        if self.dims == 1:
            around = scope.within(BLOCK, values=(*scope.values, rows._replace(level=BLOCK)), loop=None)

            def body() -> list[Any]:
                more = self.statements(around, self.draw.randrange(0, 2))
                return [
                    *more,
                    (f"for {c} in range(t, {width}, nt):", self.statements(inner, self.draw.randrange(1, 3))),
                ]

            return [(f"for {r} in range(b, {height}, bs):", self.around(around, body))]
        body = self.around(inner, lambda: self.statements(inner, self.draw.randrange(1, 4)))
        heads = (f"for {r} in range(row, z.shape[0], rows):", f"for {c} in range(col, z.shape[1], cols):")
        if form == 7:
            return [f"{r} = row", (f"while {r} < {height}:", [(heads[1], body), f"{r} += rows"])]
        if form == 8:
            return [f"{r}, {c} = row, col", (f"if {r} < {height} and {c} < {width}:", body)]
        return [(heads[0], [(heads[1], body)])] if form == 5 else [(heads[1], [(heads[0], body)])]
