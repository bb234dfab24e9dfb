"""Texts and names are plain English: "is not a file", as people say it, and a class's name means one thing."""

from __future__ import annotations

import ast
import re
from collections import defaultdict
from pathlib import Path

import pytest

from tests.house.trees import PRODUCT, ROOT, tree_of

FOLDERS = ("src", "runtime", "compiler", "cache", "tests", "scripts", "examples", "docs")
FILES = [file for top in FOLDERS for kind in ("py", "md") for file in sorted((ROOT / top).rglob(f"*.{kind}"))]
# "There is no file" is as people say it, and so are "no longer" and "no more".
_IS_NO = re.compile(
    r"(?<![a-z])(there[_\s#]+)?(?:is|are|was|were)(?:_|[\s#]+)no(?:_|[\s#]+)(?!longer|more)[a-z]\w*", re.IGNORECASE
)


def said(text: str) -> list[str]:
    """Return the places of a text that say "is no" of something."""
    return [found[0] for found in _IS_NO.finditer(text) if not found[1]]


def test_nothing_is_said_to_be_no_such_thing() -> None:
    texts = {str(file.relative_to(ROOT)): file.read_text() for file in [*FILES, ROOT / "README.md"] if file.is_file()}
    del texts[str(Path(__file__).relative_to(ROOT))]
    assert {name: found for name, text in texts.items() if (found := said(text))} == {}


@pytest.mark.parametrize(
    ("text", "count"),
    [
        ("a link is no file", 1),
        ("def test_a_link_is_no_file():", 1),
        ("what they are\n    # no part of", 1),
        ("there is no file, it is no longer here", 0),
        ("def test_there_is_no_file():", 0),
        ("a link is not a file", 0),
    ],
)
def test_is_no_is_found_in_texts_and_names(text: str, count: int) -> None:
    assert len(said(text)) == count


# A file that is named in a comment or a docstring; `script.py` is any program, and `test_file.py` any test.
_FILE = re.compile(r"(?<![\w./'\"-])(?!script\.py|test_file\.py)[a-z][a-z_]*\.py\b(?![\"'])")


def comments(text: str) -> str:
    """Return a file's docstrings and comments."""
    nodes = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
    docstrings = (ast.get_docstring(node) for node in ast.walk(ast.parse(text)) if isinstance(node, nodes))
    return "\n".join([*filter(None, docstrings), *(line for line in text.splitlines() if line.strip().startswith("#"))])


def test_files_that_comments_name_are_there() -> None:
    there = {file.name for file in FILES}
    lost = {str(file.relative_to(ROOT)): {*_FILE.findall(comments(file.read_text()))} - there for file in PRODUCT}
    assert {name: found for name, found in lost.items() if found} == {}


def twice(trees: dict[str, ast.Module]) -> dict[str, list[str]]:
    """Return the names that classes of several files have, but for those of one file's own, with these files."""
    homes: defaultdict[str, list[str]] = defaultdict(list)
    for name, tree in trees.items():
        for node in tree.body:
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                homes[node.name].append(name)
    return {name: files for name, files in homes.items() if len(files) > 1}


def test_no_two_classes_share_a_name() -> None:
    assert twice({str(file.relative_to(ROOT)): tree_of(file) for file in PRODUCT}) == {}


def test_a_class_with_an_underscore_may_share_its_name() -> None:
    texts = {"a.py": "class Place: ...\nclass _Names: ...", "b.py": "class Place: ...\nclass _Names: ..."}
    assert twice({name: ast.parse(text) for name, text in texts.items()}) == {"Place": ["a.py", "b.py"]}
