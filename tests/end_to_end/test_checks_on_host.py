"""debug=True on the host: races, unwritten memory and indices out of bounds are errors that say who and where."""

# mypy: ignore-errors
from __future__ import annotations

import numpy as np
import pytest

import gridjit
from gridjit import cuda

pytestmark = pytest.mark.usefixtures("on_host")


def checked(function):
    return gridjit.jit(function, debug=True, opt=False)


def line_of(function, text):
    """Return the line of a function's source that contains text."""
    import inspect

    lines, first = inspect.getsourcelines(function)
    return first + next(number for number, line in enumerate(lines) if text in line)


def at(function, text):
    return rf"test_checks_on_host\.py:{line_of(function, text)}, in {function.__name__}"


def without_barrier(x):
    tile = cuda.shared.array(32, np.float32)
    t = cuda.threadIdx.x
    tile[t] = x[t]
    x[t] = tile[31 - t]


def with_barrier(x):
    tile = cuda.shared.array(32, np.float32)
    t = cuda.threadIdx.x
    tile[t] = x[t]
    cuda.syncthreads()
    x[t] = tile[31 - t]


def test_a_missing_barrier_is_an_error_that_names_both_lines_threads_and_the_array():
    read, write = at(without_barrier, "tile[31 - t]"), at(without_barrier, "tile[t] = x[t]")
    words = (
        rf"without_barrier: thread \(16, 0, 0\) of block \(0, 0, 0\) \({write}\) writes an item of shared array 'tile' "
        rf"that thread \(15, 0, 0\) of block \(0, 0, 0\) \({read}\) reads"
    )
    with pytest.raises(gridjit.RaceError, match=words):
        checked(without_barrier)[1, 32](np.ones(32, np.float32))


def test_each_of_several_findings_is_on_a_line_of_its_own():
    with pytest.raises(gridjit.RaceError) as caught:
        checked(without_barrier)[1, 32](np.ones(32, np.float32))
    first, second = str(caught.value).splitlines()
    assert "without_barrier: thread (16, 0, 0)" in first
    assert second.startswith("  thread (16, 0, 0)")


def test_what_is_found_comes_with_what_to_do_about_it():
    with pytest.raises(gridjit.RaceError, match=r"nothing orders the two; order them with cuda\.syncthreads\(\)"):
        checked(without_barrier)[1, 32](np.ones(32, np.float32))
    with pytest.raises(gridjit.UninitializedError, match="that nothing has written; write it first"):
        checked(adds_up)[1, 32](cuda.device_array(32, np.float32))


def test_a_race_between_blocks_comes_with_ways_to_order_blocks():
    with pytest.raises(gridjit.RaceError, match=r"order blocks with atomic operations, .* or two launches$"):
        checked(blocks_write)[2, 1](np.zeros(1))


def test_a_kernel_with_its_barrier_has_no_race():
    x = np.arange(32, dtype=np.float32)
    checked(with_barrier)[1, 32](x)
    assert x.tolist() == list(range(31, -1, -1))


@gridjit.jit(device=True)
def put(target, value):
    target[0] = value


def blocks_write(x):
    put(x, cuda.blockIdx.x)


def test_blocks_that_write_one_item_race_also_in_a_function():
    words = rf"thread \(0, 0, 0\) of block \(1, 0, 0\) \({at(put.py_func, 'target[0]')}\) writes .* block \(0, 0, 0\)"
    with pytest.raises(gridjit.RaceError, match=words):
        checked(blocks_write)[2, 1](np.zeros(1))


def plain_and_atomic(x, out):
    seen = x[0]
    cuda.atomic.add(x, 0, 1)
    out[cuda.grid(1)] = seen


def cleared_by_one_block(x):
    if cuda.grid(1) == 0:
        x[0] = 0
    cuda.syncthreads()
    cuda.atomic.add(x, 0, 1)


def only_atomic(x):
    cuda.atomic.add(x, 0, 1)
    cuda.atomic.max(x, 0, 1)


