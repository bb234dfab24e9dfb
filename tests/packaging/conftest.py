"""What a user installs: the sdist and wheel built from this checkout, and environments of their own to install into."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from importlib.metadata import distribution
from pathlib import Path

import pytest
from packaging.requirements import Requirement

ROOT = Path(__file__).parents[2]
# Not part of the project's sources, whatever a developer has lying about.
_NOT_SOURCES = shutil.ignore_patterns(".*", "__pycache__", "*.egg-info", "build", "dist")


@pytest.fixture(scope="session")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the sdist, and the wheel built from that sdist."""
    folder = tmp_path_factory.mktemp("built")
    sources = folder / "sources"
    shutil.copytree(ROOT, sources, ignore=_NOT_SOURCES)
    subprocess.run([sys.executable, sources / "scripts" / "man-pages.py", sources / "packaging" / "man"], check=True)
    build = [sys.executable, "-m", "build", "--no-isolation", "--outdir", str(folder), str(sources)]
    done = subprocess.run(build, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    shutil.rmtree(sources)
    return folder


@pytest.fixture(scope="session")
def wheel(built: Path) -> Path:
    """The wheel."""
    (found,) = built.glob("*.whl")
    return found


@pytest.fixture(scope="session")
def sdist(built: Path) -> Path:
    """The source distribution."""
    (found,) = built.glob("*.tar.gz")
    return found


@pytest.fixture(scope="session")
def run_installed(
    wheel: Path,
    base_distributions: set[str],
    link_distributions: Callable[[Path, set[str]], None],
    tmp_path_factory: pytest.TempPathFactory,
) -> Callable[..., str]:
    """A function that runs Python where only the wheel and its base dependencies are, and returns what it printed.

    The dependencies are linked from this environment, so that nothing is downloaded; extras are left out.
    """
    venv = tmp_path_factory.mktemp("clean") / "venv"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(venv)], check=True)
    (site,) = venv.glob("lib/python*/site-packages")
    link_distributions(site, base_distributions - {"gridjit"})
    python = str(venv / "bin" / "python")
    install = [sys.executable, "-m", "pip", "--python", python, "install", "--quiet", "--no-deps", "--no-index"]
    subprocess.run([*install, str(wheel)], check=True)

    def run(*arguments: str, cwd: Path, **environment: str) -> str:
        clean = {key: value for key, value in os.environ.items() if not key.startswith(("PYTHON", "GRIDJIT"))}
        done = subprocess.run(
            [python, *arguments], cwd=cwd, env=clean | environment, capture_output=True, text=True, timeout=120
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    return run


@pytest.fixture(scope="session")
def base_distributions() -> set[str]:
    """The normalized names of what `pip install gridjit` needs here; extras only where a dependency asks for them."""
    found: set[tuple[str, str]] = set()
    waiting = [("gridjit", "")]
    while waiting:
        name, extra = waiting.pop()
        if (name, extra) in found:
            continue
        found.add((name, extra))
        for text in distribution(name).requires or ():
            requirement = Requirement(text)
            if requirement.marker is None or requirement.marker.evaluate({"extra": extra}):
                normal = requirement.name.lower().replace("_", "-")
                waiting += [(normal, wanted) for wanted in ("", *requirement.extras)]
    return {name for name, _ in found}


@pytest.fixture(scope="session")
def link_distributions() -> Callable[[Path, set[str]], None]:
    """A function that makes distributions of this environment importable from another one's site-packages."""

    def link(site: Path, names: set[str]) -> None:
        for name in sorted(names):
            _link_distribution(name, site)

    return link


def _link_distribution(name: str, site: Path) -> None:
    """Make a distribution of this environment importable from another one's site-packages."""
    installed = distribution(name)
    for top in {file.parts[0] for file in installed.files or () if file.parts[0] not in ("..", "__pycache__")}:
        link = site / top
        if not link.exists():
            link.symlink_to(Path(str(installed.locate_file(top))).resolve())
