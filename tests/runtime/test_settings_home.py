"""Where the cache is when the environment names no home."""

from __future__ import annotations

import os
import pwd
from pathlib import Path

import pytest

from gridjit.runtime.settings import Settings


def test_without_home_the_cache_is_in_the_accounts_own() -> None:
    assert Settings.of({}).cache_dir == Path(pwd.getpwuid(os.getuid()).pw_dir) / ".cache" / "gridjit"


def test_without_an_account_the_cache_is_where_no_folder_can_be_made(monkeypatch: pytest.MonkeyPatch) -> None:
    def no_account(number: int) -> None:
        raise KeyError(number)

    monkeypatch.setattr(pwd, "getpwuid", no_account)
    assert not Settings.of({}).cache_dir.parent.parent.is_dir()
