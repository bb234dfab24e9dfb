"""A pytest plugin that runs numba-cuda's own tests on gridjit: `pytest -p gridjit.testing.numba_suite --pyargs ...`.

The names that tests use (jit, arrays, streams, launch configurations) become gridjit's before the first conftest and
the first package under test are imported. If that is too late, the run is refused. At the end, the plugin says how many
kernels went through gridjit and which did not. On a machine without a GPU, GRIDJIT_TARGET=host runs kernels on the
host.
"""

from __future__ import annotations

import contextlib
import importlib
import itertools
import os
import tempfile
import traceback
from collections.abc import Generator, Iterator
from pathlib import Path
from typing import Any

import pytest

from gridjit import installing
from gridjit.runtime.devices import findings
from gridjit.runtime.kernel import Kernel
from gridjit.runtime.process.session import end_session, session
from gridjit.starting import counting
from gridjit.starting.counts import KernelCounts
from gridjit.testing import children, module_names
from gridjit.testing.children import LEFT_ALONE

_CLOSING = pytest.StashKey[contextlib.ExitStack]()
_COUNTS = pytest.StashKey[KernelCounts]()
_WORKERS = pytest.StashKey[KernelCounts]()
_SENT = "gridjit kernel counts"
_CACHES = pytest.StashKey[Generator[str, None, None]]()
_PLUGINS = "PYTEST_PLUGINS"
_CACHE, _DEBUG = "GRIDJIT_CACHE_DIR", "GRIDJIT_DEBUG"
# Tests that nobody sees go wrong on a GPU.
_DAMAGING = {
    "test_struct_model_type_arr": "its kernel stores ten numbers into arrays of one, beyond which is the host's heap"
}
# What the names of this plugin's own folders begin with.
_PREFIX = "gridjit-numba-suite-"


def pytest_addoption(parser: pytest.Parser) -> None:
    """Define the plugin's option, and the option that numba-cuda's test classes read; its wheel comes without it."""
    parser.addoption(
        "--dump-failed-filechecks",
        action="store_true",
        default=False,
        help="write the IR of failed FileCheck assertions to a folder",
    )
    parser.addoption(
        "--gridjit-debug",
        action="store_true",
        default=False,
        help="compile every kernel with debug=True, list what it finds, and fail if that is anything",
    )


@pytest.hookimpl(tryfirst=True)
def pytest_load_initial_conftests(early_config: pytest.Config) -> None:
    """Install gridjit's names where tests look, before a conftest can import numba-cuda's."""
    _begin(early_config)


def pytest_configure(config: pytest.Config) -> None:
    """Do so now if a conftest asked for this plugin, unless its imports came before."""
    if _COUNTS not in config.stash:
        _begin(config)


def _begin(config: pytest.Config) -> None:
    """Give numba.cuda gridjit's names, and this run a cache of its own if none was chosen; refuse if it is too late."""
    if early := counting.made_before():
        raise pytest.UsageError(
            f"{__name__} came too late, so that this run would say nothing about gridjit: numba-cuda's own are "
            f"already {', '.join(early[:5])}{' and more' * (len(early) > 5)}. Ask for the plugin on the command line "
            f"or in addopts (-p {__name__}), before plugins that import the code under test"
        )
    config.stash[_CLOSING] = closing = contextlib.ExitStack()
    if config.known_args_namespace.gridjit_debug:  # pytest-xdist's workers find the variable
        os.environ[_DEBUG] = "1"
    # pytest-xdist's workers find the folder of the process that started them.
    if _PREFIX in os.environ.get(_CACHE, _PREFIX):
        config.stash[_CACHES] = caches = _caches(closing.enter_context(_folder()))
        os.environ[_CACHE] = next(caches)
    # Tests look for numba's own words in errors.
    os.environ.setdefault("GRIDJIT_TRACEBACK", "full")
    # gridjit warns of small grids only where that is asked for; the tests then switch it off and on.
    os.environ.setdefault("NUMBA_CUDA_LOW_OCCUPANCY_WARNINGS", "1")
    config.stash[_COUNTS] = counts = KernelCounts()
    installing.install_kernels_only()
    counting.count_ours(Kernel, counts.add)
    counting.count_numbas(importlib.import_module("numba.cuda.dispatcher"), counts.add)
    findings.collectors.append(lambda text: counts.add({"findings": [text]}))
    closing.enter_context(children.handing_on())


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_setupnodes(config: pytest.Config) -> None:
    """Make pytest-xdist's workers load this plugin equally early: they read -p only after their conftests."""
    others = [name for name in os.environ.get(_PLUGINS, "").split(",") if name and name != __name__]
    os.environ[_PLUGINS] = ",".join([__name__, *others])


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    """Begin each test with an empty cache, so that none finds another's artifacts; not if the run names a folder."""
    if (caches := item.config.stash.get(_CACHES, None)) is not None:
        os.environ[_CACHE] = next(caches)
        end_session()


