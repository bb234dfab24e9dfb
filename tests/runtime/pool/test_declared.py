"""Kernels that are compiled in other processes until they are used: the same kernels and errors, only sooner there."""

from __future__ import annotations

import contextlib
import importlib
import json
import os
import sys
import textwrap
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import gridjit
from gridjit import cuda
from gridjit.compiler.values.errors import CompileError, ConfigError
from gridjit.runtime.process.session import session
from gridjit.runtime.specialize import request
from tests.programs import run_new_python, run_python

HEAD = """
import os, sys
import gridjit
from gridjit import cuda

IS_WORKER = "gridjit.runtime.workers.worker" in sys.modules
"""
FLOATS = "void(float32[::1])"


@pytest.fixture(autouse=True)
def on_the_host(monkeypatch: pytest.MonkeyPatch, restart: Callable[[], None]) -> None:
    """Compile for the host, in one process unless the test says otherwise."""
    monkeypatch.setenv("GRIDJIT_TARGET", "host")
    monkeypatch.setenv("GRIDJIT_COMPILE_PROCESSES", "1")
    restart()


@pytest.fixture
def module(tasks: Path) -> Iterator[Callable[[str], Any]]:
    """What imports a module of the given text, which other processes can import too."""
    names: list[str] = []

    def make(text: str) -> Any:
        names.append(f"pooled{len(names)}")
        (tasks / f"{names[-1]}.py").write_text(HEAD + textwrap.dedent(text))
        importlib.invalidate_caches()
        return importlib.import_module(names[-1])

    yield make
    for name in names:
        sys.modules.pop(name, None)


def result(kernel: Any, block: int = 4) -> list[float]:
    x = np.ones(4, np.float32)
    kernel[1, block](x)
    return x.tolist()


def made_elsewhere(kernel: Any) -> bool:
    """Return whether nothing of a kernel was compiled in this process, and another says that it was."""
    return kernel.stats.compiles == 0 and "compiled in another process, in" in kernel.explain()


@pytest.mark.usefixtures("started")
def test_a_kernel_of_a_module_is_compiled_in_a_process_that_imports_the_module(module: Any) -> None:
    made = module("""
        @gridjit.jit(device=True)
        def twice(x):
            return 2 * x

        @gridjit.jit("void(float32[::1])")
        def scale(x):
            x[cuda.grid(1)] = twice(x[cuda.grid(1)]) + LATER

        LATER = 1
    """)
    assert result(made.scale) == [3, 3, 3, 3]
    assert made_elsewhere(made.scale)


def test_a_function_that_is_wrapped_under_another_name_is_found_by_its_own(module: Any) -> None:
    made = module("""
        def body(x):
            x[cuda.grid(1)] = 5

        kernel = gridjit.jit("void(float32[::1])")(body)
    """)
    assert result(made.kernel) == [5, 5, 5, 5]
    assert made_elsewhere(made.kernel)


def test_kernels_of_one_name_are_each_compiled_as_they_are(module: Any) -> None:
    made = module("""
        @gridjit.jit("void(float32[::1])")
        def _(x):
            x[cuda.grid(1)] = 1

        first = _

        @gridjit.jit("void(float32[::1])")
        def _(x):
            x[cuda.grid(1)] = 2

        kernels = first, _, *[gridjit.jit("void(float32[::1])")(lambda x: None) for _ in range(2)]
    """)
    assert [result(kernel)[0] for kernel in made.kernels] == [1, 2, 1, 1]
    assert "is another function where it is imported" in made.first.explain()
    assert all(made_elsewhere(kernel) for kernel in made.kernels[1:3])


def test_a_kernel_made_in_a_function_goes_with_what_it_refers_to() -> None:
    factor = 3

    @gridjit.jit(device=True)
    def scaled(x):
        return factor * x

    @gridjit.jit(FLOATS)
    def scale(x):
        x[cuda.grid(1)] = scaled(x[cuda.grid(1)])

    assert result(scale) == [3, 3, 3, 3]
    assert made_elsewhere(scale)


