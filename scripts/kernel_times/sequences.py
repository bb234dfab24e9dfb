"""Kernels of many steps a block or a thread: soft-DTW, RNN-T's alphas, Fourier transforms, queens, random points."""

from __future__ import annotations

import math

import numpy as np
from numba import cuda
from numba.cuda.random import xoroshiro128p_dtype, xoroshiro128p_uniform_float32

from kernel_times.kernel import BARRIER, EXP2, Kernel, blocks, floats, zeros

ONE = np.float32(1)


def soft_dtw(d, gamma, r):
    """The costs of alignments by soft minima, diagonal by diagonal: a block a pair, a thread a row."""
    b, i = cuda.blockIdx.x, cuda.threadIdx.x
    rows, columns = d.shape[1], d.shape[2]
    for diagonal in range(rows + columns - 1):
        j = diagonal - i
        if i < rows and 0 <= j < columns:
            corner, up, left = -r[b, i, j] / gamma, -r[b, i, j + 1] / gamma, -r[b, i + 1, j] / gamma
            most = max(max(corner, up), left)
            total = math.exp(corner - most) + math.exp(up - most) + math.exp(left - most)
            r[b, i + 1, j + 1] = d[b, i, j] - gamma * (math.log(total) + most)
        cuda.syncthreads()


def rnnt_alphas(blank, label, alpha):
    """RNN-T's forward variables, diagonal by diagonal: a block an utterance, a thread a label."""
    b, u = cuda.blockIdx.x, cuda.threadIdx.x
    frames, labels = alpha.shape[1], alpha.shape[2]
    for diagonal in range(1, frames + labels - 1):
        t = diagonal - u
        if u < labels and 0 <= t < frames:
            if u == 0:
                alpha[b, t, 0] = alpha[b, t - 1, 0] + blank[b, t - 1, 0]
            elif t == 0:
                alpha[b, 0, u] = alpha[b, 0, u - 1] + label[b, 0, u - 1]
            else:
                stay = alpha[b, t - 1, u] + blank[b, t - 1, u]
                emit = alpha[b, t, u - 1] + label[b, t, u - 1]
                most = max(stay, emit)
                alpha[b, t, u] = most + math.log1p(math.exp(min(stay, emit) - most))
        cuda.syncthreads()


def fourier(x, roots, out):
    """Transforms of 1024 complex numbers, radix 2, a block each in shared memory."""
    tile = cuda.shared.array(1024, np.complex64)
    b, t = cuda.blockIdx.x, cuda.threadIdx.x
    tile[cuda.brev(np.uint32(t)) >> 22] = x[b, t]
    tile[cuda.brev(np.uint32(t + 512)) >> 22] = x[b, t + 512]
    half, stride = 1, 512
    while stride:
        cuda.syncthreads()
        k = t & (half - 1)
        j = 2 * t - k
        low, high = tile[j], tile[j + half] * roots[k * stride]
        tile[j] = low + high
        tile[j + half] = low - high
        half *= 2
        stride //= 2
    cuda.syncthreads()
    out[b, t] = tile[t]
    out[b, t + 512] = tile[t + 512]


def queens(side, counts):
    """How many ways there are to place queens after four, whose rows' columns are the thread's digits."""
    thread = cuda.grid(1)
    if thread >= counts.size:
        return
    full = (1 << side) - 1
    column, left, right = 0, 0, 0
    for _ in range(4):
        bit = 1 << thread % side
        thread //= side
        if (column | left | right) & bit:
            return
        column, left, right = column | bit, (left | bit) << 1, (right | bit) >> 1
    stack = cuda.local.array((16, 4), np.int32)
    stack[0, 0], stack[0, 1], stack[0, 2], stack[0, 3] = column, left, right, full & ~(column | left | right)
    depth, found = 0, 0
    while depth >= 0:
        free = stack[depth, 3]
        bit = free & -free
        if bit == 0:
            depth -= 1
            continue
        stack[depth, 3] = free ^ bit
        column = stack[depth, 0] | bit
        if column == full:
            found += 1
            continue
        left, right = (stack[depth, 1] | bit) << 1, (stack[depth, 2] | bit) >> 1
        depth += 1
        stack[depth, 0], stack[depth, 1], stack[depth, 2] = column, left, right
        stack[depth, 3] = full & ~(column | left | right)
    counts[cuda.grid(1)] = found


