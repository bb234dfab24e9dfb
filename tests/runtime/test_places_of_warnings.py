"""Every warning names the line of the program that led to it: not one of gridjit's, of numba's or of the library's."""

from __future__ import annotations

import linecache
import sys
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import gridjit
from gridjit import cuda
from gridjit.base import messages
from gridjit.compiler.frontend.bindings import bootstrap
from gridjit.compiler.targets.ptx.nvrtc import LinkedCodeWarning


def fill(x):
    x[0] = 1


def launch(**options: Any) -> None:
    x = np.zeros(1, np.float32)
    kernel = gridjit.jit(target="host", **options)(fill)
    kernel[1, 1](x)  # here
    kernel.forall(1)(x.astype(np.int32))  # here


def contradictory() -> None:
    gridjit.jit(debug=True, opt=True)  # here
    cuda.jit(debug=True, lineinfo=True)(fill)  # here
    gridjit.jit("void(float32[::1])", debug=True, opt=True)  # here


def small_grids() -> None:
    kernel = gridjit.jit(target="host")(fill)
    kernel[4, 32]  # here
    kernel.configure(5, 32)  # here


def prepare_file_as_folder(folder: Path) -> dict[str, str]:
    (folder / "file").touch()
    return {"GRIDJIT_CACHE_DIR": str(folder / "file" / "cache")}


# What is done, which variables lead to warnings, and their category's name.
CASES: dict[str, tuple[Callable[[], None], Callable[[Path], dict[str, str]], str]] = {
    "a cache that cannot be used": (launch, prepare_file_as_folder, "CacheWarning"),
    "a key that cannot be read": (launch, lambda f: {"GRIDJIT_CACHE_KEY_FILE": str(f / "none")}, "CacheWarning"),
    "a record that cannot be written": (launch, lambda f: {"GRIDJIT_RECORD": str(f / "no" / "file")}, "CacheWarning"),
    "a misspelt variable": (launch, lambda f: {"GRIDJIT_LOGS": "1"}, "ConfigWarning"),
    "symbols that cannot be written": (
        lambda: launch(lineinfo=True),
        lambda f: {"GRIDJIT_HOST_SYMBOLS": "/proc/none"},
        "ConfigWarning",
    ),
    "too many specializations": (lambda: launch(max_specializations=1), lambda f: {}, "SpecializationWarning"),
    "options that contradict each other": (contradictory, lambda f: {}, "ConfigWarning"),
    "small grids": (small_grids, lambda f: {"NUMBA_CUDA_LOW_OCCUPANCY_WARNINGS": "1"}, "PerformanceWarning"),
}


@pytest.mark.parametrize("case", CASES)
def test_a_warning_names_the_users_line(
    case: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, restart: Callable[[], None]
) -> None:
    run, variables, category = CASES[case]
    for name, text in variables(tmp_path).items():
        monkeypatch.setenv(name, text)
    restart()
    found = caught_in(run)
    assert {one.category.__name__ for one in found} == {category}
    for one in found:
        assert (one.filename, "# here" in linecache.getline(one.filename, one.lineno)) == (__file__, True), one


def caught_in(run: Callable[[], object]) -> list[warnings.WarningMessage]:
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        run()
    return list(found)


def test_extensions_that_cannot_be_looked_for_are_warned_of_at_the_users_line(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail() -> None:
        raise ValueError("not a description")

    launch()
    monkeypatch.setattr(sys.modules["numba.cuda.core.entrypoints"], "init_all", fail)
    (found,) = caught_in(bootstrap._load_all)
    assert (found.filename, "not a description" in str(found.message)) == (__file__, True)


@pytest.mark.cuda_toolkit
def test_what_the_cuda_compiler_warns_of_is_warned_of_at_the_users_line() -> None:
    code = cuda.CUSource('extern "C" __device__ int odd() { int unused; return 1; }\n', "odd.cu")
    kernel = gridjit.jit(link=[code])(fill)
    (found,) = caught_in(lambda: kernel.compile("void(float32[::1])", target="sm_80"))
    assert (found.category, found.filename) == (LinkedCodeWarning, __file__)


def test_in_a_thread_without_a_users_line_a_warning_is_issued_all_the_same() -> None:
    namespace: dict[str, Any] = {"__name__": "gridjit.somewhere", "warn": messages.warn}
    exec("def deep():\n    warn(UserWarning('said'))", namespace)
    found = caught_in(namespace["deep"])
    assert [str(one.message) for one in found] == ["said"]
    assert found[0].filename == __file__


@pytest.mark.parametrize(
    "between", ["gridjit.runtime.x", "numba.cuda.x", "contextlib", "functools", "importlib._bootstrap"]
)
def test_libraries_between_are_passed_over_and_others_are_not(between: str) -> None:
    def issued(name: str) -> str:
        namespace: dict[str, Any] = {"__name__": name, "warn": messages.warn}
        exec(compile("def deep():\n    warn(UserWarning('said'))", "between.py", "exec"), namespace)
        return caught_in(namespace["deep"])[0].filename

    assert (issued(between), issued("gridjitter.x"), issued("theirs")) == (__file__, "between.py", "between.py")
