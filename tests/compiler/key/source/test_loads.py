"""What code loads is read from its bytecode as dis tells it, for all code of this Python's library."""

from __future__ import annotations

import sys
import sysconfig
from collections.abc import Iterator
from pathlib import Path
from types import CodeType

import pytest

from gridjit.compiler.source.code import loads_of, told_by_dis, with_nested

LIBRARY = Path(sysconfig.get_paths()["stdlib"])


def code_of(pattern: str) -> Iterator[CodeType]:
    for path in sorted(LIBRARY.glob(pattern)):
        yield from with_nested(compile(path.read_bytes(), str(path), "exec"))


@pytest.mark.some(1)
@pytest.mark.parametrize("pattern", ["[a-d]*.py", "[e-o]*.py", "p*.py", "[r-z]*.py"])
def test_what_code_loads_is_what_dis_tells(pattern: str) -> None:
    for code in code_of(pattern):
        assert loads_of(code) == told_by_dis(code), code


def test_of_an_unknown_python_dis_is_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    code = test_of_an_unknown_python_dis_is_asked.__code__
    known = loads_of(code)
    monkeypatch.setattr(sys, "version_info", (3, 99, 0))
    monkeypatch.setattr("gridjit.compiler.source.code._read", lambda code: pytest.fail("it was read"))
    assert loads_of(code) == known


def test_a_name_behind_many_others_and_a_constant_behind_many_others_are_found() -> None:
    lines = [f"name{number}.attribute{number} + {number}.5" for number in range(700)]
    (*_, code) = with_nested(compile("def far():\n  " + "\n  ".join(lines), "far.py", "exec"))
    assert loads_of(code) == told_by_dis(code)
    assert "attribute699" in {name for _, name in loads_of(code)[0]}
