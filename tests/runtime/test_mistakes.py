"""Mistakes in the environment and in compile(): each is named, with what would be right."""

from __future__ import annotations

import os
import pwd
from pathlib import Path

import pytest

import gridjit
from gridjit import ConfigError
from gridjit.runtime.environment.settings import Settings


def test_without_home_the_cache_is_in_the_accounts_own() -> None:
    assert Settings.of({}).cache_dir == Path(pwd.getpwuid(os.getuid()).pw_dir) / ".cache" / "gridjit"


def test_without_an_account_the_cache_is_where_no_folder_can_be_made(monkeypatch: pytest.MonkeyPatch) -> None:
    def no_account(number: int) -> None:
        raise KeyError(number)

    monkeypatch.setattr(pwd, "getpwuid", no_account)
    assert not Settings.of({}).cache_dir.parent.parent.is_dir()


@pytest.mark.parametrize(("text", "on"), [("", True), ("1", True), ("0", False), ("false", False), ("OFF", False)])
def test_the_cache_can_be_switched_off(text: str, on: bool) -> None:
    assert Settings.of({"GRIDJIT_CACHE": text}).cache is on


def test_a_switch_that_is_neither_on_nor_off_is_an_error() -> None:
    with pytest.raises(ConfigError, match="GRIDJIT_CACHE=maybe: give 1 or 0"):
        Settings.of({"GRIDJIT_CACHE": "maybe"})


def test_compiling_for_what_is_not_a_launch_says_what_is() -> None:
    def kernel(x):
        x[0] = 1

    with pytest.raises(ConfigError, match=r"kernel: config=5: give \(griddim, blockdim"):
        gridjit.jit(kernel).compile("void(int64[::1])", config=5)  # type: ignore[arg-type]
