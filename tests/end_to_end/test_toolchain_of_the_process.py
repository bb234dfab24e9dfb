"""Code of a toolchain that was installed while a process runs is not stored under the version that was there before."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import gridjit
from gridjit.compiler import compile as compiling
from gridjit.compiler.key import toolchain
from gridjit.compiler.key.registrations import registrations


@gridjit.jit(device=True)
def doubled(a):
    return a + a


@gridjit.jit
def kernel(x):
    x[0] = doubled(x[0])


def launched() -> str:
    """Launch anew, and return what the kernel says of it."""
    x = np.ones(1)
    kernel[1, 1](x)
    assert x.tolist() == [2]
    return kernel.explain()


@pytest.fixture
def anew(on_host: None, restart: Callable[[], None]) -> Callable[[], None]:
    """What starts over as a new process does."""

    def start() -> None:
        toolchain.toolchain.cache_clear()
        kernel._forget()
        restart()

    start()
    return start


def test_code_of_a_version_that_was_installed_between_look_up_and_import_is_not_stored(
    anew: Callable[[], None], cache_dir: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def install() -> None:
        (tmp_path / "site" / "numba-99.9.dist-info").mkdir(parents=True)
        sys.path.insert(0, str(tmp_path / "site"))

    with monkeypatch.context() as patch:
        patch.setattr(sys, "path", [*sys.path])
        patch.setattr(compiling, "registrations", lambda: (install(), registrations())[1])
        assert "not stored on disk: numba was installed or changed while this process ran" in launched()
    assert not [*cache_dir.glob("??/*.o")] and not [*cache_dir.glob("??/*.unit")]
    anew()
    assert "not stored on disk" not in launched()  # the other version is gone
    assert [*cache_dir.glob("??/*.o")] and [*cache_dir.glob("??/*.unit")]
    anew()
    assert " for host, disk in " in launched()
