"""Launches on the host in machine code: equal to those from Python in all but time, from any thread, after any fork."""

# mypy: ignore-errors
from __future__ import annotations

import os
import platform
import threading

import numpy as np
import pytest

import gridjit
from gridjit import cuda
from gridjit.compiler.values.errors import DeviceError, LaunchError
from gridjit.runtime.launch import launcher
from gridjit.runtime.native import engine
from gridjit.runtime.native.grids.grid_ir import grid_ir
from gridjit.runtime.native.layout import grid_records as records
from gridjit.runtime.native.layout.probes import object_layout
from gridjit.runtime.process.current import create_stream
from tests.programs import run_python

pytestmark = pytest.mark.skipif(
    object_layout() is None or platform.machine() != "x86_64", reason="this interpreter launches from Python"
)
# More than makes a kernel's launches native.
OFTEN = 4


@pytest.fixture(autouse=True)
def on_the_host(monkeypatch):
    monkeypatch.setenv("GRIDJIT_TARGET", "host")
    monkeypatch.setenv("GRIDJIT_HOST_THREADS", "3")


@pytest.fixture
def without_python(monkeypatch):
    """Return a context in which a launch that goes through Python fails."""

    def refuse(*args, **named):
        raise AssertionError("launched from Python")

    def begin():
        monkeypatch.setattr(launcher, "launch", refuse)

    return begin


def pool():
    return records.PoolRecord.from_address(engine._engines[0].record.pool)


@gridjit.jit(target="host")
def increment(x, by):
    i = cuda.grid(1)
    if i < x.size:
        x[i] += by