@pytest.hookimpl(trylast=True)
def pytest_sessionfinish(session: pytest.Session) -> None:
    """Send a worker's counts to the process that started it; there, let the run fail for findings of debug kernels."""
    if (sent := getattr(session.config, "workeroutput", None)) is not None:
        sent[_SENT] = session.config.stash[_COUNTS].as_dict()
    elif _counts(session.config).findings and session.exitstatus == pytest.ExitCode.OK:
        session.exitstatus = pytest.ExitCode.TESTS_FAILED


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: Any) -> None:
    """Add a worker's counts; a crashed worker has none."""
    workers = node.config.stash.setdefault(_WORKERS, KernelCounts())
    if (sent := getattr(node, "workeroutput", {}).get(_SENT)) is not None:
        workers.add(sent)


def pytest_terminal_summary(terminalreporter: Any, config: pytest.Config) -> None:
    """Say how many kernels went through gridjit, and which did not; loudly if there was none that did."""
    counts = _counts(config)
    terminalreporter.section("gridjit")
    for line in (*counts.lines, *counts.findings):
        terminalreporter.line(line)
    if not any(counts.ours.values()):
        terminalreporter.line("no kernel went through gridjit, so this run says nothing about it", red=True)


def pytest_unconfigure(config: pytest.Config) -> None:
    """Remove the run's own folders."""
    if (closing := config.stash.get(_CLOSING, None)) is not None:
        closing.close()


def _counts(config: pytest.Config) -> KernelCounts:
    """Return the run's counts: the counts of pytest-xdist's workers if there are any."""
    return config.stash.get(_WORKERS, config.stash[_COUNTS])


def _caches(folder: str) -> Generator[str, None, None]:
    """Yield folders for caches, one after the other."""
    for number in itertools.count():
        yield os.path.join(folder, str(number))


def _folder() -> tempfile.TemporaryDirectory[str]:
    return tempfile.TemporaryDirectory(prefix=_PREFIX)


@pytest.hookimpl(tryfirst=True)
def pytest_pycollect_makemodule(module_path: Path, parent: pytest.Collector) -> None:
    """Import a module of a package that --pyargs names under that name, as processes that its tests start will."""
    if (name := module_names.known_as(module_path, parent.config)) is not None:
        module_names.import_as(name, module_path)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Give the tests that are left alone numba.cuda as it was, and skip tests that would damage this process."""
    for item in items if session().is_host else ():
        if (why := _DAMAGING.get(item.nodeid.rpartition("::")[2])) is not None:
            item.add_marker(pytest.mark.skip(reason=why))
    for module in {item.module for item in items if isinstance(item, pytest.Function)}:
        if module.__name__.rpartition(".")[2] in LEFT_ALONE:
            module.cuda = installing.original()


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
    """Clear a failed test's frames once it is reported: a capture left open fails the tests after it."""
    report = yield
    if call.excinfo is not None:
        traceback.clear_frames(call.excinfo.tb)
    return report


@pytest.fixture
def initialize_from_pytest_config(request: pytest.FixtureRequest) -> None:
    """Give the test class the option's value."""
    request.cls._dump_failed_filechecks = request.config.getoption("dump_failed_filechecks")
