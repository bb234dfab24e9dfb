"""The test library `blockwise`, installed as users install libraries, and processes of which it is one."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.programs import run_python

LIBRARIES = Path(__file__).parents[1] / "libraries"
KERNELS = LIBRARIES / "cooperative_kernels.py"
# The folder becomes a site folder, as that of a virtual environment is, and the program runs as a script.
_BEGIN = """
import runpy, site, sys
site.addsitedir(sys.argv[1])
del sys.argv[:2]
runpy.run_path(sys.argv[0], None, "__main__")
"""


def install(sources: Path, site: Path) -> Path:
    """Install a distribution from its sources into a folder, with its dist-info and RECORD; returns the folder."""
    copied = site.with_name(f"{site.name}-sources")
    shutil.copytree(sources, copied)  # building leaves files behind
    command = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--no-index", "--no-build-isolation"]
    done = subprocess.run([*command, "--target", str(site), str(copied)], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    shutil.rmtree(copied)
    return site


@dataclass(frozen=True, kw_only=True)
class Installed:
    """A folder with the library in it. environment: what its processes get besides this one's."""

    site: Path
    environment: Mapping[str, str] = field(default_factory=dict)

    def run(self, program: Path, *arguments: str, **environment: str) -> dict[str, Any]:
        """Return what a program printed as JSON, in a process of its own that has the library installed."""
        given = {**os.environ, **self.environment, **environment}
        done = run_python("-c", _BEGIN, self.site, program, *arguments, env=given)
        assert done.returncode == 0, done.stderr
        report: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
        return report

    def launch(self, *cases: str, **environment: str) -> dict[str, Any]:
        """Return what became of cases of the kernels that use the library; of all if none is named."""
        return self.run(KERNELS, *cases, **environment)

    def copied_to(self, site: Path) -> Installed:
        """Return another installation, of the same files with the same times."""
        shutil.copytree(self.site, site)
        return Installed(site=site, environment=self.environment)

    def edit(self, name: str, old: str, new: str) -> None:
        """Change an installed file by hand, later than it was installed."""
        path = self.site / "blockwise" / name
        text = path.read_text()
        assert text.count(old) == 1, (name, old)
        changed = path.stat().st_mtime + 10  # bytecode is told by whole seconds
        path.write_text(text.replace(old, new))
        os.utime(path, (changed, changed))
