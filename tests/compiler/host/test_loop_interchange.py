"""The host's code loads and stores neighbouring items at once, whichever axis of a kernel they are on."""

# mypy: ignore-errors
from __future__ import annotations

import math
import re

import pytest

from gridjit.compiler.frontend.bindings.bootstrap import numba_cuda
from gridjit.compiler.targets.host import optimizing, pipeline
from gridjit.compiler.targets.host.blocks.entry import entry_text
from gridjit.compiler.targets.host.generate import generate
from gridjit.compiler.targets.host.linked.code import LinkedCode
from gridjit.compiler.targets.host.llvm import modules as llvm
from gridjit.compiler.targets.host.llvm.features import runs_widest_vectors_well
from gridjit.compiler.targets.host.llvm.libllvm import host_target
from gridjit.compiler.targets.host.passes import loop_interchange
from gridjit.compiler.targets.host.reading import read_kernel
from gridjit.compiler.values.options import Options
from gridjit.compiler.values.target import Target
from tests.kernels import again_by_thread, again_by_warp
from tests.known_objects import FOLDER

cuda = numba_cuda()


def row_is_x(x, out):
    i, j = cuda.grid(2)
    if 0 < i < out.shape[0] - 1 and 0 < j < out.shape[1] - 1:
        out[i, j] = x[i - 1, j] + x[i + 1, j] + x[i, j - 1] + x[i, j + 1]


def strides(x, out):
    for i in range(cuda.grid(1), x.size, cuda.gridsize(1)):
        out[i] += x[i]


def strides_by_hand(x, out):
    i = cuda.threadIdx.x + cuda.blockIdx.x * cuda.blockDim.x
    while i < x.size:
        out[i] += x[i]
        i += cuda.blockDim.x * cuda.gridDim.x


def column_is_x(x, out):
    j, i = cuda.grid(2)
    if i < out.shape[0] and j < out.shape[1]:
        out[i, j] = x[i, j]


def of_blocks(x, out):
    out[cuda.threadIdx.x] = x[cuda.blockIdx.x]


def of_blocks_of_256(x, out):
    i = 256 * cuda.blockIdx.x + cuda.threadIdx.x
    if i < x.size:
        out[i] = x[i]


@pytest.fixture
def planned(monkeypatch, lowered):
    """Return planned(kernel, ndim): in which order a kernel's threads are run."""
    plans = []
    monkeypatch.setattr(pipeline, "entry_text", lambda plan: plans.append(plan) or entry_text(plan))

    def of(kernel, ndim):
        generate(lowered(kernel, f"float32[{ndim}]", f"float32[{ndim}]"), host_target(), Options())
        return plans.pop()

    return of


@pytest.fixture
def optimized(monkeypatch, wide):
    """Return optimized(lowered): the LLVM IR of a kernel's code."""
    monkeypatch.delenv(FOLDER, raising=False)

    def of(kernel):
        text = pipeline.module_text(read_kernel(kernel, wide, Options(), LinkedCode()), kernel, wide, Options())[0]
        return llvm.text_of(optimizing._final(text, wide, 3, abreast=True))

    return of


@pytest.fixture
def bodies(monkeypatch):
    """What was made of each kernel's body whose loops were to be interleaved."""
    made, interleave = [], loop_interchange.interchange_strided
    monkeypatch.setattr(
        loop_interchange, "interchange_strided", lambda *how, **more: made.append(interleave(*how, **more)) or made[-1]
    )
    return made


def test_rows_run_along_the_axis_on_which_neighbours_are_side_by_side_in_memory(planned):
    assert planned(row_is_x, 2).inner == "y"
    assert planned(column_is_x, 2).inner == "x"


def test_blocks_are_run_as_one_where_only_places_in_the_grid_are_asked(planned):
    assert {(one.axis, one.size) for one in planned(column_is_x, 2).collapsed} == {("x", 0), ("y", 0)}
    assert {(one.axis, one.size) for one in planned(of_blocks_of_256, 1).collapsed} == {("x", 256), ("y", 0)}
    assert {one.axis for one in planned(of_blocks, 1).collapsed} == {"y"}


