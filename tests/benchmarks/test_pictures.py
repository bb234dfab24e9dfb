"""The pictures that benchmarks write: the committed one shows the committed figures, each bar to scale."""

from __future__ import annotations

import runpy
import xml.etree.ElementTree as ElementTree
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
SVG = "{http://www.w3.org/2000/svg}"


@pytest.fixture(scope="module")
def program() -> dict[str, Any]:
    """What scripts/plot-launch-cost.py defines."""
    return runpy.run_path(str(ROOT / "scripts" / "plot-launch-cost.py"))


def texts(root: ElementTree.Element) -> list[str]:
    return [node.text or "" for node in root.iter(f"{SVG}text")]


def test_the_readmes_picture_shows_the_figures_of_the_document(program: dict[str, Any]) -> None:
    figures = (ROOT / "docs" / "benchmarks.md").read_text()
    assert (ROOT / "docs" / "launch-cost.svg").read_text() == program["picture"](figures)
    assert "](docs/launch-cost.svg)" in (ROOT / "README.md").read_text()


def test_each_bar_of_the_picture_is_as_long_as_its_figure(program: dict[str, Any]) -> None:
    known = program["figures"]((ROOT / "docs" / "benchmarks.md").read_text())
    root = ElementTree.fromstring((ROOT / "docs" / "launch-cost.svg").read_text())
    drawn = [float(node.attrib["width"]) for node in root.iter(f"{SVG}rect") if node.attrib["class"] != "f-card"]
    values = [known[row].microseconds for row in program["ROWS"]]
    assert drawn == pytest.approx([value / max(values) * max(drawn) for value in values], abs=0.02)
    for row, shown in program["ROWS"].items():
        assert shown in texts(root)
        assert f"{known[row].microseconds:.2f} ({known[row].multiple:g}x)" in texts(root)


def test_another_figure_is_another_picture(program: dict[str, Any]) -> None:
    figures = (ROOT / "docs" / "benchmarks.md").read_text()
    changed = figures.replace("29.49 (8.46)", "30.49 (8.76)")
    assert changed != figures
    assert program["picture"](changed) != program["picture"](figures)
    with pytest.raises(KeyError, match="Triton"):
        program["picture"](figures.replace("| Triton, torch tensors |", "| Triton, tensors |"))


def test_the_readmes_description_of_the_picture_has_its_figures(program: dict[str, Any]) -> None:
    known = program["figures"]((ROOT / "docs" / "benchmarks.md").read_text())
    said = {name: known[row].microseconds for row, name in program["ROWS"].items()}
    ours = [value for name, value in said.items() if name.startswith("gridjit")]
    numba = [value for name, value in said.items() if name.startswith("numba-cuda")]
    alternative = (
        f"gridjit {min(ours):.1f} to {max(ours):.0f}, CuPy {said['CuPy RawKernel, CuPy arrays']:.1f}, "
        f"Triton {said['Triton, torch tensors']:.1f}, numba-cuda {min(numba):.0f} to {max(numba):.0f}]"
    )
    assert alternative in (ROOT / "README.md").read_text()


def test_a_run_of_the_suite_is_drawn_by_its_groups() -> None:
    draw = runpy.run_path(str(ROOT / "scripts" / "plot-bench.py"))["picture"]
    cases = [
        {"group": group, "params": {"given": given}, "extra_info": {"us_per_launch": spent}}
        for group, given, spent in (
            ("1 <arrays>", "lazy", 3.5),
            ("26 scalars", "lazy", 7.0),
            ("1 <arrays>", "eager", 3.0),
        )
    ]
    root = ElementTree.fromstring(draw({"datetime": "2026-01-01T10:00:00", "benchmarks": [*cases, {"extra_info": {}}]}))
    assert texts(root)[2::2] == ["1 <arrays>, lazy", "1 <arrays>, eager", "26 scalars, lazy"]
    widths = [float(node.attrib["width"]) for node in root.iter(f"{SVG}rect") if node.attrib["class"] != "f-card"]
    assert widths == pytest.approx([widths[2] / 2, widths[2] * 3 / 7, widths[2]], abs=0.02)


@pytest.fixture(scope="module")
def host() -> dict[str, Any]:
    """What scripts/plot-host-times.py defines."""
    return runpy.run_path(str(ROOT / "scripts" / "plot-host-times.py"))


def test_the_host_targets_picture_shows_the_figures_of_its_page(host: dict[str, Any]) -> None:
    page = (ROOT / "docs" / "host-target.md").read_text()
    assert (ROOT / "docs" / "host-times.svg").read_text() == host["picture"](page)
    ratios = [one.ratio for one in host["figures"](page)]
    assert f"{min(ratios):.2f} for a tiled matrix product to {max(ratios):.2f} for" in page
    assert "](host-times.svg)" in page


def test_each_ratio_on_the_page_is_that_of_its_times(host: dict[str, Any]) -> None:
    units = {"us": 1.0, "ms": 1000.0}
    for one in host["figures"]((ROOT / "docs" / "host-target.md").read_text()):
        ours, other = (float(time.split()[0]) * units[time.split()[1]] for time in (one.ours, one.other))
        assert one.ratio == pytest.approx(ours / other, rel=0.06, abs=0.06), one.kernel


def test_a_page_without_the_table_is_named(host: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=r"docs/host-target\.md has no table"):
        host["figures"]("# Nothing")
