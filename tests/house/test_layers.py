"""The folders of the host target are layers: a file imports files of its own folder and of the folders below it."""

from __future__ import annotations

from pathlib import Path

from tests.house.imports import inside, modules

ROOT = Path(__file__).parents[2]
HOST = "gridjit.compiler.targets.host"
# From the bottom up; the last one is the target's own files, which list the passes.
LAYERS = (
    "ir",
    "llvm",
    "linked",
    "library.narrow_floats",
    "library.ptx",
    "library",
    "nvvm",
    "analysis",
    "passes",
    "sanitizer.routines",
    "sanitizer",
    "emit",
    "warps",
    "blocks",
    "",
)


def layer_of(name: str, packages: set[str]) -> int:
    """Return how high a module of the host target is."""
    return LAYERS.index((name if name in packages else name.rpartition(".")[0]).removeprefix(HOST).removeprefix("."))


def climbing(folder: Path) -> list[str]:
    """Return the imports of a host target in a folder that lead from a layer to a higher one."""
    edges = inside(modules({HOST: folder}))
    packages = {name for name in edges if any(other.startswith(f"{name}.") for other in edges)}
    return sorted(
        f"{name} imports {other}"
        for name, others in edges.items()
        for other in others - packages
        if layer_of(other, packages) > layer_of(name, packages)
    )


def test_a_file_imports_its_own_layer_and_the_layers_below() -> None:
    assert climbing(ROOT / "compiler" / "targets" / "host") == []


def test_every_layer_has_a_row_in_the_decision() -> None:
    page = (ROOT / "docs" / "decisions" / "0040-layers.md").read_text()
    rows = [line.split("`")[1].rstrip("/") for line in page.splitlines() if line.startswith("| `")]
    assert [name.partition(".")[0] for name in rows[:-1]] == list(
        dict.fromkeys(n.partition(".")[0] for n in LAYERS[:-1])
    )


def test_an_import_of_a_higher_layer_is_found(tmp_path: Path) -> None:
    for layer in ("ir", "passes"):
        (tmp_path / layer).mkdir()
        (tmp_path / layer / "__init__.py").write_text("")
    (tmp_path / "__init__.py").write_text("")
    (tmp_path / "passes" / "peeling.py").write_text(f"from {HOST}.ir import body")
    (tmp_path / "ir" / "body.py").write_text("")
    assert climbing(tmp_path) == []
    (tmp_path / "passes" / "peeling.py").write_text("")
    (tmp_path / "ir" / "body.py").write_text(f"def later():\n    from {HOST}.passes.peeling import peeled")
    assert climbing(tmp_path) == [f"{HOST}.ir.body imports {HOST}.passes.peeling"]