def test_a_scripts_kernels_are_compiled_elsewhere_and_the_script_runs_once(tmp_path: Path) -> None:
    (tmp_path / "script.py").write_text(
        textwrap.dedent("""
        import numpy as np
        import gridjit
        from gridjit import cuda

        open("runs", "a").write("x")
        FACTOR = 3

        @gridjit.jit(device=True)
        def twice(x):
            return 2 * x

        @gridjit.jit(device=True)
        def scaled(x):
            return FACTOR * twice(x)

        @gridjit.jit("void(float32[::1])")
        def scale(x):
            x[cuda.grid(1)] = scaled(x[cuda.grid(1)])

        x = np.ones(4, np.float32)
        scale[1, 4](x)
        print(x[0], scale.stats.compiles, "compiled in another process" in scale.explain())
        """)
    )
    done = run_python("script.py", cwd=tmp_path, env={**os.environ})
    assert (done.stdout, done.stderr) == ("6.0 0 True\n", "")
    assert (tmp_path / "runs").read_text() == "x"


def test_declaring_does_not_wait(module: Any, tasks: Path) -> None:
    made = module(
        """
        if IS_WORKER:
            open("PIPE").close()

        @gridjit.jit("void(float32[::1])")
        def fill(x):
            x[cuda.grid(1)] = 7
    """.replace("PIPE", str(tasks / "pipe"))
    )
    with open(tasks / "pipe", "w"):
        assert result(made.fill) == [7, 7, 7, 7]
    assert made_elsewhere(made.fill)


@pytest.mark.some(1)
@pytest.mark.parametrize("use", [lambda kernel: kernel.specializations, lambda kernel: kernel.overloads, result])
def test_what_does_not_compile_is_the_same_error_as_in_this_process_at_each_use(use: Callable[[Any], Any]) -> None:
    def wrong(x):
        x[0] = x.nothing

    with pytest.raises(CompileError) as here:
        gridjit.jit(FLOATS, background=False)(wrong)
    kernel = gridjit.jit(FLOATS)(wrong)
    for _ in range(2):
        with pytest.raises(CompileError) as there:
            use(kernel)
        assert (str(there.value), type(there.value)) == (str(here.value), type(here.value))
        assert type(there.value.original) is type(here.value.original)
        assert (there.value.__cause__, here.value.__cause__) == (None, None)
    assert "does not compile" in kernel.explain()


def test_a_signature_that_makes_no_sense_is_an_error_where_it_is_declared() -> None:
    with pytest.raises(ConfigError, match="nonsense"):
        gridjit.jit("void(nonsense)")(lambda x: None)


def test_code_that_depends_on_its_launch_is_compiled_at_its_launch() -> None:
    @gridjit.jit(FLOATS)
    def sized(x):
        x[cuda.grid(1)] = gridjit.static.blockDim.x

    assert result(sized) == [4, 4, 4, 4]
    assert sized.stats.compiles == 1
    assert "compiled in this process: its code depends on the launch" in sized.explain()


def test_code_is_compiled_elsewhere_for_a_launch_that_is_declared() -> None:
    @gridjit.jit
    def sized(x):
        x[cuda.grid(1)] = gridjit.static.blockDim.x

    sized.declare(FLOATS, (9, 4))
    assert result(sized) == [4, 4, 4, 4]
    assert made_elsewhere(sized)
    assert result(sized, block=2)[0] == 2
    assert sized.stats.compiles == 1


def test_a_global_counts_as_it_is_when_the_kernel_is_declared(module: Any) -> None:
    made = module("""
        FACTOR = 2

        @gridjit.jit("void(float32[::1])")
        def scale(x):
            x[cuda.grid(1)] *= FACTOR
    """)
    made.FACTOR = 3
    assert result(made.scale) == [2, 2, 2, 2]
    assert made.scale.stats.compiles == 0


