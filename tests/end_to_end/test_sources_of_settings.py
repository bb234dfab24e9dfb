"""Settings that alter code are part of the key, wherever they come from; other processes compile under them."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

import gridjit
from gridjit.commands import main
from gridjit.compiler.values.signature import plain_signature
from gridjit.runtime.pool.pool import ProcessPool
from gridjit.runtime.process.session import session
from tests.pools import fork_servers

SIGNATURE = "void(float32[::1])"
# Settings that alter code, with the target of which they alter it.
ALTERING = {"debug": (True, "host"), "host_plain": (True, "host"), "host_checks": (["races"], "host")}
ALTERING |= {"codegen": ("nvvm", "sm_80")}


@gridjit.jit(debug=True, opt=False)
def checked(x):
    x[0] = 1


@gridjit.jit
def plain(x):
    x[0] = 1


class Sources:
    """A folder with files that give settings, and the other sources."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.project, self.user = folder / "pyproject.toml", folder / "config" / "gridjit.toml"
        self.user.parent.mkdir()
        self._monkeypatch = monkeypatch
        monkeypatch.setenv("XDG_CONFIG_HOME", str(self.user.parent))
        monkeypatch.chdir(folder)

    def give(self, source: str, name: str, value: object) -> None:
        """Give a setting by a source."""
        if source == "program":
            gridjit.settings(**{name: value})
        elif source == "environment":
            text = value[0] if isinstance(value, list) else str(value)
            self._monkeypatch.setenv(f"GRIDJIT_{name.upper()}", text)
        elif source == "user":
            self.user.write_text(f"{name} = {json.dumps(value)}\n")
        else:
            self.project.write_text(f"[tool.gridjit]\n{name} = {json.dumps(value)}\n")


@pytest.fixture
def sources(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Sources:
    for name in ALTERING:
        monkeypatch.delenv(f"GRIDJIT_{name.upper()}", raising=False)
    return Sources(tmp_path, monkeypatch)


def key(name: str, target: str) -> tuple[tuple[str, str], ...]:
    """Return the labelled parts of a kernel's key."""
    kernel = checked if name == "host_checks" else plain
    signature = plain_signature(SIGNATURE)
    assert signature is not None
    return kernel.job_for(signature, kernel.target_for(target)).fields


@pytest.mark.parametrize("name", ALTERING)
@pytest.mark.parametrize("source", ["user", "project", "program"])
def test_a_setting_is_in_the_key_as_the_environments_is(
    name: str, source: str, sources: Sources, restart: Callable[[], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    value, target = ALTERING[name]
    keys = [key(name, target)]
    for given in ("environment", source):
        restart()
        monkeypatch.delenv(f"GRIDJIT_{name.upper()}", raising=False)
        sources.give(given, name, value)
        keys.append(key(name, target))
    assert keys[0] != keys[1] == keys[2]


@pytest.mark.parametrize("source", ["user", "project", "program"])
def test_other_processes_compile_under_the_programs_settings(
    source: str, sources: Sources, monkeypatch: pytest.MonkeyPatch
) -> None:
    fork_servers(monkeypatch)
    sources.give(source, "host_plain", True)
    pool = ProcessPool(session().settings, 1)
    try:
        found = pool.wait(pool.submit("gridjit.runtime.environment.settings:settings"))
    finally:
        pool.end()
    assert (found.lost, found.result.host_plain, found.result.cache_dir) == ("", True, session().settings.cache_dir)


def test_info_says_which_file_gave_a_setting_and_which_file_is_not_read(
    sources: Sources, restart: Callable[[], None], capsys: pytest.CaptureFixture[str]
) -> None:
    sources.give("user", "host_threads", 3)
    sources.give("project", "host_devices", 2)
    restart()
    assert main(["info", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    found = {one["variable"]: (one["value"], one["source"]) for one in told["settings"]}
    assert found["GRIDJIT_HOST_THREADS"] == (3, str(sources.user))
    assert found["GRIDJIT_HOST_DEVICES"] == (2, str(sources.project))
    assert told["unread_files"] == []
    sources.project.chmod(0o646)
    restart()
    assert main(["info"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert any(line.startswith("GRIDJIT_HOST_THREADS ") and line.endswith(f"3  ({sources.user})") for line in lines)
    said = f"{sources.project} is not read: it can be written by all users (mode 646)"
    assert [line.split(None, 1)[1] for line in lines if line.startswith("settings ")] == [said]


def test_a_command_that_imports_a_program_warns_of_a_choice_that_it_does_not_follow(
    tmp_path: Path, restart: Callable[[], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(tmp_path)
    (tmp_path / "choosing.py").write_text(
        "import gridjit\ngridjit.settings(host_threads=7)\n\n\n@gridjit.jit\ndef kernel(x):\n    x[0] = 1\n"
    )
    restart()
    with pytest.warns(gridjit.ConfigWarning, match=r"has its own host_threads: .*, or as GRIDJIT_HOST_THREADS"):
        assert main(["explain", "choosing:kernel"]) == 0
    assert session().settings.host_threads != 7
