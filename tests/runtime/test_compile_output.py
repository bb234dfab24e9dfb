"""What a program sees of compiles: what numba's settings ask to print, who looks into one, and the cache's counts."""

from __future__ import annotations

import importlib
import sys
from typing import Any

import numpy as np
import pytest

import gridjit
from gridjit.compiler.key.numba_settings import dumps


def fill(x):
    x[0] = 1


def launched(**options: Any) -> gridjit.Kernel:
    kernel = gridjit.jit(target="host", **options)(fill)
    kernel[1, 1](np.zeros(1, np.int32))
    return kernel


def test_what_is_to_be_printed_is_printed_though_it_was_compiled_before(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    launched()
    monkeypatch.setattr(importlib.import_module("numba.core.config"), "DUMP_IR", True)
    before = capsys.readouterr().out
    launched()
    assert "IR DUMP: fill" not in before
    assert "IR DUMP: fill" in capsys.readouterr().out


@pytest.mark.parametrize(("environ", "found"), [({}, set()), ({"NUMBA_DUMP_IR": "1"}, {"DUMP_IR"})])
def test_variables_ask_for_output_before_numba_is_imported(
    monkeypatch: pytest.MonkeyPatch, environ: dict[str, str], found: set[str]
) -> None:
    monkeypatch.setitem(sys.modules, "numba.core.config", None)
    assert dumps(environ) == found
    assert dumps({**environ, "NUMBA_DUMP_LLVM": "0"}) == found


def test_who_replaces_compile_for_args_sees_the_launch(monkeypatch: pytest.MonkeyPatch) -> None:
    kernel = gridjit.jit(target="host", cache=False)(fill)
    compile_it, seen = kernel._compile_for_args, []

    def look(*args: Any) -> Any:
        config = gridjit.launchconfig.ensure_current_launch_config()
        seen.append((config.dispatcher, config.blockdim))
        return compile_it(*args)

    monkeypatch.setattr(kernel, "_compile_for_args", look)
    kernel[2, 32](np.zeros(1, np.int64))
    kernel[2, 32](np.zeros(1, np.int64))
    [(dispatcher, blockdim)] = seen
    assert dispatcher is kernel
    assert blockdim == (32, 1, 1)
    assert kernel.specializations[0].launch_config_sensitive


def test_hits_and_misses_are_counted_by_signature() -> None:
    types = importlib.import_module("numba").types
    first, second = launched(), launched()
    signature = (types.int32[::1],)
    assert (first.stats.cache_misses[signature], first.stats.disk_misses) == (1, 1)
    assert (second.stats.cache_hits[signature], second.stats.disk_hits) == (1, 1)
    assert signature not in second.stats.cache_misses
    assert repr(second.stats) == "Statistics(compiles=0, disk_hits=1, disk_misses=0)"
