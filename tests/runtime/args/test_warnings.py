"""The warning of small grids: only where the environment asks for it, once for a configuration, at the user's line."""

from __future__ import annotations

import sys
import warnings
from types import SimpleNamespace

import pytest

import gridjit
from gridjit.runtime.environment.warnings import PerformanceWarning

ASKED = "NUMBA_CUDA_LOW_OCCUPANCY_WARNINGS"


def fill(x):
    x[0] = 1


@pytest.fixture(autouse=True)
def without_numba(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "numba.core.config", None)


def test_a_small_grid_is_warned_of_where_it_is_written(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(ASKED, "1")
    kernel = gridjit.jit(target="host")(fill)
    with pytest.warns(PerformanceWarning, match="Grid size 16: .* low occupancy") as caught:
        kernel[(4, 4), 32]
    assert caught[0].filename == __file__
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        kernel[(4, 4), 32]
        kernel[128, 32]


@pytest.mark.parametrize("environ", [{}, {ASKED: "0"}, {ASKED: "1", "NUMBA_DISABLE_PERFORMANCE_WARNINGS": "1"}])
def test_a_small_grid_is_not_warned_of_unless_that_is_asked_for(
    monkeypatch: pytest.MonkeyPatch, environ: dict[str, str]
) -> None:
    monkeypatch.delenv(ASKED, raising=False)
    for name, value in environ.items():
        monkeypatch.setenv(name, value)
    gridjit.jit(target="host")(fill)[1, 32]


def test_what_is_assigned_to_numbas_setting_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(ASKED, "1")
    config = SimpleNamespace(CUDA_LOW_OCCUPANCY_WARNINGS=0)
    monkeypatch.setitem(sys.modules, "numba.core.config", config)
    gridjit.jit(target="host")(fill)[1, 32]
