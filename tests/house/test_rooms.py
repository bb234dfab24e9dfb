"""Folders are rooms: each says in a line what it is for."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

from tests.house.trees import ROOT, tree_of

ROOMS = sorted(
    file.parent
    for top in ("src/gridjit", "runtime", "compiler", "cache")
    for file in ROOT.glob(f"{top}/**/__init__.py")
)
# Rooms that other programs enter by their names, so that these hold more than a line: a user's, and PyInstaller.
ENTRANCES = {"src/gridjit", "src/gridjit/freezing"}
# Rooms that the architecture speaks of in the lines of others.
PARTS = {"compiler/targets/"}


@pytest.mark.parametrize("room", ROOMS, ids=lambda room: str(room.relative_to(ROOT)))
def test_a_room_says_what_it_is_for(room: Path) -> None:
    says = ast.get_docstring(tree_of(room / "__init__.py")) or ""
    first, *rest = says.splitlines()
    assert first.endswith(".") and (not rest or str(room.relative_to(ROOT)) in ENTRANCES), says


def test_the_architecture_is_a_page_that_knows_every_room() -> None:
    lines = (ROOT / "docs" / "architecture.md").read_text().splitlines()
    assert (len(lines) <= 120, [line for line in lines if len(line) > 120]) == (True, [])
    named = set(re.findall(r"`((?:src/gridjit|runtime|compiler|cache)/(?:\w+/)*)`", "\n".join(lines)))
    rooms = {f"{room.relative_to(ROOT)}/" for room in ROOMS}
    assert (named - rooms, {room for room in rooms if not room.startswith(tuple(named))}) == (set(), set())
    # Where a room's parent has a line of its own, so does it, or it is among the parent's parts.
    assert {room for room in rooms if room.count("/") == 2 and room not in named} <= PARTS


def test_every_file_begins_with_what_it_is() -> None:
    files = [file for room in ROOMS for file in room.glob("*.py")]
    assert [str(file) for file in files if not ast.get_docstring(tree_of(file))] == []


def test_a_file_that_begins_with_its_name_has_that_name() -> None:
    wrong = []
    for file in (file for room in ROOMS for file in room.glob("*.py") if file.name != "__init__.py"):
        tree = tree_of(file)
        says = re.match(r"([a-z_]+):", ast.get_docstring(tree) or "")
        if says and says[1] not in {file.stem, *defined(tree)}:
            wrong.append(f"{file.relative_to(ROOT)} says that it is {says[1]}")
    assert wrong == []


def defined(tree: ast.Module) -> set[str]:
    """Return the names of a module's functions and classes."""
    return {node.name for node in tree.body if isinstance(node, ast.FunctionDef | ast.ClassDef)}
