"""Rows about threads: their places, their memory, and how they wait for and exchange with each other."""

from __future__ import annotations

from gridjit.compiler.frontend.language.rows import BOTH, HOST, NEITHER, Row, Section

_NUMBERS = "int32, uint32, int64, uint64, float32, float64"
_INTEGERS = "int32, uint32, int64, uint64"

POSITIONS = Section(
    "Positions and sizes",
    "Blocks and grids have up to three axes. `gridjit.static` has [the launch as constants](sensitivity.md): a kernel that "
    "uses one is compiled again for each of its values.",
    (
        Row("cuda.threadIdx.x y z", "int32", "the thread's position in its block", "i32[t] = {}"),
        Row("cuda.blockIdx.x y z", "int32", "the block's position in the grid", "i32[t] = {}"),
        Row("cuda.blockDim.x y z", "int32", "how many threads a block has", "i32[t] = {}"),
        Row("cuda.gridDim.x y z", "int32", "how many blocks the grid has", "i32[t] = {}"),
        Row(
            "cuda.grid",
            "int64; for 2 or 3 axes a tuple of them",
            "the thread's position in the grid; the number of axes is a constant",
            "x, y = cuda.grid(2)",
        ),
        Row("cuda.gridsize", "int64; for 2 or 3 axes a tuple of them", "the grid's threads", "i64[t] = cuda.gridsize(1)"),
        Row("cuda.laneid", "int32", "the thread's lane in its warp, 0 to 31", "i32[t] = cuda.laneid"),
        Row("cuda.warpsize", "int32", "32", "i32[t] = cuda.warpsize"),
        Row("cuda.lanemask_lt", "uint32", "the mask of the lanes below this lane", "u32[t] = cuda.lanemask_lt()"),
        Row("static.blockDim.x y z", "a constant", "the launch's threads in a block", "i32[t] = gridjit.{}"),
        Row("static.gridDim.x y z", "a constant", "the launch's blocks in the grid", "i32[t] = gridjit.{}"),
        Row(
            "static.sharedmem",
            "a constant",
            "the launch's bytes of dynamic shared memory",
            "i32[t] = gridjit.static.sharedmem",
        ),
    ),
)

MEMORY = Section(
    "Memory",
    "Shapes are constants: literals, globals, `gridjit.static`, or results of arithmetic with these. Arrays of 0 items "
    "stand for the launch's dynamic shared memory. All such arrays of a kernel begin at the same address.",
    (
        Row(
            "cuda.shared.array",
            "`(shape, dtype, alignment=None)`",
            "an array of the block, not initialized",
            "tile = cuda.shared.array((8, 9), np.float32)",
        ),
        Row(
            "cuda.shared.array",
            "`(0, dtype)`",
            "the dynamic shared memory, as many items as the launch gives it",
            "dynamic = cuda.shared.array(0, np.int32)",
        ),
        Row(
            "cuda.local.array",
            "`(shape, dtype, alignment=None)`",
            "an array of the thread, not initialized",
            "mine = cuda.local.array(4, np.float64)",
        ),
        Row(
            "cuda.const.array_like",
            "`(array)`",
            "a constant array with the contents of a global array, copied when the kernel is compiled",
            "f64[t] = cuda.const.array_like(TABLE)[t % 8]",
        ),
        Row(
            "cuda.ldca ldcg ldcs ldlu ldcv",
            "`(array, index)`; a number",
            "`array[index]`, read with PTX's cache operator ca, cg, cs, lu or cv; cv reads memory again each time",
            "f64[t] = {}(f64, t)",
        ),
        Row(
            "cuda.stcg stcs stwb stwt",
            "`(array, index, value)`",
            "`array[index] = value`, written with PTX's cache operator cg, cs, wb or wt",
            "{}(f64, t, 1.0)",
        ),
    ),
)

ATOMICS = Section(
    "Atomic operations",
    "Each takes an array, an index (a tuple for several axes) and a value, and returns the item's value before. Floats of "
    "the halves are added by [`cuda.fp16.atomicAdd`](#floats-of-16-and-8-bits).",
    (
        Row("cuda.atomic.add sub", _NUMBERS, "`array[i] += value`, `-=`", "old = {}(f64, 0, 1.0)"),
        Row("cuda.atomic.max min", _NUMBERS, "the larger or smaller; a NaN stays", "old = {}(f32, 0, np.float32(t))"),
        Row("cuda.atomic.nanmax nanmin", _NUMBERS, "the same, where a NaN counts as missing", "old = {}(f64, 0, 1.5)"),
        Row("cuda.atomic.and_ or_ xor", _INTEGERS, "`&=`, `\\|=`, `^=`", "old = {}(i32, 0, 6)"),
        Row("cuda.atomic.exch", _INTEGERS, "`array[i] = value`", "old = {}(i64, 0, 2)"),
        Row(
            "cuda.atomic.inc",
            "uint32, uint64",
            "one more, and 0 after `value`",
            "old = {}(u32, 0, 31)",
        ),
        Row(
            "cuda.atomic.dec",
            "uint32, uint64",
            "one less; `value` after 0, and in place of more than `value`",
            "old = {}(u64, 0, 31)",
        ),
        Row(
            "cuda.atomic.cas",
            _INTEGERS,
            "`(array, index, old, value)`: write `value` if the item is `old`",
            "old = {}(i32, 1, 0, 5)",
        ),
        Row(
            "cuda.atomic.compare_and_swap",
            _INTEGERS,
            "`(array, old, value)`: the same for the first item of an array of one axis",
            "old = {}(i32, 0, 5)",
        ),
    ),
)

