"""What the benchmark of compiles is made of: cases that differ as they say, and figures that say what they measured."""

from __future__ import annotations

import ast
import difflib
from pathlib import Path

from compile_times.cases import CASES
from compile_times.chains import deep, ten, wide
from compile_times.figures import CUBIN, HOST, NUMBA, figures, ratio
from compile_times.processes import Times

SCRIPTS = Path(__file__).parents[2] / "scripts"


def times(cpu: float) -> Times:
    return Times(wall=9.0, cpu=cpu, phases={})


def test_each_case_has_a_module_with_its_kernels() -> None:
    assert len({case.name for case in CASES}) == len(CASES)
    for case in CASES:
        text = case.text or (SCRIPTS / f"{case.module.replace('.', '/')}.py").read_text()
        names = {node.name for node in ast.parse(text).body if isinstance(node, ast.FunctionDef)}
        assert names.issuperset(case.kernels)


def test_chains_have_as_many_device_functions_as_they_say() -> None:
    assert [text(count).count("device=True") for text in (deep, wide) for count in (1, 64)] == [1, 64, 1, 64]
    assert ten().count("@cuda.jit\n") == 10


def test_an_edit_changes_one_line_of_one_function() -> None:
    lines = difflib.ndiff(wide(32).splitlines(), wide(32, edited=16).splitlines())
    assert sum(line.startswith("+ ") for line in lines) == 1


def test_a_figure_names_its_worst_case_and_misses_its_bound_by_any_of_them() -> None:
    results = {
        "quick": {NUMBA: times(2.0), CUBIN: times(1.0), HOST: times(1.0)},
        "slow": {NUMBA: times(1.0), CUBIN: times(2.0), HOST: times(2.4)},
    }
    mean, cubin, host = figures(results)
    assert (mean.measured, "MISSED" in str(mean)) == (1.0, True)
    assert (cubin.measured, cubin.detail, "MISSED" in str(cubin)) == (2.0, "slow", True)
    assert (host.measured, host.detail, "reached" in str(host)) == (1.2, "slow", True)


def test_the_exponent_is_that_of_the_time_over_the_number_of_functions() -> None:
    results = {f"deep_{count}": {CUBIN: times(3.0 * count**1.5)} for count in (4, 64)}
    (found,) = figures(results)
    assert round(found.measured, 9) == 1.5


def test_a_scenario_is_the_ratio_of_its_times() -> None:
    assert ratio("ten", 0.7, (1.4, 2.0)).measured == 0.7
