"""One process's first launch of a huge tiered kernel: `first_launch.py prepare` leaves generic code in the cache, and
`first_launch.py launch` prints the milliseconds of the first launch as JSON, of wall and of CPU time.

NumPy, gridjit and the kernel's module are imported before the time starts, as a program's own imports are.
"""

from __future__ import annotations

import json
import sys
import time

import numpy as np

import gridjit
from compile_times.kernels.huge import block_solver

SIGNATURE = "void(float64[:,:,:,::1], float64[:,:,:,::1], float64[:,:,::1])"


def main() -> None:
    """Compile the generic code, or launch what was not launched before."""
    kernel = gridjit.jit(block_solver.py_func, specialize="blockdim", tiered=True)
    if sys.argv[1] == "prepare":
        kernel.compile(SIGNATURE)
        return
    arguments = [np.ones(shape) for shape in ((4, 4, 5, 5), (4, 4, 5, 5), (4, 4, 5))]
    wall, cpu = time.perf_counter(), time.process_time()
    kernel[(1, 1), (4, 4)](*arguments)
    wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
    (found,) = kernel.specializations
    assert (found.tier, kernel.stats.compiles, kernel.stats.generic_launches) == ("generic", 0, 1), kernel.explain()
    print(json.dumps({"wall": wall * 1e3, "cpu": cpu * 1e3}))


if __name__ == "__main__":
    main()
