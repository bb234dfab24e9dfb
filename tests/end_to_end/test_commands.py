"""The command line: what it prints, and the exit statuses that scripts rely on."""

from __future__ import annotations

import json

import pytest

from gridjit.commands import main
from tests.programs import run_python


@pytest.mark.usefixtures("target")
def test_the_demo_compiles_once_per_block_size_and_nothing_in_the_second_process() -> None:
    done = run_python("-m", "gridjit", "demo", "--size", "20000")
    assert done.returncode == 0, done.stderr
    assert "compiled 3 times for 6 launches" in done.stdout
    assert "The second compiled 0 times" in done.stdout
    assert "wrong" not in done.stdout


def test_info_names_target_cache_and_toolchain(target: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["info", "--json"]) == 0
    facts = json.loads(capsys.readouterr().out)
    found = facts["target"]
    assert found["kind"] == "host" if target == "host" else found["arch"].startswith("sm_")
    assert {"cache", "versions"} <= facts.keys()
    assert {"numba-cuda", "llvmlite"} <= facts["versions"].keys()


def test_a_wrong_value_is_one_line_on_standard_error_and_status_2(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["demo", "--size", "0"]) == 2
    assert capsys.readouterr().err == "gridjit: --size 0: give a whole number from 1\n"