def random_points(states, turns, hits):
    """How many random points are in a quarter of a circle."""
    i = cuda.grid(1)
    if i < hits.size:
        inside = 0
        for _ in range(turns):
            x = xoroshiro128p_uniform_float32(states, i)
            y = xoroshiro128p_uniform_float32(states, i)
            if x * x + y * y <= ONE:
                inside += 1
        hits[i] = inside


def _costs(n):
    r = np.full((n, 129, 129), np.inf, np.float32)
    r[:, 0, 0] = 0
    return floats(n, 128, 128), np.float32(0.5), r


def _aligned(d, gamma, r):
    r = r.astype(np.float64)
    for i, j in np.ndindex(d.shape[1:]):
        near = np.array((r[:, i, j], r[:, i, j + 1], r[:, i + 1, j]))
        r[:, i + 1, j + 1] = d[:, i, j] - gamma * np.logaddexp.reduce(-near / gamma)
    return r


def _forward(blank, label, alpha):
    alpha = alpha.astype(np.float64)
    for t, u in np.ndindex(alpha.shape[1:]):
        if t or u:
            stay = alpha[:, t - 1, u] + blank[:, t - 1, u] if t else -np.inf
            emit = alpha[:, t, u - 1] + label[:, t, u - 1] if u else -np.inf
            alpha[:, t, u] = np.logaddexp(stay, emit)
    return alpha


def _ways(side, counts):
    def below(column, left, right):
        free = (1 << side) - 1 & ~(column | left | right)
        bits = (1 << place for place in range(side) if free >> place & 1)
        return (
            sum(below(column | bit, (left | bit) << 1, (right | bit) >> 1) for bit in bits)
            if free
            else (column == (1 << side) - 1)
        )

    found = np.zeros_like(counts)
    for thread in range(counts.size):
        column = left = right = 0
        for digit in range(4):
            bit = 1 << thread // side**digit % side
            if (column | left | right) & bit:
                break
            column, left, right = column | bit, (left | bit) << 1, (right | bit) >> 1
        else:
            found[thread] = below(column, left, right)
    return found


def _states(n):
    states = np.zeros(n, xoroshiro128p_dtype)
    for name, seed in (("s0", 1), ("s1", 2)):
        states[name] = np.random.default_rng(seed).integers(1, 1 << 63, n, dtype=np.uint64)
    return states


def _inside(states, turns, hits):
    first, second = states["s0"].copy(), states["s1"].copy()

    def random():
        found = (first + second >> np.uint64(11)) * 2.0**-53
        second[:] ^= first
        rotated = first << np.uint64(55) | first >> np.uint64(9)
        first[:] = rotated ^ second ^ second << np.uint64(14)
        second[:] = second << np.uint64(36) | second >> np.uint64(28)
        return np.minimum(found.astype(np.float32), np.float32(1 - 2**-24))

    return sum((random() ** 2 + random() ** 2 <= 1 for _ in range(turns)), np.zeros_like(hits))


_SIDES = {14**4: 14, 7**4: 7}