BARRIERS = Section(
    "Barriers, fences and waiting",
    "A barrier orders the memory accesses of its threads. All threads of the block must reach the same `syncthreads`.",
    (
        Row("cuda.syncthreads", "", "wait for all threads of the block", "cuda.syncthreads()"),
        Row(
            "cuda.syncthreads_count",
            "`(int)`; int32",
            "the same; the number of threads whose argument is not 0",
            "i32[t] = cuda.syncthreads_count(t % 2)",
        ),
        Row(
            "cuda.syncthreads_and syncthreads_or",
            "`(int)`; int32",
            "the same; whether all, or any, threads' arguments are not 0",
            "i32[t] = {}(t % 2)",
        ),
        Row(
            "cuda.syncwarp", "`(mask=0xFFFFFFFF)`", "wait for the lanes of the mask", "cuda.syncwarp(0xFFFFFFFF)"
        ),
        Row(
            "cuda.threadfence_block threadfence threadfence_system",
            "",
            "make earlier writes visible before later writes: to the block, the device, or everywhere",
            "{}()",
        ),
        Row("cuda.nanosleep", "`(uint32)`", "suspend the thread for about so many nanoseconds", "cuda.nanosleep(100)"),
        Row(
            "griddepcontrol.wait",
            "",
            "wait for the grids that this grid depends on ([programmatic launches](graphs.md))",
            "griddepcontrol.wait()",
        ),
        Row(
            "griddepcontrol.launch_dependents",
            "",
            "let the grids that depend on this grid begin",
            "griddepcontrol.launch_dependents()",
        ),
    ),
)

WARPS = Section(
    "Warps",
    "The mask has a bit for each lane that takes part. Each lane of the mask must reach the operation.",
    (
        Row(
            "cuda.shfl_sync",
            "`(mask, value, lane)`; int32, int64, float32, float64",
            "the value of another lane",
            "f32[t] = cuda.shfl_sync(0xFFFFFFFF, f32[t], 0)",
        ),
        Row(
            "cuda.shfl_up_sync shfl_down_sync",
            "`(mask, value, delta)`; the same",
            "the value of the lane that is `delta` below or above, or the own value",
            "f64[t] = {}(0xFFFFFFFF, f64[t], 1)",
        ),
        Row(
            "cuda.shfl_xor_sync",
            "`(mask, value, bits)`; the same",
            "the value of the lane whose number differs in these bits",
            "i32[t] = cuda.shfl_xor_sync(0xFFFFFFFF, i32[t], 16)",
        ),
        Row(
            "cuda.all_sync any_sync",
            "`(mask, predicate)`; bool",
            "whether the predicate holds in all lanes, or in any",
            "b1[t] = {}(0xFFFFFFFF, f32[t] > 0.5)",
        ),
        Row(
            "cuda.eq_sync",
            "`(mask, predicate)`; bool",
            "whether the predicate is the same in all lanes",
            "b1[t] = cuda.eq_sync(0xFFFFFFFF, f32[t] > 0.5)",
        ),
        Row(
            "cuda.ballot_sync",
            "`(mask, predicate)`; int32",
            "the mask of the lanes in which the predicate holds",
            "i32[t] = cuda.ballot_sync(0xFFFFFFFF, f32[t] > 0.5)",
        ),
        Row(
            "cuda.match_any_sync",
            "`(mask, value)`; int32",
            "the mask of the lanes with this lane's value, of int32, int64, float32 or float64",
            "i32[t] = cuda.match_any_sync(0xFFFFFFFF, i32[t])",
        ),
        Row(
            "cuda.match_all_sync",
            "`(mask, value)`; (int32, bool)",
            "the mask if all lanes have the same value, else 0; and whether they have",
            "same, equal = cuda.match_all_sync(0xFFFFFFFF, i64[t])",
        ),
        Row("cuda.activemask", "uint32", "lanes that are here together", "u32[t] = cuda.activemask()"),
    ),
)

GROUPS = Section(
    "Grids and clusters",
    "A kernel with `this_grid().sync()` is launched cooperatively. numba-cuda has no names for a block's place in its "
    "cluster; [the host knows the PTX of clusters](host-target.md#clusters), by inline PTX in an intrinsic.",
    (
        Row("cuda.cg.this_grid", "a grid group", "the grid as a group", "grid = cuda.cg.this_grid()"),
        Row("cuda.cg.GridGroup.sync", "int32", "wait for all threads of the grid", "cuda.cg.this_grid().sync()"),
        Row("cuda.cg.this_grid.rank", "", "sizes and ranks of groups", "n = cuda.cg.this_grid().thread_rank()", NEITHER),
    ),
)

SECTIONS = (POSITIONS, MEMORY, ATOMICS, BARRIERS, WARPS, GROUPS)
