"""The page on support: each public name has one place in its table of stability, and deprecated names warn."""

from __future__ import annotations

import re
from pathlib import Path

import gridjit
from tests.programs import run_new_python

PAGE = (Path(__file__).parents[2] / "docs" / "support.md").read_text()
# Prints the names of gridjit and of its modules whose use issues a DeprecationWarning.
USES = """
import warnings
import gridjit
MODULES = ("griddepcontrol", "launchconfig", "static")
for owner, names in [(gridjit, gridjit.__all__), *((getattr(gridjit, name), None) for name in MODULES)]:
    for name in names or getattr(owner, "__all__", None) or dir(owner):
        with warnings.catch_warnings(record=True) as issued:
            warnings.simplefilter("always")
            getattr(owner, name)
        if any(issubclass(one.category, DeprecationWarning) for one in issued):
            print(f"{owner.__name__}.{name}".removeprefix("gridjit."))
"""


def test_each_public_name_has_one_place_in_the_table_of_stability() -> None:
    rows = re.findall(r"^\| (?:stable|provisional) \| (.*?) \|", PAGE, re.M)
    named = re.findall(r"`(\w+)`", " ".join(rows))
    assert len(named) == len(set(named))
    assert "all exceptions and warnings" in " ".join(rows)
    errors = {name for name in gridjit.__all__ if re.search(r"(?:Error|Warning)$", name)}
    assert set(named) - {"gridjit"} == set(gridjit.__all__) - errors


def test_exactly_the_names_that_the_page_calls_deprecated_warn() -> None:
    (listed,) = re.findall(r"^\*\*Deprecated now:\*\* (.*)$", PAGE, re.M)
    done = run_new_python("-c", USES)
    assert done.returncode == 0, done.stderr
    assert sorted(done.stdout.split()) == sorted(re.findall(r"`([\w.]+)`", listed))
