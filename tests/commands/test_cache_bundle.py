"""`gridjit cache export` and `import`: what one machine compiled runs on another without compiling."""

from __future__ import annotations

import contextlib
import json
import os
import socket
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from gridjit.commands import main


@pytest.fixture
def other_machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, restart: Callable[[], None]) -> Callable[..., None]:
    """Return what moves to a machine with an empty cache."""

    def move(**variables: str) -> None:
        monkeypatch.setenv("GRIDJIT_CACHE_DIR", str(tmp_path / "other"))
        for name, value in variables.items():
            monkeypatch.setenv(name, value)
        restart()

    return move


def test_an_exported_kernel_is_not_compiled_where_it_was_imported(
    filled: Any, other_machine: Callable[..., None], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["cache", "export", "kernels.gridjit", "--kernel", "sized"]) == 0
    assert "exported 4 entries" in capsys.readouterr().out
    other_machine(GRIDJIT_ASSERT_NO_COMPILE="1")
    assert main(["cache", "import", "kernels.gridjit", "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == {"added": 4, "merged": 0, "known": 0, "refused": 0, "dropped": 0}
    filled.sized._code.table.clear()
    out = np.zeros(1, np.float32)
    filled.sized[1, 64](out)
    assert out[0] == 64
    with pytest.raises(Exception, match="is not in the cache"):
        filled.sized[1, 128](out)


def test_targets_choose_what_is_exported(filled: Any, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["cache", "export", "host.gridjit", "--target", "host", "--json"]) == 0
    everything = json.loads(capsys.readouterr().out)["entries"]
    assert main(["cache", "ls", "--all", "--json", "--kernel", "opstats.*"]) == 0
    assert everything == len(json.loads(capsys.readouterr().out))
    assert main(["cache", "export", "gpu.gridjit", "--target", "sm_90", "--kernel", "nothing"]) == 1
    assert "holds no entry" in capsys.readouterr().err
    assert not Path("gpu.gridjit").exists()


@pytest.mark.parametrize("kind", ["pipe", "link", "link to nothing", "socket"])
def test_an_export_takes_the_place_of_nothing_but_a_regular_file(
    filled: Any, capsys: pytest.CaptureFixture[str], tmp_path: Path, kind: str
) -> None:
    place, target = tmp_path / "out", tmp_path / "target"
    if kind == "pipe":
        os.mkfifo(place)
    elif kind == "socket":
        with contextlib.closing(socket.socket(socket.AF_UNIX)) as bound:
            bound.bind(str(place))
    else:
        place.symlink_to(target)
        if kind == "link":
            target.write_text("mine")
    before = place.lstat()
    assert main(["cache", "export", str(place)]) == 1
    assert "is not a regular file" in capsys.readouterr().err
    assert (place.lstat().st_ino, place.lstat().st_mode) == (before.st_ino, before.st_mode)
    assert not target.exists() or target.read_text() == "mine"
    assert {path.name for path in tmp_path.iterdir() if path.name.startswith((".", "out"))} == {"out"}


def test_an_export_over_an_older_one_takes_its_place(filled: Any, tmp_path: Path) -> None:
    (tmp_path / "out").write_text("older")
    assert main(["cache", "export", str(tmp_path / "out")]) == 0
    assert (tmp_path / "out").read_bytes().startswith(b"gridjit bundle")


def test_a_signed_export_is_refused_elsewhere(
    filled: Any, other_machine: Callable[..., None], capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    assert main(["cache", "export", "plain.gridjit"]) == 0
    (tmp_path / "key").write_bytes(b"k" * 32)
    (tmp_path / "key").chmod(0o400)
    other_machine(GRIDJIT_CACHE_KEY_FILE=str(tmp_path / "key"))
    capsys.readouterr()
    assert main(["cache", "import", "plain.gridjit"]) == 1
    assert "0 added" in capsys.readouterr().out


@pytest.mark.parametrize(("name", "reason"), [("missing", "cannot be read"), ("opstats.py", "is not a gridjit bundle")])
def test_what_is_not_a_bundle_is_one_line_and_status_1(
    name: str, reason: str, kernels: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["cache", "import", name]) == 1
    assert reason in capsys.readouterr().err


def test_a_target_without_code_exports_nothing(filled: Any, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["cache", "export", "x.gridjit", "--target", "sm_90"]) == 1
    assert "holds no entry" in capsys.readouterr().err
