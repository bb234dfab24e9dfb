"""What is compiled and loaded is logged where a program listens, and appears on standard error once at most."""

from __future__ import annotations

import io
import logging
import os
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

import gridjit
from tests.programs import run_new_python, run_python


def fill(x):
    x[0] = 1


def launch() -> None:
    gridjit.jit(target="host")(fill)[1, 1](np.zeros(1, np.float32))


@pytest.fixture
def logger() -> Iterator[logging.Logger]:
    """The logger of gridjit; its level and handlers are as they were after the test."""
    found = logging.getLogger("gridjit")
    level, handlers = found.level, list(found.handlers)
    yield found
    found.setLevel(level)
    found.handlers[:] = handlers


def test_a_compile_is_info_and_a_load_is_debug(caplog: pytest.LogCaptureFixture, restart: Callable[[], None]) -> None:
    for level in (logging.DEBUG, logging.DEBUG, logging.INFO):
        caplog.set_level(level, "gridjit")
        launch()
        restart()
    said = [(one.name, one.levelname, one.getMessage().partition("(")[0]) for one in caplog.records]
    assert said == [("gridjit", "INFO", "compiled fill"), ("gridjit", "DEBUG", "disk fill")]


@pytest.mark.parametrize("where", ["standard error", "elsewhere", "nowhere"])
def test_what_is_asked_for_is_on_standard_error_once(
    logger: logging.Logger, monkeypatch: pytest.MonkeyPatch, restart: Callable[[], None], where: str
) -> None:
    error, other = io.StringIO(), io.StringIO()
    monkeypatch.setattr(sys, "stderr", error)
    monkeypatch.setenv("GRIDJIT_LOG", "compiles")
    restart()
    if where != "nowhere":
        logger.addHandler(logging.StreamHandler(error if where == "standard error" else other))
        logger.setLevel(logging.INFO)
    launch()
    assert error.getvalue().count("compiled fill") == 1
    assert other.getvalue().count("compiled fill") == (where == "elsewhere")


def test_a_handler_that_fails_ends_no_launch(logger: logging.Logger) -> None:
    class Failing(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            raise RuntimeError("not today")

    logger.addHandler(Failing(logging.INFO))
    logger.setLevel(logging.INFO)
    launch()


def test_logging_that_another_thread_is_importing_is_not_used_yet(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "logging", ModuleType("logging"))
    launch()


WARM = """
import sys
import numpy as np
import gridjit

@gridjit.jit
def fill(x):
    x[0] = 1

fill[1, 1](np.zeros(1))
print(fill.stats.compiles, "logging" in sys.modules, "difflib" in sys.modules)
"""


def test_a_warm_start_does_not_import_logging(tmp_path: Path) -> None:
    (tmp_path / "program.py").write_text(WARM)
    environment = {**os.environ, "GRIDJIT_TARGET": "host", "GRIDJIT_LOG": "compiles"}
    run_python(tmp_path / "program.py", env=environment)
    done = run_new_python(tmp_path / "program.py", env=environment)
    assert done.stdout == "0 False False\n", done.stderr
    assert done.stderr.startswith("gridjit: disk fill")
