"""A pytest plugin that runs numba-cuda's own tests on gridjit: `pytest -p gridjit.testing.numba_suite --pyargs ...`.

The names that numba-cuda's tests use (jit, arrays, streams, launch configurations) are gridjit's before the first test
module is imported. On a machine without a GPU, GRIDJIT_TARGET=host runs their kernels on the host.
"""

from __future__ import annotations

import importlib
import os
import tempfile
import traceback
from collections.abc import Generator, Iterator
from typing import Any

import pytest

from gridjit.runtime.session import session
from gridjit.testing import numba_names

# Tests of numba-cuda's own memory: its queue of deallocations, its plugins, its handles. They keep its functions.
LEFT_ALONE = ("test_deallocations", "test_emm_plugins", "test_host_alloc", "test_ipc")

_CACHE = pytest.StashKey["tempfile.TemporaryDirectory[str]"]()


def pytest_addoption(parser: pytest.Parser) -> None:
    """Define the option that numba-cuda's test classes read; its wheel comes without the file that does."""
    parser.addoption(
        "--dump-failed-filechecks",
        action="store_true",
        default=False,
        help="write the IR of failed FileCheck assertions to a folder",
    )


def pytest_configure(config: pytest.Config) -> None:
    """Give this run a cache of its own, if none was chosen, and put gridjit's names where the tests look."""
    if "GRIDJIT_CACHE_DIR" not in os.environ:
        config.stash[_CACHE] = folder = tempfile.TemporaryDirectory(prefix="gridjit-numba-suite-")
        os.environ["GRIDJIT_CACHE_DIR"] = folder.name
    # gridjit warns of small grids only where that is asked for; the tests then switch it off and on.
    os.environ.setdefault("NUMBA_CUDA_LOW_OCCUPANCY_WARNINGS", "1")
    numba_names.install()
    if session().device(None).target.kind == "host":
        _count_no_allocations()


def pytest_unconfigure(config: pytest.Config) -> None:
    """Remove the run's own cache."""
    if (folder := config.stash.get(_CACHE, None)) is not None:
        folder.cleanup()


def _count_no_allocations() -> None:
    """Keep the mixins that count allocations of numba-cuda's runtime from starting it: on the host it has no driver."""
    from numba.cuda.tests import support

    for mixin, names in (
        (support.EnableNRTStatsMixin, ("setUp", "tearDown")),
        (support.MemoryLeak, ("memory_leak_setup", "memory_leak_teardown")),
    ):
        for name in names:
            setattr(mixin, name, lambda test: None)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Give the tests that are left alone numba.cuda as it was."""
    for module in {item.module for item in items if isinstance(item, pytest.Function)}:
        if module.__name__.rpartition(".")[2] in LEFT_ALONE:
            module.cuda = numba_names.original()


@pytest.fixture(autouse=True)
def _driver_as_it_was() -> Iterator[None]:
    """Put back the driver's functions that a test replaced, also one that fails before it does so itself."""
    functions = vars(importlib.import_module("numba.cuda.cudadrv.driver").driver)
    before = {name: function for name, function in functions.items() if name.startswith("cu")}
    yield
    # Those that were not there are made anew when they are called.
    for name in [name for name in functions if name.startswith("cu") and name not in before]:
        del functions[name]
    functions.update(before)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo[None]) -> Generator[None, Any, Any]:
    """Drop what a failed test had in its hands once it is reported: a capture left open fails the tests after it."""
    report = yield
    if call.excinfo is not None:
        traceback.clear_frames(call.excinfo.tb)
    return report


@pytest.fixture
def initialize_from_pytest_config(request: pytest.FixtureRequest) -> None:
    """Tell the test class what the option says."""
    request.cls._dump_failed_filechecks = request.config.getoption("dump_failed_filechecks")