def in_two_returns(x, out):
    i = cuda.grid(1)
    if cuda.blockIdx.x < 1 or x.size < 3:
        return
    if i > x.size - 2:
        return
    out[i] = x[i]


def in_parts_of_five(x, out):
    t = cuda.grid(1)
    i = int(t / 5) + 1
    if i > out.size - 2:
        return
    out[i] = x[t % 5]


def in_quarters(x, out):
    i = cuda.grid(1)
    if i // 4 < x.size and i >> 3 < out.size:
        out[i] = x[i]


def in_rows_of_blocks(x, out):
    i = cuda.threadIdx.x
    k = cuda.blockIdx.x % x.size
    if k < 1 or int(cuda.blockIdx.x / x.size) > 4 or i > out.size - 2:
        return
    out[i] = x[k]


def in_front_of_an_array(x, out):
    i = cuda.grid(1)
    if i >= x.size:
        return
    own = cuda.local.array(4, "float32")
    for k in range(4):
        own[k] = x[i + k]
    out[i] = own[int(x[i])]


def in_front_of_a_barrier(x, out):
    i = cuda.grid(1)
    if cuda.blockIdx.x > 3 or i >= x.size:
        return
    out[i] = x[i]
    cuda.syncthreads()
    out[i] += x[0]


def in_front_of_a_count(x, out):
    i = cuda.grid(1)
    if i >= x.size:
        return
    out[i] = cuda.syncthreads_count(cuda.threadIdx.x)


def in_every_third(x, out):
    i = cuda.grid(1)
    if i < x.size and i % 3 == 0:
        out[i] = x[i]


GUARDS = [in_two_returns, in_parts_of_five, in_quarters, in_rows_of_blocks, in_front_of_an_array]


@pytest.mark.some(2)
@pytest.mark.parametrize("kernel", GUARDS)
def test_where_in_a_row_all_first_conditions_hold_is_found_without_asking_each_thread(planned, kernel):
    plan = planned(kernel, 1)
    assert plan.bounded
    assert not planned(in_every_third, 1).bounded


def test_threads_that_end_at_the_first_conditions_are_left_out_of_the_loops_behind_barriers(planned):
    assert planned(in_front_of_a_barrier, 1).narrowed
    assert not planned(in_front_of_a_count, 1).narrowed


@pytest.mark.parametrize("kernel", [strides, strides_by_hand])
def test_neighbours_are_loaded_and_stored_at_once(lowered, monkeypatch, wide, kernel):
    texts = []
    emit = llvm.emit
    monkeypatch.setattr(llvm, "emit", lambda module, target: texts.append(str(module)) or emit(module, target))
    generate(lowered(kernel, "float32[1]", "float32[1]"), wide, Options())
    assert re.search(r"= load <(?:8|16) x float>", texts[0])
    assert re.search(r"store <(?:8|16) x float>", texts[0])
    assert "gather" not in texts[0]
    assert "scatter" not in texts[0]


def test_the_widest_vectors_are_used_where_they_do_not_slow_the_processor_down(planned):
    features = "+avx512f,+avx2"
    assert runs_widest_vectors_well(Target(kind="host", arch="sapphirerapids", features=features))
    assert not runs_widest_vectors_well(Target(kind="host", arch="cascadelake", features=features))
    assert not runs_widest_vectors_well(Target(kind="host", arch="znver3", features="+avx2"))
    plan = planned(column_is_x, 2)
    assert plan.widest == runs_widest_vectors_well(host_target())
    assert ('"prefer-vector-width"="512"' in entry_text(plan)) == plan.widest


def sums(x, out):
    total = 0.0
    for i in range(cuda.grid(1), x.size, cuda.gridsize(1)):
        total += x[i]
    out[cuda.grid(1)] = total


def sums_of_neighbours(x, out):
    i = cuda.grid(1)
    total = 0.0
    for k in range(64 * i, 64 * i + 64):
        total += x[k]
    out[i] = total


