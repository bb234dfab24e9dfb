"""A programmatic launch begins before the previous grid has ended; preferred clusters say what they need."""

from __future__ import annotations

import numpy as np
import pytest

import gridjit
from gridjit import cuda, griddepcontrol
from gridjit.compiler.values.errors import ConfigError

SPINS = 1 << 20


@gridjit.jit
def first(begun, seen):
    griddepcontrol.launch_dependents()
    for _ in range(SPINS):
        if cuda.atomic.add(begun, 0, 0):
            seen[0] = 1
            break


@gridjit.jit
def second(begun, seen, out):
    cuda.atomic.add(begun, 0, 1)
    griddepcontrol.wait()
    out[0] = 10 + seen[0]


@pytest.mark.parametrize("programmatic", [False, True])
def test_a_grid_sees_the_one_after_it_begin_only_if_that_is_programmatic(programmatic: bool) -> None:
    begun, seen, out = (cuda.to_device(np.zeros(1, np.int32)) for _ in range(3))
    stream = gridjit.create_stream()
    first[1, 1, stream](begun, seen)
    second.configure(1, 1, stream, programmatic=programmatic)(begun, seen, out)
    stream.synchronize()
    assert out.copy_to_host()[0] == 10 + programmatic


def test_preferred_clusters_are_launched_or_refused_with_what_they_need() -> None:
    x = cuda.to_device(np.zeros(1, np.int32))
    launch = second.configure(8, 1, cluster=2, preferred_cluster=4)
    if cuda.get_current_device().compute_capability < (10, 0):
        with pytest.raises(ConfigError, match=r"preferred clusters need 10\.0"):
            launch(x, x, x)
    else:
        launch(x, x, x)
        cuda.synchronize()
