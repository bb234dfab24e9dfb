"""A picture in docs/ that is drawn from the figures of a document: written, or compared with what it should show."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from pathlib import Path

DOCS = Path(__file__).parents[1] / "docs"


def write_or_check(about: str, document: Path, picture: Path, draw: Callable[[str], str]) -> int:
    """Write the picture that draw returns for a document's text, or check it; return the exit status."""
    parser = argparse.ArgumentParser(description=about, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true", help="write nothing; status 1 if the picture is another")
    given = parser.parse_args()
    drawn = draw(document.read_text())
    if not given.check:
        picture.write_text(drawn)
        print(f"wrote {picture}")
        return 0
    if not picture.exists() or picture.read_text() != drawn:
        print(f"{picture} does not show the figures in {document}: run this without --check", file=sys.stderr)
        return 1
    return 0
