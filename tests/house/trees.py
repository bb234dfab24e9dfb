"""The product's files as syntax trees, each parsed once in a process."""

from __future__ import annotations

import ast
import functools
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[2]
PRODUCT = sorted(file for top in ("src", "runtime", "compiler", "cache") for file in (ROOT / top).rglob("*.py"))


def tree_of(file: Path) -> ast.Module:
    """Return the syntax tree of a file."""
    return _parsed(file.read_text(), str(file))


@functools.cache
def _parsed(text: str, name: str) -> ast.Module:
    return ast.parse(text, name)


def trees_with(word: str, files: list[Path]) -> Iterator[tuple[Path, ast.Module]]:
    """Yield the files whose text has a word, with their trees: walking all trees takes seconds."""
    return ((file, tree_of(file)) for file in files if word in file.read_text())
