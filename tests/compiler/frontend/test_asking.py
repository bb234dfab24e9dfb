"""Code that asks numba for the kernel's function keeps what is compiled in this process; lines are a dependency."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import gridjit
from gridjit.compiler.frontend.bindings.bootstrap import numba_cuda

numba_cuda()

from numba.cuda.core.bytecode import FunctionIdentity  # noqa: E402  # the first import has to come first
from numba.cuda.core.ir import Loc  # noqa: E402
from numba.cuda.core.rewrites import Rewrite, register_rewrite  # noqa: E402

Ask = Callable[[Any], object]


@pytest.fixture
def rewrite(foreign_rewrites: None, monkeypatch: pytest.MonkeyPatch) -> Callable[[Ask], None]:
    """Return what registers a rewrite that asks something of each function's IR."""
    monkeypatch.setenv("GRIDJIT_TARGET", "host")

    def register(ask: Ask) -> None:
        @register_rewrite("before-inference")
        class Asking(Rewrite):
            def match(self, func_ir: Any, *_: Any) -> bool:
                ask(func_ir)
                return False

    return register


def increment(x):
    """Say something."""
    x[0] += 1


def story(**options: Any) -> str:
    kernel = gridjit.jit(**options)(increment)
    kernel[1, 1](np.zeros(1))
    return kernel.explain()


ASKED: dict[str, Ask] = {
    "func": lambda func_ir: func_ir.func_id.func.__doc__,
    "code": lambda func_ir: func_ir.func_id.code.co_consts,
    "module": lambda func_ir: vars(func_ir.func_id.module),
    "col": lambda func_ir: func_ir.loc.col,
}
LINES: dict[str, Ask] = {
    "firstlineno": lambda func_ir: getattr(func_ir.func_id, "first" + "lineno"),
    "line": lambda func_ir: func_ir.loc.line,
    "filename": lambda func_ir: func_ir.loc.filename,
}


@pytest.mark.parametrize("name", ASKED)
def test_what_asked_for_the_function_is_not_stored(rewrite: Callable[[Ask], None], name: str) -> None:
    rewrite(ASKED[name])
    assert f"({name}), which is not in the key" in story()


def test_numba_cudas_tests_are_not_numba(rewrite: Callable[[Ask], None]) -> None:
    space: dict[str, Any] = {"__name__": "numba.cuda.tests.mine"}
    exec("def ask(func_ir):\n    func_ir.func_id.code", space)
    rewrite(space["ask"])
    assert "(code), which is not in the key" in story()


def at_line(first: int) -> Any:
    """Return a function of one code and file, whose code stands at a line."""
    space: dict[str, Any] = {"__name__": "moved"}
    exec(compile("\n" * (first - 1) + "def scale(x):\n    x[0] *= 2\n", "moved.py", "exec"), space)
    return space["scale"]


def served(first: int) -> tuple[int, int]:
    kernel = gridjit.jit(at_line(first))
    kernel[1, 1](np.zeros(1))
    return kernel.stats.compiles, kernel.stats.disk_hits


@pytest.mark.parametrize("name", LINES)
def test_what_asked_for_lines_is_found_again_where_the_code_stands_at_the_same(
    rewrite: Callable[[Ask], None], name: str
) -> None:
    rewrite(LINES[name])
    assert [served(first) for first in (1, 1, 3, 3, 1)] == [(1, 0), (0, 1), (1, 0), (0, 1), (0, 1)]


def test_a_line_of_code_that_is_not_in_the_key_keeps_what_was_compiled_in_this_process(
    rewrite: Callable[[Ask], None],
) -> None:
    rewrite(lambda func_ir: Loc("elsewhere.py", 3).line)
    assert "asked for a line of elsewhere.py, which is not in the kernel's source" in story()


@pytest.mark.parametrize("name", LINES)
def test_lines_that_are_in_the_key_may_be_asked_for(rewrite: Callable[[Ask], None], name: str) -> None:
    rewrite(LINES[name])
    assert "not stored" not in story(lineinfo=True)


def test_what_numba_asks_itself_is_of_no_matter(rewrite: Callable[[Ask], None]) -> None:
    rewrite(lambda func_ir: (func_ir.func_id.func_qualname, func_ir.arg_names, func_ir.loc))
    assert "asked numba" not in story()


def test_nobody_is_watched_after_a_compile(rewrite: Callable[[Ask], None]) -> None:
    before = {owner: dict(vars(owner)) for owner in (FunctionIdentity, Loc)}
    kept: list[Any] = []
    rewrite(kept.append)
    story()
    assert {owner: dict(vars(owner)) for owner in before} == before
    assert kept[0].func_id.func is increment and kept[0].loc.line == kept[0].func_id.firstlineno
