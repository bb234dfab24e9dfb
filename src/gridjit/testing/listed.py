"""A pytest plugin that compares a run with a list of the tests that fail, and why: `-p gridjit.testing.listed`.

The list (--listed FILE) has a cause on a line that begins with "#", and below it the tests that fail for that cause,
one a line, as `test_file.py::Class::test`. If a test fails that is not listed, the run fails. Listed tests that pass
are reported. With --write-list FILE, the failing tests are written in that form, under the known causes.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

_FAILED, _PASSED, _LISTED = pytest.StashKey[set[str]](), pytest.StashKey[set[str]](), pytest.StashKey[dict[str, str]]()
_NOT_YET = "to be looked at"


def pytest_addoption(parser: pytest.Parser) -> None:
    """Define where the list is, and where one is to be written."""
    parser.addoption("--listed", metavar="FILE", help="tests that are known to fail, below a line with the cause")
    parser.addoption("--write-list", metavar="FILE", help="write the tests that fail to a file, in that form")


def pytest_configure(config: pytest.Config) -> None:
    """Read the list."""
    config.stash[_FAILED], config.stash[_PASSED] = set(), set()
    path = config.getoption("--listed")
    config.stash[_LISTED] = read_list(Path(path).read_text()) if path else {}


def read_list(text: str) -> dict[str, str]:
    """Return the tests of a list with their causes; raises UsageError for a test without a cause, or named twice."""
    found: dict[str, str] = {}
    cause = ""
    for line in filter(None, map(str.strip, text.splitlines())):
        if line.startswith("#"):
            cause = line.lstrip("# ")
        elif not cause or line in found:
            raise pytest.UsageError(f"{line}: {'listed twice' if line in found else 'no cause is above it'}")
        else:
            found[line] = cause
    return found


def written_list(failed: set[str], causes: dict[str, str]) -> str:
    """Return a list of the tests that failed, under their causes."""
    groups: dict[str, list[str]] = {}
    for name in sorted(failed):
        groups.setdefault(causes.get(name, _NOT_YET), []).append(name)
    parts = ("\n".join((f"# {cause}", *names)) for cause, names in sorted(groups.items()))
    return "\n\n".join(parts) + "\n"


def name_of(node: str, path: str) -> str:
    """Return a test's name from the file on, without folders: the list is the same wherever packages are installed."""
    return f"{path.rpartition('/')[2]}::{node.partition('::')[2]}"


@pytest.hookimpl(trylast=True)
def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    """Note how a test, or a part of one, ended."""
    config = _configs[-1]
    # The node of a module that --pyargs names has no path.
    name = name_of(report.nodeid, report.location[0])
    if report.failed:
        config.stash[_FAILED].add(name)
    elif report.when == "call" and report.passed:
        config.stash[_PASSED].add(name)


_configs: list[pytest.Config] = []


def pytest_sessionstart(session: pytest.Session) -> None:
    """Begin to note results for this run."""
    _configs.append(session.config)


@pytest.hookimpl(trylast=True)
def pytest_sessionfinish(session: pytest.Session) -> None:
    """Let the run fail for unlisted failures alone; a run that was stopped, or has an error, stays one."""
    config = session.config
    if hasattr(config, "workerinput") or not config.getoption("--listed"):
        return
    if session.exitstatus == pytest.ExitCode.TESTS_FAILED and not _unlisted(config):
        session.exitstatus = pytest.ExitCode.OK


def pytest_terminal_summary(terminalreporter: Any, config: pytest.Config) -> None:
    """Print the unlisted failures and the listed tests that passed; write a list if one is asked for."""
    failed, listed = config.stash[_FAILED], config.stash[_LISTED]
    if path := config.getoption("--write-list"):
        Path(path).write_text(written_list(failed, listed))
    if not config.getoption("--listed"):
        return
    terminalreporter.section("known failures")
    for name in sorted(_unlisted(config)):
        terminalreporter.line(f"fails and is not listed: {name}", red=True)
    for name in sorted((config.stash[_PASSED] - failed) & listed.keys()):
        terminalreporter.line(f"listed, but passes: {name}", yellow=True)
    terminalreporter.line(f"{len(failed & listed.keys())} tests failed as listed")


def _unlisted(config: pytest.Config) -> set[str]:
    return config.stash[_FAILED] - config.stash[_LISTED].keys()