KERNELS = (
    Kernel(function=soft_dtw, cuda=r"""
int i = threadIdx.x;
d += blockIdx.x * rows * columns;
r += blockIdx.x * (rows + 1) * (columns + 1);
for (int diagonal = 0; diagonal < rows + columns - 1; diagonal++) {
    int j = diagonal - i;
    if (i < rows && j >= 0 && j < columns) {
        int at = i * (columns + 1) + j;
        float corner = -r[at] / gamma, up = -r[at + 1] / gamma, left = -r[at + columns + 1] / gamma;
        float most = fmaxf(fmaxf(corner, up), left);
        float total = expf(corner - most) + expf(up - most) + expf(left - most);
        r[at + columns + 2] = d[i * columns + j] - gamma * (logf(total) + most);
    }
    __syncthreads();
}""",
        arguments=_costs, launch=lambda n: ((n,), (128,)), ints=lambda n: {"rows": 128, "columns": 128},
        sizes=(1024, 2), expected=_aligned, tolerance=1e-4, work=EXP2),
    Kernel(function=rnnt_alphas, cuda=r"""
int u = threadIdx.x, skipped = blockIdx.x * frames * labels;
blank += skipped;
label += skipped;
alpha += skipped;
for (int diagonal = 1; diagonal < frames + labels - 1; diagonal++) {
    int t = diagonal - u, at = t * labels + u;
    if (u < labels && t >= 0 && t < frames) {
        if (u == 0) {
            alpha[at] = alpha[at - labels] + blank[at - labels];
        } else if (t == 0) {
            alpha[at] = alpha[at - 1] + label[at - 1];
        } else {
            float stay = alpha[at - labels] + blank[at - labels], emit = alpha[at - 1] + label[at - 1];
            float most = fmaxf(stay, emit);
            alpha[at] = most + log1pf(expf(fminf(stay, emit) - most));
        }
    }
    __syncthreads();
}""",
        arguments=lambda n: (-floats(n, 150, 64), -floats(n, 150, 64, seed=1), zeros(n, 150, 64)),
        launch=lambda n: ((n,), (64,)), ints=lambda n: {"frames": 150, "labels": 64}, sizes=(1024, 2),
        expected=_forward, tolerance=1e-4, work=EXP2),
    Kernel(function=fourier, cuda=r"""
__shared__ float2 tile[1024];
int t = threadIdx.x;
x += blockIdx.x * 1024;
out += blockIdx.x * 1024;
tile[__brev(t) >> 22] = x[t];
tile[__brev(t + 512) >> 22] = x[t + 512];
for (int half = 1, stride = 512; stride; half *= 2, stride /= 2) {
    __syncthreads();
    int k = t & (half - 1), j = 2 * t - k;
    float2 low = tile[j], high = tile[j + half], w = roots[k * stride];
    high = make_float2(high.x * w.x - high.y * w.y, high.x * w.y + high.y * w.x);
    tile[j] = make_float2(low.x + high.x, low.y + high.y);
    tile[j + half] = make_float2(low.x - high.x, low.y - high.y);
}
__syncthreads();
out[t] = tile[t];
out[t + 512] = tile[t + 512];""",
        arguments=lambda n: (
            (floats(n, 1024) + 1j * floats(n, 1024, seed=1)).astype(np.complex64),
            np.exp(-2j * np.pi * np.arange(512) / 1024).astype(np.complex64),
            zeros(n, 1024, dtype=np.complex64),
        ),
        launch=lambda n: ((n,), (512,)), sizes=(8192, 3), expected=lambda x, *_: np.fft.fft(x), tolerance=1e-5,
        work=BARRIER),
    Kernel(function=queens, cuda=r"""
int thread = GRID(x), rest = thread;
if (thread >= n) return;
int full = (1 << side) - 1, column = 0, left = 0, right = 0;
for (int row = 0; row < 4; row++, rest /= side) {
    int bit = 1 << rest % side;
    if ((column | left | right) & bit) return;
    column |= bit;
    left = (left | bit) << 1;
    right = (right | bit) >> 1;
}
int4 stack[16];
stack[0] = make_int4(column, left, right, full & ~(column | left | right));
int depth = 0, found = 0;
while (depth >= 0) {
    int bit = stack[depth].w & -stack[depth].w;
    if (bit == 0) {
        depth--;
        continue;
    }
    stack[depth].w ^= bit;
    column = stack[depth].x | bit;
    if (column == full) {
        found++;
        continue;
    }
    left = (stack[depth].y | bit) << 1;
    right = (stack[depth].z | bit) >> 1;
    stack[++depth] = make_int4(column, left, right, full & ~(column | left | right));
}
counts[thread] = found;""",
        arguments=lambda n: (np.int32(_SIDES[n]), zeros(n, dtype=np.int32)), launch=blocks(128), sizes=(14**4, 7**4),
        expected=_ways),
    Kernel(function=random_points, cuda=r"""
int i = GRID(x);
if (i >= n) return;
ulonglong2 s = states[i];
auto uniform = [&s] {
    unsigned long long sum = s.x + s.y;
    s.y ^= s.x;
    s.x = (s.x << 55 | s.x >> 9) ^ s.y ^ s.y << 14;
    s.y = s.y << 36 | s.y >> 28;
    return fminf(float((sum >> 11) * (1.0 / (1ull << 53))), 0x1.fffffep-1f);
};
int inside = 0;
for (int turn = 0; turn < turns; turn++) {
    float x = uniform(), y = uniform();
    if (x * x + y * y <= 1.0f) inside++;
}
states[i] = s;
hits[i] = inside;""",
        arguments=lambda n: (_states(n), np.int32(256), zeros(n, dtype=np.int32)), sizes=(1 << 18, 500),
        expected=_inside, apart=1e-2, work=r"cvt\.rn\.f32\.f64|F2F\.F32\.F64"),
)  # fmt: skip
