"""Writes the table of docs/kernel-language.md anew, from gridjit.compiler.frontend.language.

PYTHONPATH=.view .venv/bin/python scripts/kernel-language.py
"""

from __future__ import annotations

from pathlib import Path

from gridjit.compiler.frontend.language.table import with_table

PAGE = Path(__file__).parents[1] / "docs" / "kernel-language.md"


def main() -> None:
    """Write the page."""
    PAGE.write_text(with_table(PAGE.read_text()))


if __name__ == "__main__":
    main()
