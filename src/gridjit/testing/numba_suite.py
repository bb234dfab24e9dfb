"""A pytest plugin that runs numba-cuda's own tests on gridjit: `pytest -p gridjit.testing.numba_suite --pyargs ...`.

The names that numba-cuda's tests use (jit, arrays, streams, launch configurations) are gridjit's before the first test
module is imported. On a machine without a GPU, GRIDJIT_TARGET=host runs their kernels on the host.
"""

from __future__ import annotations

import os
import tempfile

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


@pytest.fixture
def initialize_from_pytest_config(request: pytest.FixtureRequest) -> None:
    """Tell the test class what the option says."""
    request.cls._dump_failed_filechecks = request.config.getoption("dump_failed_filechecks")