def sums_of_some_threads(x, out):
    total = 0.0
    if cuda.threadIdx.x > 3:
        for i in range(cuda.grid(1), x.size, cuda.gridsize(1)):
            total += x[i]
    out[cuda.grid(1)] = total


def fences(x, out):
    for i in range(cuda.grid(1), x.size, cuda.gridsize(1)):
        out[i] = x[i]
        cuda.threadfence()
        out[0] += out[i + 1]


def test_threads_that_may_wait_for_each_other_do_not_take_turns_together(planned):
    plan = planned(fences, 1)
    assert not plan.strided
    assert plan.regions == 1


def test_threads_take_turns_together_where_each_steps_by_the_size_of_a_grid(planned):
    assert planned(sums, 1).regions == 2
    assert planned(sums_of_neighbours, 1).regions == 1
    assert planned(sums_of_some_threads, 1).regions == 1


def sums_with_shuffles(x, out):
    total = 0.0
    for i in range(cuda.grid(1), x.size, cuda.gridsize(1)):
        total += cuda.shfl_down_sync(0xFFFFFFFF, x[i], 1)
    out[cuda.grid(1)] = total


def test_threads_that_meet_in_a_turn_do_not_wait_for_others_at_its_end(planned, bodies):
    planned(sums_with_shuffles, 1)
    assert [body.counters for body in bodies] == [frozenset()]


def staged_rows(x, out):
    row = cuda.shared.array(512, "float64")
    t = cuda.threadIdx.x
    if cuda.grid(1) >= out.size:
        return
    for i in range(t, x.size, cuda.blockDim.x):
        row[i] = x[i]
    cuda.syncthreads()
    for i in range(t + 1, x.size - 1, cuda.blockDim.x):
        out[i] = row[i - 1] + row[i + 1]


def staged_by_hand(x, out):
    sums = cuda.shared.array(512, "float64")
    i = cuda.threadIdx.x + 1
    if cuda.grid(1) >= out.size:
        return
    total = 0.0
    while i < x.size - 1:
        total += x[i]
        i += cuda.blockDim.x
    sums[cuda.threadIdx.x] = total
    cuda.syncthreads()
    out[cuda.grid(1)] = sums[0]


def staged_to_ends_of_their_own(x, out):
    row = cuda.shared.array(512, "float64")
    t = cuda.threadIdx.x
    row[t] = x[t]
    cuda.syncthreads()
    for i in range(t, x.size - t, cuda.blockDim.x):
        out[i] = row[i - t]


@pytest.mark.some(2)
@pytest.mark.parametrize(("kernel", "loops"), [(staged_rows, 2), (staged_by_hand, 1), (staged_to_ends_of_their_own, 0)])
def test_threads_of_a_block_take_turns_together_behind_a_return_and_from_any_place(planned, bodies, kernel, loops):
    planned(kernel, 1)
    assert sum("gj.turn" in counter for counter in bodies[0].counters) == loops


@pytest.mark.parametrize(("kernel", "loops"), [(again_by_thread, 1), (again_by_warp, 0)])
def test_threads_take_turns_together_only_where_all_come_equally_often(planned, bodies, kernel, loops):
    planned(kernel, 1)
    assert sum("gj.turn" in counter for counter in bodies[0].counters) == loops


def counted_in_turns(x, bins):
    counts = cuda.shared.array(256, "int32")
    counts[cuda.threadIdx.x] = 0
    cuda.syncthreads()
    for i in range(cuda.grid(1), x.size, cuda.gridsize(1)):
        cuda.atomic.add(counts, x[i], 1)
    cuda.syncthreads()
    cuda.atomic.add(bins, cuda.threadIdx.x, counts[cuda.threadIdx.x])


def counted_where_few_come(x, bins):
    counts = cuda.shared.array(256, "int32")
    counts[cuda.threadIdx.x] = 0
    cuda.syncthreads()
    if x[0] > 0:
        bins[0] = 0
    for i in range(cuda.grid(1), x.size, cuda.gridsize(1)):
        cuda.atomic.add(counts, x[i], 1)
    cuda.syncthreads()
    cuda.atomic.add(bins, cuda.threadIdx.x, counts[cuda.threadIdx.x])


