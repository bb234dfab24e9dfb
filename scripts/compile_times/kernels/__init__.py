"""The kernels whose compiles are timed, each the same under gridjit's vocabulary and under numba-cuda's."""
