"""Settings from files: which files count, in which order, by whom, and errors that name the file, line and value."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

import gridjit
from gridjit.runtime.environment import files
from gridjit.runtime.environment.settings import VARIABLES, Variable, default_settings, setting_files, settings
from gridjit.runtime.environment.sources import is_for_projects
from gridjit.runtime.process.session import end_session

ROOT = Path(__file__).parents[2]
ANOTHER_USER = 4321


# Values that are not the defaults, of settings that are not paths.
VALUES = {
    "target": "cuda",
    "cache": "0",
    "cache_size": "7M",
    "cache_entries": "7",
    "cache_remote": "https://a/x",
    "cache_allow_shared": "1",
    "log": "compiles",
    "traceback": "full",
    "debug": "1",
    "assert_no_compile": "1",
    "compile_processes": "3",
    "compile_patience": "3",
    "compile_server": "1",
    "native_launch": "0",
    "check_streams": "1",
    "codegen": "nvvm",
    "host_threads": "777",
    "host_device": "a100",
    "host_devices": "3",
    "host_limits": "0",
    "host_patience": "3",
    "host_checks": "races",
    "host_step": "1",
    "host_plain": "1",
    "host_passes": "print",
}


class Places:
    """A home with a user's file, and a project with a folder in it, which is the current one."""

    def __init__(self, base: Path) -> None:
        self.user = base / "home" / ".config" / "gridjit.toml"
        self.project = base / "home" / "work" / "pyproject.toml"
        self.inner = self.project.parent / "src" / "deep"
        self.inner.mkdir(parents=True)
        self.user.parent.mkdir()


