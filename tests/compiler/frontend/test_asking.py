"""Code that asks numba for the kernel's function or its lines keeps what is compiled in this process; others do not."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import gridjit
from gridjit.compiler.frontend.bootstrap import numba_cuda

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
    "firstlineno": lambda func_ir: getattr(func_ir.func_id, "first" + "lineno"),
    "line": lambda func_ir: func_ir.loc.line,
}
LINES = ("firstlineno", "line")


@pytest.mark.parametrize("name", ASKED)
def test_what_asked_for_the_function_or_its_lines_is_not_stored(rewrite: Callable[[Ask], None], name: str) -> None:
    rewrite(ASKED[name])
    assert f"({name}), which is not in the key" in story()


def test_numba_cudas_tests_are_not_numba(rewrite: Callable[[Ask], None]) -> None:
    space: dict[str, Any] = {"__name__": "numba.cuda.tests.mine"}
    exec("def ask(func_ir):\n    func_ir.loc.line", space)
    rewrite(space["ask"])
    assert "(line), which is not in the key" in story()


@pytest.mark.parametrize("name", LINES)
def test_lines_that_are_in_the_key_may_be_asked_for(rewrite: Callable[[Ask], None], name: str) -> None:
    rewrite(ASKED[name])
    assert "asked numba" not in story(lineinfo=True)


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
