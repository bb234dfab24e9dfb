"""What every test shares: a cache of its own, fresh settings, and numba-cuda's registries as they were."""

from __future__ import annotations

import contextlib
import functools
import gc
import importlib
import itertools
import logging
import os
import platform
import shutil
import signal
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from gridjit.cache.key import digest
from gridjit.compiler.process.collecting import RARELY
from gridjit.compiler.targets.host.ir.coordinates import PLACE
from gridjit.compiler.targets.host.ir.verify import verify
from gridjit.compiler.targets.host.pipeline import OBSERVERS
from gridjit.compiler.values.target import Target
from gridjit.runtime.launch.indexing import index_from_python
from gridjit.runtime.process.session import end_session
from tests.combinations import mark_others_slow
from tests.known_objects import FOLDER, forget_unused, use_known_objects
from tests.processors import named, use_named_processor
from tests.programs import MEETING, end_servers, note_environment
from tests.registered import taken_away_after

# How long an example takes is the machine's affair, and its first one's, which may import a compiler.
# `make test` tries other examples each time, and `make test-slow` many at once.
for profile, examples in (("gridjit", 12), ("thorough", 200)):
    settings.register_profile(
        profile, deadline=None, suppress_health_check=[HealthCheck.too_slow], max_examples=examples
    )
settings.load_profile("gridjit")


def pytest_configure(config: pytest.Config) -> None:
    """Prepare what the processes of a run share; xdist's begin with this environment.

    They share servers, and a folder of objects that LLVM made, as far as pytest's cache can be written with runs to
    come. None reads the developer's own file of settings. Where the tests that need a GPU are left out, none is
    visible: the others show what happens without one. A shell has its background jobs ignore interrupts. Tests that
    send some wait for them to be felt.
    """
    if "not gpu" in config.option.markexpr:
        os.environ["CUDA_VISIBLE_DEVICES"] = ""
    note_environment()
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    if FOLDER not in os.environ and (kept := _kept_objects(config)) is not None:
        os.environ[FOLDER] = str(kept)
        config.add_cleanup(functools.partial(os.environ.__delitem__, FOLDER))
    for variable, name in ((FOLDER, "objects"), (MEETING, "servers"), ("XDG_CONFIG_HOME", "config")):
        if variable not in os.environ:
            os.environ[variable] = tempfile.mkdtemp(prefix=f"gridjit-{name}-")
            config.add_cleanup(functools.partial(_forget, variable))
    use_known_objects()
    use_named_processor()
    OBSERVERS.append(lambda name, body: verify(body, after=name, given=PLACE))


def _kept_objects(config: pytest.Config) -> Path | None:
    """Return a folder of pytest's cache, where there is one; without what is of no use any more."""
    try:
        folder = config.cache.mkdir("objects")
        with tempfile.TemporaryFile(dir=folder):
            forget_unused(folder)
    except (AttributeError, OSError):  # no cache at all, or one that may not be written
        return None
    return folder


def _forget(variable: str) -> None:
    shutil.rmtree(os.environ.pop(variable))


@pytest.hookimpl(tryfirst=True)
def pytest_collection(session: pytest.Session) -> None:
    """Have the collector rest while the tests' modules are imported: hardly anything of them is garbage."""
    gc.disable()
    _import_own_share(session.config)


def _import_own_share(config: pytest.Config) -> None:
    """Import other modules first than the other processes of a run of all tests.

    Whoever is first has pytest rewrite a module's assertions, half of what it takes to collect its tests. The others
    find that done.
    """
    run = getattr(config, "workerinput", None)
    if run is None or config.args_source is not pytest.Config.ArgsSource.TESTPATHS:
        return
    here = Path(__file__).parent
    for path in sorted(here.rglob("test_*.py"))[int(run["workerid"][2:]) :: run["workercount"]]:
        with contextlib.suppress(Exception, pytest.skip.Exception):  # who collects it says what is wrong
            importlib.import_module(".".join((here.name, *path.relative_to(here).with_suffix("").parts)))