def test_an_atomic_operation_races_with_a_plain_read():
    with pytest.raises(gridjit.RaceError, match=r"atomically changes an item of array 'x' that .* reads"):
        checked(plain_and_atomic)[1, 4](np.zeros(1, np.int32), np.zeros(4))


def test_memory_that_one_block_clears_for_all_is_a_race():
    with pytest.raises(gridjit.RaceError, match=rf"{at(cleared_by_one_block, 'atomic.add')}.* block \(0, 0, 0\)"):
        checked(cleared_by_one_block)[2, 4](np.zeros(1, np.int32))


def test_atomic_operations_do_not_race_with_each_other():
    x = np.zeros(1, np.int64)
    checked(only_atomic)[4, 32](x)
    assert x[0] == 128


def failed_and_read(x, out):
    i = cuda.grid(1)
    if i == 0:
        cuda.atomic.cas(x, 0, 5, 6)
    else:
        out[i] = x[0]


def nothing_added_and_read(x, out):
    i = cuda.grid(1)
    if i == 0:
        cuda.atomic.add(x, 0, 0)
    else:
        out[i] = x[0]


def failed_and_written(x, out):
    i = cuda.grid(1)
    if i == 0:
        out[i] = cuda.atomic.cas(x, 0, 5, 6)
    else:
        x[0] = 7


def nothing_changed_by_any(x, out):
    out[cuda.grid(1)] = cuda.atomic.cas(x, 0, 5, 6) + cuda.atomic.add(x, 0, 0) + cuda.atomic.max(x, 0, -1)


@pytest.mark.each_value_once
@pytest.mark.parametrize("grid", [(1, 4), (4, 1)], ids=["threads", "blocks"])
@pytest.mark.parametrize("kernel", [failed_and_read, nothing_added_and_read, failed_and_written])
def test_an_atomic_operation_that_changes_nothing_races_as_one_that_does(kernel, grid):
    with pytest.raises(gridjit.RaceError, match=r"an item of array .x. that .* atomically changes"):
        checked(kernel)[grid](np.zeros(1, np.int32), np.zeros(4, np.int32))


def test_atomic_operations_that_change_nothing_do_not_race_with_each_other():
    x, out = np.full(1, 3, np.int32), np.zeros(8, np.int32)
    checked(nothing_changed_by_any)[2, 4](x, out)
    assert (x[0], out.tolist()) == (3, [9] * 8)


def under_a_lock(lock, x):
    while cuda.atomic.cas(lock, 0, 0, 1) != 0:
        pass
    x[0] += 1
    cuda.atomic.exch(lock, 0, 0)


def under_two_locks(locks, x):
    mine = cuda.threadIdx.x % 2
    while cuda.atomic.cas(locks, mine, 0, 1) != 0:
        pass
    x[0] += 1
    cuda.atomic.exch(locks, mine, 0)


def test_what_a_lock_guards_does_not_race_within_blocks_or_between_them():
    x = np.zeros(1, np.int64)
    checked(under_a_lock)[8, 32](np.zeros(1, np.int32), x)
    assert x[0] == 256


def test_what_two_locks_guard_races():
    with pytest.raises(gridjit.RaceError, match=at(under_two_locks, "x[0] += 1")):
        checked(under_two_locks)[1, 4](np.zeros(2, np.int32), np.zeros(1))


def in_warps(tile, reads):
    """Return a kernel in which a warp's barrier stands between a write and a read of another lane's item."""

    @checked
    def kernel(x, out):
        s = cuda.shared.array(64, np.int64) if tile else x
        t = cuda.threadIdx.x
        s[t] = t * 3 + 1
        cuda.syncwarp()
        out[t] = s[t ^ reads]

    return kernel


@pytest.mark.parametrize("tile", [True, False], ids=["shared", "global"])
def test_a_barrier_of_warps_orders_the_lanes_of_one_warp_only(tile):
    x, out = np.zeros(64, np.int64), np.zeros(64, np.int64)
    in_warps(tile, 31)[1, 64](x, out)
    assert (out == (np.arange(64) ^ 31) * 3 + 1).all()
    with pytest.raises(gridjit.RaceError, match="nothing orders the two"):
        in_warps(tile, 32)[1, 64](x, out)


