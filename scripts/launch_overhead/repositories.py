"""repositories: checkouts of gridjit made importable by another process, each by itself."""

from __future__ import annotations

import re
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

ROOTS = ("cache", "compiler", "runtime")
_NOT_COPIED = shutil.ignore_patterns(".*", "build", "dist", "*.egg-info", "__pycache__", "shared")


@dataclass(frozen=True, slots=True, kw_only=True)
class Repository:
    """A checkout and what it is called in the table."""

    name: str
    path: Path

    @property
    def slug(self) -> str:
        """The name as part of a file's name."""
        return re.sub(r"[^A-Za-z0-9._-]", "-", self.name)

    @classmethod
    def of(cls, text: str) -> Repository:
        """Return what name=path stands for; raises ValueError if that is not a checkout of gridjit."""
        name, equals, path = text.partition("=")
        if not name or not equals or not path:
            raise ValueError(f"{text!r}: give name=path")
        if not (Path(path) / "src" / "gridjit" / "__init__.py").is_file():
            raise ValueError(f"{text!r}: {path} is not a checkout of gridjit (there is no src/gridjit/__init__.py)")
        return cls(name=name, path=Path(path).resolve())


def install(repository: Repository, python: str, folder: Path) -> Path:
    """Install the checkout, without its dependencies, into a folder; return what to put on PYTHONPATH."""
    source, site = folder / f"{repository.slug}-source", folder / f"{repository.slug}-site"
    # Building writes into the source tree, and finds there what earlier builds left.
    shutil.copytree(repository.path, source, ignore=_NOT_COPIED)
    command = [python, "-m", "pip", "install", "--quiet", "--no-deps", "--no-build-isolation", "--no-warn-conflicts"]
    done = subprocess.run([*command, "--target", str(site), str(source)], capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(
            f"{repository.name}: pip could not install {repository.path} (setuptools 77 must be installed in {python}; "
            f"--no-install measures the checkout as it is)\n{done.stderr.strip()}"
        )
    return site


def link(repository: Repository, folder: Path) -> Path:
    """Link the checkout's folders as one package; return what to put on PYTHONPATH."""
    view = folder / f"{repository.slug}-view"
    package = view / "gridjit"
    package.mkdir(parents=True)
    for source in [*(repository.path / "src" / "gridjit").iterdir(), *(repository.path / root for root in ROOTS)]:
        if source.name != "__pycache__" and source.exists():
            (package / source.name).symlink_to(source)
    return view