@pytest.mark.parametrize(("kernel", "regions"), [(counted_in_turns, 3), (counted_where_few_come, 4)])
def test_a_loop_of_turns_shares_a_barrier_that_threads_come_straight_from(lowered, monkeypatch, kernel, regions):
    plans = []
    monkeypatch.setattr(pipeline, "entry_text", lambda plan: plans.append(plan) or entry_text(plan))
    generate(lowered(kernel, "int32[1]", "int32[1]"), host_target(), Options())
    assert plans[0].regions == regions


def test_rows_of_a_loop_that_shares_a_barrier_are_run_in_parts(lowered, monkeypatch):
    plans = []
    monkeypatch.setattr(pipeline, "entry_text", lambda plan: plans.append(plan) or entry_text(plan))
    generate(lowered(counted_in_turns, "int32[1]", "int32[1]"), host_target(), Options())
    assert sum(plans[0].split) == 1


def behind_others(x, out):
    i = cuda.grid(1)
    if i < out.size:
        out[i] = x[i - 3] + x[i]


def by_index(x, out):
    i = cuda.grid(1)
    if i < out.size:
        out[i] = x[int(x[i])]


def test_arrays_of_any_strides_are_loaded_by_whole_vectors_where_the_launch_has_them_side_by_side(lowered, optimized):
    text = optimized(lowered(behind_others, "float32[1]A", "float32[1]A"))
    assert re.search(r"load <\d+ x float>, ptr", text)
    assert "llvm.masked.gather" in text  # for those that are not


def planes_are_x(x, out):
    i, j, k = cuda.grid(3)
    if i < out.shape[0] and j < out.shape[1] and k < out.shape[2]:
        out[i, j, k] += x[i, j, k]


def planes_with_powers(x, out):
    i, j, k = cuda.grid(3)
    if i < out.shape[0] and j < out.shape[1] and k < out.shape[2]:
        out[i, j, k] = math.exp(x[i, j, k])


@pytest.mark.parametrize(
    ("kernel", "kind", "scattered"),
    [
        (planes_are_x, "float32[3]", True),
        # The strides may be those of arrays whose items lie side by side along the axis.
        (planes_are_x, "float32[3]A", False),
        (planes_with_powers, "float32[3]", False),
        (row_is_x, "float32[2]", False),
        (column_is_x, "float32[2]", False),
        (strides, "float32[1]", False),
    ],
)
def test_loops_whose_items_are_far_apart_are_not_worth_vectors_unless_much_is_computed(
    lowered, monkeypatch, kernel, kind, scattered
):
    plans = []
    monkeypatch.setattr(pipeline, "entry_text", lambda plan: plans.append(plan) or entry_text(plan))
    generate(lowered(kernel, kind, kind), host_target(), Options())
    assert any(plans[0].scattered) is scattered


def test_where_vectors_are_not_worth_it_nothing_is_gathered(lowered, optimized):
    text = optimized(lowered(planes_are_x, "float32[3]", "float32[3]"))
    assert "gather" not in text
    assert "scatter" not in text


def test_axes_that_no_thread_asks_for_are_looped_over_outside(planned):
    assert planned(strides, 1).outside == "rows"
    assert planned(row_is_x, 2).outside == "planes"
    assert planned(planes_are_x, 3).outside == ""


def test_indices_that_might_count_from_the_end_are_loaded_by_whole_vectors_where_none_does(lowered, optimized):
    assert re.search(r"load <\d+ x float>, ptr", optimized(lowered(behind_others, "float32[1]", "float32[1]")))


def test_code_is_not_doubled_where_neighbours_are_not_known_to_be_side_by_side(planned):
    assert planned(behind_others, 1).versioned == (True,)
    assert planned(by_index, 1).versioned == (False,)
    assert planned(strides, 1).versioned == (False,)


def test_what_the_threads_behind_a_return_share_is_not_kept_for_each(planned):
    assert planned(staged_rows, 1).slab == 0
    assert planned(staged_by_hand, 1).slab <= 16  # each thread's sum