def test_what_is_another_kernel_in_another_process_is_compiled_here_and_explain_says_what_differs(module: Any) -> None:
    made = module("""
        FACTOR = 5 if IS_WORKER else 2

        @gridjit.jit("void(float32[::1])")
        def scale(x):
            x[cuda.grid(1)] *= FACTOR
    """)
    assert result(made.scale) == [2, 2, 2, 2]
    assert made.scale.stats.compiles == 1
    assert f"does not fit this one: global {made.__name__}.FACTOR 5 -> 2" in made.scale.explain()


def test_an_interpreter_that_cannot_serve_is_tried_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "executable", "/bin/true")
    first, second = (gridjit.jit(FLOATS)(function) for function in (_fill, _fill_again))
    assert (result(first), result(second)) == ([1, 1, 1, 1], [2, 2, 2, 2])
    monkeypatch.setattr(sys, "executable", "/bin/false")
    third = gridjit.jit(FLOATS)(lambda x: None)
    assert third.stats.compiles == 1
    assert "the processes that compile have ended" in third.explain()


def test_a_kernel_for_one_signature_is_compiled_elsewhere_too_and_recompiled_here() -> None:
    kernel = gridjit.jit(_fill).specialize(np.ones(4, np.float32))
    assert result(kernel) == [1, 1, 1, 1]
    assert made_elsewhere(kernel)
    kernel.recompile()
    assert kernel.stats.disk_hits == 2


def test_a_mark_counts_from_the_next_launch_on() -> None:
    @gridjit.jit(FLOATS)
    def plain(x):
        x[cuda.grid(1)] = 1

    plain.mark_launch_config_sensitive("blockdim")
    assert result(plain) == [1, 1, 1, 1]
    (found,) = [one for one in plain.specializations if one.config is not None]
    assert [fact.field for fact in found.footprint.facts] == ["blockdim"]


@pytest.mark.parametrize(
    ("options", "environment", "why"),
    [
        ({"cache": False}, {}, "made with jit(cache=False)"),
        ({}, {"GRIDJIT_CACHE": "0"}, "GRIDJIT_CACHE turns off the cache"),
        ({"background": True}, {"GRIDJIT_COMPILE_PROCESSES": "0"}, "GRIDJIT_COMPILE_PROCESSES is 0"),
        ({}, {"GRIDJIT_CACHE_DIR": "/dev/null/cache"}, "the cache folder /dev/null/cache cannot be written"),
    ],
)
def test_where_nothing_can_be_handed_over_it_is_compiled_when_it_is_declared_and_explain_says_why(
    options: dict[str, Any],
    environment: dict[str, str],
    why: str,
    monkeypatch: pytest.MonkeyPatch,
    restart: Callable[[], None],
) -> None:
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    restart()
    with pytest.warns() if "GRIDJIT_CACHE_DIR" in environment else contextlib.nullcontext():
        kernel = gridjit.jit(FLOATS, **options)(lambda x: None)
    assert kernel.stats.compiles == 1
    assert "compiled in this process: " in kernel.explain()
    assert why in kernel.explain()


