"""Cost models: functions given to jit(inline=...) decide which calls are inlined, and count by what decides in them."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import gridjit

RunProgram = Callable[[Path], dict[str, Any]]
ASKED: list[Any] = []


def always(expr: Any, caller: Any, callee: Any) -> bool:
    ASKED.append((expr, caller, callee))
    return True


def never(expr: Any, caller: Any, callee: Any) -> bool:
    return False


def clear(x):
    x[0] = 0


@pytest.mark.some(2)
@pytest.mark.parametrize("device", [True, False], ids=["a function", "a kernel"])
@pytest.mark.parametrize(("model", "inlined"), [(always, True), (never, False)])
def test_a_cost_model_decides_whether_calls_are_inlined(model: Any, inlined: bool, device: bool) -> None:
    cleared = gridjit.jit(device=device, inline=model)(clear)

    @gridjit.jit("void(int32[::1])", target="host")
    def calls(x):
        cleared(x)

    x = np.ones(2, np.int32)
    calls[1, 1](x)
    assert x.tolist() == [0, 1]
    assert (re.search(r"call \w+ @", calls.inspect_llvm("void(int32[::1])")) is None) == inlined


def test_a_cost_model_is_given_what_numba_gives_it() -> None:
    ASKED.clear()
    test_a_cost_model_decides_whether_calls_are_inlined(always, True, device=True)
    assert ASKED
    expr, caller, callee = ASKED[0]
    assert (expr.op, callee.func_id.func_name) == ("call", "clear")
    assert caller.func_id.func_name == "calls"


FUNCTIONS = """
import gridjit

LIMIT = 3
OTHER = 1

def model(expr, caller, callee):
    return len(callee.blocks) < LIMIT

@gridjit.jit(device=True, inline=model)
def three():
    return 3
"""
PROGRAM = """
import json
import numpy as np
import gridjit
import functions
from functions import three

@gridjit.jit(device=True)
def pick(module):
    return module.three()

@gridjit.jit
def kernel(out):
    out[0] = three()

out = np.zeros(1, np.int64)
kernel[1, 1](out)
private = [reason for found in kernel.specializations for reason in found.artifact.private]
print(json.dumps({"out": int(out[0]), "compiles": kernel.stats.compiles, "private": private}))
"""
FOLLOWED = [("LIMIT = 3", "LIMIT = 9"), ("return len(callee.blocks) < LIMIT", "return len(callee.blocks) > LIMIT")]


@pytest.mark.each_value_once
@pytest.mark.parametrize(("old", "new"), FOLLOWED, ids=["what it reads", "its code"])
@pytest.mark.parametrize("call", ["three()", "functions.three()", "pick(functions)"])
def test_a_cost_model_counts_by_its_code_and_what_that_reads(
    tmp_path: Path, run_program: RunProgram, call: str, old: str, new: str
) -> None:
    (tmp_path / "main.py").write_text(PROGRAM.replace("= three()", f"= {call}"))
    functions = tmp_path / "functions.py"
    functions.write_text(FUNCTIONS)
    assert run_program(tmp_path) == {"out": 3, "compiles": 1, "private": []}
    functions.write_text(FUNCTIONS.replace("OTHER = 1", "OTHER = 2"))
    assert run_program(tmp_path) == {"out": 3, "compiles": 0, "private": []}
    functions.write_text(FUNCTIONS.replace(old, new))
    assert run_program(tmp_path) == {"out": 3, "compiles": 1, "private": []}


def test_a_cost_model_that_nobody_can_follow_keeps_its_kernels_in_the_process(
    tmp_path: Path, run_program: RunProgram
) -> None:
    (tmp_path / "main.py").write_text(PROGRAM)
    (tmp_path / "functions.py").write_text(FUNCTIONS.replace("< LIMIT", "< int(eval('LIMIT'))"))
    for _ in range(2):
        done = run_program(tmp_path)
        assert done["compiles"] == 1
        assert any("model" in reason and "eval" in reason for reason in done["private"])
