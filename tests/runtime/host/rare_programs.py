"""Small programs in which some threads of a row do something by themselves: drawn at random, and run as plain Python.

Two shared tiles take turns: in each phase, between two barriers, threads write their own items of one, and read any of
the other. Rare threads have items of their own besides (a tile's border), and an array of their own. In Python, each
thread is a generator that stops at every barrier.
"""

# mypy: ignore-errors
from __future__ import annotations

import random
from types import FunctionType, SimpleNamespace

import numpy as np

PLACES = ("tx == 0", "tx == w - 1", "tx == 2", "tx == w - 2", "tx == 7", "tx == w - 3")
CONDITIONS = (
    *("i % 3 == 0", "ty == 1", "i < n * 3", "v % 2 == 0", "j > 2", "x[i % m] > 40", "ty == h - 1", "b == 1"),
    *("tx < n", "j >= n * 2", "tx <= ty", "tx + 2 < w and ty > 0"),
)
SIZES = ("n", "w", "h", "3", "(u % 5 + 1)", "(ty + 2)")
HEAD = """\
def kernel(x, out, sums, ends, n, m):
    A = cuda.shared.array((4, 48), np.int64)
    B = cuda.shared.array((4, 48), np.int64)
    tx, ty, w, h = cuda.threadIdx.x, cuda.threadIdx.y, cuda.blockDim.x, cuda.blockDim.y
    b = cuda.blockIdx.x
    i, j, v, u = b * w * h + tx + ty * w, b * w + tx, tx & 7, 1
    if tx == 0:
        for q in range(48):
            A[ty, q] = q
            B[ty, q] = q * 5
    cuda.syncthreads()
"""


def source(seed: int) -> str:
    """Return a kernel kernel(x, out, sums, ends, n, m)."""
    return _Program(random.Random(seed)).source()


class _Program:
    def __init__(self, draw):
        self.draw = draw
        self.places = draw.sample(range(len(PLACES)), draw.choice([1, 2, 2, 3]))
        self.loops = 0

    def source(self):
        lines, mine, others = HEAD.splitlines(), "A", "B"
        guard = self.draw.choice(["", "", "if j < n * 9:", "if j >= n * 9: return"])
        lines += [f"    {guard}"] if guard.endswith("return") else []
        for _ in range(self.draw.choice([1, 2, 2, 3])):
            body = [f"C[ty, tx + 1] = {self.value()}"] if self.draw.random() < 0.8 else []
            body += [line for _ in range(self.draw.choice([2, 3, 4, 5])) for line in self.statement(0, None)]
            around = f"    {guard}\n        " if guard.endswith(":") else "    "
            inner = "\n" + " " * (8 if guard.endswith(":") else 4)
            text = around + inner.join(line.replace("C[", f"{mine}[").replace("P[", f"{others}[") for line in body)
            lines += [text, "    cuda.syncthreads()"]
            mine, others = others, mine
        last = f"    out[i] = (out[i] + v + u + {others}[ty, (tx * 5 + 3) % 48]) & 0xFFFFF"
        return "\n".join([*lines, last]) + "\n"

    def atom(self):
        return self.draw.choice(["v", "u", "tx", "ty", "i", "n", "5", f"x[(i + {self.draw.randrange(9)}) % m]"])

    def value(self):
        kind, one, other = self.draw.randrange(5), self.atom(), self.atom()
        if kind == 0:
            return f"(({one} + 40) // {self.draw.choice(SIZES)}) & 0xFFF"
        if kind == 1:
            return f"(({one} + 40) % {self.draw.choice(SIZES)}) & 0xFFF"
        if kind == 2:
            return f"({one} if {self.draw.choice(CONDITIONS)} else {other}) & 0xFFF"
        return f"({one} * {self.draw.randrange(1, 7)} + {other}) & 0xFFF"

    def load(self, place):
        own = [] if place is None else [f"C[ty, {40 + place}]", f"ends[b, ty, {place}]"] * 2
        any_item = f"P[(ty + {self.draw.randrange(3)}) % h, (tx + {self.draw.randrange(4)}) % 47]"
        return self.draw.choice(["C[ty, tx + 1]", "out[i]", any_item, *own])

    def statement(self, depth, place):
        """Return the lines of a statement, within that of rare threads at a place, if one is given."""
        kind = self.draw.random()
        if kind < 0.18:
            return [f"{self.draw.choice('uv')} = {self.value()}"]
        if kind < 0.46:
            return [f"{self.draw.choice(['C[ty, tx + 1]', 'out[i]'])} = {self.value()}"]
        if kind < 0.50:
            return [f"{self.draw.choice('uv')} += {self.load(place)} & 0xFF"]
        if kind < 0.53:
            return [f"cuda.atomic.add(sums, {self.draw.randrange(4)}, {self.value()})"]
        if place is not None and kind < 0.75:
            return [self.alone(place)]
        if depth == 3:
            return [f"v += {self.atom()} & 0xFF"]
        if kind < 0.80 and place is None:
            return self.rare(depth)
        if kind < 0.90:
            return self.block(f"if {self.draw.choice(CONDITIONS)}:", depth, place)
        self.loops += 1
        loop = self.block(f"for q{self.loops} in range({self.draw.choice(['2', 'n % 3', 'ty'])}):", depth, place)
        leave = f"    if {PLACES[self.places[0]]}: {self.draw.choice(['break', 'continue'])}"
        return [*loop, leave] if self.draw.random() < 0.2 else loop

    def rare(self, depth):
        place = self.draw.choice(self.places)
        more = self.draw.choice(["", "", f" and {self.draw.choice(CONDITIONS)}"])
        head = f"if {PLACES[place]}{more}:"
        if self.draw.random() < 0.6:
            return [head, *(f"    {self.alone(place)}" for _ in range(self.draw.choice([1, 2])))]
        otherwise = self.block("else:", depth, None) if self.draw.random() < 0.3 else []
        return self.block(head, depth, place) + otherwise

    def alone(self, place):
        own = f"ends[b, ty, {place}]"
        kinds = (
            f"C[ty, {40 + place}] = {self.value()}",
            f"{own} = {self.value()}",
            f"{own} += {self.load(place)} & 0xFF",
        )
        return self.draw.choice(kinds)

    def block(self, head, depth, place):
        inner = [line for _ in range(self.draw.choice([1, 2, 3])) for line in self.statement(depth + 1, place)]
        return [head, *(f"    {line}" for line in inner)]


def run_in_python(text, grid, block, arguments):
    """Run a program for every thread of a grid."""
    names = {"np": np}
    exec(text.replace("cuda.syncthreads()", "yield"), names)
    for number in range(grid):
        tiles, threads = {}, []
        for place in range(block[0] * block[1]):
            known = _cuda(number, place, block, tiles)
            threads.append(FunctionType(names["kernel"].__code__, {**names, "cuda": known})(*arguments))
        while threads:
            threads = [thread for thread in threads if next(thread, threads) is None]


def _cuda(number, place, block, tiles):
    """Return what stands for numba.cuda in a thread."""
    mine = []

    def tile(shape, kind):
        mine.append(shape)
        return tiles.setdefault(len(mine), np.zeros(shape, kind))

    def add(array, index, value):
        array[index] += value

    return SimpleNamespace(
        threadIdx=SimpleNamespace(x=place % block[0], y=place // block[0]),
        blockDim=SimpleNamespace(x=block[0], y=block[1]),
        blockIdx=SimpleNamespace(x=number),
        shared=SimpleNamespace(array=tile),
        atomic=SimpleNamespace(add=add),
    )
