"""Terms about threads: their places, their memory, and how they wait for and exchange with each other."""

from __future__ import annotations

from gridjit.compiler.frontend.language.terms import NEITHER, Chapter, Term

_NUMBERS, _INTEGERS = "i32 u32 i64 u64 f32 f64", "i32 u32 i64 u64"
_OLD = "old = {}({x}, 0, {x}[t])"

POSITIONS = Chapter(
    "Positions and sizes",
    "Blocks and grids have up to three axes. `gridjit.static` has [the launch as constants](sensitivity.md): a kernel "
    "that uses one is compiled again for each of its values.",
    (
        Term("cuda.threadIdx.x y z", "int32", "the thread's position in its block", "i32[t] = {}"),
        Term("cuda.blockIdx.x y z", "int32", "the block's position in the grid", "i32[t] = {}"),
        Term("cuda.blockDim.x y z", "int32", "how many threads a block has", "i32[t] = {}"),
        Term("cuda.gridDim.x y z", "int32", "how many blocks the grid has", "i32[t] = {}"),
        Term(
            "cuda.grid",
            "int64; for 2 or 3 axes a tuple of them",
            "the thread's position in the grid; the number of axes is a constant",
            "x, y = cuda.grid(2)",
        ),
        Term(
            "cuda.gridsize", "int64; for 2 or 3 axes a tuple of them", "the grid's threads", "i64[t] = cuda.gridsize(1)"
        ),
        Term("cuda.laneid", "int32", "the thread's lane in its warp, 0 to 31", "i32[t] = cuda.laneid"),
        Term("cuda.warpsize", "int32", "32", "i32[t] = cuda.warpsize"),
        Term("cuda.lanemask_lt", "uint32", "the mask of the lanes below this lane", "u32[t] = cuda.lanemask_lt()"),
        Term("static.blockDim.x y z", "a constant", "the launch's threads in a block", "i32[t] = gridjit.{}"),
        Term("static.gridDim.x y z", "a constant", "the launch's blocks in the grid", "i32[t] = gridjit.{}"),
        Term(
            "static.sharedmem",
            "a constant",
            "the launch's bytes of dynamic shared memory",
            "i32[t] = gridjit.static.sharedmem",
        ),
    ),
)

MEMORY = Chapter(
    "Shared, local and constant memory",
    "Shapes are constants: literals, globals, `gridjit.static`, or results of arithmetic with these. An array of 0 "
    "items stands for the launch's dynamic shared memory; all arrays of 0 items in a kernel begin at the same address.",
    (
        Term(
            "cuda.shared.array",
            "`(shape, dtype, alignment=None)`",
            "an array of the block, not initialized",
            "tile = cuda.shared.array((8, 9), np.float32)",
        ),
        Term(
            "cuda.shared.array",
            "`(0, dtype)`",
            "the dynamic shared memory, as many items as the launch gives it",
            "dynamic = cuda.shared.array(0, np.int32)",
        ),
        Term(
            "cuda.local.array",
            "`(shape, dtype, alignment=None)`",
            "an array of the thread, not initialized",
            "mine = cuda.local.array(4, np.float64)",
        ),
        Term(
            "cuda.const.array_like",
            "`(array)`",
            "a constant array with the contents of a global array, copied when the kernel is compiled",
            "f64[t] = cuda.const.array_like(TABLE)[t % 8]",
        ),
        Term(
            "cuda.ldca ldcg ldcs ldlu ldcv",
            "`(array, index)`; a number",
            "`array[index]`, read with PTX's cache operator ca, cg, cs, lu or cv; cv reads memory again each time",
            "f64[t] = {}(f64, t)",
        ),
        Term(
            "cuda.stcg stcs stwb stwt",
            "`(array, index, value)`",
            "`array[index] = value`, written with PTX's cache operator cg, cs, wb or wt",
            "{}(f64, t, 1.0)",
        ),
    ),
)

ATOMICS = Chapter(
    "Atomic operations",
    "Each takes an array, an index (a tuple for several axes) and a value, and returns the item's value before. Items "
    "of other types than these are refused.",
    (
        Term("cuda.atomic.add sub", "", "`array[i] += value`, `-=`", _OLD, _NUMBERS),
        Term("cuda.atomic.max min", "", "the larger, the smaller", _OLD, _NUMBERS),
        Term("cuda.atomic.nanmax nanmin", "", "the same, where a NaN counts as missing", _OLD, _NUMBERS),
        Term("cuda.atomic.and_ or_ xor", "", "`&=`, `\\|=`, `^=`", _OLD, _INTEGERS),
        Term("cuda.atomic.exch", "", "`array[i] = value`", _OLD, _INTEGERS),
        Term("cuda.atomic.inc", "", "one more, and 0 after `value`", "old = {}({x}, 0, 31)", "u32 u64"),
        Term(
            "cuda.atomic.dec",
            "",
            "one less; `value` after 0 and for more than `value`",
            "old = {}({x}, 0, 31)",
            "u32 u64",
        ),
        Term(
            "cuda.atomic.cas",
            "`(array, index, old, value)`",
            "write `value` if the item is `old`",
            "old = {}({x}, 1, 0, 5)",
            _INTEGERS,
        ),
        Term(
            "cuda.atomic.compare_and_swap",
            "`(array, old, value)`",
            "the same for the first item of an array of one axis",
            "old = {}({x}, 0, 5)",
            _INTEGERS,
        ),
    ),
)

