"""debug=True does not follow arrays of whose items each thread has its own: no race is missed or invented for that.

Each kernel writes each thread's number to items of an array, and reads others. A model in Python says which launches
race: those in which two threads access one item, and one of them writes it.
"""

# mypy: ignore-errors
from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import gridjit
from gridjit import cuda

pytestmark = pytest.mark.usefixtures("on_host")
_SIDE = 12


@gridjit.jit(device=True)
def mine():
    block = (cuda.blockIdx.z * cuda.gridDim.y + cuda.blockIdx.y) * cuda.gridDim.x + cuda.blockIdx.x
    thread = (cuda.threadIdx.z * cuda.blockDim.y + cuda.threadIdx.y) * cuda.blockDim.x + cuda.threadIdx.x
    size = cuda.blockDim.x * cuda.blockDim.y * cuda.blockDim.z
    return block * size + thread + 1


def by_place(x, seen):
    """Row and column are the thread's place in the grid."""
    i, j = cuda.grid(2)
    if i < x.shape[0] and j < x.shape[1]:
        seen[0] if x[i, j] == -1 else 0
        x[i, j] = mine()


def _places(launch, shape):
    for block, thread in _threads(launch):
        i, j = (thread[n] + block[n] * launch[1][n] for n in range(2))
        if i < shape[0] and j < shape[1]:
            yield [(i, j)], [(i, j)]


def rows(x, seen):
    """A row is the thread's, whatever it does there."""
    i = cuda.grid(1)
    if i < x.shape[0]:
        for j in range(x.shape[1] - 1, 0, -1):
            x[i, j] = mine() + x[i, j - 1] * 0


def _rows(launch, shape):
    for block, thread in _threads(launch):
        i = thread[0] + block[0] * launch[1][0]
        if i < shape[0]:
            yield [(i, j) for j in range(1, shape[1])], [(i, j) for j in range(shape[1])]


def two_columns(x, seen):
    """What is written is one item from what is read."""
    i, j = cuda.grid(2)
    if i < x.shape[0] and j < x.shape[1] - 1:
        x[i, j] = x[i, j + 1] * 0 + mine()


def _two_columns(launch, shape):
    for block, thread in _threads(launch):
        i, j = (thread[n] + block[n] * launch[1][n] for n in range(2))
        if i < shape[0] and j < shape[1] - 1:
            yield [(i, j)], [(i, j + 1)]


def by_steps(x, seen):
    """A loop that steps by the grid's size; then the thread's own first row."""
    for i in range(cuda.grid(1), x.shape[0], cuda.gridsize(1)):
        x[i, 0] = mine()
    if cuda.grid(1) < x.shape[0]:
        x[cuda.grid(1), 1] = mine()


def _by_steps(launch, shape):
    for block, thread in _threads(launch):
        first, step = thread[0] + block[0] * launch[1][0], launch[0][0] * launch[1][0]
        its = [(i, 0) for i in range(first, shape[0], step)]
        yield its + [(first, 1)] * (first < shape[0]), []


def by_steps_of_blocks(x, seen):
    """Loops that step by the block's threads, and by the grid's blocks."""
    for i in range(cuda.blockIdx.x, x.shape[0], cuda.gridDim.x):
        for j in range(cuda.threadIdx.x, x.shape[1], cuda.blockDim.x):
            x[i, j] = mine()


def _by_steps_of_blocks(launch, shape):
    for block, thread in _threads(launch):
        yield (
            [(i, j) for i in range(block[0], shape[0], launch[0][0]) for j in range(thread[0], shape[1], launch[1][0])],
            [],
        )


def by_three(x, seen):
    """Blocks of three threads, whatever their real size."""
    i = cuda.blockIdx.x * 3 + cuda.threadIdx.x
    if i < x.shape[0]:
        x[i, 0] = mine()


def _by_three(launch, shape):
    for block, thread in _threads(launch):
        if (i := block[0] * 3 + thread[0]) < shape[0]:
            yield [(i, 0)], []


