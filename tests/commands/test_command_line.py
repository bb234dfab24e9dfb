"""The command line itself: its version, help, completion, wrong usage before anything is imported, and progress."""

from __future__ import annotations

import argparse
import contextlib
import functools
import json
import os
import pty
import shlex
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import gridjit
from gridjit.commands import demo, main
from gridjit.commands.arguments import check, parser, program_at
from gridjit.commands.completion import candidates, subcommands_of
from gridjit.commands.progress import left_text
from gridjit.compiler.numba_state import pristine
from gridjit.runtime.environment.settings import VARIABLES
from tests.programs import run_new_python, run_python

ROOT = Path(__file__).parents[2]
FLOATS = "void(float32[::1])"
HEAVY = ("numpy", "numba", "llvmlite", "rich", "diskcache", "gridjit.runtime.kernel", "gridjit.runtime.process.session")


def test_the_version_is_the_packages(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as caught:
        main(["--version"])
    assert (caught.value.code, capsys.readouterr().out) == (0, f"gridjit {gridjit.__version__}\n")


def test_without_a_command_there_is_help(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([]) == 0
    out = capsys.readouterr().out
    assert out.startswith("usage: gridjit") and all(
        f"    {name} " in out for name in ("demo", "info", "report", "warm", "cache")
    )


def commands_of(made: argparse.ArgumentParser) -> Iterator[argparse.ArgumentParser]:
    """Yield a parser and the parsers of its commands."""
    yield made
    for inner in subcommands_of(made).values():
        yield from commands_of(inner)


@pytest.mark.parametrize("command", [*commands_of(parser())], ids=lambda command: command.prog)
def test_every_commands_help_ends_with_an_example_that_it_accepts_and_its_page(
    command: argparse.ArgumentParser,
) -> None:
    _, example, page = command.format_help().rstrip().rsplit("\n", 2)
    words = shlex.split(example.removeprefix("example: gridjit "))
    assert example.startswith(f"example: {command.prog}")
    given = parser().parse_args(words[: program_at(words)])
    given.program = words[program_at(words) :]
    check(given)
    assert (ROOT / page.removeprefix("page: ")).is_file()


def test_every_commands_help_begins_as_the_list_of_commands_describes_it() -> None:
    for made in commands_of(parser()):
        listed = [one for action in made._actions for one in getattr(action, "_choices_actions", ())]
        for one in listed:
            own = " ".join(subcommands_of(made)[one.dest].format_help().partition("\n\n")[2].split())
            assert one.help is not None
            assert own.lower().startswith(one.help.lower()), one.dest


@pytest.mark.parametrize("group", ["cache", "keys"])
def test_a_group_alone_lists_its_commands(group: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([group]) == 0
    out = capsys.readouterr().out
    (made,) = (one for one in commands_of(parser()) if one.prog == f"gridjit {group}")
    assert [name for name in subcommands_of(made) if f"    {name} " not in out] == []


@pytest.mark.some(8)
@pytest.mark.parametrize(
    ("words", "status"),
    [
        ("", 0),
        ("--version", 0),
        ("--help", 0),
        ("cache --help", 0),
        ("completion bash", 0),
        ("completion bash -- cache l", 0),
        ("defrag", 2),
        ("cache", 0),
        ("keys", 0),
        ("cache ls --sort colour", 2),
        ("cache show", 2),
        ("cache gc --max-size big", 2),
        ("cache export -", 2),
        ("cache import -", 2),
        ("warm --from -", 2),
        ("certify", 2),
        ("certify a --target gpu", 2),
        ("report -", 2),
        ("report --json --html -", 2),
        ("cache gc --older-than soon", 2),
        ("cache gc --max-entries -1", 2),
        ("cache export b --target hopper", 2),
        ("warm", 2),
        ("warm a:b --from c", 2),
        ("warm a:b --jobs 0", 2),
        ("warm a:b --on mpi", 2),
        ("warm --from c --on mpi --jobs 2", 2),
        ("warm --from c --on dask://host", 2),
        ("warm --from c --on slurm", 2),
        ("warm a:b --config grid=1", 2),
        ("warm a:b --target gpu", 2),
        ("explain a", 2),
        ("explain a:b --target sm_90", 2),
        ("explain a:b --signature x --target sm_80,sm_90", 2),
        ("demo --size 0", 2),
        ("run --nope x.py", 2),
        ("run --debug", 2),
    ],
)
def test_what_only_needs_the_words_imports_nothing_else(words: str, status: int) -> None:
    program = f"""
import sys
from gridjit.commands import main
try:
    status = main({words.split()!r})
except SystemExit as ended:
    status = ended.code
print(status, [name for name in {HEAVY!r} if name in sys.modules], file=sys.stderr)
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.stderr.splitlines()[-1] == f"{status} []", done.stderr


@pytest.mark.parametrize(
    "words", ["info", "cache ls", "demo --size 1000 --quiet", f"warm opstats:scale --signature {FLOATS}"]
)
@pytest.mark.usefixtures("kernels")
def test_a_setting_that_is_not_accepted_is_one_line_and_status_2(
    words: str, monkeypatch: pytest.MonkeyPatch, restart: Callable[[], None], capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("GRIDJIT_LOG", "everything")
    restart()
    assert main(words.split()) == 2
    said = capsys.readouterr()
    assert (said.out, said.err) == ("", "gridjit: GRIDJIT_LOG=everything: 'everything' is not one of compiles, none\n")


def test_info_has_values_for_scripts_and_says_where_settings_are_from(
    monkeypatch: pytest.MonkeyPatch, restart: Callable[[], None], capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    monkeypatch.setenv("GRIDJIT_TARGET", "host")
    monkeypatch.setenv("GRIDJIT_CACHE_SIZE", "2G")
    monkeypatch.setenv("GRIDJIT_PLUGINS", "1")
    monkeypatch.setenv("GRIDJIT_CACHE_REMOTE", "")
    monkeypatch.delenv("GRIDJIT_CACHE_DIR")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    restart()
    assert main(["info", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    settings = {one["variable"]: (one["value"], one["source"]) for one in told["settings"]}
    assert list(settings) == [one.name for one in VARIABLES]
    assert settings["GRIDJIT_CACHE_SIZE"] == (2 << 30, "environment")
    assert settings["GRIDJIT_CACHE_DIR"] == (str(tmp_path / "gridjit"), "XDG_CACHE_HOME")
    assert settings["GRIDJIT_CACHE"] == (True, "default")
    assert settings["GRIDJIT_CACHE_REMOTE"] == ([], "default, as environment leaves it empty")
    assert (told["cache"]["max_bytes"], told["cache"]["enabled"], told["target"]["kind"]) == (2 << 30, True, "host")
    assert (told["gridjit"], told["python"].split(".")[0]) == (gridjit.__version__, "3")
    assert told["unknown_variables"] == [{"variable": "GRIDJIT_PLUGINS", "did_you_mean": None}]
    assert main(["info"]) == 0
    out = capsys.readouterr().out
    assert "GRIDJIT_CACHE_SIZE          2147483648  (environment)\n" in out


def test_info_says_why_there_is_no_gpu_also_where_one_is_asked_for(
    monkeypatch: pytest.MonkeyPatch, restart: Callable[[], None], capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("gridjit.runtime.devices.presence.why_not", functools.cache(lambda: "there is no such thing"))
    monkeypatch.setenv("GRIDJIT_TARGET", "cuda")
    restart()
    assert main(["info", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert (told["cuda"]["gpus"], told["cuda"]["why_not"]) == ([], "there is no such thing")
    assert told["target"]["kind"] is None and told["target"]["why_not"]
    assert main(["info"]) == 0
    assert "none: there is no such thing" in capsys.readouterr().out


def test_info_says_that_compiles_are_slower_with_a_numba_cuda_that_is_not_known(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    told = []
    for versions in (pristine._VERSIONS, frozenset()):
        monkeypatch.setattr(pristine, "_VERSIONS", versions)
        assert main(["info", "--json"]) == 0
        knows = json.loads(capsys.readouterr().out)["knows_numba_cuda"]
        assert main(["info"]) == 0
        told.append((knows, "slower" in capsys.readouterr().out))
    assert told == [(True, False), (False, True)]


@pytest.mark.usefixtures("kernels")
@pytest.mark.parametrize("command", ["warm", "explain"])
def test_the_text_of_a_signature_is_never_run(command: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    evil = f"__import__('os').system('touch {tmp_path / 'touched'}')"
    words = [command, "opstats:scale", "--signature", evil, *(["--jobs", "1"] if command == "warm" else [])]
    assert main(words) == (1 if command == "warm" else 2)
    assert not (tmp_path / "touched").exists()
    assert "give types" in capsys.readouterr().err


SCRIPT = """
import sys
import numpy as np
import gridjit
from gridjit import cuda
import beside

FACTOR = 3

@gridjit.jit(device=True)
def times(x):
    return x * FACTOR + beside.MORE

@gridjit.jit
def scale(x):
    x[cuda.grid(1)] = times(x[cuda.grid(1)])

@gridjit.jit("void(float32[::1])", lineinfo=True)
def declared(x):
    x[0] = 9

if __name__ == "__main__":
    x = np.ones(4, np.float32)
    scale[1, 4](x)
    declared[1, 4](x)
    print(x.tolist(), scale.stats.compiles, declared.stats.compiles)
"""


@pytest.mark.some(1)
@pytest.mark.parametrize("folder", ["", "programs"])
def test_a_script_finds_what_was_warmed_for_it(tmp_path: Path, folder: str) -> None:
    (tmp_path / folder).mkdir(exist_ok=True)
    (tmp_path / folder / "script.py").write_text(SCRIPT)
    (tmp_path / folder / "beside.py").write_text("MORE = 2\n")
    script, environ = os.path.join(folder, "script.py"), {**os.environ, "GRIDJIT_TARGET": "host"}

    def run(*words: str, **more: str) -> str:
        done = (run_new_python if more else run_python)(*words, cwd=tmp_path, env=environ | more)
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    configured = ("--signature", FLOATS, "--config", "grid=1,block=4", "--json")
    told = run("-m", "gridjit", "warm", f"{script}:scale", f"{script}:declared", *configured)
    assert (json.loads(told)["compiled"], json.loads(told)["failed"]) == (2, [])
    assert run(script, GRIDJIT_ASSERT_NO_COMPILE="1") == "[9.0, 5.0, 5.0, 5.0] 0 0\n"
    explained = run("-m", "gridjit", "explain", f"{script}:scale", "--signature", FLOATS, "--json")
    assert json.loads(explained)["now"]["artifact"]


@pytest.mark.some(2)
@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("import nothing_of_this_name", "script wrong.py cannot be imported: ModuleNotFoundError: "),
        ("def", "script wrong.py is not Python: "),
        ("raise SystemExit(3)", "script wrong.py cannot be imported: SystemExit: 3"),
        (None, "script wrong.py cannot be read: No such file or directory"),
    ],
)
def test_a_script_that_cannot_be_imported_is_one_line(tmp_path: Path, text: str | None, said: str) -> None:
    if text is not None:
        (tmp_path / "wrong.py").write_text(text)
    done = subprocess.run(
        [sys.executable, "-m", "gridjit", "explain", "wrong.py:x"], cwd=tmp_path, capture_output=True, text=True
    )
    assert (done.returncode, done.stderr.count("\n"), done.stderr.startswith(f"gridjit: {said}")) == (1, 1, True)


@pytest.mark.parametrize("text", ["print('a script')\n", '{"a": "json"}\n', "\x00\x7fELF\n", "null\n"])
def test_a_file_that_is_not_of_recorded_needs_is_one_line(
    tmp_path: Path, text: str, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "wrong").write_text(text * 30)
    assert main(["warm", "--from", str(tmp_path / "wrong")]) == 1
    said = capsys.readouterr()
    assert (said.out, said.err.count("\n")) == ("", 1)
    assert "is not a file of recorded needs: GRIDJIT_RECORD=" in said.err


@pytest.mark.usefixtures("filled")
@pytest.mark.parametrize(
    ("name", "meant"),
    [
        ("opstats.scal", "did you mean opstats.scale"),
        ("sizd", "did you mean opstats.sized"),
        ("nothing.like", "`gridjit cache ls` lists"),
    ],
)
@pytest.mark.parametrize("more", [[], ["--dry-run"], ["--json"]])
def test_to_clear_a_kernel_that_is_not_there_is_an_error_with_near_names(
    name: str, meant: str, more: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["cache", "clear", "--kernel", name, *more]) == 1
    said = capsys.readouterr()
    assert (said.out, said.err.count("\n"), meant in said.err) == ("", 1, True)


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["ca"], ["cache"]),
        (["cache", "c"], ["clear"]),
        (["cache", "ls", "--s"], ["--sort"]),
        (["cache", "ls", "--sort", ""], ["age", "compile", "hits", "kernel", "size", "target", "used"]),
        (["cache", "ls", "--sort", "size", "--j"], ["--json"]),
        (["completion", "f"], ["fish"]),
        (["--v"], ["--version"]),
        (["warm", "--from", "x"], []),
        (["nothing"], []),
    ],
)
def test_words_are_completed_from_the_declarations(words: list[str], expected: list[str]) -> None:
    assert candidates(words) == expected


def test_every_command_is_completed() -> None:
    assert candidates([""]) == [
        "cache",
        "certify",
        "completion",
        "demo",
        "explain",
        "info",
        "keys",
        "report",
        "run",
        "serve",
        "warm",
    ]
    files = {"export", "import", "push", "pull", "pack"}
    assert {"ls", "du", "stats", "show", "verify", "sign", "gc", "clear", *files} == set(candidates(["cache", ""]))


def test_bash_completes_words(tmp_path: Path) -> None:
    bin_folder = tmp_path / "bin"
    bin_folder.mkdir()
    (bin_folder / "gridjit").write_text(f'#!/bin/sh\nexec {sys.executable} -m gridjit "$@"\n')
    (bin_folder / "gridjit").chmod(0o755)
    program = """
eval "$(gridjit completion bash)"
COMP_WORDS=(gridjit cache ls --so); COMP_CWORD=3; _gridjit; echo "${COMPREPLY[*]}"
COMP_WORDS=(gridjit ""); COMP_CWORD=1; _gridjit; echo "${COMPREPLY[*]}"
"""
    environ = {**os.environ, "PATH": f"{bin_folder}:{os.environ['PATH']}"}
    done = subprocess.run(["bash", "-c", program], env=environ, capture_output=True, text=True)
    assert done.stdout.split() == ["--sort", *candidates([""])], done.stderr


@pytest.mark.parametrize("shell", ["zsh", "fish"])
def test_other_shells_accept_their_script(shell: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    if shutil.which(shell) is None:
        pytest.skip(f"{shell} is not installed")
    assert main(["completion", shell]) == 0
    (tmp_path / "script").write_text(capsys.readouterr().out)
    assert subprocess.run([shell, "-n", tmp_path / "script"], check=False).returncode == 0


_LONG = ("ls", "du", "stats", "verify", "show", "sign", "gc", "clear", "export", "import", "push", "pull", "pack")


def test_every_long_command_can_be_told_to_be_quiet() -> None:
    for words in (["demo"], ["warm"], *(["cache", name] for name in _LONG)):
        assert candidates([*words, "--qu"]) == ["--quiet"], words


def on_terminal(*words: str) -> tuple[int, str]:
    """Run a command whose standard error is a terminal; return its status and what was written there."""
    ours, theirs = pty.openpty()
    command, environ = [sys.executable, "-m", "gridjit", *words], {**os.environ, "TERM": "xterm"}
    with subprocess.Popen(command, stderr=theirs, stdout=subprocess.DEVNULL, env=environ) as done:
        os.close(theirs)
        said = b""
        try:
            while part := os.read(ours, 65536):
                said += part
        except OSError:  # how the end of a terminal is read
            pass
    os.close(ours)
    return done.returncode, said.decode()


@pytest.mark.some(1)
@pytest.mark.usefixtures("filled")
@pytest.mark.parametrize(
    ("words", "doing"),
    [
        ("cache ls", "reading"),
        ("cache du", "reading"),
        ("cache stats", "reading"),
        ("report", "reading"),
        ("report --html report.html", "writing"),
        ("cache verify", "checking"),
        ("cache sign --key {folder}/key", "signing"),
        ("cache push --remote file://{folder}?unsigned", "writing"),
        ("cache pack all --remote file://{folder}?unsigned", "packing"),
        ("cache export bundle", "writing"),
        ("cache clear --kernel scale", "removing"),
    ],
)
def test_a_long_command_shows_on_a_terminal_what_it_does_and_a_quiet_one_does_not(
    words: str, doing: str, tmp_path: Path
) -> None:
    (key := tmp_path / "key").write_bytes(b"k" * 32)
    key.chmod(0o400)
    words = words.format(folder=tmp_path)
    dry = ["--dry-run"] if "clear" in words else []
    assert on_terminal(*words.split(), *dry, "--quiet") == (0, "")
    assert on_terminal(*words.split(), *dry, "--json") == (0, "")
    status, said = on_terminal(*words.split())
    assert (status, doing in said) == (0, True), said


@pytest.mark.parametrize(("elapsed", "over", "total", "said"), [(9.0, 0, 4, ""), (60.0, 1, 5, "about 4:00 left: ")])
def test_the_time_left_is_that_of_what_is_over(elapsed: float, over: int, total: int, said: str) -> None:
    assert left_text(elapsed, over, total) == said


INTERRUPTED = """
import os, signal, sys

class Interrupting:
    def find_spec(self, name, path=None, target=None):
        if name == {module!r}:
            os.kill(os.getpid(), signal.SIGINT)

from gridjit.__main__ import main
sys.meta_path.insert(0, Interrupting())
sys.exit(main())
"""


@pytest.mark.parametrize(
    "module", ["gridjit.commands", "argparse", "gridjit.commands.values", "gridjit.runtime.process.session"]
)
def test_a_command_that_is_interrupted_while_it_imports_ends_with_status_130_and_says_nothing(module: str) -> None:
    done = run_new_python("-c", INTERRUPTED.format(module=module), "cache", "gc")
    assert (done.returncode, done.stdout, done.stderr) == (130, "", "")


def test_the_demo_that_is_interrupted_leaves_no_process_and_ctrl_c_reaches_it_alone(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    started: list[Started] = []

    class Started(subprocess.Popen[str]):
        def __init__(self, *args: object, **how: object) -> None:
            super().__init__(*args, **how)  # type: ignore[call-overload]
            started.append(self)

    monkeypatch.setattr(subprocess, "Popen", Started)
    with contextlib.closing(demo._events(1000, dict(os.environ))) as events:
        assert "begin" in next(events)
        assert os.getpgid(started[0].pid) != os.getpgid(0)
    assert started[0].returncode == -signal.SIGKILL


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs a device that is always full")
@pytest.mark.parametrize("arguments", [["--help"], ["info", "--json"], ["cache", "ls"], ["cache", "du", "--json"]])
def test_output_that_cannot_be_written_is_one_line_and_status_1(arguments: list[str]) -> None:
    buffered = {name: value for name, value in os.environ.items() if name != "PYTHONUNBUFFERED"}
    command = [sys.executable, "-m", "gridjit", *arguments]
    with open("/dev/full", "w") as full:
        ran = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, text=True, env=buffered, check=False)
    assert (ran.returncode, ran.stderr) == (1, "gridjit: the output cannot be written: No space left on device\n")


def test_a_command_whose_output_was_closed_runs() -> None:
    ran = subprocess.run(
        ["sh", "-c", f"{sys.executable} -m gridjit cache ls >&-"], stderr=subprocess.PIPE, text=True, check=False
    )
    assert (ran.returncode, ran.stderr) == (0, "")
