"""CodePlace: a point in code as people read it."""

from __future__ import annotations

import pytest

from gridjit.compiler.source.code_place import CodePlace, shown

SOURCE = "def block_sum():\n    return 1\n"


@pytest.mark.parametrize(
    ("path", "named"),
    [
        ("/usr/lib/python3/site-packages/blocklib/overloads.py", "blocklib/overloads.py:2"),
        ("/home/me/programs/sums.py", "sums.py:2"),
    ],
)
def test_a_librarys_file_is_named_with_its_package_wherever_its_code_is_loaded(path: str, named: str) -> None:
    code = compile(SOURCE, path, "exec").co_consts[0]
    place = CodePlace.of(code, len(code.co_code) - 2)
    assert place.text() == named
    assert shown(f"read at {place}") == f"read at {named}"
    assert place._replace(file=path).text() == named
