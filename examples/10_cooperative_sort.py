"""A cooperative library in twenty lines: `sort_block` sorts a value of each thread, for whatever block is launched.

The library asks for the block size while the kernel is compiled, and has shared memory of that size: the caller passes
neither. docs/tutorials/cooperative-library.md says how such libraries work.
"""

import numpy as np

import gridjit
from gridjit import cuda
from gridjit.launchconfig import ensure_current_launch_config


def sort_block(value):
    """In a kernel: return the value that this thread has once those of the block are sorted (float64)."""
    raise TypeError("sort_block is called in kernels")


@cuda.extending.overload(sort_block)
def overload_sort_block(value):
    threads = ensure_current_launch_config().blockdim[0]
    if threads & (threads - 1):
        raise ValueError(f"sort_block needs a block of a power of two, not of {threads}")

    def bitonic(value):
        tile, me = cuda.shared.array(threads, np.float64), cuda.threadIdx.x
        tile[me] = value
        run = 2
        while run <= threads:
            step = run // 2
            while step:
                cuda.syncthreads()
                other = me ^ step
                if other > me and (tile[me] > tile[other]) == ((me & run) == 0):
                    tile[me], tile[other] = tile[other], tile[me]
                step //= 2
            run *= 2
        cuda.syncthreads()
        return tile[me]

    return bitonic


@gridjit.jit
def sort_rows(rows):
    rows[cuda.blockIdx.x, cuda.threadIdx.x] = sort_block(rows[cuda.blockIdx.x, cuda.threadIdx.x])


def main():
    for width in (32, 256):
        rows = np.random.default_rng(width).random((100, width))
        on_device = cuda.to_device(rows)
        sort_rows[100, width](on_device)
        assert (on_device.copy_to_host() == np.sort(rows)).all()
    facts = {str(found.footprint) for found in sort_rows.specializations}
    print("rows of 32 and 256 are sorted;", *sorted(facts))


if __name__ == "__main__":
    main()
