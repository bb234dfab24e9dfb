"""Each call of the system on the way of a launch that finds or compiles its code fails once: launches are right."""

from __future__ import annotations

import errno
import os
import shutil
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import gridjit
from gridjit.cache.errors import CacheWarning
from gridjit.compiler.values.artifact import Artifact, Compiled
from tests.conftest import fresh_session
from tests.faults.calls import failing

# Whose calls fail.
MODULES = ("gridjit.",)
# A case has every so many-th call fail.
STEP = 8


def add(x):
    x[0] += 3


@pytest.fixture(scope="module")
def artifact() -> Artifact:
    """The code of add, which takes longer to make than all that is tested here."""
    return gridjit.jit(add, cache=False).compile("void(int64[::1])", target="host")


def launched(artifact: Artifact) -> list[str]:
    """Launch a new kernel, which must be right, in a process that begins; return what was warned of."""
    fresh_session()
    kernel: Any = gridjit.jit(add)
    kernel._compile_for_args = lambda job, view: Compiled(artifact=artifact)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        kernel[1, 1](x := np.full(1, 4, np.int64))
    assert x[0] == 7
    assert {warning.category for warning in caught} <= {CacheWarning}
    return [str(warning.message) for warning in caught]


def descriptors() -> int:
    return len(os.listdir("/proc/self/fd"))


@pytest.fixture
def prepare(
    on_host: None, cache_dir: Path, artifact: Artifact, request: pytest.FixtureRequest
) -> Callable[[bool], None]:
    """What leaves the cache empty, or as a launch before this one left it."""
    launched(artifact)
    full = cache_dir.with_name("full")
    shutil.rmtree(full, ignore_errors=True)
    shutil.copytree(cache_dir, full)

    def start(warm: bool) -> None:
        shutil.rmtree(cache_dir, ignore_errors=True)
        if warm:
            shutil.copytree(full, cache_dir)

    return start


@pytest.mark.some(4)
@pytest.mark.parametrize("first", range(1, STEP + 1))
@pytest.mark.parametrize("number", [errno.EIO, errno.ENOENT, errno.EACCES, errno.ENOSPC], ids=errno.errorcode.get)
@pytest.mark.parametrize("warm", [False, True], ids=["compiles", "finds"])
def test_a_call_that_fails_is_one_warning_at_most_and_a_right_launch(
    prepare: Callable[[bool], None], artifact: Artifact, warm: bool, number: int, first: int
) -> None:
    faults = []
    for at in range(first, 10_000, STEP):
        prepare(warm)
        before = descriptors()
        with failing(MODULES, at, number) as fault:
            try:
                told = launched(artifact)
                problem = f"{len(told)} warnings: {told}" if len(told) > 1 else ""
            except Exception as error:
                problem = repr(error)
        if not fault.failed:
            break
        assert descriptors() <= before, fault.failed
        assert launched(artifact) == [], fault.failed
        if problem:
            faults.append(f"{fault.failed}: {problem}")
    assert at > 2 * STEP  # there were calls
    assert not faults, "\n".join(faults)
