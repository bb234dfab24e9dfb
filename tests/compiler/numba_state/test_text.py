"""The text of what numba's names stand for is another as soon as two values are in each other's place."""

from __future__ import annotations

import os
from types import FunctionType

import pytest
from numba.core.utils import SortedMap, erase_traceback

from gridjit.compiler.numba_state.survey import Survey
from gridjit.compiler.numba_state.text import numbas_text
from gridjit.compiler.numba_state.within import Within
from tests.programs import run_new_python


def _text(*values: object) -> str | None:
    within = Within(Survey())
    within.add(values)
    return numbas_text((), within)


@pytest.mark.parametrize("values", [(1, 2), (1, "one"), (1, int), ("one", None), ((1, "one"), (1, 1)), (int, len)])
def test_values_in_each_others_place_are_told_apart(values: tuple[object, object]) -> None:
    one, other = values
    assert _text(one, other) == _text(one, other) is not None
    assert _text(one, other) != _text(other, one)


def _with_another_constant(function: FunctionType) -> FunctionType:
    """Return a function from the same line of the same file, whose code has another constant."""
    code = function.__code__
    return FunctionType(code.replace(co_consts=(*code.co_consts, "another")), function.__globals__, code.co_name)


def _of_another_line(cls: type) -> type:
    return type(cls.__name__, (), {"__module__": cls.__module__, "__qualname__": f"{cls.__qualname__}Again"})


@pytest.mark.parametrize(
    ("one", "other"),
    [(erase_traceback, _with_another_constant(erase_traceback)), (SortedMap, _of_another_line(SortedMap))],
)
def test_which_names_stand_for_the_same_function_or_class_is_told(one: object, other: object) -> None:
    texts = [
        _text(*values) for values in ((one, other, one), (one, other, other), (one, one, other), (other, one, one))
    ]
    assert None not in texts
    assert len({*texts}) == len(texts)


def test_generated_code_of_a_program_is_seen_behind_other_functions() -> None:
    names: dict[str, object] = {"__name__": "a_program"}
    exec("def made(): pass", names)
    assert _text(erase_traceback, erase_traceback, len) is not None
    assert _text(erase_traceback, erase_traceback, names["made"]) is None
    made = names["made"]
    assert isinstance(made, FunctionType)
    library = FunctionType(made.__code__, {"__name__": "namedtuple_of_a_library"})
    assert _text(library) is not None
    assert _text(library, made) is None  # the same code, run in a program's module


TEXT = """
from gridjit.compiler.frontend.bindings.bootstrap import numba_cuda
numba_cuda()
from gridjit.compiler.numba_state import mark
mark.numbas_mark({})
print(mark.numbas_own_text())
"""


def test_a_machine_with_more_processors_has_the_same_text() -> None:
    texts = [run_new_python("-c", TEXT, env={**os.environ, "NUMBA_NUM_THREADS": str(number)}) for number in (1, 3)]
    assert texts[0].stdout == texts[1].stdout != "None\n"
    assert (texts[0].stderr, texts[1].stderr) == ("", "")
