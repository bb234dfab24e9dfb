"""The reference, docs/api.md: all that is public is in it, and says what each of its parameters is.

mkdocstrings makes the page from docstrings; the tests here read the same names and docstrings without it.
"""

from __future__ import annotations

import builtins
import importlib
import inspect
import re
from pathlib import Path
from typing import Any

import pytest

import gridjit
from gridjit import cuda

ROOT = Path(__file__).parents[2]
FOLDERS = ("cache", "compiler", "runtime", "src/gridjit")
PAGE = ROOT / "docs" / "api.md"
_ENTRY = re.compile(r"^::: (?P<name>[\w.]+)\n(?: +options: \{(?P<options>.*)\}\n)?", re.M)
_CLASS = re.compile(r"^ *class (\w+)\(([^)]*)\):", re.M)
# What the page says once for all, and what the library passes to itself.
SAID_ONCE = {"self", "cls", "signature", "which", "space", "timeline"}


def entries() -> dict[str, list[str]]:
    """Return the names in the reference, each with the members that are to be shown; all public ones for "null"."""
    found = {}
    for entry in _ENTRY.finditer(PAGE.read_text()):
        members = re.search(r"\bmembers: (?:\[(.*?)\]|(null))", entry["options"] or "")
        listed = [] if members is None else (members[1] or "").split(", ")
        shows_all = members is not None and members[2] is not None
        found[entry["name"]] = [name for name in dir(named(entry["name"])) if name[0] != "_"] if shows_all else listed
    return found


def named(name: str) -> Any:
    """Return what a dotted name stands for."""
    *modules, last = name.split(".")
    return getattr(importlib.import_module(".".join(modules)), last)


def functions() -> dict[str, Any]:
    """Return the functions and methods of the reference, by name."""
    shown = {name: named(name) for name in entries()}
    shown |= {f"{name}.{member}": getattr(shown[name], member) for name, of in entries().items() for member in of}
    return {name: value for name, value in shown.items() if inspect.isroutine(value)}


def test_every_public_name_is_in_the_reference() -> None:
    assert {f"gridjit.{name}" for name in gridjit.__all__} - {"gridjit.cuda"} - entries().keys() == set()


def test_every_name_of_gridjit_cuda_that_is_ours_is_in_the_reference() -> None:
    shown = [named(name) for name in entries()]
    shown += [cuda.Reduce]  # made of the one that is shown, with kernels in the words of gridjit.cuda
    text = PAGE.read_text()
    assert [name for name in cuda.__all__ if getattr(cuda, name) not in shown and f"`cuda.{name}()`" not in text] == []


def test_a_class_has_an_entry_of_its_own_which_chooses_its_members() -> None:
    """A class that is shown as a member of a module would be shown with all its parts, its inner ones too."""
    assert [
        f"{name}.{one}" for name, of in entries().items() for one in of if inspect.isclass(getattr(named(name), one))
    ] == []


@pytest.mark.parametrize("name", functions())
def test_a_function_in_the_reference_says_what_it_returns_and_what_each_parameter_is(name: str) -> None:
    function = functions()[name]
    said = inspect.getdoc(function) or ""
    assert said
    untold = [
        parameter
        for parameter in set(inspect.signature(function).parameters) - SAID_ONCE
        if not re.search(rf"\b{parameter}\b", said)
    ]
    assert untold == []


@pytest.mark.parametrize("name", [name for name in entries() if inspect.isclass(named(name))])
def test_a_class_in_the_reference_says_what_it_is(name: str) -> None:
    said = vars(named(name)).get("__doc__")
    assert said and said.strip()


# The command line prints it.
NOT_NAMED = {"WrongWord"}


def every_error() -> set[str]:
    """Return the names of gridjit's errors and warnings: what a program may meet, and may want to catch."""
    texts = [file.read_text() for name in FOLDERS for file in (ROOT / name).rglob("*.py")]
    classes = [(name, set(re.split(r",\s*", bases))) for text in texts for name, bases in _CLASS.findall(text)]
    found = {"GridjitError", "Warning", "UserWarning"}
    while more := {name for name, bases in classes if not found.isdisjoint(bases)} - found:
        found |= more
    return {name for name in found if not (name.startswith("_") or hasattr(builtins, name))}


def test_every_error_and_warning_is_a_name_of_gridjit() -> None:
    assert every_error() - NOT_NAMED - set(gridjit.__all__) == set()


@pytest.mark.parametrize("name", sorted(every_error() - NOT_NAMED))
def test_an_error_can_be_caught_by_the_name_that_its_traceback_shows(name: str) -> None:
    error = getattr(gridjit, name)
    assert f"{error.__module__}.{error.__qualname__}" == f"gridjit.{name}"


@pytest.mark.parametrize(
    ("name", "where"),
    [("to_device", "gridjit.cuda"), ("capture_compile_config", "gridjit.launchconfig"), ("nothing", ""), ("_x", "")],
)
def test_a_name_that_is_asked_of_the_wrong_module_is_told_where_it_is(name: str, where: str) -> None:
    with pytest.raises(AttributeError) as told:
        getattr(gridjit, name)
    assert str(told.value) == f"module 'gridjit' has no attribute '{name}'" + (
        f": it is {where}.{name}" if where else ""
    )
