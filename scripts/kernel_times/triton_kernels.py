"""Kernels in Triton, with as many items a program as the others have threads a block; products take Triton's own form.

Each function launches one on torch's current stream, with the arguments of the Python function.
"""

from __future__ import annotations

import triton
import triton.language as tl


@triton.jit
def _saxpy(a, x, y, out, n, size: tl.constexpr):
    i = tl.program_id(0) * size + tl.arange(0, size)
    tl.store(out + i, a * tl.load(x + i, mask=i < n) + tl.load(y + i, mask=i < n), mask=i < n)


def saxpy(a, x, y, out):
    """A thread an item."""
    _saxpy[(triton.cdiv(out.numel(), 1024),)](a, x, y, out, out.numel(), size=1024)


@triton.jit
def _block_sum(x, out, n, size: tl.constexpr):
    i = tl.program_id(0) * size + tl.arange(0, size)
    tl.store(out + tl.program_id(0), tl.sum(tl.load(x + i, mask=i < n, other=0.0)))


def block_sum(x, out):
    """Sums of 256 items."""
    _block_sum[(out.numel(),)](x, out, x.numel(), size=256)


@triton.jit
def _prefix(x, out, size: tl.constexpr):
    i = tl.program_id(0) * size + tl.arange(0, size)
    tl.store(out + i, tl.cumsum(tl.load(x + i), 0))


def prefix(x, out):
    """Prefix sums of 256 items."""
    _prefix[(x.numel() // 256,)](x, out, size=256)


@triton.jit
def _stencil(x, out, n, rows: tl.constexpr, columns: tl.constexpr):
    i = tl.program_id(1) * rows + tl.arange(0, rows)[:, None]
    j = tl.program_id(0) * columns + tl.arange(0, columns)[None, :]
    inside = (i > 0) & (i < n - 1) & (j > 0) & (j < n - 1)
    at = i * n + j
    total = tl.load(x + at - n, mask=inside) + tl.load(x + at + n, mask=inside)
    total += tl.load(x + at - 1, mask=inside) + tl.load(x + at + 1, mask=inside)
    tl.store(out + at, 0.25 * total, mask=inside)


def stencil(x, out):
    """The mean of four neighbours, inside."""
    n = len(x)
    _stencil[(triton.cdiv(n, 128), triton.cdiv(n, 8))](x, out, n, rows=8, columns=128)


@triton.jit
def _product(a, b, c, n, side: tl.constexpr, depth: tl.constexpr):
    i = (tl.program_id(1) * side + tl.arange(0, side))[:, None]
    j = (tl.program_id(0) * side + tl.arange(0, side))[None, :]
    total = tl.zeros((side, side), tl.float32)
    for start in range(0, n, depth):
        k = start + tl.arange(0, depth)
        left = tl.load(a + i * n + k[None, :], mask=(i < n) & (k[None, :] < n), other=0.0)
        right = tl.load(b + k[:, None] * n + j, mask=(k[:, None] < n) & (j < n), other=0.0)
        total += tl.dot(left, right, input_precision="ieee")
    tl.store(c + i * n + j, total, mask=(i < n) & (j < n))


def product(a, b, c):
    """A product of square matrices, float32 without tensor cores."""
    tiles = triton.cdiv(len(c), 64)
    _product[(tiles, tiles)](a, b, c, len(c), side=64, depth=32)