BARRIERS = Chapter(
    "Barriers, fences and waiting",
    "A barrier orders the memory accesses of its threads. All threads of the block must reach the same `syncthreads`.",
    (
        Term("cuda.syncthreads", "", "wait for all threads of the block", "cuda.syncthreads()"),
        Term(
            "cuda.syncthreads_count",
            "`(int)`; int32",
            "the same; the number of threads whose argument is not 0",
            "i32[t] = cuda.syncthreads_count(t % 2)",
        ),
        Term(
            "cuda.syncthreads_and syncthreads_or",
            "`(int)`; int32",
            "the same; whether all, or any, threads' arguments are not 0",
            "i32[t] = {}(t % 2)",
        ),
        Term("cuda.syncwarp", "`(mask=0xFFFFFFFF)`", "wait for the lanes of the mask", "cuda.syncwarp(0xFFFFFFFF)"),
        Term(
            "cuda.threadfence_block threadfence threadfence_system",
            "",
            "make earlier writes visible before later writes: to the block, the device, or everywhere",
            "{}()",
        ),
        Term("cuda.nanosleep", "`(uint32)`", "suspend the thread for about so many nanoseconds", "cuda.nanosleep(100)"),
        Term(
            "griddepcontrol.wait",
            "",
            "wait for the grids that this grid depends on ([programmatic launches](streams.md))",
            "griddepcontrol.wait()",
        ),
        Term(
            "griddepcontrol.launch_dependents",
            "",
            "let the grids that depend on this grid begin",
            "griddepcontrol.launch_dependents()",
        ),
    ),
)

_WORDS = "i32 i64 f32 f64"

WARPS = Chapter(
    "Warps",
    "The mask has a bit for each lane that takes part. Each lane of the mask must reach the operation.",
    (
        Term(
            "cuda.shfl_sync",
            "`(mask, value, lane)`; the value's type",
            "the value of another lane",
            "{x}[t] = {}(0xFFFFFFFF, {x}[t], 0)",
            _WORDS,
        ),
        Term(
            "cuda.shfl_up_sync shfl_down_sync",
            "`(mask, value, delta)`; the value's type",
            "the value of the lane that is `delta` below or above, or the own value",
            "{x}[t] = {}(0xFFFFFFFF, {x}[t], 1)",
            _WORDS,
        ),
        Term(
            "cuda.shfl_xor_sync",
            "`(mask, value, bits)`; the value's type",
            "the value of the lane whose number differs in these bits",
            "{x}[t] = {}(0xFFFFFFFF, {x}[t], 16)",
            _WORDS,
        ),
        Term(
            "cuda.all_sync any_sync",
            "`(mask, predicate)`; bool",
            "whether the predicate holds in all lanes, or in any",
            "b1[t] = {}(0xFFFFFFFF, f32[t] > 0.5)",
        ),
        Term(
            "cuda.eq_sync",
            "`(mask, predicate)`; bool",
            "whether the predicate is the same in all lanes",
            "b1[t] = cuda.eq_sync(0xFFFFFFFF, f32[t] > 0.5)",
        ),
        Term(
            "cuda.ballot_sync",
            "`(mask, predicate)`; int32",
            "the mask of the lanes in which the predicate holds",
            "i32[t] = cuda.ballot_sync(0xFFFFFFFF, f32[t] > 0.5)",
        ),
        Term(
            "cuda.match_any_sync",
            "`(mask, value)`; int32",
            "the mask of the lanes with this lane's value",
            "i32[t] = {}(0xFFFFFFFF, {x}[t])",
            _WORDS,
        ),
        Term(
            "cuda.match_all_sync",
            "`(mask, value)`; (int32, bool)",
            "the mask if all lanes have the same value, else 0; and whether they have",
            "same, equal = {}(0xFFFFFFFF, {x}[t])",
            _WORDS,
        ),
        Term("cuda.activemask", "uint32", "lanes that are here together", "u32[t] = cuda.activemask()"),
    ),
)

GROUPS = Chapter(
    "Grids and clusters",
    "A kernel with `this_grid().sync()` is launched cooperatively. numba-cuda has no names for a block's place in its "
    "cluster; [the host knows the PTX of clusters](host-target.md#clusters), by inline PTX in an intrinsic.",
    (
        Term("cuda.cg.this_grid", "a grid group", "the grid as a group", "grid = cuda.cg.this_grid()"),
        Term("cuda.cg.GridGroup.sync", "int32", "wait for all threads of the grid", "cuda.cg.this_grid().sync()"),
        Term(
            "ranks and sizes of groups",
            "",
            "use [positions and sizes](#positions-and-sizes)",
            "i64[t] = cuda.cg.this_grid().thread_rank()",
            targets=NEITHER,
            syntax=True,
        ),
    ),
)

CHAPTERS = (POSITIONS, MEMORY, ATOMICS, BARRIERS, WARPS, GROUPS)