@pytest.fixture
def places(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, restart: Callable[[], None]) -> Places:
    found = Places(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.delenv("XDG_CONFIG_HOME")
    monkeypatch.chdir(found.inner)
    restart()
    return found


def said() -> str:
    """Return the error of the settings."""
    with pytest.raises(gridjit.ConfigError) as caught:
        settings()
    return str(caught.value)


def test_the_environment_beats_the_project_which_beats_the_user(
    places: Places, monkeypatch: pytest.MonkeyPatch
) -> None:
    places.user.write_text("host_threads = 1\nhost_devices = 1\nhost_patience = 1.5\n")
    places.project.write_text("[tool.gridjit]\nhost_threads = 2\nhost_devices = 2\n")
    monkeypatch.setenv("GRIDJIT_HOST_THREADS", "3")
    found = settings()
    assert (found.host_threads, found.host_devices, found.host_patience) == (3, 2, 1.5)


def test_every_setting_of_the_user_may_be_in_the_file_and_means_what_the_variable_means(places: Places) -> None:
    places.user.write_text(
        'cache_base = ["bases/one", "/two"]\ncache_size = "2G"\ncache_entries = 7\nhost_checks = ["races", "bounds"]\n'
        'cache_remote = ["https://a/x", "https://b/y"]\nrecord = "~/needs"\ncache = false\ntarget = "host"\n'
    )
    found = settings()
    folder = places.user.parent
    assert (found.cache_bases, found.record) == ((folder / "bases/one", Path("/two")), folder.parent / "needs")
    assert (found.cache_bytes, found.cache_entries, found.cache, found.target) == (2 << 30, 7, False, "host")
    assert found.host_checks == ("bounds", "races")
    assert [one.shown for one in found.cache_remotes] == ["https://a/x", "https://b/y"]


def test_a_text_of_paths_is_separated_as_in_the_variable(places: Places) -> None:
    places.user.write_text('cache_base = "one:/two"\n')
    assert settings().cache_bases == (places.user.parent / "one", Path("/two"))


def test_an_empty_value_is_the_default_whatever_weaker_sources_say(places: Places) -> None:
    places.user.write_text('host_device = "a100"\nhost_checks = "none"\n')
    places.project.write_text('[tool.gridjit]\nhost_device = ""\nhost_checks = []\n')
    assert (settings().host_device, settings().host_checks) == (None, ("bounds", "uninitialized", "races"))


@pytest.mark.parametrize("one", VARIABLES, ids=lambda one: one.key)
def test_an_empty_variable_is_the_default_whatever_files_say(
    places: Places, monkeypatch: pytest.MonkeyPatch, one: Variable
) -> None:
    for other in VARIABLES:
        monkeypatch.delenv(other.name, raising=False)
    usual = getattr(default_settings(), one.field)
    places.user.write_text(f'{one.key} = "{VALUES.get(one.key, "/file")}"\n')
    assert getattr(settings(), one.field) != usual
    end_session()
    monkeypatch.setenv(one.name, "")
    assert getattr(settings(), one.field) == usual


def test_the_nearest_project_counts_alone(places: Places) -> None:
    places.project.write_text("[tool.gridjit]\nhost_threads = 2\n")
    nearer = places.inner.parent / "pyproject.toml"
    nearer.write_text("[project]\nname = 'tool of gridjit'\n")
    assert setting_files(os.environ) == (None, None)
    assert settings().host_threads == len(os.sched_getaffinity(0))


@pytest.mark.parametrize(
    "text",
    [
        "[tool.gridjit]\nhost_threads = 2",
        "[ tool . 'gridjit' ]\nhost_threads = 2",
        "[tool]\ngridjit.host_threads = 2",
        "tool.gridjit.host_threads = 2",
        "tool = {gridjit = {host_threads = 2}}",
        "[tool.other]\nx = 1\n[tool.gridjit]\n'host_threads' = '2'",
    ],
)
def test_the_table_is_found_as_toml_writes_it(places: Places, text: str) -> None:
    places.project.write_text(text)
    assert settings().host_threads == 2


def test_a_project_without_the_table_is_not_parsed(places: Places) -> None:
    places.project.write_text('[project]\ndependencies = [\n"gridjit>=0.1",\n]\n[tool.other]\nthis is not TOML')
    assert settings().host_threads == len(os.sched_getaffinity(0))


@pytest.mark.parametrize(
    ("line", "what"),
    [
        ('cache_size = "much"', "cache_size=much: give bytes above 0, such as 1073741824, 512M or 2G"),
        ("cache_size = true", "cache_size=true: give bytes above 0, such as 1073741824, 512M or 2G"),
        ("cache_dir = 3", "cache_dir=3: give the path of a folder"),
        ("host_threads = [1, 2]", "host_threads=[1, 2]: give a whole number from 1 to 65536"),
        ("host_threads = {}", "host_threads={}: give a whole number from 1 to 65536"),
        ("host_threads = 1979-05-27", "host_threads=datetime.date(1979, 5, 27): give a whole number from 1 to 65536"),
        ('cache_base = ["a:b"]', "cache_base=['a:b']: give paths of folders, separated as in PATH"),
        ('host_device = "RTX"', "host_device=RTX: did you mean rtx4090? give one of h100, "),
        ('log = "everything"', "log=everything: 'everything' is not one of compiles, none"),
        ("cachedir = 1", "cachedir is not a setting of gridjit: did you mean cache_dir?"),
        ("colour = 1", "colour is not a setting of gridjit: `gridjit info` lists them"),
        ("GRIDJIT_TARGET = 1", "GRIDJIT_TARGET is not a setting of gridjit: did you mean target?"),
    ],
)
def test_an_error_names_file_line_name_value_and_what_is_accepted(places: Places, line: str, what: str) -> None:
    places.user.write_text(f"\n# host_threads = 5\n{line}\n")
    assert said().startswith(f"{places.user}, line 3: {what}")


def test_the_line_is_of_the_projects_table(places: Places) -> None:
    places.project.write_text("[tool.other]\nhost_threads = 1\n[tool.gridjit]\nhost_threads = 0\n")
    assert said().startswith(f"{places.project}, line 4: host_threads=0: give ")


@pytest.mark.parametrize(
    "text", ["host_threads = \n", "\udcff", "a = 1\na = 2", f"a = {'[' * 5000}", f"a = {'9' * 5000}"]
)
def test_a_file_that_is_not_toml_is_an_error_with_its_path(places: Places, text: str) -> None:
    places.user.write_bytes(text.encode(errors="surrogateescape"))
    assert said().startswith(f"{places.user} is not TOML: ")


@pytest.mark.parametrize("text", ["tool.gridjit = 1", "tool = {gridjit = []}"])
def test_settings_that_are_not_a_table_are_an_error(places: Places, text: str) -> None:
    places.project.write_text(text)
    assert said().startswith(f"{places.project}: tool.gridjit is not a table: write [tool.gridjit], ")


def test_a_tool_that_is_not_a_table_has_no_settings(places: Places) -> None:
    places.project.write_text("tool = 1")
    assert settings().host_devices == 1


@pytest.mark.parametrize("key", [one.key for one in VARIABLES if not is_for_projects(one.key)])
def test_a_project_chooses_neither_code_nor_written_files_nor_the_caches_room(places: Places, key: str) -> None:
    places.project.write_text(f"[tool.gridjit]\n{key} = 'x'\n")
    assert said() == (
        f"{places.project}, line 2: a project's file cannot give {key}, because others may have written it: "
        f"give it in ~/.config/gridjit.toml, or as GRIDJIT_{key.upper()}"
    )


def test_the_document_lists_the_settings_that_a_project_cannot_give() -> None:
    text = (ROOT / "docs" / "settings.md").read_text()
    listed = ", ".join(f"`{one.key}`" for one in VARIABLES if not is_for_projects(one.key))
    assert f"cannot be in a project's file: {listed}." in text


def unread(path: Path, *, is_project: bool) -> str:
    """Return the reason why a file is not read."""
    with pytest.raises(files.UnreadError) as caught:
        files.table_of(str(path), is_project=is_project)
    return str(caught.value)


@pytest.mark.parametrize(
    ("mode", "of_project", "of_user"), [(0o644, True, True), (0o664, True, False), (0o646, False, False)]
)
def test_a_file_that_others_can_write_is_not_read(places: Places, mode: int, of_project: bool, of_user: bool) -> None:
    for path, is_project, is_read in ((places.project, True, of_project), (places.user, False, of_user)):
        path.write_text("[tool.gridjit]\n" * is_project + "host_threads = 2\n")
        path.chmod(mode)
        if is_read:
            assert files.table_of(str(path), is_project=is_project)[0] == {"host_threads": 2}
        else:
            assert f"users (mode {mode:o})" in unread(path, is_project=is_project)


@pytest.mark.skipif(os.geteuid() != 0, reason="gives files to another user")
def test_a_file_or_a_projects_folder_of_another_user_is_not_read(places: Places) -> None:
    for path, is_project in ((places.project, True), (places.user, False)):
        path.write_text("not even TOML")
        os.chown(path, ANOTHER_USER, -1)
        assert unread(path, is_project=is_project).startswith(f"belongs to user id {ANOTHER_USER}, ")
        os.chown(path, 0, -1)
    os.chown(places.project.parent, ANOTHER_USER, -1)
    assert unread(places.project, is_project=True).startswith(f"is in a folder that belongs to user id {ANOTHER_USER}")
    places.user.unlink()
    assert settings().host_devices == 1


def test_a_folder_a_pipe_and_a_huge_file_are_not_read(places: Places) -> None:
    places.project.mkdir()
    assert unread(places.project, is_project=True) == "is not a regular file"
    os.mkfifo(places.user)
    assert unread(places.user, is_project=False) == "is not a regular file"
    places.user.unlink()
    places.user.write_bytes(b"#" * (1 << 21))
    assert unread(places.user, is_project=False) == "has more than 1048576 bytes"


def test_a_users_file_that_is_not_read_is_a_warning(places: Places) -> None:
    places.user.write_text("host_threads = 2\n")
    places.user.chmod(0o666)
    with pytest.warns(gridjit.ConfigWarning, match="is not read: it can be written by other users"):
        assert settings().host_threads == len(os.sched_getaffinity(0))


def test_a_process_without_files_asks_for_the_users_and_for_one_in_each_folder_below_the_home(
    places: Places, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[str] = []
    exists = os.path.exists
    monkeypatch.setattr(os.path, "exists", lambda path: asked.append(path) or exists(path))
    monkeypatch.chdir(places.project.parent)
    assert setting_files(os.environ) == (None, None)
    assert asked == [str(places.user), str(places.project)]


@pytest.mark.parametrize("folder", ["/", "gone"])
def test_a_current_folder_without_folders_above_it_has_no_project(
    places: Places, folder: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    if folder == "/":
        monkeypatch.chdir("/")
    else:
        places.inner.rmdir()
    assert setting_files(os.environ) == (None, None)


def test_a_process_without_settings_in_files_imports_nothing_to_read_them(places: Places) -> None:
    places.project.write_text("[project]\ndependencies = [\n'gridjit',\n]\n[tool.other]\n")
    text = "import sys; from gridjit.runtime.environment.settings import settings; settings(); print(*sys.modules)"
    run = subprocess.run([sys.executable, "-c", text], check=True, capture_output=True, text=True)
    readers = {f"gridjit.runtime.environment.{name}" for name in ("files", "sources", "misspelt")}
    assert {*run.stdout.split()} & {"tomllib", "tomli", *readers} == set()
