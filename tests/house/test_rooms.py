"""Folders are rooms: each says in a line what it is for, and none has more doors than one sees at a glance."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
ROOMS = sorted(
    file.parent
    for top in ("src/gridjit", "runtime", "compiler", "cache")
    for file in ROOT.glob(f"{top}/**/__init__.py")
)
DOORS = 16


@pytest.mark.parametrize("room", ROOMS, ids=lambda room: str(room.relative_to(ROOT)))
def test_a_room_has_few_doors_and_says_what_it_is_for(room: Path) -> None:
    says = ast.get_docstring(ast.parse((room / "__init__.py").read_text())) or ""
    doors = [file.name for file in room.glob("*.py") if file.name != "__init__.py"]
    assert (says.partition("\n")[0].endswith("."), len(doors) <= DOORS) == (True, True), (says, doors)


def test_every_file_begins_with_what_it_is() -> None:
    files = [file for room in ROOMS for file in room.glob("*.py")]
    assert [str(file) for file in files if not ast.get_docstring(ast.parse(file.read_text()))] == []
