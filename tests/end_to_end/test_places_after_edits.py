"""Code that an edit leaves as it is comes from the cache, and names the lines that the program has after the edit."""

from __future__ import annotations

import gc
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

import gridjit

NAME = "program_of_places"
PROGRAM = """
import gridjit
from gridjit import cuda

@gridjit.jit(device=True)
def inner(a):
    if a > 2:
        raise ValueError("too large")
    return a

@gridjit.jit
def kernel(x):
    i = cuda.grid(1)
    if x[i] == 2:
        raise IndexError("exactly two")
    x[i] = inner(x[i]) + gridjit.static.blockDim.x

@gridjit.jit
def waits(x):
    while x[0] == 0:
        cuda.threadfence()
"""
EDITS: dict[str, Callable[[str], str]] = {
    "lines above": lambda text: f"# more\n\n{text}",
    "lines between": lambda text: text.replace("@gridjit.jit\ndef", "# more\n\n\n@gridjit.jit\ndef"),
    "a comment inside": lambda text: text.replace("    if ", "    # more\n    if "),
    "a docstring": lambda text: text.replace("(a):\n", '(a):\n    """Return a.\n    """\n'),
    "a statement on two lines": lambda text: text.replace('ValueError("', 'ValueError(\n"'),
}


@pytest.fixture
def load(tmp_path: Path, on_host: None, restart: Callable[[], None]) -> Iterator[Callable[..., ModuleType]]:
    """What starts a program of some text, in a file of some name, as a new process would."""

    def start(text: str, file: str = "places.py") -> ModuleType:
        restart()
        (path := tmp_path / file).write_text(text)
        sys.modules[NAME] = module = ModuleType(NAME)
        gc.collect()  # what was loaded before
        exec(compile(text, str(path), "exec"), vars(module))
        return module

    yield start
    sys.modules.pop(NAME, None)


def place_of(text: str, words: str, file: str = "places.py") -> str:
    """Return where words are in a text, as errors say it."""
    (line,) = (number for number, line in enumerate(text.splitlines(), 1) if words in line)
    return f"file {file}, line {line}"


def raised(module: ModuleType, value: float) -> str:
    with pytest.raises((ValueError, IndexError)) as caught:
        module.kernel[1, 1](np.full(1, float(value)))
    return str(caught.value)


@pytest.mark.parametrize("edit", EDITS)
def test_stored_code_names_the_lines_of_today(load: Callable[..., ModuleType], edit: str) -> None:
    load(PROGRAM).kernel[1, 1](np.ones(1))
    text = EDITS[edit](PROGRAM)
    module = load(text)
    assert raised(module, 3).startswith(f"In function 'inner', {place_of(text, 'raise ValueError')}, of ")
    assert raised(module, 2).startswith(f"In function 'kernel', {place_of(text, 'raise IndexError')}, of ")
    told = module.kernel.explain()
    assert "0 compiled, 1 from the cache" in told
    assert f"read at places.py:{place_of(text, 'static.blockDim').rpartition(' ')[2]}" in told


def test_stored_code_names_the_file_that_it_is_in_today(load: Callable[..., ModuleType]) -> None:
    load(PROGRAM).kernel[1, 1](np.ones(1))
    module = load(PROGRAM, "moved.py")
    assert f"'inner', {place_of(PROGRAM, 'raise ValueError', 'moved.py')}, of" in raised(module, 3)
    assert "0 compiled, 1 from the cache" in module.kernel.explain()


def test_a_function_from_disk_names_the_lines_of_today_in_another_kernel(load: Callable[..., ModuleType]) -> None:
    load(PROGRAM).kernel[1, 1](np.ones(1))
    text = f"# more\n{PROGRAM}".replace("static.blockDim.x", "static.blockDim.x + 1")
    module = load(text)
    assert f"'inner', {place_of(text, 'raise ValueError')}, of" in raised(module, 3)
    assert "reused: " in module.kernel.explain()


def test_why_stored_code_was_compiled_names_the_lines_of_today(load: Callable[..., ModuleType]) -> None:
    module = load(PROGRAM)
    for threads in (1, 2):
        module.kernel[1, threads](np.ones(2))
    text = f"# more\n{PROGRAM}"
    module = load(text)
    module.kernel[1, 2](np.ones(2))
    line = place_of(text, "static.blockDim").rpartition(" ")[2]
    assert f"compiled because: blockdim.x 1 -> 2, read at places.py:{line}" in module.kernel.explain()


def test_a_wait_in_vain_in_stored_code_names_the_line_of_today(
    load: Callable[..., ModuleType], monkeypatch: pytest.MonkeyPatch
) -> None:
    load(PROGRAM).waits[1, 1](np.ones(1))
    monkeypatch.setenv("GRIDJIT_HOST_PATIENCE", "0.05")
    text = f"# more\n{PROGRAM}"
    module = load(text)
    line = place_of(text, "while x").rpartition(" ")[2]
    with pytest.raises(gridjit.LaunchError, match=rf"waits in a loop, at .*/places\.py:({line}|{int(line) + 1}), "):
        module.waits[1, 1](np.zeros(1))
    assert "0 compiled, 1 from the cache" in module.waits.explain()


def test_a_file_edited_after_its_import_does_not_name_another_function(
    load: Callable[..., ModuleType], tmp_path: Path
) -> None:
    module = load(PROGRAM)
    (tmp_path / "places.py").write_text("def another():\n    pass\n" * 20)
    assert f"In function 'inner', {place_of(PROGRAM, 'raise ValueError')}, of" in raised(module, 3)


def test_a_module_that_is_loaded_again_names_its_new_lines(load: Callable[..., ModuleType]) -> None:
    before = load(PROGRAM)
    before.kernel[1, 1](np.ones(1))
    text = f"# more\n{PROGRAM}"
    assert f"'inner', {place_of(text, 'raise ValueError')}, of" in raised(load(text), 3)
    assert before.kernel is not None  # it lives, and so does its code
