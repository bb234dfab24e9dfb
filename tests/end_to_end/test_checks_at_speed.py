"""What makes checked kernels on the host fast hides no race and no read of unwritten memory, and invents none."""

# mypy: ignore-errors
from __future__ import annotations

import numpy as np
import pytest

import gridjit
from gridjit import cuda

pytestmark = pytest.mark.usefixtures("on_host")


def checked(function):
    return gridjit.jit(function, debug=True, opt=False)


def shifts(x, out):
    i = cuda.grid(1)
    out[i] = x[i]


def test_an_array_that_is_only_read_races_if_it_overlaps_one_that_is_written():
    memory, kernel = np.arange(65.0), checked(shifts)
    kernel[2, 32](memory[:64], np.zeros(64))
    kernel[1, 32](memory[:32], memory[32:64])
    with pytest.raises(gridjit.RaceError, match=r"array '(x|out)'"):
        kernel[2, 32](memory[1:], memory[:64])


def test_arrays_between_whose_items_another_one_lies_race_by_what_they_span():
    memory, kernel = np.arange(128.0), checked(shifts)
    kernel[2, 32](memory[::2], memory[1::2])
    with pytest.raises(gridjit.RaceError):
        kernel[2, 32](memory[::-1][:64], memory[64:])


def rounds(x, out, waits):
    tile = cuda.shared.array(32, np.float32)
    t = cuda.threadIdx.x
    total = np.float32(0)
    for start in range(0, x.size, 32):
        tile[t] = x[start + t]
        cuda.syncthreads()
        for k in range(32):
            total += tile[k]
        if waits:
            cuda.syncthreads()
    out[t] = total


def test_a_barrier_that_is_missing_after_the_reads_of_a_loop_is_a_race():
    x, out = np.ones(128, np.float32), np.zeros(32, np.float32)
    checked(rounds)[1, 32](x, out, True)
    assert (out == 128).all()
    with pytest.raises(gridjit.RaceError, match="shared array 'tile'"):
        checked(rounds)[1, 32](x, out, False)


def two_warps_at_two_barriers(out):
    tile = cuda.shared.array(1, np.int32)
    if cuda.threadIdx.x == 0:
        tile[0] = 1
    cuda.syncthreads()
    if cuda.threadIdx.x < 32:
        cuda.syncthreads()
        out[cuda.threadIdx.x] = tile[0]
    else:
        cuda.syncthreads()
        tile[0] = cuda.threadIdx.x


def test_warps_that_wait_at_different_barriers_race_after_them():
    with pytest.raises(gridjit.RaceError, match="shared array 'tile'"):
        checked(two_warps_at_two_barriers)[1, 64](np.zeros(32, np.int32))


def adds_nothing(x, first, nothing):
    if cuda.threadIdx.x == first:
        x[0] += nothing
    elif cuda.threadIdx.x == 1 - first:
        x[0] = 5


@pytest.mark.some(1)
@pytest.mark.parametrize("first", [0, 1])
def test_an_item_that_is_added_to_races_with_a_write_of_the_value_that_is_there(first):
    with pytest.raises(gridjit.RaceError, match="reads"):
        checked(adds_nothing)[1, 2](np.full(1, 5), first, 0)


def each_adds(x):
    x[cuda.grid(1)] += 1


