"""Launches that may begin before the previous grid has ended: programmatic=True, and gridjit.griddepcontrol."""

from __future__ import annotations

import os
from typing import Any

import numpy as np
import pytest

import gridjit
from gridjit import cuda, griddepcontrol
from gridjit.compiler.values.errors import ConfigError
from gridjit.griddepcontrol import wait
from tests.programs import run_python

pytestmark = pytest.mark.usefixtures("target")


@gridjit.jit
def produce(x, n):
    i = cuda.grid(1)
    griddepcontrol.launch_dependents()
    if i < n:
        x[i] = i + 1


@gridjit.jit
def consume(x, y, n):
    i = cuda.grid(1)
    wait()
    if i < n:
        y[i] = 2 * x[i]


@gridjit.jit
def forgets(x, n):
    i = cuda.grid(1)
    if i < n:
        x[i] = 0


def test_a_programmatic_launch_sees_all_that_the_grid_before_it_wrote() -> None:
    n = 1 << 16
    x, y = cuda.to_device(np.zeros(n, np.int64)), cuda.device_array(n, np.int64)
    stream = gridjit.create_stream()
    for _ in range(20):
        produce[n // 128, 128, stream](x, n)
        consume.configure(n // 128, 128, stream, programmatic=True)(x, y, n)
        assert (y.copy_to_host(stream=stream) == 2 * np.arange(1, n + 1)).all()
        x.copy_to_device(np.zeros(n, np.int64), stream=stream)


def test_a_programmatic_launch_of_code_that_does_not_wait_is_refused_saying_what_to_call() -> None:
    x = cuda.to_device(np.ones(8))
    with pytest.raises(ConfigError, match=r"forgets .*programmatic.*griddepcontrol\.wait\(\)"):
        forgets.configure(1, 8, programmatic=True)(x, 8)
    forgets[1, 8](x, 8)
    assert set(x.copy_to_host()) == {0.0}


def test_whether_a_launch_is_programmatic_compiles_nothing_anew() -> None:
    @gridjit.jit
    def kernel(x):
        griddepcontrol.wait()
        x[0] += 1

    x = cuda.to_device(np.zeros(1))
    kernel[1, 1](x)
    kernel.configure(1, 1, programmatic=True)(x)
    assert kernel.stats.compiles == 1 and x.copy_to_host()[0] == 2


def test_a_recorded_programmatic_launch_comes_after_what_it_depends_on() -> None:
    n = 1 << 12
    x, y = cuda.to_device(np.zeros(n, np.int64)), cuda.device_array(n, np.int64)
    stream = gridjit.create_stream()
    with gridjit.graph(stream) as g:
        produce[n // 128, 128, stream](x, n)
        consume.configure(n // 128, 128, stream, programmatic=True)(x, y, n)
        with pytest.raises(ConfigError, match="programmatic"):
            forgets.configure(n // 128, 128, stream, programmatic=True)(x, n)
    assert len(g.nodes) == 2
    for _ in range(3):
        g.launch(stream)
    assert (y.copy_to_host(stream=stream) == 2 * np.arange(1, n + 1)).all()


PROGRAM = """
import numpy as np, gridjit
from gridjit import cuda, griddepcontrol

@gridjit.jit(device=True)
def begin():
    griddepcontrol.wait()

@gridjit.jit
def kernel(x):
    begin()
    x[0] += 1

x = cuda.to_device(np.zeros(1))
kernel.configure(1, 1, programmatic=True)(x)
print(x.copy_to_host()[0], kernel.stats.compiles)
"""


def test_that_code_waits_is_known_of_what_the_next_process_finds(tmp_path: Any, device_kind: str) -> None:
    environment = {**os.environ, "GRIDJIT_CACHE_DIR": str(tmp_path), "GRIDJIT_TARGET": device_kind}
    program = tmp_path / "program.py"
    program.write_text(PROGRAM)
    said = [run_python(program, env=environment) for _ in range(2)]
    assert [one.stdout for one in said] == ["1.0 1\n", "1.0 0\n"], said[0].stderr + said[1].stderr


def test_stepping_passes_over_the_words(tmp_path: Any) -> None:
    environment = {**os.environ, "GRIDJIT_HOST_STEP": "1", "GRIDJIT_TARGET": "host"}
    said = run_python("-c", PROGRAM.replace("kernel.stats.compiles", "0"), env=environment)
    assert said.stdout == "1.0 0\n", said.stderr


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"preferred_cluster": 4}, "give cluster too"),
        ({"cluster": 2, "preferred_cluster": 3}, "must be a multiple of cluster"),
        ({"cluster": 2, "preferred_cluster": 0}, r"preferred_cluster\.x is 0"),
    ],
)
def test_a_preferred_cluster_is_a_multiple_of_the_smallest_one(given: dict[str, Any], said: str) -> None:
    with pytest.raises(ConfigError, match=said):
        forgets.configure(8, 32, **given)
