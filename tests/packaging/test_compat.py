"""The versions that are tested together are those that the documentation lists."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]


def compat(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(ROOT / "scripts" / "compat.py"), *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def test_the_documentation_lists_the_environments() -> None:
    assert compat("--markdown").stdout in (ROOT / "docs" / "support.md").read_text()


def test_an_unknown_environment_is_refused_with_the_known_ones() -> None:
    refused = compat("no-such")
    assert refused.returncode == 2
    assert "there is no environment 'no-such', but oldest, " in refused.stderr
