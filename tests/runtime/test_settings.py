"""Every setting is declared once: with what it accepts, an error for all else, and its line in the documents."""

from __future__ import annotations

import dataclasses
import warnings
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import gridjit
from gridjit.runtime.environment.misspelt import near_name
from gridjit.runtime.environment.setting_words import WORDS, table
from gridjit.runtime.environment.settings import MOST, VARIABLES, Settings, settings, unknown_names

ROOT = Path(__file__).parents[2]
NAMES = [one.name for one in VARIABLES]
SWITCHES = [name for name, words in WORDS.items() if words.accepts.startswith("1 or 0")]
# Of each kind of text, what is not accepted; paths may be anything until they are used.
WRONG = {
    **dict.fromkeys(SWITCHES, ("maybe", "2", "everything", "enabled", "-1", "\x1b[2J")),
    "GRIDJIT_TARGET": ("gpu", "sm_90", "HOST "),
    "GRIDJIT_CODEGEN": ("nvcc", "LLVM", "1"),
    "GRIDJIT_CACHE_SIZE": ("much", "0", "-1", "nan", "inf", "5KM", "1e400", "12 parsecs", "9" * 5000),
    "GRIDJIT_CACHE_ENTRIES": ("0", "-1", "1.5", "many", "²", "9" * 5000),
    "GRIDJIT_COMPILE_PROCESSES": ("-1", "all", "²", "65537"),
    "GRIDJIT_COMPILE_PATIENCE": ("-1", "nan", "inf", "long"),
    "GRIDJIT_HOST_THREADS": ("0", "²", "1_0", "65537", "9" * 5000),
    "GRIDJIT_HOST_DEVICES": ("0", "two"),
    "GRIDJIT_HOST_DEVICE": ("RTX", "h", "h1000", "sm_90", "\x1b[2J", "nowhere/none.json", "nowhere.json"),
    "GRIDJIT_HOST_PATIENCE": ("-1", "nan", "inf", "long"),
    "GRIDJIT_HOST_CHECKS": ("leaks", "bounds;races", ","),
    "GRIDJIT_HOST_PASSES": ("all", "1", "PRINT"),
    "GRIDJIT_LOG": ("everything", "compile", "1", "compiles everything", ","),
}


def test_each_variable_sets_a_field_of_its_own_and_each_field_has_one() -> None:
    fields = [field.name for field in dataclasses.fields(Settings)]
    assert sorted(one.field for one in VARIABLES) == sorted(fields)
    assert list(WORDS) == NAMES
    assert str(MOST) in WORDS["GRIDJIT_HOST_THREADS"].accepts


@pytest.mark.parametrize(("name", "text"), [(name, text) for name, texts in WRONG.items() for text in texts])
def test_a_value_that_is_not_accepted_is_an_error_with_variable_value_and_what_is(name: str, text: str) -> None:
    with pytest.raises(gridjit.ConfigError) as caught:
        Settings.of({name: text})
    said = str(caught.value)
    assert said.startswith(f"{name}=") and said.isprintable()
    assert WORDS[name].accepts in said or "is not one of" in said or "h100" in said


@pytest.mark.parametrize("name", SWITCHES)
def test_every_switch_knows_the_same_words(name: str) -> None:
    (field,) = (one.field for one in VARIABLES if one.name == name)
    for texts, on in ((("1", "on", "YES", " true"), True), (("0", "Off", "no", "FALSE"), False)):
        assert {getattr(Settings.of({name: text}), field) for text in texts} == {on}


@pytest.mark.parametrize("name", NAMES)
def test_an_empty_variable_is_the_default(name: str) -> None:
    assert Settings.of({name: ""}) == Settings.of({})


def test_what_to_log_may_be_nothing() -> None:
    assert (Settings.of({"GRIDJIT_LOG": "none"}).log, Settings.of({"GRIDJIT_LOG": "Compiles"}).log) == (
        (),
        ("compiles",),
    )


@pytest.mark.parametrize(
    ("text", "size"), [("512M", 512 << 20), ("2GiB", 2 << 30), ("1.5k", 1536), ("7", 7), ("8 KB", 8192)]
)
def test_a_size_has_a_unit_or_none(text: str, size: int) -> None:
    assert Settings.of({"GRIDJIT_CACHE_SIZE": text}).cache_bytes == size


@pytest.mark.parametrize(
    ("name", "text", "said"),
    [
        ("GRIDJIT_LOG", "everything", "'everything' is not one of compiles, none"),
        ("GRIDJIT_HOST_DEVICE", "RTX", r"did you mean rtx4090\? give one of h100, "),
    ],
)
def test_a_wrong_value_is_an_error_of_the_launch_and_not_of_the_import(
    name: str, text: str, said: str, monkeypatch: pytest.MonkeyPatch, restart: Callable[[], None]
) -> None:
    monkeypatch.setenv(name, text)
    restart()

    @gridjit.jit(target="host")
    def kernel(x):
        x[0] = 1

    with pytest.raises(gridjit.ConfigError, match=f"{name}={text}: {said}"):
        kernel[1, 1](np.ones(1))


def test_a_misspelt_variable_is_one_warning_with_the_near_name(
    monkeypatch: pytest.MonkeyPatch, restart: Callable[[], None]
) -> None:
    monkeypatch.setenv("GRIDJIT_LOGS", "compiles")
    restart()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        settings()
        settings()
    assert [str(one.message) for one in caught] == [
        "GRIDJIT_LOGS is not a setting of gridjit and has no effect: did you mean GRIDJIT_LOG?"
    ]
    assert issubclass(caught[0].category, gridjit.ConfigWarning)
    assert caught[0].filename == __file__


def test_where_warnings_are_errors_a_misspelt_variable_is_logged_and_ends_no_launch(
    monkeypatch: pytest.MonkeyPatch, restart: Callable[[], None], logged: list[str]
) -> None:
    monkeypatch.setenv("GRIDJIT_CACHEDIR", "/nowhere")
    restart()
    settings()
    assert "did you mean GRIDJIT_CACHE_DIR?" in logged.pop()


def test_variables_of_other_programs_are_left_alone(
    monkeypatch: pytest.MonkeyPatch, restart: Callable[[], None]
) -> None:
    for name in ("GRIDJIT_PLUGIN_HOME", "GRIDJIT_TEST_KILLS", "GRIDJITTER"):
        monkeypatch.setenv(name, "1")
    restart()
    settings()
    assert {"GRIDJIT_PLUGIN_HOME", "GRIDJIT_TEST_KILLS"} <= set(
        unknown_names({"GRIDJIT_PLUGIN_HOME": "", "GRIDJIT_TEST_KILLS": ""})
    )


@pytest.mark.parametrize(
    ("name", "near"),
    [
        ("GRIDJIT_TARGETS", "GRIDJIT_TARGET"),
        ("GRIDJIT_HOST_THREAD", "GRIDJIT_HOST_THREADS"),
        ("GRIDJIT_cache_dir", "GRIDJIT_CACHE_DIR"),
        ("GRIDJIT_NO_COMPILE", None),
        ("GRIDJIT_VERBOSE", None),
    ],
)
def test_a_near_name_differs_in_a_letter_or_two(name: str, near: str | None) -> None:
    assert near_name(name, NAMES) == near


def test_the_document_has_the_table_of_the_declarations() -> None:
    assert table() in (ROOT / "docs" / "settings.md").read_text()
