"""Kernels of many kinds, each in Python, in CUDA C and some in Triton, and their times on a GPU."""

from kernel_times import dense, items, reductions, sequences, sparse, stencils

KERNELS = (
    *items.KERNELS,
    *dense.KERNELS,
    *stencils.KERNELS,
    *reductions.KERNELS,
    *sparse.KERNELS,
    *sequences.KERNELS,
)
