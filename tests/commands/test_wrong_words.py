"""What the command line says to words that make no sense, and to a reader that goes away."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import pytest

from gridjit.commands import main

FLOATS = "void(float32[::1])"


@pytest.mark.parametrize(
    ("words", "status", "said"),
    [
        ("explain opstats:sized --config grid=1,block=32", 2, "give --signature with them"),
        ("explain opstats:sized --target sm_90", 2, "give --signature with them"),
        (f"explain opstats:sized --signature {FLOATS} --target sm_80,sm_90", 2, "--target sm_80,sm_90: give one"),
        (
            "explain opstats:scal",
            1,
            "opstats:scal is not a kernel; did you mean scale? kernels of opstats: declared, scale, sized",
        ),
        ("explain opstats:plain", 1, "opstats:plain is not a kernel; kernels of opstats: declared, scale, sized"),
        ("warm undeclared:none", 2, "undeclared:none declares no signature: give one with --signature"),
        ("warm failing.py", 1, "ZeroDivisionError: division by zero, at "),
        ("warm failing", 1, "failing.py:2"),
        ("warm undeclared", 2, "no kernel of undeclared declares a signature: give one with --signature"),
        ("cache ls --dir nowhere", 1, "--dir nowhere: there is no such folder"),
        ("cache clear --dir=", 2, "--dir is empty: give a folder, or leave --dir out"),
        ("cache verify --dir nowhere", 1, "--dir nowhere: there is no such folder"),
        ("cache clear --dir nowhere", 1, "--dir nowhere: there is no such folder"),
        ("cache ls --dir opstats.py", 1, "opstats.py cannot be read: Not a directory"),
        ("cache show 00000000", 1, "has a key that begins with '00000000'; `gridjit cache ls` lists the keys"),
        ("cache export b --kernel nosuch", 1, "holds no entry of nosuch; `gridjit cache ls` lists what is there"),
        ("cache ls --kernel sizd", 1, "holds no entry of sizd; did you mean opstats.sized?"),
        ("cache ls --json --kernel cale", 1, "holds no entry of cale; did you mean opstats.scale"),
        ("cache du --kernel sizd", 1, "holds no entry of sizd; did you mean opstats.sized?"),
        ("cache stats --kernel nosuch", 1, "holds no entry of nosuch; `gridjit cache ls` lists what is there"),
        ("report --kernel sizd", 1, "holds no entry of sizd; did you mean opstats.sized?"),
        ("cache ls --kernle sized", 2, "cache ls has no option --kernle; did you mean --kernel?"),
        ("report --nosuch", 2, "report has no option --nosuch; `gridjit report --help` lists its options"),
        (
            "cache ls sized",
            2,
            "cache ls takes no further argument 'sized'; `gridjit cache ls --help` shows what it takes",
        ),
        ("cache export b --target sm_80", 1, "holds no entry for sm_80; `gridjit cache ls` lists what is there"),
        ("cache export b --target hopper", 2, "--target hopper: give 'host' or an architecture such as 'sm_90'"),
        ("cache import nowhere", 1, "nowhere cannot be read: No such file or directory"),
        ("cache import opstats.py", 1, "opstats.py is not a gridjit bundle of this version: write one with"),
    ],
)
def test_wrong_words_are_one_line_with_the_value_and_the_way_on(
    filled: Any, tmp_path: Any, capsys: pytest.CaptureFixture[str], words: str, status: int, said: str
) -> None:
    (tmp_path / "undeclared.py").write_text("from opstats import *\n\n\n@gridjit.jit\ndef none(x):\n    x[0] = 1\n")
    (tmp_path / "failing.py").write_text("import gridjit\n1 / 0\n")
    assert main(words.split()) == status
    out, errors = capsys.readouterr()
    assert (out, errors.count("\n")) == ("", 1)
    assert errors.startswith("gridjit: ")
    assert said in errors


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("cach ls", "invalid choice: 'cach'; did you mean cache?"),
        ("cache lss", "invalid choice: 'lss'; did you mean ls?"),
        ("cache ls --sort siz", "argument --sort: invalid choice: 'siz'; did you mean size?"),
        ("frobnicate", "invalid choice: 'frobnicate' (choose from "),
    ],
)
def test_a_word_that_is_not_one_of_those_there_are_asks_for_the_nearest(
    capsys: pytest.CaptureFixture[str], words: str, said: str
) -> None:
    with pytest.raises(SystemExit) as ended:
        main(words.split())
    assert ended.value.code == 2
    assert said in capsys.readouterr().err


def test_completion_without_a_shell_asks_for_a_shell_and_nothing_else(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["completion"])
    assert ended.value.code == 2
    assert capsys.readouterr().err.endswith("the following arguments are required: shell\n")


@pytest.mark.usefixtures("filled")
def test_explain_without_a_launch_says_how_to_give_one(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["explain", "opstats:sized", "--signature", FLOATS, "--target", "host"]) == 1
    assert capsys.readouterr().out.endswith("it depends on the launch: give one with --config\n")
    assert main(["explain", "opstats:declared", "--signature", "void(int8[::1])", "--target", "host"]) == 1
    assert "--config" not in capsys.readouterr().out


@pytest.mark.some(1)
@pytest.mark.usefixtures("filled")
@pytest.mark.parametrize("words", ["cache ls", "cache ls --json", "cache verify", "info"])
def test_a_reader_that_goes_away_is_not_an_error(words: str) -> None:
    with subprocess.Popen(
        [sys.executable, "-m", "gridjit", *words.split()], stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as process:
        assert process.stdout is not None and process.stderr is not None
        process.stdout.close()
        assert process.stderr.read() == b""
    assert process.returncode in (0, 1)