def test_a_kernel_that_cannot_be_sent_is_compiled_when_it_is_declared(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(request, "MOST_BYTES", 10)
    kernel = gridjit.jit(FLOATS)(lambda x: None)
    assert kernel.stats.compiles == 1
    assert "bytes, more than 10" in kernel.explain()


def test_a_folder_that_keeps_nothing_is_found_out_once(
    monkeypatch: pytest.MonkeyPatch, restart: Callable[[], None], logged: list[str]
) -> None:
    monkeypatch.setenv("GRIDJIT_CACHE_SIZE", "2K")  # which no code fits in
    restart()
    first, second = (gridjit.jit(FLOATS)(function) for function in (_fill, _fill_again))
    with pytest.warns(UserWarning, match="is limited to 2048 bytes"):
        assert result(first) == [1, 1, 1, 1]
    assert "did not keep it" in first.explain()
    third = gridjit.jit(FLOATS)(lambda x: None)
    assert third.stats.compiles == 1
    assert "did not keep it" in third.explain()
    assert result(second) == [2, 2, 2, 2]


def test_what_a_process_dies_of_costs_a_compile_in_this_one(module: Any) -> None:
    made = module("""
        if IS_WORKER:
            os._exit(5)

        @gridjit.jit("void(float32[::1])")
        def fill(x):
            x[cuda.grid(1)] = 7
    """)
    assert result(made.fill) == [7, 7, 7, 7]
    assert made.fill.stats.compiles == 1
    assert "compiled in this process: the process that compiled it ended, with status 5" in made.fill.explain()


def test_the_log_says_what_other_processes_compiled(
    monkeypatch: pytest.MonkeyPatch, restart: Callable[[], None], capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("GRIDJIT_LOG", "compiles")
    restart()
    kernel = gridjit.jit([FLOATS, "void(int32[::1])"])(_fill)
    assert len(kernel.specializations) == 2
    said = capsys.readouterr().err
    assert said.count("compiled in another process, in ") == 2


def test_a_forked_child_finds_or_compiles_what_its_parent_declared(module: Any, tasks: Path) -> None:
    made = module(
        """
        if IS_WORKER:
            open("PIPE").close()

        @gridjit.jit("void(float32[::1])")
        def fill(x):
            x[cuda.grid(1)] = 7
    """.replace("PIPE", str(tasks / "pipe"))
    )
    child = os.fork()
    if not child:
        os._exit(0 if result(made.fill) == [7, 7, 7, 7] and made.fill.stats.compiles == 1 else 1)
    assert os.waitpid(child, 0)[1] == 0
    with open(tasks / "pipe", "w"):
        assert result(made.fill) == [7, 7, 7, 7]
    assert made.fill.stats.compiles == 0


def test_what_a_run_needed_is_recorded_by_the_run_alone(
    monkeypatch: pytest.MonkeyPatch, restart: Callable[[], None], tmp_path: Path
) -> None:
    monkeypatch.setenv("GRIDJIT_RECORD", str(tmp_path / "needs"))
    restart()
    kernel = gridjit.jit(FLOATS)(_fill)
    assert kernel.specializations
    assert len((tmp_path / "needs").read_text().splitlines()) == 1


@pytest.mark.parametrize("text", ["-1", "two", "1.5"])
def test_a_number_of_processes_that_makes_no_sense_is_an_error_that_names_the_variable(
    text: str, monkeypatch: pytest.MonkeyPatch, restart: Callable[[], None]
) -> None:
    monkeypatch.setenv("GRIDJIT_COMPILE_PROCESSES", text)
    restart()
    with pytest.raises(ConfigError, match=f"GRIDJIT_COMPILE_PROCESSES={text}"):
        session()


def test_background_is_true_or_false() -> None:
    with pytest.raises(ConfigError, match="background='yes'"):
        gridjit.jit(background="yes")  # type: ignore[call-overload]


WARM = """
import json, sys
import numpy as np
import gridjit
from gridjit import cuda
from gridjit.runtime.process.session import session

@gridjit.jit("void(float32[::1])", background=True)
def fill(x):
    x[cuda.grid(1)] = 7

x = np.zeros(4, np.float32)
fill[1, 4](x)
heavy = ("numba", "llvmlite.ir", "diskcache", "gridjit.runtime.workers.server")
there = [name for name in heavy if name in sys.modules]
print(json.dumps([bool(x[0] == 7), there, session()._pool is None, fill.stats.disk_hits]))
"""


def test_what_is_in_the_cache_needs_neither_a_compiler_nor_another_process(tmp_path: Path) -> None:
    (tmp_path / "script.py").write_text(WARM)
    for started in (False, True):
        done = (run_new_python if started else run_python)("script.py", cwd=tmp_path, env={**os.environ})
        assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout) == [True, [], True, 1]


def _fill(x):
    x[cuda.grid(1)] = 1


def _fill_again(x):
    x[cuda.grid(1)] = 2
