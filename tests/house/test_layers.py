"""The folders of the package are layers: a file imports files of its own folder and of the folders below it."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

import pytest

from tests.house.imports import inside, modules
from tests.house.test_imports import FOLDERS, ROOT

# From the bottom up, without "gridjit."; the last folder of a group is the group's own files.
BELOW_TARGETS = (
    *("base", "cache", "cache.remote"),
    *(f"compiler.{name}" for name in ("source", "hooks", "values", "process", "view", "key")),
    *("compiler.numba_state", "compiler.recorded"),
    "compiler.targets",
)
HOST = tuple(
    f"compiler.targets.host.{name}".removesuffix(".")
    for name in (
        *("ir", "llvm", "linked", "library.narrow_floats", "library.ptx", "library", "nvvm", "analysis", "passes"),
        *("sanitizer.routines", "sanitizer", "emit", "warps", "blocks", ""),
    )
)
ABOVE_TARGETS = (
    "compiler.targets.ptx",
    *(
        f"compiler.frontend.{name}"
        for name in ("bindings", "faster", "debugging", "narrow", "kept", "isolated", "language")
    ),
    *("compiler.frontend.explained", "compiler.frontend.explained.rules", "compiler.frontend", "compiler"),
    *("runtime.environment", "runtime.queues", "runtime.devices", "runtime.simulated"),
    *("runtime.native.layout", "runtime.native", "runtime.memory", "runtime.devices.host"),
    *("runtime.devices.cuda.api", "runtime.devices.cuda.memory", "runtime.devices.cuda"),
    *("runtime.hazards", "runtime.specializations", "runtime.traced", "runtime.pool", "runtime.args"),
    *("runtime.process", "runtime.stepping", "runtime.numba_names", "runtime.launch", "runtime.arrays"),
    *("runtime.specialize", "runtime.tiered", "runtime", "runtime.workers", "runtime.installed"),
    *("", "starting", "testing", "freezing", "commands", "fleet", "commands.compiling", "commands.reports"),
)
LAYERS = (*BELOW_TARGETS, *HOST, *ABOVE_TARGETS)
# To count down: extensions of numba are loaded, and numba-cuda imported, where a key or a look-up needs them.
EXCEPTIONS = {
    "gridjit.compiler.key.numba_settings imports gridjit.compiler.frontend.bindings.bootstrap",
    "gridjit.compiler.recorded.dependencies imports gridjit.compiler.frontend.bindings.bootstrap",
}
# They start the command line, which is above the folder that Python looks for them in.
STARTS = {"gridjit.__main__", "gridjit.commands"}


def climbing(folders: Mapping[str, Path]) -> set[str]:
    """Return the imports from a layer to a higher one. folders: by the names of the packages that they are."""
    edges = inside(modules(folders))
    packages = {name for name in edges if any(other.startswith(f"{name}.") for other in edges)}
    height = {name: _height(name if name in packages else name.rpartition(".")[0]) for name in edges}
    return {
        f"{name} imports {other}"
        for name, others in edges.items()
        for other in others - packages
        if height[other] > height[name] and name not in STARTS
    }


def _height(package: str) -> int:
    """Return how high a folder's layer is; raises ValueError for a folder without one."""
    return LAYERS.index(package.removeprefix("gridjit").removeprefix("."))


def test_a_file_imports_its_own_layer_and_the_layers_below() -> None:
    assert climbing({name: ROOT / folder for name, folder in FOLDERS.items()}) == EXCEPTIONS


def test_every_layer_has_a_place_in_the_decision() -> None:
    page = (ROOT / "docs" / "decisions" / "0040-layers.md").read_text()
    whole, host = page.split("- The layers of `compiler/targets/host/`")
    assert rows(whole) == [*BELOW_TARGETS, "compiler.targets.host", *ABOVE_TARGETS]
    assert [f"compiler.targets.host.{name}" for name in rows(host)] == [*HOST[:-1]]


def rows(text: str) -> list[str]:
    """Return the folders of a table, as packages without "gridjit."."""
    firsts = [line.split("|")[1] for line in text.splitlines() if line.startswith("| `")]
    names = [name.strip("/").replace("/", ".") for first in firsts for name in re.findall(r"`([\w/]*)`", first)]
    return ["" if name == "gridjit" else name for name in names]


@pytest.mark.parametrize(
    ("low", "high"),
    [("compiler.targets.host.ir", "compiler.targets.host.passes"), ("base", "runtime.memory"), ("runtime.launch", "")],
)
def test_an_import_of_a_higher_layer_is_found(tmp_path: Path, low: str, high: str) -> None:
    texts = {f"gridjit.{low}.one": "", f"gridjit.{high}.two".replace("..", "."): f"from gridjit.{low} import one"}
    assert climbing(written(tmp_path, texts)) == set()
    one, two = texts
    texts = {one: f"def later():\n    from {two.rpartition('.')[0]} import two", two: ""}
    assert climbing(written(tmp_path, texts)) == {f"{one} imports {two}"}


def written(folder: Path, texts: Mapping[str, str]) -> dict[str, Path]:
    """Write modules of these texts, and the packages that they are in; return the package of all."""
    for name, text in texts.items():
        file = folder.joinpath(*name.split(".")[1:]).with_suffix(".py")
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
        for package in (file.parent, *file.parent.parents):
            if package.is_relative_to(folder):
                (package / "__init__.py").write_text("")
    return {"gridjit": folder}
