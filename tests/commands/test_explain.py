"""`gridjit explain`: what is stored of a kernel, what has changed since, and what a launch would find."""

from __future__ import annotations

import importlib
import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from gridjit.commands import main
from gridjit.commands.values import parse_config, parse_targets
from gridjit.compiler.values.errors import ConfigError
from gridjit.compiler.values.launch_config import LaunchConfig

SIGNATURE = "void(float32[::1])"


@pytest.fixture
def explain(capsys: pytest.CaptureFixture[str]) -> Callable[..., tuple[int, Any]]:
    """Return what runs `gridjit explain ... --json` and gives its status and what it says."""

    def run(*words: str) -> tuple[int, Any]:
        capsys.readouterr()
        status = main(["explain", *words, "--json"])
        return status, json.loads(capsys.readouterr().out)

    return run


@pytest.fixture
def edit(filled: Any, restart: Callable[[], None]) -> Callable[[str, str], None]:
    """Return what edits the module, as if between two runs of the command."""

    def replace(before: str, after: str) -> None:
        path = Path(filled.__file__)
        path.write_text(path.read_text().replace(before, after))
        sys.modules.pop("opstats")
        importlib.invalidate_caches()
        for cached in path.parent.glob("__pycache__/opstats*"):
            cached.unlink()
        restart()

    return replace


@pytest.mark.usefixtures("filled")
def test_stored_results_are_listed_with_facts_reasons_and_state(explain: Any) -> None:
    status, told = explain("opstats:sized")
    assert status == 0
    first, second = told["stored"]
    assert [(fact["field"], fact["value"]) for fact in first["facts"]] == [("blockdim.x", 32)]
    assert first["reason"].startswith("first use")
    assert second["reason"].startswith("blockdim.x 32 -> 64, read at opstats.py:")
    assert (first["changed"], second["changed"]) == (None, None)


def test_what_has_changed_since_is_named(explain: Any, edit: Callable[[str, str], None]) -> None:
    edit("THRESHOLD = 3", "THRESHOLD = 4")
    (stored,) = explain("opstats:scale")[1]["stored"]
    assert stored["changed"] == "out of date: global opstats.THRESHOLD 3 -> 4"
    assert {result["changed"] for result in explain("opstats:sized")[1]["stored"]} == {None}


@pytest.mark.usefixtures("filled")
def test_a_result_whose_code_went_is_said_to_be_gone(explain: Any, cache_dir: Path) -> None:
    for file in cache_dir.glob("??/*.o"):
        file.unlink()
    assert explain("opstats:scale")[1]["stored"][0]["changed"] == "its code is no longer in the cache, or is damaged"


@pytest.mark.usefixtures("filled")
def test_a_launch_that_would_hit_is_status_0_and_names_the_artifact(explain: Any) -> None:
    status, told = explain("opstats:sized", "--signature", SIGNATURE, "--config", "grid=9,block=64")
    assert status == 0
    assert told["now"]["artifact"] == told["stored"][1]["artifact"]


@pytest.mark.usefixtures("filled")
def test_a_launch_that_would_compile_is_status_1_and_says_why(explain: Any) -> None:
    status, told = explain("opstats:sized", "--signature", SIGNATURE, "--config", "grid=1,block=128")
    assert (status, told["now"]["artifact"]) == (1, None)
    assert told["now"]["reason"].startswith("blockdim.x 32 -> 128") or told["now"]["reason"].startswith(
        "blockdim.x 64 -> 128"
    )
    status, told = explain("opstats:scale", "--signature", "void(float64[::1], float64)")
    assert status == 1
    assert told["now"]["reason"] == "signature (float32[1d C], float64) -> (float64[1d C], float64)"
    status, told = explain("opstats:scale", "--signature", "void(float32[::1], float64)", "--target", "sm_90")
    assert status == 1
    assert told["now"]["reason"].endswith("-> sm_90")


@pytest.mark.usefixtures("filled")
def test_people_get_the_same_in_words(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["explain", "opstats:sized", "--signature", "void(float64[::1])", "--config", "grid=1,block=32"]) == 1
    out = capsys.readouterr().out
    assert out.startswith("opstats:sized: 2 stored\n")
    assert "now (float64[1d C]) for host, grid 1, block 32:\n  compiles: signature (float32[1d C]) ->" in out


@pytest.mark.parametrize(
    ("name", "status", "message"),
    [
        ("opstats:plain", 1, "opstats:plain is not a kernel; kernels of opstats: declared, scale, sized"),
        ("opstats:missing", 1, "is not a kernel"),
        ("no_such_module:k", 1, "module no_such_module cannot be imported: ModuleNotFoundError"),
        ("opstats", 2, "give module:kernel"),
    ],
)
@pytest.mark.usefixtures("kernels")
def test_a_name_of_no_kernel_is_one_line(
    name: str, status: int, message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["explain", name]) == status
    assert message in capsys.readouterr().err


def test_a_launch_is_written_as_fields() -> None:
    assert parse_config("grid=4,block=128") == LaunchConfig.of(4, 128)
    assert parse_config("griddim=4x2, blockdim=8x8x2,sharedmem=1024") == LaunchConfig.of((4, 2), (8, 8, 2), 1024)
    assert parse_config("grid=4,block=32,cluster=2,cooperative=1") == LaunchConfig.of(
        4, 32, cluster=2, cooperative=True
    )


@pytest.mark.parametrize(
    "text", ["", "grid=4", "grid=4,block=x", "grid=4,block=32,colour=1", "grid=4,grid=4,block=1", "grid=4,block=4096"]
)
def test_a_launch_that_makes_no_sense_is_refused(text: str) -> None:
    with pytest.raises(ConfigError):
        parse_config(text)


def test_targets_are_a_list_without_repetition() -> None:
    assert parse_targets("sm_90, host,sm_90") == ["sm_90", "host"]
    assert parse_targets(None) == [None]
    for wrong in ("cuda", "sm90", "sm_9", "host;rm"):
        with pytest.raises(ConfigError, match="--target"):
            parse_targets(wrong)