@pytest.mark.parametrize("warps", [True, False])
def test_a_sum_by_halves_needs_barriers_of_the_block_down_to_one_warp(warps):
    @checked
    def kernel(x, out):
        s = cuda.shared.array(128, np.float32)
        t = cuda.threadIdx.x
        s[t] = x[t]
        cuda.syncthreads()
        half = 64
        while half > 0:
            if t < half:
                s[t] += s[t + half]
            if warps or half <= 16:
                cuda.syncwarp()
            else:
                cuda.syncthreads()
            half //= 2
        if t == 0:
            out[0] = s[0]

    out = np.zeros(1, np.float32)
    if warps:
        with pytest.raises(gridjit.RaceError, match="shared array 's'"):
            kernel[1, 128](np.ones(128, np.float32), out)
    else:
        kernel[1, 128](np.ones(128, np.float32), out)
        assert out[0] == 128


def by_masks(reads):
    """Return a kernel whose lanes meet in halves, then in their warp, and read in between."""

    @checked
    def kernel(x, out):
        s = cuda.shared.array(32, np.int64)
        t = cuda.threadIdx.x
        mask = 0xFFFF if t < 16 else 0xFFFF0000
        for turn in range(5):
            s[t] = x[t] + turn
            cuda.syncwarp(mask)
            out[t] = s[t ^ reads]
            if t < 16:
                cuda.syncwarp(0xFFFF)
            cuda.syncwarp()
            out[t] += s[31 - t]
            cuda.syncwarp()

    return kernel


def test_a_barrier_of_some_lanes_orders_only_these():
    x, out = np.arange(32), np.zeros(32, np.int64)
    by_masks(1)[1, 32](x, out)
    assert (out == (x ^ 1) + 31 - x + 8).all()
    with pytest.raises(gridjit.RaceError, match="shared array 's'"):
        by_masks(16)[1, 32](x, out)


def test_a_read_by_another_warp_is_remembered_beside_those_of_one_warp():
    @checked
    def kernel(out):
        s = cuda.shared.array(1, np.int64)
        t = cuda.threadIdx.x
        if t == 0:
            s[0] = 5
        cuda.syncthreads()
        out[t] = s[0]
        cuda.syncwarp()
        if t == 0:
            s[0] = 6

    kernel[1, 32](np.zeros(32, np.int64))
    with pytest.raises(gridjit.RaceError, match="shared array 's'"):
        kernel[1, 64](np.zeros(64, np.int64))


def test_fences_need_no_atomic_operation_beside_them():
    @checked
    def kernel(x):
        i = cuda.grid(1)
        x[i] *= 2
        cuda.threadfence()
        cuda.threadfence_block()
        cuda.threadfence_system()
        x[i] += 1

    x = np.arange(32)
    kernel[1, 32](x)
    assert (x == np.arange(32) * 2 + 1).all()


def last_block_sums(x, parts, count, out):
    last = cuda.shared.array(1, np.int32)
    if cuda.threadIdx.x == 0:
        parts[cuda.blockIdx.x] = x[cuda.blockIdx.x]
        cuda.threadfence()
        last[0] = cuda.atomic.add(count, 0, 1) == cuda.gridDim.x - 1
    cuda.syncthreads()
    if last[0] and cuda.threadIdx.x == 1:
        for i in range(cuda.gridDim.x):
            out[0] += parts[i]


def test_the_last_block_may_read_what_the_others_wrote_before_a_fence_and_a_counter():
    out = np.zeros(1)
    checked(last_block_sums)[8, 32](np.arange(8.0), cuda.device_array(8), np.zeros(1, np.int32), out)
    assert out[0] == 28


def raises_a_flag(x, value):
    x[0] = value


def writes_differ(x):
    x[0] = 1
    x[0] = cuda.threadIdx.x // 3


def test_threads_may_write_one_and_the_same_value():
    x = np.zeros(1, np.float32)
    checked(raises_a_flag)[4, 32](x, 7)
    assert x[0] == 7
    with pytest.raises(gridjit.RaceError):
        checked(writes_differ)[1, 4](np.zeros(1))


