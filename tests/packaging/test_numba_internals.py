"""The page of what gridjit uses inside numba-cuda is true."""

from __future__ import annotations

from pathlib import Path

import pytest

from gridjit.compiler.numba_state.pristine import is_known_version
from tests.programs import run_python

ROOT = Path(__file__).parents[2]
# Where colorama is missing, numba has nothing that colours.
_OPTIONAL = "ColorShell"


@pytest.mark.skipif(not is_known_version(), reason="the page is about another numba-cuda")
def test_the_page_of_numbas_internals_is_what_compiles_and_files_show() -> None:
    done = run_python(ROOT / "scripts" / "numba-internals.py", compiles_first=True)
    assert done.stderr == ""
    page = (ROOT / "docs" / "numba-internals.md").read_text()
    assert lines(done.stdout) == lines(page)


def lines(page: str) -> list[str]:
    return [line for line in page.splitlines() if _OPTIONAL not in line]