@gridjit.jit(target="host")
def increment_2d(x, by):
    row, column = cuda.threadIdx.x + 32 * (cuda.blockIdx.x // 2), cuda.threadIdx.y + 32 * (cuda.blockIdx.x % 2)
    if row < x.shape[0] and column < x.shape[1]:
        x[row, column] += by


@gridjit.jit(target="host")
def nothing():
    pass


@gridjit.jit(target="host")
def counts_and_refuses(x, where):
    i = cuda.grid(1)
    cuda.atomic.add(x, 0, 1)
    if i == where:
        raise ValueError("not this one")


@gridjit.jit(target="host", debug=True, opt=False)
def shifts(x, by):
    i = cuda.grid(1)
    x[i + by] = i


@gridjit.jit(target="host")
def waits_apart(x, n):
    if cuda.threadIdx.x < n:
        cuda.syncthreads()
        x[0] = 1
    else:
        cuda.syncthreads()
        x[1] = 1


@gridjit.jit(target="host")
def sums(x, out):
    tile = cuda.shared.array(64, np.int64)
    thread = cuda.threadIdx.x
    tile[thread] = x[cuda.grid(1)]
    cuda.syncthreads()
    half = 32
    while half:
        if thread < half:
            tile[thread] += tile[thread + half]
        cuda.syncthreads()
        half //= 2
    if thread == 0:
        out[cuda.blockIdx.x] = tile[0]


@gridjit.jit(target="host")
def waits_for_a_flag(flags):
    cuda.atomic.add(flags, 1, 1)
    while cuda.atomic.add(flags, 0, 0) == 0:
        pass


@gridjit.jit(target="host")
def uneven(x, work):
    value = x[cuda.grid(1)]
    for _ in range(work * cuda.blockIdx.x):
        value = (value * 5 + 1) % 1000003
    x[cuda.grid(1)] = value


def test_a_kernel_that_is_launched_often_on_the_host_is_launched_without_python(without_python):
    x = np.zeros(1000, np.int64)
    for _ in range(OFTEN):
        increment[8, 128](x, 1)
        nothing[1, 32]()
    without_python()
    increment[8, 128](x, 10)
    nothing[1, 32]()
    assert x.tolist() == [OFTEN + 10] * 1000


def test_arrays_of_any_layout_are_launched_with_natively(without_python):
    base = np.zeros((40, 60))
    views = [base, base.T, base[::2, 1::3], base[5:, :0]]
    for view in views:
        base[:] = 0
        for _ in range(OFTEN):
            increment_2d[4, (32, 32)](view, 1)
    without_python()
    for view in views:
        base[:] = 0
        increment_2d[4, (32, 32)](view, 3)
        assert (view == 3).all()
        assert base.sum() == 3 * view.size


def test_a_native_launch_raises_what_its_kernel_raised_once_and_runs_it_once():
    x = np.zeros(1, np.int64)
    for _ in range(OFTEN):
        counts_and_refuses[1, 64](x, -1)
    with pytest.raises(ValueError, match=r"counts_and_refuses, tid=\[39, 0, 0\] ctaid=\[0, 0, 0\]: not this one"):
        counts_and_refuses[1, 64](x, 39)
    assert x[0] == 64 * OFTEN + 64
    counts_and_refuses[1, 64](x, -1)
    assert x[0] == 64 * OFTEN + 128


def test_native_launches_of_debug_kernels_check_bounds_as_those_of_python_do():
    x = np.zeros(32, np.int64)
    said = []
    for _ in range(OFTEN + 1):
        shifts[1, 32](x, 0)
        with pytest.raises(IndexError) as raised:
            shifts[1, 32](x, 1)
        said.append(str(raised.value))
    assert "tid=[31, 0, 0] ctaid=[0, 0, 0]" in said[0]
    assert set(said) == {said[0]}


def test_a_native_launch_names_the_thread_at_another_barrier():
    x = np.zeros(2, np.int64)
    for _ in range(OFTEN):
        waits_apart[1, 8](x, 8)
    with pytest.raises(LaunchError, match=r"wait at different cuda.syncthreads\(\) calls"):
        waits_apart[1, 8](x, 3)


def test_an_exception_on_a_helping_thread_is_raised_where_the_kernel_was_launched():
    x = np.zeros(1, np.int64)
    blocks = 20_000
    for _ in range(OFTEN):
        counts_and_refuses[blocks, 64](x, -1)
    before = pool().sequence
    with pytest.raises(ValueError, match=r"tid=\[63, 0, 0\] ctaid=\[19999, 0, 0\]: not this one"):
        counts_and_refuses[blocks, 64](x, blocks * 64 - 1)
    assert pool().sequence > before, "the launch was not shared"


def test_blocks_that_share_memory_are_each_run_once_by_many_threads():
    x = np.arange(64 * 3000)
    out = np.zeros(3000, np.int64)
    for _ in range(OFTEN + 4):
        out[:] = 0
        sums[3000, 64](x, out)
        assert np.array_equal(out, x.reshape(3000, 64).sum(axis=1))


def test_blocks_of_uneven_work_are_each_run_once_natively():
    blocks, work = 64, 200
    start = np.arange(blocks * 4, dtype=np.int64)
    expected = start.copy()
    for turn in range(work * (blocks - 1)):  # those that have as many turns, all at once
        rest = expected[4 * (turn // work + 1) :]
        rest[:] = (rest * 5 + 1) % 1000003
    for _ in range(OFTEN):
        x = start.copy()
        uneven[blocks, 4](x, work)
        assert np.array_equal(x, expected)


def test_a_small_grid_wakes_no_thread():
    x = np.zeros(64, np.int64)
    for _ in range(OFTEN):
        increment[2, 32](x, 1)
    engine._engines[0].record.pool, kept = engine._new_pool(), engine._engines[0].record.pool
    try:
        for _ in range(50):
            nothing[1, 32]()
            increment[2, 32](x, 1)
        assert (pool().sequence, pool().size) == (0, 0)
    finally:
        engine._engines[0].record.pool = kept


def test_a_large_grid_is_shared():
    x = np.zeros(3_000_000, np.int64)
    for _ in range(OFTEN):
        increment[-(-x.size // 128), 128](x, 1)
    before = pool().sequence
    increment[-(-x.size // 128), 128](x, 1)
    assert pool().sequence == before + 1
    assert (x == OFTEN + 1).all()


def test_more_threads_than_launches_can_be_shared_at_once_launch_at_once():
    arrays = [np.zeros(400_000, np.int64) for _ in range(records.SLOTS + 6)]
    start, failed = threading.Barrier(len(arrays)), []

    def work(x):
        try:
            start.wait()
            for _ in range(20):
                increment[-(-x.size // 128), 128](x, 1)
        except BaseException as error:
            failed.append(error)

    increment[1, 128](arrays[0][:0], 1)
    threads = [threading.Thread(target=work, args=(x,)) for x in arrays]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failed == []
    assert all((x == 20).all() for x in arrays)


def test_other_python_threads_run_while_a_kernel_does(without_python):
    flags = np.array([1, 0])
    for _ in range(OFTEN):
        waits_for_a_flag[1, 1](flags)
    flags[:] = 0

    def answer():
        while flags[1] == 0:
            pass
        flags[0] = 1

    thread = threading.Thread(target=answer)
    thread.start()
    without_python()
    waits_for_a_flag[1, 1](flags)
    thread.join()
    assert flags.tolist() == [1, 1]


def test_a_destroyed_stream_is_refused_on_the_host_too():
    stream = create_stream()
    x = np.zeros(32, np.int64)
    configured = increment[1, 32, stream]
    for _ in range(OFTEN):
        configured(x, 1)
    stream.close()
    with pytest.raises(DeviceError, match="destroyed"):
        configured(x, 1)
    assert x.tolist() == [OFTEN] * 32


@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_forked_child_launches_natively_with_threads_of_its_own(without_python):
    x = np.zeros(3_000_000, np.int64)
    grid = -(-x.size // 128)
    for _ in range(OFTEN):
        increment[grid, 128](x, 1)
    without_python()
    child = os.fork()
    if child == 0:
        try:
            increment[grid, 128](x, 1)
            # In the child a pool begins anew: its one launch was shared, by threads that it started itself.
            os._exit(0 if (x == OFTEN + 1).all() and (pool().sequence, pool().size) == (1, 2) else 1)
        except BaseException:
            os._exit(2)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    increment[grid, 128](x, 1)
    assert (x == OFTEN + 1).all()


EXITS = """
import atexit
import numpy as np
import gridjit
from gridjit import cuda

@gridjit.jit(target="host")
def increment(x):
    i = cuda.grid(1)
    if i < x.size:
        x[i] += 1

x = np.zeros(2_000_000)
run = lambda: increment[-(-x.size // 128), 128](x)
atexit.register(lambda: (run(), print(x.min(), x.max())))
for _ in range(5):
    run()
"""


def test_a_process_whose_grids_are_shared_exits_cleanly():
    done = run_python("-c", EXITS)
    assert (done.stdout, done.stderr, done.returncode) == ("6.0 6.0\n", "", 0)


def test_switched_off_machine_code_leaves_all_to_python(monkeypatch):
    from gridjit.runtime.process.session import end_session, session

    monkeypatch.setenv("GRIDJIT_NATIVE_LAUNCH", "0")
    end_session()
    x = np.zeros(100, np.int64)
    kernel = gridjit.jit(increment.py_func, target="host")
    for _ in range(OFTEN):
        kernel[4, 32](x, 1)
    assert x.tolist() == [OFTEN] * 100
    assert session().device("host").engine(make=True) is None


@pytest.mark.parametrize(("machine", "triple"), [("x86_64", "x86_64-linux-gnu"), ("aarch64", "aarch64-linux-gnu")])
def test_the_code_that_runs_grids_is_code_for_either_kind_of_processor(machine, triple):
    import llvmlite.binding as llvm

    llvm.initialize_all_targets()
    llvm.initialize_all_asmprinters()
    made = llvm.Target.from_triple(triple).create_target_machine(cpu="generic", opt=2, reloc="pic")
    module = llvm.parse_assembly(
        f'target datalayout = "{made.target_data}"\ntarget triple = "{triple}"\n{grid_ir(machine)}'
    )
    module.verify()
    assert made.emit_object(module)[:4] == b"\x7fELF"


def takes_numbers(numbers, next_one):
    for i in range(cuda.grid(1), numbers.size, cuda.gridsize(1)):
        numbers[i] = cuda.atomic.add(next_one, 0, 1)


@pytest.mark.parametrize("threads", [1, 2])
def test_blocks_take_the_turns_of_a_loop_side_by_side(monkeypatch, threads):
    monkeypatch.setenv("GRIDJIT_HOST_THREADS", str(threads))
    numbers, next_one = np.zeros(20_000, np.int64), np.zeros(1, np.int64)
    kernel = gridjit.jit(takes_numbers, target="host")
    for _ in range(OFTEN):
        kernel[64, 32](numbers, next_one)
    (overload,) = kernel.overloads.values()
    record = overload._loaded().past.records[0]
    next_one[0], record.cost = 0, 5_000_000  # 64 blocks take 0.32 ms
    kernel[64, 32](numbers, next_one)
    part = 64 // threads * 32
    in_turns = np.resize(numbers, (9, 64 * 32))[:, :part].ravel()
    assert (np.diff(in_turns) > 0).all()
    assert sorted(numbers) == list(range(numbers.size))


def test_brief_launches_are_shared_if_they_come_in_quick_succession_and_only_then():
    x = np.zeros(64 * 64, np.int64)
    kernel = gridjit.jit(increment.py_func, target="host")
    for _ in range(OFTEN):
        kernel[64, 64](x, 1)
    (overload,) = kernel.overloads.values()
    record, launched = overload._loaded().past.records[0], kernel[64, 64]

    def is_shared():
        before = pool().sequence
        record.cost = 10_000_000 // 64  # too little to wake a thread for
        launched(x, 1)
        return pool().sequence > before

    while pool().sleeping < pool().size:
        os.sched_yield()
    for _ in range(100):
        record.ended = 0  # long ago
        assert not is_shared()
    assert any(is_shared() for _ in range(100_000))
    assert len({*x.tolist()}) == 1