def neighbours(x):
    x[cuda.grid(1)] = cuda.grid(1)


@pytest.mark.some(1)
@pytest.mark.parametrize("kind", [np.uint8, np.int16, np.complex128])
def test_threads_that_write_bytes_side_by_side_do_not_race(kind):
    x = np.zeros(64, kind)
    checked(neighbours)[2, 32](x)
    assert x.tolist() == list(range(64))


def overlapping(x, y):
    i = cuda.threadIdx.x
    x[i] = 1
    y[i] = 2


def test_views_of_different_item_types_race_by_their_bytes():
    memory = np.zeros(64, np.uint8)
    checked(overlapping)[1, 8](memory[:32].view(np.int32), memory[32:40])
    with pytest.raises(gridjit.RaceError):
        checked(overlapping)[1, 8](memory[:32].view(np.int32), memory[4:12])


def reduces(x, out):
    part = cuda.shared.array(64, np.float64)
    t = cuda.threadIdx.x
    part[t] = x[cuda.grid(1)]
    cuda.syncthreads()
    k = 32
    while k > 0:
        if t < k:
            part[t] += part[t + k]
        cuda.syncthreads()
        k //= 2
    if t == 0:
        out[cuda.blockIdx.x] = part[0]


def counts(x, out):
    bins = cuda.shared.array(8, np.int32)
    t = cuda.threadIdx.x
    if t < 8:
        bins[t] = 0
    cuda.syncthreads()
    cuda.atomic.add(bins, x[cuda.grid(1)], 1)
    cuda.syncthreads()
    if t < 8:
        cuda.atomic.add(out, t, bins[t])


def test_reductions_and_histograms_in_shared_memory_raise_nothing():
    out, bins = np.zeros(4), np.zeros(8, np.int32)
    checked(reduces)[4, 64](np.ones(256), out)
    checked(counts)[4, 64](np.arange(256) % 8, bins)
    assert (out.tolist(), bins.tolist()) == ([64] * 4, [32] * 8)


def adds_up(x):
    cuda.atomic.add(x, cuda.threadIdx.x, 1)


def test_adding_to_memory_that_was_never_cleared_names_line_and_array():
    kernel, x = checked(adds_up), cuda.device_array(32, np.float32)
    with pytest.raises(
        gridjit.UninitializedError, match=rf"{at(adds_up, 'atomic.add')}.* array 'x' that nothing has written"
    ):
        kernel[1, 32](x)


def fills(x, n):
    if cuda.grid(1) < n:
        x[cuda.grid(1)] = 0


def reads(x, out):
    out[cuda.grid(1)] = x[cuda.grid(1)]


@pytest.mark.parametrize("debug", [True, False])
def test_what_any_kernel_wrote_is_written_and_the_rest_is_not(debug):
    reading, x, out = checked(reads), cuda.device_array(64), np.ones(64)
    gridjit.jit(fills, debug=debug, opt=False)[2, 32](x, 40)
    reading[1, 40](x, out)
    assert out.tolist() == [0] * 40 + [1] * 24
    with pytest.raises(gridjit.UninitializedError, match=r"thread \(40, 0, 0\)"):
        reading[1, 64](x, out)


def test_what_was_copied_to_the_device_is_written():
    kernel, x = checked(adds_up), cuda.device_array(32, np.float32)
    x.copy_to_device(np.zeros(32, np.float32))
    kernel[1, 32](x)
    kernel[1, 32](cuda.to_device(np.zeros(32, np.int32)))
    kernel[1, 32](np.empty(32))
    assert x.copy_to_host().tolist() == [1] * 32


def half_of_local(out):
    own = cuda.local.array(4, np.float64)
    own[1] = 2
    out[cuda.grid(1)] = own[cuda.threadIdx.x % 2]


def half_of_shared(out):
    tile = cuda.shared.array(64, np.int64)
    tile[cuda.threadIdx.x] = 1
    cuda.syncthreads()
    out[cuda.grid(1)] = tile[cuda.threadIdx.x * 2]


