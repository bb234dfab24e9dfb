"""A real notebook: cells that are edited and run again, errors of at most a screen, kernels that go to workers.

Skipped where nbclient and ipykernel are not installed, as in `make test`; CONTRIBUTING.md says how to have them run.
"""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Any

import pytest

nbclient: Any = pytest.importorskip("nbclient", reason="nbclient is not installed")
nbformat: Any = pytest.importorskip("nbformat", reason="nbformat is not installed")
pytest.importorskip("ipykernel", reason="ipykernel is not installed")

SCREEN = 24
FIRST = """
import numpy as np
import gridjit
from gridjit import cuda

@gridjit.jit
def scale(x):
    i = cuda.grid(1)
    if i < x.size:
        x[i] *= FACTOR

def scaled(kernel):
    x = np.ones(4)
    kernel[1, 4](x)
    return float(x[0])

FACTOR = 3
scaled(scale)
"""
AGAIN = FIRST.replace("*= FACTOR", "*= FACTOR + 100")


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, cache_dir: Path) -> Any:
    """What runs cells in a new notebook on the host, and returns the outputs of each."""
    monkeypatch.setenv("GRIDJIT_TARGET", "host")
    monkeypatch.setenv("IPYTHONDIR", str(tmp_path / "ipython"))
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(map(os.path.abspath, os.environ["PYTHONPATH"].split(os.pathsep))))

    def run_cells(*sources: str) -> list[list[Any]]:
        book = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(source) for source in sources])
        resources = {"metadata": {"path": str(tmp_path)}}
        nbclient.NotebookClient(book, timeout=120, allow_errors=True, resources=resources).execute()
        return [cell.outputs for cell in book.cells]

    return run_cells


def value(outputs: list[Any]) -> str:
    assert [one.output_type for one in outputs] == ["execute_result"], outputs
    return str(outputs[0].data["text/plain"])


def error(outputs: list[Any]) -> str:
    assert [one.output_type for one in outputs] == ["error"], outputs
    return re.sub(r"\x1b\[[0-9;]*m", "", "\n".join(outputs[0].traceback))


def test_a_cell_that_is_edited_and_run_again_has_the_new_kernel(run: Any) -> None:
    first, again, back = run(FIRST, AGAIN, FIRST)
    assert (value(first), value(again), value(back)) == ("3.0", "103.0", "3.0")


def test_a_notebook_that_is_started_again_finds_its_kernels_in_the_cache(run: Any) -> None:
    assert value(run(FIRST + "scale.stats.compiles")[0]) == "1"
    assert value(run(FIRST + "scale.stats.compiles")[0]) == "0"


COMPILES_NOT = """
@gridjit.jit
def wrong(x):
    x[0] = FACTR
wrong[1, 1](np.ones(4))
"""
RAISES = """
@gridjit.jit(debug=True)
def outside(x):
    x[cuda.grid(1) + 2] = 1
outside[1, 4](np.ones(4))
"""
REFUSED = "scale[1, 99999](np.ones(4))"


@pytest.mark.parametrize(
    ("cell", "said"),
    [
        (COMPILES_NOT, "'FACTR' is not defined"),
        (RAISES, "index 4 of axis 0 of array 'x', whose size is 4"),
        (REFUSED, "blockdim.x is 99999; it must be from 1 to 1024"),
    ],
)
def test_an_error_fits_a_screen_and_shows_the_cell_alone(run: Any, cell: str, said: str) -> None:
    told = error(run(FIRST, cell)[1])
    assert said in told
    assert len(told.splitlines()) <= SCREEN
    assert "gridjit/" not in told


def test_kernels_of_cells_go_to_the_workers_of_other_processes(run: Any) -> None:
    started = """
import multiprocessing, operator
from concurrent.futures import ProcessPoolExecutor
with ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("spawn")) as pool:
    names = [pool.submit(operator.attrgetter("name"), one).result() for one in (scale, scale.specialize(np.ones(4)))]
names
"""
    pytest.importorskip("joblib")
    by_joblib = "import joblib\njoblib.Parallel(2)(joblib.delayed(scaled)(one) for one in (scale, scale))"
    _, names, values = run(FIRST, started, by_joblib)
    assert (value(names), value(values)) == ("['scale', 'scale']", "[3.0, 3.0]")


def test_what_is_looked_at_in_a_cell_is_shown_as_a_table_and_as_text(run: Any) -> None:
    shown = ("scale", "scale[1, 4]", "scale.specializations", "scale.stats", "scale.explain()")
    for outputs in run(FIRST, *shown)[1:]:
        value(outputs)
        assert "<" in outputs[0].data["text/html"]
    text = [value(outputs) for outputs in run(FIRST, "scale.signatures")[1:]]
    assert text == ["[(float64[1d C])]"]
