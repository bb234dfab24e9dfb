"""Zeros that numba stores where it reserves memory go where nothing can read them, and stay everywhere else."""

# mypy: ignore-errors
from __future__ import annotations

import re
from collections.abc import Callable

import numpy as np
import pytest

import gridjit
from gridjit import cuda
from gridjit.compiler.frontend.bindings.types import parse_signature
from gridjit.compiler.frontend.kept import library
from gridjit.compiler.frontend.kept.initial_stores import without_initial_stores
from gridjit.compiler.frontend.lower import lower
from gridjit.compiler.targets.ptx.nvvm import compile_ptx
from gridjit.compiler.values.options import Options
from gridjit.compiler.values.target import Target
from gridjit.compiler.view.config import ConfigView
from tests.toolkit import needs_toolkit

ZEROS = "  store {i64, [2 x i64]} zeroinitializer, {i64, [2 x i64]}* "


def function(*blocks: str, entry: str = "") -> str:
    """Return a function that reserves %"a" and %"b", with blocks of the given lines."""
    reserved = "".join(f'  %"{name}" = alloca {{i64, [2 x i64]}}\n{ZEROS}%"{name}"\n' for name in "ab")
    nexts = [*(f'  br label %"B{number}"\n' for number in range(1, len(blocks))), "  ret i32 0\n"]
    ends = ["" if "label" in block else end for block, end in zip(blocks, nexts, strict=True)]
    rest = "".join(f"B{number}:\n{block}{end}" for number, (block, end) in enumerate(zip(blocks, ends, strict=True)))
    return f'define i32 @"f"({{i64, [2 x i64]}} %"v")\n{{\nentry:\n{reserved}{entry}  br label %"B0"\n{rest}}}\n'


def to(*labels: str) -> str:
    """Return the branch at a block's end to one block or two, or the switch to more."""
    first, *others = (f'label %"{label}"' for label in labels)
    if len(labels) < 3:
        return f"  br {'i1 %c, ' if others else ''}{', '.join((first, *others))}\n"
    return "  switch i64 %n, " + first + " [\n" + "".join(f"    i64 1, {label}\n" for label in others) + "  ]\n"


def store(name: str, value: str = '%"v"', suffix: str = "") -> str:
    return f'  store {{i64, [2 x i64]}} {value}, {{i64, [2 x i64]}}* %"{name}"{suffix}\n'


def load(name: str) -> str:
    return f'  %"l{name}" = load {{i64, [2 x i64]}}, {{i64, [2 x i64]}}* %"{name}"\n'


def zeroed(text: str) -> list[str]:
    return re.findall(r'zeroinitializer, .*?\* %"(\w)"', without_initial_stores(text).split("\nB0:")[0])


def part_of(name: str) -> str:
    pointer = f'getelementptr inbounds {{i64, [2 x i64]}}, {{i64, [2 x i64]}}* %"{name}", i32 0, i32 0'
    return f'  %"p{name}" = {pointer}\n  store i64 1, i64* %"p{name}"\n'


def test_zeros_go_where_one_block_overwrites_them_before_it_reads() -> None:
    assert zeroed(function(store("a") + load("a"), store("b") + part_of("b"))) == []


def test_zeros_that_are_overwritten_by_zeros_go_too() -> None:
    assert zeroed(function(store("a", "zeroinitializer") + load("a"))) == ["b"]


def test_the_place_of_a_store_in_the_source_does_not_matter() -> None:
    assert zeroed(function(store("a", suffix=", !dbg !12") + load("a"))) == ["b"]