def test_local_memory_that_a_thread_did_not_write_is_unwritten_in_each_thread():
    kernel = checked(half_of_local)
    with pytest.raises(gridjit.UninitializedError, match="local array 'own' that nothing has written"):
        kernel[1, 32](np.zeros(32))


def test_a_finding_in_an_inlined_function_names_its_file_and_its_variables(tmp_path):
    lines = "def half(value):", "    own = cuda.local.array(2, np.float64)", "    own[0] = value", "    return own[1]"
    text, file, names = "\n".join(lines), tmp_path / "halves.py", {"cuda": cuda, "np": np}
    file.write_text(text)
    exec(compile(text, str(file), "exec"), names)
    half = gridjit.jit(names["half"], device=True, inline="always")

    def kernel(x):
        x[cuda.grid(1)] = half(x[0])

    with pytest.raises(
        gridjit.UninitializedError, match=r"halves\.py:4, in .*kernel\) reads an item of local array 'own'"
    ):
        checked(kernel)[1, 1](np.ones(1))


def test_shared_memory_that_another_block_wrote_is_unwritten():
    with pytest.raises(
        gridjit.UninitializedError, match=r"thread \(16, 0, 0\) .* shared array 'tile' that nothing has written"
    ):
        checked(half_of_shared)[2, 32](np.zeros(64, np.int64))


record = np.dtype([("id", np.int32), ("at", np.float64, (3,))], align=True)


def atomics(x, i):
    cuda.atomic.max(x, (1, i), 1)


def slices(x, i):
    part = x[1][2:5]
    part[i] = 1


def fields(x, i):
    x[1].at[i] = 1


def constant(x, i):
    x[0] = cuda.const.array_like(TABLE)[i]


TABLE = np.arange(4)


@pytest.mark.each_value_once
@pytest.mark.parametrize(
    ("function", "array", "axis", "size", "name"),
    [
        (atomics, np.zeros((3, 9), np.int32), 1, 9, "x"),
        (slices, np.zeros((3, 9)), 0, 3, "part"),
        (fields, np.zeros(4, record), 0, 3, "x"),
        (constant, np.zeros(4), 0, 4, ""),
    ],
)
@pytest.mark.parametrize("index", [9, -10])
def test_an_index_out_of_bounds_names_index_axis_size_and_array_wherever_it_is(
    function, array, axis, size, name, index
):
    whose = rf" of array '{name}'" if name else ".*"
    words = rf"index {index} of axis {axis}{whose}, whose size is {size}"
    with pytest.raises(IndexError, match=rf"{function.__name__}.*line \d+.*tid=\[0, 0, 0\].*{words}"):
        checked(function)[1, 1](array, index)


STRIDED, TRANSPOSED = np.arange(20)[::3], np.asfortranarray(np.arange(6).reshape(2, 3))


def known_items(x):
    x[0] = cuda.const.array_like(STRIDED)[2] + cuda.const.array_like(TRANSPOSED)[1, 0]


def test_items_of_constant_arrays_whose_places_are_known_are_read():
    x = np.zeros(1)
    checked(known_items)[1, 1](x)
    assert x[0] == 6 + 3


@gridjit.jit("float64(float64[::1], int64)", device=True)
def sum_to(x, n):
    if n <= 0:
        return x[0]
    return sum_to(x, n - 1) + x[n]


def sums(x, out):
    out[cuda.grid(1)] = sum_to(x, cuda.grid(1))


def test_recursive_functions_are_compiled_and_their_indices_checked():
    out = np.zeros(4)
    kernel = checked(sums)
    kernel[1, 4](np.arange(4.0), out)
    assert out.tolist() == [0, 1, 3, 6]
    with pytest.raises(IndexError, match=r"index is out of bounds of axis 0 of array 'x'$"):
        kernel[1, 4](np.arange(3.0), out)