# What tests of these folders share takes each process long to make: a wheel, environments, what type checkers say.
_SHARING = tuple(f"{Path(__file__).parent / name}{os.sep}" for name in ("packaging", "testing"))


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark slow combinations before marks are looked at, and have one process of a run do what shares most.

    The first tests of all are not taken from their process by others. They take long, too, and no process should be
    left with such a test when the others have ended.
    """
    mark_others_slow(items)
    items.sort(key=lambda item: not str(item.path).startswith(_SHARING))


def pytest_collection_finish() -> None:
    """Have the collector leave alone what the modules of tests imported and made: going through it takes long.

    It looks at new objects about as rarely as while a kernel is compiled: most tests end before that.
    """
    gc.enable()
    gc.set_threshold(RARELY - 3, 50, 100)
    _keep_from_the_collector()


def _keep_from_the_collector() -> None:
    gc.collect()
    gc.freeze()


@pytest.fixture(scope="session")
def cache_folders(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Names of folders, none of which is there; making one for each test that never looks at it would take longer."""
    base = tmp_path_factory.mktemp("caches")
    return (base / f"gridjit-cache-{number}" for number in itertools.count())


@pytest.fixture(scope="module")
def modules_cache(cache_folders: Iterator[Path]) -> Path:
    """The cache of a module whose tests share one: they launch the same kernels, and test no compile."""
    return next(cache_folders)


@pytest.fixture(autouse=True)
def cache_dir(
    request: pytest.FixtureRequest, cache_folders: Iterator[Path], monkeypatch: pytest.MonkeyPatch
) -> Iterator[Path]:
    """Give the test a cache and a session that uses it; returns the folder. It is empty unless the module has one."""
    is_shared = request.node.get_closest_marker("one_cache") is not None
    folder = request.getfixturevalue("modules_cache") if is_shared else next(cache_folders)
    monkeypatch.setenv("GRIDJIT_CACHE_DIR", str(folder))
    fresh_session()
    yield folder
    fresh_session()


@pytest.fixture(autouse=True, scope="session")
def programs_end() -> Iterator[None]:
    """Leave what forked the programs that tests ran, where any did."""
    yield
    end_servers()


@pytest.fixture(autouse=True, scope="module")
def registered() -> Iterator[None]:
    """Take away what a module's tests registered with numba-cuda, so that no other module's kernels meet it."""
    _keep_from_the_collector()  # what numba-cuda and compiles have made for good
    with taken_away_after():
        yield


@pytest.fixture
def key_of() -> Callable[[object], str]:
    """What gives a key for anything."""
    return lambda thing: digest([("thing", repr(thing))])


class Collector(logging.Handler):
    """Keeps what is logged."""

    def __init__(self) -> None:
        super().__init__(logging.WARNING)
        self.said: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        """Keep a message."""
        self.said.append(record.getMessage())


@pytest.fixture(autouse=True)
def logged() -> Iterator[list[str]]:
    """Fail the test for a warning of the cache that became an error and was logged, unless it is taken from here."""
    collector, logger = Collector(), logging.getLogger("gridjit")
    logger.addHandler(collector)
    yield collector.said
    logger.removeHandler(collector)
    assert collector.said == []


@pytest.fixture
def restart(cache_dir: Path) -> Callable[[], None]:
    """Return what starts over as a new process would: same disk, no settings, stores or devices in memory."""
    return fresh_session


@pytest.fixture
def on_host(monkeypatch: pytest.MonkeyPatch, restart: Callable[[], None]) -> None:
    """Have kernels run on the host, whatever there is."""
    monkeypatch.setenv("GRIDJIT_TARGET", "host")
    restart()


@pytest.fixture
def wide() -> Target:
    """A processor with wide vectors, fused operations and quick gathers, to make code for that is looked at, not run.

    What LLVM makes depends on the processor, so no test looks at code for the one that it happens to run on.
    """
    if platform.machine() != "x86_64":
        pytest.skip("LLVM makes code for this machine's kind of processor only")
    return named("x86-64-v4")


@pytest.fixture
def foreign_rewrites() -> Iterator[None]:
    """Let the test register rewrites with numba-cuda; they are gone after it."""
    from gridjit.compiler.frontend.shape_rewrite import install as install_shapes
    from gridjit.compiler.frontend.static_rewrite import install as install_static

    install_static()  # gridjit's own rewrites are registered once a process, so they must not go with the test's
    install_shapes()
    registry = sys.modules["numba.cuda.core.rewrites.registry"].rewrite_registry
    before = {kind: list(classes) for kind, classes in registry.rewrites.items()}
    yield
    registry.rewrites.clear()
    registry.rewrites.update(before)


def fresh_session() -> None:
    """Forget the process's session and settings, and what indexes kernels, as a new process would."""
    end_session()
    index_from_python(until_tried=True)