@pytest.mark.parametrize(
    "blocks",
    [
        pytest.param((load("a"),), id="read first"),
        pytest.param((part_of("a") + store("a"),), id="overwritten in part first"),
        pytest.param((to("B2", "B1"), store("a"), load("a")), id="one way does not overwrite"),
        pytest.param((to("B2", "B1", "B3"), store("a"), store("a"), load("a")), id="nor does a case of a switch"),
        pytest.param((load("a") + to("B0", "B1"), store("a") + to("B0")), id="overwritten for the next turn only"),
        pytest.param((store("a"), *[""] * 30, load("a")), id="too far away to be looked for"),
        pytest.param((store("a") + to("B1", "unknown"), load("a")), id="a label of no block"),
        pytest.param((load("a"), store("a")), id="read in the block before"),
        pytest.param(('  call void @"g"({i64, [2 x i64]}* %"a")\n' + store("a"),), id="given away first"),
        pytest.param(('  store {i64, [2 x i64]}* %"a", {i64, [2 x i64]}** %"q"\n' + store("a"),), id="address stored"),
    ],
)
def test_zeros_stay_where_something_may_read_them(blocks: tuple[str, ...]) -> None:
    text = function(*blocks)
    assert without_initial_stores(text) == text


@pytest.mark.parametrize(
    "blocks",
    [
        pytest.param((store("a"), load("a")), id="by the block before"),
        pytest.param((to("B1", "B2"), store("a") + to("B3"), store("a"), load("a")), id="in both branches"),
        pytest.param((store("a"), load("a") + to("B1", "B2"), load("a")), id="before a loop"),
        pytest.param((to("B1", "B2"), store("a") + load("a"), store("a")), id="in each block that uses it"),
    ],
)
def test_zeros_go_where_each_way_to_their_reads_overwrites_them(blocks: tuple[str, ...]) -> None:
    assert zeroed(function(*blocks)) == ["b"]


def test_zeros_stay_where_the_entry_block_uses_them() -> None:
    assert zeroed(function(store("a") + load("a"), entry=load("a"))) == ["a", "b"]


def test_other_first_values_go_and_stay_alike() -> None:
    text = function(store("a")).replace("zeroinitializer", "undef")
    assert without_initial_stores(text).count("undef") == 1


def test_functions_of_one_module_are_told_apart() -> None:
    text = function(store("a")) + function(load("a")).replace('@"f"', '@"g"')
    assert re.findall(r'zeroinitializer, .*?\* %"(\w)"', without_initial_stores(text)) == ["b", "a", "b"]


def views(u, out, n):
    i, j = cuda.grid(2)
    last = 0.0
    if i < u.shape[0] and j < u.shape[1]:
        for k in range(n):
            k = k % u.shape[2]
            last = u[i][j][k] + 2.0 * u[i][j][(k + 1) % 5]
            out[i][j][k] = last - out[i][j][0]
        out[i][j][n] = last


@pytest.fixture
def with_the_zeros(monkeypatch: pytest.MonkeyPatch, restart: Callable[[], None]) -> list[bool]:
    """From now on compile anew, and keep all zeros; tell of each module whether it had any to lose."""
    restart()
    lost: list[bool] = []

    def keep(text: str) -> str:
        lost.append(without_initial_stores(text) != text)
        return text

    monkeypatch.setattr(library, "without_initial_stores", keep)
    return lost


SIGNATURE = "void(float64[:,:,::1], float64[:,:,::1], int64)"


@pytest.mark.parametrize("arch", [pytest.param("sm_80", marks=needs_toolkit(bitcode=True))])
def test_the_machine_code_for_a_gpu_is_the_same(with_the_zeros: list[bool], arch: str) -> None:
    target, view = Target(kind="ptx", arch=arch), ConfigView(None)
    found, _ = lower(views, parse_signature(SIGNATURE), Options(), target, (), view)
    lean = [without_initial_stores(text) for text in found.modules]
    assert compile_ptx(lean, arch, Options()) == compile_ptx(found.modules, arch, Options())
    assert with_the_zeros == [True]


def test_the_host_computes_the_same(request: pytest.FixtureRequest) -> None:
    def results() -> np.ndarray:
        u, out = np.arange(60.0).reshape(3, 4, 5), np.ones((3, 4, 5))
        gridjit.jit(views, cache=False, target="host")[(2, 2), (2, 2)](u, out, 4)
        return out

    lean = results()
    lost = request.getfixturevalue("with_the_zeros")
    assert np.array_equal(lean, results())
    assert lost == [True]
