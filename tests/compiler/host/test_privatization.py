"""Arrays are gathered if a kernel only does operations on them whose results it does not see, and only then."""

# mypy: ignore-errors
from __future__ import annotations

import pytest

from gridjit.compiler.frontend.bindings.bootstrap import numba_cuda
from gridjit.compiler.targets.host import pipeline
from gridjit.compiler.targets.host.generate import generate
from gridjit.compiler.targets.host.ir.body import Parameter, read_body
from gridjit.compiler.targets.host.llvm.libllvm import host_target
from gridjit.compiler.targets.host.passes.privatization import privatized
from gridjit.compiler.values.options import Options

cuda = numba_cuda()


@pytest.fixture
def gathered(monkeypatch):
    """Return gathered(lowered, **options): the parameters whose arrays a kernel gathers."""
    found = []
    search = pipeline._privatized
    monkeypatch.setattr(pipeline, "_privatized", lambda *given: found.append(search(*given)) or found[-1])

    def of(lowered, **options):
        generate(lowered, host_target(), Options(**options))
        return [one.address for one in found.pop().arrays]

    return of


def counts(x, bins):
    cuda.atomic.add(bins, x[cuda.grid(1)], 1)


def counts_twice(x, bins, all):
    i = cuda.grid(1)
    if i < x.size:
        cuda.atomic.add(bins, x[i], 1)
        cuda.atomic.max(all, 0, i)
        cuda.atomic.sub(bins, -1, 1)


def numbers(x, bins):
    i = cuda.grid(1)
    x[i] = cuda.atomic.add(bins, 0, 1)


def reads(x, bins):
    i = cuda.grid(1)
    cuda.atomic.add(bins, 0, 1)
    x[i] = bins[0]


def clears(x, bins):
    i = cuda.grid(1)
    if i == 0:
        bins[0] = 0
    cuda.atomic.add(bins, x[i], 1)


def exchanges(x, bins):
    cuda.atomic.add(bins, x[cuda.grid(1)], 1)
    cuda.atomic.exch(bins, 0, 1)


def adds_and_raises(x, bins):
    cuda.atomic.add(bins, x[cuda.grid(1)], 1)
    cuda.atomic.max(bins, 0, 1)


def wraps(x, bins):
    cuda.atomic.inc(bins, 0, x[cuda.grid(1)])


def publishes(x, bins):
    cuda.atomic.add(bins, x[cuda.grid(1)], 1)
    cuda.threadfence()


def one_of_two(x, bins, others):
    i = cuda.grid(1)
    cuda.atomic.add(bins if x[i] else others, 0, 1)


def waits_for_all(x, bins):
    cuda.atomic.add(bins, x[cuda.grid(1)], 1)
    cuda.cg.this_grid().sync()


@pytest.mark.parametrize("first", ["int32[1]", "uint8[1]", "int32[1]A", "int64[1]"])
def test_a_histogram_is_gathered_wherever_its_items_come_from(lowered, gathered, first):
    assert gathered(lowered(counts, first, "int32[1]")) == [11]


def test_several_arrays_are_gathered(lowered, gathered):
    assert gathered(lowered(counts_twice, "int32[1]", "uint32[1]", "int64[1]")) == [11, 18]


@pytest.mark.parametrize(
    "kernel", [numbers, reads, clears, exchanges, adds_and_raises, wraps, publishes, one_of_two, waits_for_all]
)
def test_what_a_thread_could_see_is_not_gathered(lowered, gathered, kernel):
    types = ["uint32[1]"] * kernel.__code__.co_argcount
    assert gathered(lowered(kernel, *types)) == []


@pytest.mark.parametrize("dtype", ["float32[1]", "float64[1]"])
def test_floats_are_not_gathered_as_their_sums_would_depend_on_when_groups_end(lowered, gathered, dtype):
    assert gathered(lowered(counts, "int32[1]", dtype)) == []


def test_arrays_with_strides_that_are_not_known_are_not_gathered(lowered, gathered):
    assert gathered(lowered(counts, "int32[1]", "int32[1]A")) == []


def test_debug_kernels_gather_nothing(lowered, gathered):
    options = {"debug": True, "checks": ("bounds",)}
    assert gathered(lowered(counts, "int32[1]", "int32[1]", **options), **options) == []


ADDS = """entry:
  %i = zext i32 %gj.thread to i64
  %at = getelementptr i32, ptr %arg.4, i64 %i
  %seen = atomicrmw add ptr %at, i32 1 monotonic, align 4
  %x = load i64, ptr %arg.11, align 8
  {more}
  ret i32 0"""


@pytest.mark.parametrize(
    ("more", "found"),
    [
        ("store i64 %x, ptr %arg.11, align 8", [4]),
        ("call void @llvm.memset.p0.i64(ptr align 8 %arg.11, i8 0, i64 8, i1 false)", [4]),
        ("store i64 %x, ptr %at, align 8", []),
        ("%again = atomicrmw volatile add ptr %at, i32 1 monotonic, align 4", []),
        ("%again = atomicrmw add ptr %at, i32 %seen monotonic, align 4", []),
        ("store { ptr, i64 } %pair, ptr %arg.11, align 8", []),
        ("store i64 %x, ptr inttoptr (i64 4096 to ptr), align 8", []),
        ("%read = va_arg ptr %arg.11, i64", []),
        ("call void @unknown(ptr %arg.11)", []),
    ],
)
def test_an_array_is_gathered_beside_known_memory_only(more, found):
    parameters = tuple(Parameter(type="ptr", name=name) for name in ("%arg.4", "%arg.11"))
    text = f"define i32 @k(ptr %arg.4, ptr %arg.11) {{\n{ADDS.format(more=more)}\n}}\n"
    one = privatized(read_body(text, "k", parameters), {4: 1, 11: 1}, {})
    assert [array.address for array in one.arrays] == found