def test_only_what_the_setting_names_is_checked(monkeypatch, restart):
    monkeypatch.setenv("GRIDJIT_HOST_CHECKS", "bounds,races")
    restart()
    checked(half_of_local)[1, 32](np.zeros(32))
    with pytest.raises(gridjit.RaceError):
        checked(without_barrier)[1, 32](np.ones(32, np.float32))
    monkeypatch.setenv("GRIDJIT_HOST_CHECKS", "bounds")
    restart()
    checked(without_barrier)[1, 32](np.ones(32, np.float32))
    with pytest.raises(IndexError):
        checked(without_barrier)[1, 32](np.ones(31, np.float32))


def test_a_setting_that_names_no_check_is_an_error_that_lists_them(monkeypatch, restart):
    monkeypatch.setenv("GRIDJIT_HOST_CHECKS", "leaks")
    with pytest.raises(gridjit.ConfigError, match="'leaks' is not one of bounds, uninitialized, races"):
        restart()
        checked(with_barrier)[1, 32](np.ones(32, np.float32))


def test_a_checked_kernel_comes_from_the_cache_with_its_checks(restart):
    with pytest.raises(gridjit.RaceError):
        checked(without_barrier)[1, 32](np.ones(32, np.float32))
    restart()
    kernel = checked(without_barrier)
    with pytest.raises(gridjit.RaceError, match="array 'tile'"):
        kernel[1, 32](np.ones(32, np.float32))
    assert kernel.stats.compiles == 0


def shifts_rows(rows):
    grid, column = cuda.cg.this_grid(), cuda.grid(1)
    for row in range(1, rows.shape[0]):
        rows[row, column] = rows[row - 1, rows.shape[1] - column - 1] + 1
        grid.sync()


def shifts_without_waiting(rows):
    grid, column = cuda.cg.this_grid(), cuda.grid(1)
    grid.sync()
    for row in range(1, rows.shape[0]):
        rows[row, column] = rows[row - 1, rows.shape[1] - column - 1] + 1


def test_a_barrier_of_the_grid_orders_what_blocks_did():
    rows = np.zeros((8, 64), np.int32)
    checked(shifts_rows)[4, 16](rows)
    assert (rows == np.arange(8)[:, None]).all()
    with pytest.raises(gridjit.RaceError, match=at(shifts_without_waiting, "rows[row, column]")):
        checked(shifts_without_waiting)[4, 16](rows)


def in_turns(lock, flag, x):
    while cuda.atomic.add(flag, 0, 0) != cuda.blockIdx.x:
        pass
    while cuda.atomic.cas(lock, 0, 0, 1) != 0:
        pass
    x[0] += 1
    cuda.threadfence()
    cuda.atomic.exch(lock, 0, 0)
    if cuda.all_sync(0xFFFFFFFF, cuda.laneid >= 0) and cuda.laneid == 0:
        print("block", cuda.blockIdx.x)
        cuda.atomic.add(flag, 0, 1)


def test_kernels_that_wait_vote_and_print_are_checked(capfd):
    x = np.zeros(1)
    checked(in_turns)[3, 32](np.zeros(1, np.int32), np.zeros(1, np.int32), x)
    assert x[0] == 96
    assert capfd.readouterr().out.split() == ["block", "0", "block", "1", "block", "2"]


def test_shared_and_local_records_of_one_kernel_are_checked_together():
    dtype = np.dtype([("a", np.int32), ("b", np.float32)])

    @checked
    def kernel(data, out):
        shared, local = cuda.shared.array(32, dtype), cuda.local.array(32, dtype)
        result = cuda.local.array(1, dtype)
        i = cuda.grid(1)
        if i < 32:
            shared[i].a = data.a + i
            local[i].a = data.a * 2 + i
            shared[i].b = data.b + i
            local[i].b = data.b * 2 + i
        cuda.syncthreads()
        if i < 32:
            result[0].a = 0
            result[0].b = 0.0
            for k in range(32):
                result[0].a += shared[k].a + local[i].a
                result[0].b += shared[k].b + local[i].b
            out[i] = result[0].a

    out = np.zeros(32, np.int64)
    kernel[1, 64](np.array([(1, 2.0)], dtype)[0], out)
    assert (out == sum(range(1, 33)) + 32 * (2 + np.arange(32))).all()
