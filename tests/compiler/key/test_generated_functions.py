"""Whose a function is that exec made in a namespace of its own."""

from __future__ import annotations

import math
from types import FunctionType

import numpy as np
import pytest

from gridjit.compiler.key.installed import generator_of, is_generated


def made(**held: object) -> FunctionType:
    exec("def function(x):\n    return x\n", held)
    function = held["function"]
    assert isinstance(function, FunctionType)
    return function


def mine() -> None:
    pass


@pytest.mark.parametrize(
    "held",
    [
        {"yaml": pytest},
        {"yaml": pytest.approx, "math": math, "count": 3, "text": "fn", "code": mine.__code__},
        {"yaml": pytest.raises, "sin": math.sin},
    ],
    ids=["module", "function and plain values", "function of C code"],
)
def test_a_function_that_can_reach_code_of_one_distribution_alone_was_generated_by_it(held: dict[str, object]) -> None:
    found = generator_of(made(**held))
    assert found is not None and found.name == "pytest"


@pytest.mark.parametrize(
    "held",
    [
        {},
        {"math": math},
        {"pytest": pytest, "mine": mine},
        {"pytest": pytest, "table": [mine]},
        {"pytest": pytest, "table": {}},
        {"pytest": pytest, "found": object()},
        {"pytest": pytest, "__file__": __file__},
        {"pytest": pytest, "inner": made()},
    ],
    ids=["nothing", "libraries", "mine", "list", "dict", "object", "file", "generated"],
)
def test_a_function_that_can_reach_anything_else_may_be_of_the_users(held: dict[str, object]) -> None:
    assert generator_of(made(**held)) is None


def test_a_function_of_a_module_was_not_generated() -> None:
    assert not is_generated(mine) and not is_generated(np.full) and generator_of(np.full) is None
