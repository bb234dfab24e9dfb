"""Settings that a program chooses: before their first use, and errors for names, values and choices that are late."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import gridjit
from gridjit.runtime.environment.settings import settings
from gridjit.runtime.process.session import begin_session, session
from tests.programs import run_new_python

PROGRAM = """
import json
import numpy as np
import gridjit
from gridjit import cuda

@gridjit.jit
def kernel(x):
    x[0] = gridjit.static.blockDim.x

gridjit.settings(target="host", cache_dir="chosen", host_threads=2)
kernel[1, 4](np.zeros(1))
print(json.dumps(kernel.stats.compiles))
"""


@gridjit.jit(target="host")
def kernel(x):
    x[0] = 1


@pytest.fixture(autouse=True)
def fresh(restart: Callable[[], None]) -> None:
    """Have no settings been read."""


def test_the_program_beats_the_environment_and_later_choices_beat_earlier_choices(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("GRIDJIT_HOST_THREADS", "3")
    monkeypatch.chdir(tmp_path)
    gridjit.settings(host_threads=2, cache_dir=Path("here"), host_patience=0.5, host_checks=("races", "bounds"))
    gridjit.settings(host_threads=4, cache_base=["/a", "b"], debug=None)
    monkeypatch.chdir("/")
    found = settings()
    assert (found.host_threads, found.cache_dir, found.host_patience) == (4, tmp_path / "here", 0.5)
    assert (found.host_checks, found.cache_bases) == (("bounds", "races"), (Path("/a"), tmp_path / "b"))


def test_an_empty_text_or_list_is_the_default(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GRIDJIT_HOST_DEVICE", "a100")
    monkeypatch.setenv("GRIDJIT_CACHE_BASE", "/a")
    gridjit.settings(host_device="", cache_base=[])
    assert (settings().host_device, settings().cache_bases) == (None, ())


@pytest.mark.parametrize(
    ("name", "value", "said"),
    [
        ("cachedir", "x", "cachedir is not a setting of gridjit: did you mean cache_dir?"),
        ("cache_bytes", 1, "cache_bytes is not a setting of gridjit: "),
        ("cache_size", "much", "cache_size=much: give bytes above 0, such as 1073741824, 512M or 2G"),
        ("cache_size", object, "cache_size=<class 'object'>: give bytes above 0, such as 1073741824, 512M or 2G"),
        ("host_threads", True, "host_threads=true: give a whole number from 1 to 65536"),
        pytest.param("host_threads", 10**5000, "host_threads=int: give a whole number from 1 to 65536", id="huge"),
        ("target", ["host"], "target=['host']: give cuda or host, or unset it to use a GPU if there is one"),
        ("log", "x" * 300, f"log={'x' * 200}...: "),
    ],
)
def test_a_wrong_choice_is_an_error_at_once_and_chooses_nothing(name: str, value: Any, said: str) -> None:
    with pytest.raises(gridjit.ConfigError) as caught:
        gridjit.settings(host_devices=3, **{name: value})
    assert str(caught.value).startswith(f"gridjit.settings: {said}")
    assert settings().host_devices == 1


def test_numpys_numbers_are_numbers() -> None:
    gridjit.settings(host_threads=np.int64(2), host_patience=np.float64(1.5))
    assert (settings().host_threads, settings().host_patience) == (2, 1.5)


def test_a_choice_after_the_first_use_is_an_error_unless_nothing_changes() -> None:
    gridjit.settings(host_threads=2)
    kernel[1, 1](np.zeros(1))
    gridjit.settings(host_threads=2, host_devices=1, cache_remote=[])
    with pytest.raises(gridjit.ConfigError) as caught:
        gridjit.settings(host_threads=3, cache_size="1M", log="compiles")
    assert str(caught.value) == (
        "gridjit.settings: cache_size, host_threads cannot change any more, because this process has used its "
        "settings: call gridjit.settings before the first launch, array, stream and declared signature. "
        "Only assert_no_compile, log, traceback can still change"
    )
    assert (settings().host_threads, settings().log) == (2, ())


def test_whether_to_compile_and_what_to_say_can_change_at_any_time(capsys: pytest.CaptureFixture[str]) -> None:
    kernel[1, 1](np.zeros(1, np.int8))
    gridjit.settings(assert_no_compile=True, log="compiles", traceback="full")
    kernel[1, 1](np.zeros(1, np.int8))
    with pytest.raises(gridjit.CompileDisabledError):
        kernel[1, 1](np.zeros(1, np.int16))
    gridjit.settings(assert_no_compile=False)
    kernel[1, 1](np.zeros(1, np.int16))
    assert "compiled" in capsys.readouterr().err
    assert (session().settings, settings().traceback) == (settings(), "full")


def test_a_process_that_compiles_for_a_program_has_its_settings_whatever_it_imports(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    gridjit.settings(host_plain=True)
    sent = settings()
    monkeypatch.setenv("GRIDJIT_HOST_PLAIN", "0")
    begin_session(sent, compiles_declared=False)
    gridjit.settings(host_plain=False, cache_size="1M", log="compiles")
    assert settings() is session().settings is sent
    with pytest.raises(gridjit.ConfigError, match=r"^gridjit.settings: cache_size=x: "):
        gridjit.settings(cache_size="x")


def test_a_programs_modules_can_be_imported_and_kernels_made_before_the_choice(tmp_path: Path) -> None:
    (tmp_path / "program.py").write_text(PROGRAM)
    runs = [run_new_python("program.py", cwd=tmp_path) for _ in range(2)]
    assert [run.stderr for run in runs] == ["", ""]
    assert [json.loads(run.stdout) for run in runs] == [1, 0]
    assert list((tmp_path / "chosen").glob("??/*.o")) != []
