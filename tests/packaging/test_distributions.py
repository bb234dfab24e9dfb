"""What is built and installed: a wheel that runs kernels by itself, an sdist that builds it, no CUDA library needed."""

from __future__ import annotations

import re
import subprocess
import sys
import tarfile
import zipfile
from collections.abc import Callable
from importlib.metadata import requires
from pathlib import Path

import pytest
from packaging.requirements import Requirement

import gridjit

ROOT = Path(__file__).parents[2]
SOURCES = {
    "src/gridjit": "gridjit",
    "cache": "gridjit/cache",
    "compiler": "gridjit/compiler",
    "runtime": "gridjit/runtime",
}
RunInstalled = Callable[..., str]

DOUBLE = """
import numpy as np

import gridjit
from gridjit import cuda


@gridjit.jit
def double(x):
    i = cuda.grid(1)
    if i < x.size:
        x[i] *= 2


x = np.arange(1000.0)
double[8, 128](x)
assert (x == 2 * np.arange(1000.0)).all()
print(gridjit.__file__, double.stats.compiles, double.stats.disk_hits)
"""


def modules(folder: str, package: str) -> set[str]:
    """Return where a source folder's modules, and the machine code of those in C, belong in a wheel."""
    files = (file for kind in ("py", "ll") for file in (ROOT / folder).rglob(f"*.{kind}"))
    return {f"{package}/{file.relative_to(ROOT / folder)}" for file in files}


def test_the_wheel_holds_every_module_and_its_types(wheel: Path) -> None:
    names = {name for name in zipfile.ZipFile(wheel).namelist() if ".dist-info/" not in name and ".data/" not in name}
    assert names == {"gridjit/py.typed"}.union(*(modules(*pair) for pair in SOURCES.items()))


def test_wheel_and_sdist_hold_the_licence(wheel: Path, sdist: Path) -> None:
    text = (ROOT / "LICENSE").read_bytes()
    with zipfile.ZipFile(wheel) as archive:
        (name,) = (name for name in archive.namelist() if name.endswith("/LICENSE"))
        assert archive.read(name) == text
    with tarfile.open(sdist) as archive:
        member = archive.extractfile(f"{sdist.name.removesuffix('.tar.gz')}/LICENSE")
        assert member is not None
        assert member.read() == text


@pytest.mark.parametrize(
    "name",
    [
        "Makefile",
        "docs/cache-format.md",
        "tests/conftest.py",
        "runtime/native/c/launch.c",
        "runtime/native/c/records.h",
        "scripts/bench-cache.py",
        "examples/01_saxpy.py",
        "mkdocs.yml",
        "CITATION.cff",
        "packaging/conda/meta.yaml",
    ],
)
def test_the_sdist_is_the_whole_project(sdist: Path, name: str) -> None:
    with tarfile.open(sdist) as archive:
        names = archive.getnames()
    assert f"{sdist.name.removesuffix('.tar.gz')}/{name}" in names
    assert not [name for name in names if name.endswith((".pyc", "__pycache__"))]


def test_an_installed_gridjit_runs_a_kernel_and_reuses_it_in_the_next_process(
    run_installed: RunInstalled, tmp_path: Path
) -> None:
    script = tmp_path / "double.py"
    script.write_text(DOUBLE)
    environment = {"GRIDJIT_CACHE_DIR": str(tmp_path / "cache"), "GRIDJIT_TARGET": "host"}
    file, *counts = run_installed(str(script), cwd=tmp_path, **environment).split()
    assert "site-packages" in file
    assert counts == ["1", "0"]
    assert run_installed(str(script), cwd=tmp_path, **environment).split()[1:] == ["0", "1"]


def test_another_installation_of_the_wheel_finds_what_the_first_compiled(
    run_installed: RunInstalled, wheel: Path, tmp_path: Path
) -> None:
    script = tmp_path / "double.py"
    script.write_text(DOUBLE)
    environment = {"GRIDJIT_CACHE_DIR": str(tmp_path / "cache"), "GRIDJIT_TARGET": "host"}
    run_installed(str(script), cwd=tmp_path, **environment)
    install = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--no-index", "--target"]
    subprocess.run([*install, str(tmp_path / "image"), str(wheel)], check=True)
    file, *counts = run_installed(str(script), cwd=tmp_path, **environment, PYTHONPATH=str(tmp_path / "image")).split()
    assert file.startswith(str(tmp_path / "image"))
    assert counts == ["0", "1"]


def test_importing_gridjit_imports_no_library(run_installed: RunInstalled, tmp_path: Path) -> None:
    program = "import sys, gridjit; print(*sorted({name.partition('.')[0] for name in sys.modules}))"
    imported = run_installed("-c", program, cwd=tmp_path).split()
    assert "gridjit" in imported
    assert {"numba", "numba_cuda", "llvmlite", "numpy", "diskcache", "filelock", "rich", "cuda"}.isdisjoint(imported)


def test_every_module_of_an_installed_gridjit_can_be_imported_alone(
    run_installed: RunInstalled, tmp_path: Path
) -> None:
    program = """
import importlib, pkgutil
import gridjit
found = [m.name for m in pkgutil.walk_packages(gridjit.__path__, "gridjit.") if not m.name.endswith("__main__")]
for name in found:
    # Not what extras are for, nor what PyInstaller runs, whose name no import can have.
    if not name.startswith(("gridjit.testing", "gridjit.fleet.dask", "gridjit.fleet.ray")) and "-" not in name:
        importlib.import_module(name)
print(len(found))
"""
    count = int(run_installed("-c", program, cwd=tmp_path))
    files = {file for pair in SOURCES.items() for file in modules(*pair) if file.endswith(".py")}
    assert count == len(files) - len(["gridjit/__init__.py", *(f for f in files if f.endswith("__main__.py"))])


def test_the_base_dependencies_need_no_cuda_library(base_distributions: set[str]) -> None:
    assert {"numba-cuda", "llvmlite"} <= base_distributions
    assert not [name for name in base_distributions if name.startswith(("nvidia-", "cuda-toolkit"))]


def test_cuda_libraries_come_with_an_extra_only() -> None:
    needed = [Requirement(text) for text in requires("gridjit") or ()]
    assert not [r for r in needed if r.extras and (r.marker is None or r.marker.evaluate({"extra": ""}))]
    for extra in ("cu12", "cu13"):
        (wanted,) = (r for r in needed if r.marker is not None and r.marker.evaluate({"extra": extra}) and r.extras)
        assert (wanted.name, wanted.extras) == ("numba-cuda", {extra})


def test_citation_and_project_have_the_version_of_the_package() -> None:
    versions = [
        re.search(rf"^{name}[:=]+ ?\"?([\w.]+)", (ROOT / file).read_text().replace(" = ", "="), re.M)
        for file, name in (("CITATION.cff", "version"), ("pyproject.toml", "version"))
    ]
    assert [found and found[1] for found in versions] == [gridjit.__version__] * 2


def test_the_project_names_every_python_that_it_supports() -> None:
    text = (ROOT / "pyproject.toml").read_text()
    named = re.findall(r"Python :: 3\.(\d+)", text)
    first = re.search(r'requires-python = ">=3\.(\d+)"', text)
    assert first and named == [str(minor) for minor in range(int(first[1]), 15)]