def all_add(x):
    x[cuda.grid(1) // 2] += 1


def test_items_that_are_added_to_are_each_threads_own_and_written_before():
    x = np.zeros(64)
    checked(each_adds)[2, 32](x)
    assert (x == 1).all()
    with pytest.raises(gridjit.RaceError):
        checked(all_add)[2, 32](x)
    with pytest.raises(gridjit.UninitializedError, match="reads an item of array 'x' that nothing has written"):
        checked(each_adds)[2, 32](cuda.device_array(64))


def partly(out, n):
    tile = cuda.shared.array((4, 9), np.int32)
    t = cuda.threadIdx.x
    if t < n:
        tile[t // 8, t % 8] = t
    cuda.syncthreads()
    out[t] = tile[t // 8, t % 8]


def test_of_a_shared_array_with_items_that_nobody_uses_those_that_are_read_have_to_be_written():
    kernel, out = checked(partly), np.zeros(96, np.int32)
    kernel[3, 32](out[:32], 32)
    with pytest.raises(gridjit.UninitializedError, match=r"thread \(20, 0, 0\) of block \(0, 0, 0\)"):
        kernel[3, 32](out[:32], 20)


def reads_and_races(x, out):
    tile = cuda.shared.array(1, np.int32)
    out[cuda.threadIdx.x] = tile[0]
    x[0] = cuda.threadIdx.x


def test_a_read_of_unwritten_memory_is_named_before_races_that_may_follow_from_what_it_read():
    kernel = checked(reads_and_races)
    with pytest.raises(
        gridjit.UninitializedError, match=r"'tile' that nothing has written\n.* array 'x' .* nothing orders the two"
    ):
        kernel[1, 32](np.zeros(1), np.zeros(32))


def read_by_many(out, writer):
    tile = cuda.shared.array(1, np.int32)
    t = cuda.threadIdx.x
    if t == 0:
        tile[0] = 1
    cuda.syncthreads()
    if t == writer:
        tile[0] = 2
    else:
        out[t] = tile[0]
    cuda.syncthreads()
    out[t] += tile[0]


@pytest.mark.some(1)
@pytest.mark.parametrize("writer", [0, 1, 31])
def test_a_write_races_with_reads_of_any_other_threads(writer):
    with pytest.raises(gridjit.RaceError, match="shared array 'tile'"):
        checked(read_by_many)[1, 32](np.zeros(32, np.int32), writer)


def each_adds_to_anothers(x):
    x[cuda.grid(1) ^ 1] += 1


def test_memory_that_launches_keep_for_the_next_says_nothing_of_the_last():
    kernel = checked(each_adds_to_anothers)
    x = np.zeros(1 << 16, np.float32)
    for _ in range(3):
        kernel[256, 256](x)
        kernel[512, 128](x)
    assert (x == 6).all()


def sums_by_steps(x, out, wrong):
    """Each thread sums items; in the turn of one item, the index is beyond the end."""
    total = np.float64(0)
    for k in range(cuda.grid(1), x.size, cuda.gridsize(1)):
        total += x[k + (x.size if k == wrong else 0)]
    out[cuda.grid(1)] = total


def test_threads_that_take_turns_of_a_loop_together_are_checked_in_each_of_them():
    kernel, x, out = checked(sums_by_steps), np.arange(1000.0), np.zeros(64)
    kernel[2, 32](x, out, -1)
    assert out.tolist() == [x[i::64].sum() for i in range(64)]
    for wrong in (5, 5 + 3 * 64):
        with pytest.raises(IndexError, match=rf"tid=\[5, 0, 0\].*index {1000 + wrong} of axis 0 of array 'x'"):
            kernel[2, 32](x, out, wrong)


def passes_on(x, out):
    tile = cuda.shared.array(32, np.float64)
    t = cuda.threadIdx.x
    for k in range(t, x.size, cuda.blockDim.x):
        tile[t] = x[k]
        out[k] = tile[t ^ 1]


def test_turns_that_threads_take_together_are_not_ordered_for_that():
    with pytest.raises(gridjit.RaceError, match="shared array 'tile'"):
        checked(passes_on)[1, 32](np.arange(96.0), np.zeros(96))


def test_a_launch_finds_nothing_of_the_last_in_its_tables():
    import ctypes

    from gridjit.compiler.targets.host.sanitizer.routines import record
    from gridjit.runtime.devices.host import checking

    arguments = (ctypes.c_uint64 * 2)()
    last = checking._State([], arguments, 0)
    ctypes.memset(last._memory, 255, len(last._memory))
    last.give_back()
    state = checking._State([], arguments, 0)
    sizes = {record.BUCKETS: 8 << record.BUCKET_BITS, record.RECENT: record.MOST_SITES * record.RECENT_BYTES}
    assert not any(any(ctypes.string_at(state._get(table), size)) for table, size in sizes.items())
    assert state.reports() == [] and state.outside(0, 0) is None
