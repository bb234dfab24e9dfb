"""Inner loops over ranges from a number that is not known have a version whose indices are not tested."""

# mypy: ignore-errors
from __future__ import annotations

import re
import time
from typing import Any

import numpy as np
import pytest

import gridjit
from gridjit import cuda
from gridjit.compiler.targets.ptx import nvptx, versions
from gridjit.compiler.values.options import Options
from tests.toolkit import needs_toolkit

pytestmark = [
    *needs_toolkit(bitcode=True),
    pytest.mark.skipif(bool(nvptx.why_not([], "sm_90", Options())), reason="llvmlite's LLVM is older"),
]
ROWS = "void(int32[::1], float32[::1], float32[::1])"


@pytest.fixture(autouse=True)
def by_llvm(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GRIDJIT_CODEGEN", "llvm")


def ptx(function: Any, signature: str = ROWS, **options: Any) -> str:
    return str(gridjit.jit(function, cache=False, **options).compile(signature, target="sm_90").assembly)


def loops(text: str) -> list[str]:
    """Return the instructions of each innermost loop, from its label to the branch back to it."""
    at = {label[1]: label.start() for label in re.finditer(r"^(\$L\w+):", text, re.MULTILINE)}
    branches = re.finditer(r"\bbra(?:\.uni)?\s+(\$L\w+);", text)
    back = [(at[branch[1]], branch.start()) for branch in branches if at[branch[1]] < branch.start()]
    inner = [one for one in back if not any(one[0] <= other[0] and other[1] < one[1] for other in back)]
    assert inner
    return [text[begin:end] for begin, end in inner]


def wraps(body: str) -> bool:
    """Return whether an index below zero is counted from an array's end."""
    return "selp.b64" in body or "and.b64" in body


def rows(starts, x, out):
    row = cuda.grid(1)
    total = np.float32(0)
    for at in range(starts[row], starts[row + 1]):
        total += x[at]
    out[row] = total


def halves(starts, x, out):
    row = cuda.grid(1)
    total = np.float32(0)
    for at in range(starts[row], starts[row + 1]):
        total += np.float32(np.float16(x[at]))
    out[row] = total


def with_barriers(starts, x, out):
    row = cuda.grid(1)
    for at in range(starts[0], starts[1]):
        out[row] = x[at]
        cuda.syncthreads()


def with_shuffles(starts, x, out):
    row = cuda.grid(1)
    for at in range(starts[0], starts[1]):
        out[row] += cuda.shfl_sync(0xFFFFFFFF, x[at], 0)


def within(starts, x, out):
    row = cuda.grid(1)
    total = np.float32(0)
    for at in range(starts[row], starts[row + 1]):
        for other in range(starts[at], starts[at + 1]):
            total += x[other]
    out[row] = total


def both_conditions(starts, x, out):
    row = cuda.grid(1)
    total = np.float32(0)
    for at in range(starts[row], starts[row + 1]):
        if x[at] > 1 and x[at] < 5 and row != at:
            total += x[at]
    out[row] = total


def from_zero(starts, x, out):
    row = cuda.grid(1)
    total = np.float32(0)
    for at in range(starts[row]):
        total += x[at]
    out[row] = total


def from_the_thread(starts, x, out):
    row = cuda.grid(1)
    total = np.float32(0)
    for at in range(row, starts[row]):
        total += x[at]
    out[row] = total


def downwards(starts, x, out):
    row = cuda.grid(1)
    for at in range(starts[row], 0, -1):
        out[row] += x[at]


def one_of_two(starts, x, out):
    row = cuda.grid(1)
    down, up = range(starts[row], starts[row + 1], -1), range(starts[row], starts[row + 1])
    for at in down:
        out[row] += x[at] + len(up)


@cuda.jit(device=True)
def over(numbers, x, first):
    total = np.float32(len(range(first, 9)))
    for at in numbers:
        total += x[at]
    return total


def handed_on(starts, x, out):
    row = cuda.grid(1)
    out[row] = over(range(starts[row], starts[row + 1], -1), x, starts[row])


def beside_another(starts, x, out):
    row = cuda.grid(1)
    others = iter(range(starts[row + 2], 100))
    for at in range(starts[row], starts[row + 1]):
        out[row] += x[next(others)] * at


def around_numbered(starts, x, out):
    row = cuda.grid(1)
    for at in range(starts[row], starts[row + 1]):
        for _, other in enumerate(range(starts[at], 9)):
            out[row] += x[other]


@pytest.mark.each_value_once
@pytest.mark.parametrize("kind", ["int8", "int32", "int64"])
@pytest.mark.parametrize("function", [rows, halves, both_conditions], ids=lambda one: one.__name__)
def test_a_loop_from_a_number_in_memory_has_a_version_without_tests(function: Any, kind: str) -> None:
    tested = [wraps(body) for body in loops(ptx(function, ROWS.replace("int32", kind)))]
    assert {True, False} <= set(tested)


def test_only_the_inner_loop_stands_twice() -> None:
    text = ptx(within)
    assert {True, False} == {wraps(body) for body in re.findall(r"ld\.global\.b32[^$]*?bra", text)}


@pytest.mark.parametrize("function", [from_zero, from_the_thread], ids=lambda one: one.__name__)
def test_loops_that_begin_where_it_is_known_have_one_version(function: Any) -> None:
    assert not any(map(wraps, loops(ptx(function))))


@pytest.mark.parametrize("function", [with_barriers, with_shuffles, downwards], ids=lambda one: one.__name__)
def test_loops_in_which_threads_meet_or_that_count_down_stay(function: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    text = ptx(function)
    monkeypatch.setattr(nvptx, "with_versions", lambda text: text)
    assert ptx(function) == text


def test_line_information_does_not_change_the_versions() -> None:
    plain, told = (
        re.sub(r"^\t(?:\.loc|\.file|//)[^\n]*\n", "", text, flags=re.MULTILINE)
        for text in (ptx(rows), ptx(rows, lineinfo=True))
    )
    assert len(loops(plain)) == len(loops(told)) > 1


@pytest.mark.parametrize(
    "function", [one_of_two, handed_on, beside_another, around_numbered], ids=lambda one: one.__name__
)
def test_numbers_of_other_ranges_and_of_those_that_count_down_may_be_negative(function: Any) -> None:
    assert all(wraps(body) for body in loops(ptx(function)) if "ld.global" in body)


class Read(Exception):
    """The text of a module, before its loops have versions."""


def seconds(loops_in_a_row: int, monkeypatch: pytest.MonkeyPatch) -> float:
    """Return the processor's time to give so many loops in a row a version."""
    loop = " for at in range(starts[{0}], starts[{0} + 1]):\n  out[at] += x[at]\n"
    names = {}
    exec("def many(starts, x, out):\n" + "".join(map(loop.format, range(loops_in_a_row))), names)

    def read(text):
        raise Read(text)

    monkeypatch.setattr(nvptx, "with_versions", read)
    with pytest.raises(Read) as found:
        ptx(names["many"])
    times = []
    for _ in range(3):
        begin = time.process_time()
        assert versions.with_versions(found.value.args[0]).count("@llvm.assume(") == loops_in_a_row + 1
        times.append(time.process_time() - begin)
    return min(times)


def test_the_time_for_versions_grows_in_proportion_to_the_loops(monkeypatch: pytest.MonkeyPatch) -> None:
    assert seconds(60, monkeypatch) < 10 * seconds(15, monkeypatch)


def test_text_without_such_loops_is_not_read() -> None:
    text = "define void @f() {\nentry:\n  ret void\n}\n"
    assert versions.with_versions(text) is text