def from_the_end(x, seen):
    """Indices that count from the end, and meet others from the start."""
    i = cuda.grid(1)
    if i < 2 * x.shape[0]:
        x[i - x.shape[0], 0] = mine()


def _from_the_end(launch, shape):
    for block, thread in _threads(launch):
        if (i := thread[0] + block[0] * launch[1][0]) < 2 * shape[0]:
            yield [(i % shape[0], 0)], []


def by_parts(x, seen):
    """The thread's place in its block, and that of its block."""
    if cuda.blockIdx.x < x.shape[0] and cuda.threadIdx.y < x.shape[1]:
        x[cuda.blockIdx.x, cuda.threadIdx.y] = mine()


def _by_parts(launch, shape):
    for block, thread in _threads(launch):
        if block[0] < shape[0] and thread[1] < shape[1]:
            yield [(block[0], thread[1])], []


def _threads(launch):
    grid, block = launch
    for where in itertools.product(*map(range, grid)):
        for thread in itertools.product(*map(range, block)):
            yield where, thread


MODELS = {
    by_place: _places,
    rows: _rows,
    two_columns: _two_columns,
    by_steps: _by_steps,
    by_steps_of_blocks: _by_steps_of_blocks,
    by_three: _by_three,
    from_the_end: _from_the_end,
    by_parts: _by_parts,
}
_CHECKED = {function: gridjit.jit(function, debug=True, opt=False) for function in MODELS}


def _races(model, launch, shape, item):
    """Return whether two threads access one item, and one of them writes it. item: what an item's indices mean."""
    wrote, read = {}, {}
    for number, (writes, reads) in enumerate(model(launch, shape)):
        for of, places in ((wrote, writes), (read, reads)):
            for place in places:
                of.setdefault(item(*place), set()).add(number)
    return any(len(threads | read.get(at, set())) > 1 for at, threads in wrote.items())


_AXIS = st.integers(1, 4)
_DIMENSIONS = st.tuples(_AXIS, st.sampled_from([1, 1, 2, 3]), st.sampled_from([1, 1, 1, 2]))


@pytest.mark.parametrize("function", MODELS, ids=lambda function: function.__name__)
@given(grid=_DIMENSIONS, block=_DIMENSIONS, rows=st.integers(2, _SIDE), columns=st.integers(2, _SIDE))
@settings(max_examples=settings().max_examples, deadline=None)
def test_a_launch_races_if_and_only_if_two_threads_access_an_item_and_one_writes_it(
    function, grid, block, rows, columns
):
    expected = _races(MODELS[function], (grid, block), (rows, columns), lambda i, j: (i, j))
    assert _is_racing(function, (grid, block), np.zeros((rows, columns))) == expected


def _is_racing(function, launch, x):
    try:
        _CHECKED[function][launch](x, np.zeros(1))
    except gridjit.RaceError:
        return True
    return False


@pytest.mark.parametrize("strides", [(8, 8), (16, 8), (0, 8), (24, 8)])
def test_items_of_an_array_that_overlap_are_not_owned_by_a_thread(strides):
    x = np.lib.stride_tricks.as_strided(np.zeros(64), (4, 3), strides)
    expected = _races(_places, ((4, 3, 1), (1, 1, 1)), (4, 3), lambda i, j: i * strides[0] + j * strides[1])
    assert _is_racing(by_place, ((4, 3), 1), x) == expected


def through_both(x, y):
    i = cuda.grid(1)
    x[i] = i
    if y[(i + 1) % 32] < 0:
        x[i] = 0


def test_what_a_thread_has_of_its_own_races_through_another_argument():
    kernel, memory = gridjit.jit(through_both, debug=True, opt=False), np.zeros(64)
    kernel[1, 32](memory[:32], memory[32:])
    with pytest.raises(gridjit.RaceError, match="array 'x'"):
        kernel[1, 32](memory[:32], memory[:32])
