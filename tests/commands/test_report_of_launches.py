"""`gridjit report` for people who run kernels: launches, resources, remedies, and one number for one thing."""

from __future__ import annotations

import dataclasses
import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import gridjit
from gridjit import cuda
from gridjit.commands import main
from gridjit.commands.reports.advice import Advice, advice
from gridjit.commands.reports.command import as_json
from gridjit.commands.reports.facts import Form, Report, SeenFact, SeenShape, Slice
from gridjit.commands.reports.page import page
from gridjit.commands.reports.summary import show
from gridjit.runtime.traced.tracer import PASSING

DOCS = Path(__file__).parents[2] / "docs"


def form(kernel: str = "stats.scale", **changes: Any) -> Form:
    given: dict[str, Any] = {
        "signature": "(float32[1d C])",
        "target": "sm_90",
        "resources": {"registers": 32, "shared_bytes": 0, "local_bytes": 0},
        "shapes": (SeenShape(blocks=4000, threads=256, count=3, room=1056),),
    }
    return Form(kernel=kernel, **(given | changes))


def report(*forms: Form, **changes: Any) -> Report:
    return Report(source="trace.json", is_trace=True, forms=forms, **changes)


def launches(why: str, times: int = 20, target: str = "sm_90") -> tuple[Slice, ...]:
    """Return slices of launches of one kernel, of a tenth of a millisecond each."""
    return tuple(
        Slice(name="stats.scale", group="launch", thread="t", begins=n, ends=n + 1e-4, why=why, target=target)
        for n in range(times)
    )


def kinds(made: Report) -> list[str]:
    return [one.about for one in advice(made)]


def only(made: Report) -> Advice:
    (found,) = advice(made)
    return found


def sizes(number: int, field: str = "blockdim.x") -> list[Form]:
    facts = [SeenFact(field=field, value=str(n), where="stats.py:9") for n in range(number)]
    return [form(facts=(fact,), compile_ms=50.0) for fact in facts]


def test_nothing_is_advised_where_nothing_is_wrong_or_known() -> None:
    assert advice(report(form())) == []
    assert advice(report(form(resources={}, shapes=()))) == []
    assert advice(report(form(target="host", resources={"shared_bytes": 0}), slices=launches(PASSING[0]))) == []


@pytest.mark.parametrize(
    ("changes", "limit"),
    [
        ({"resources": {"registers": 200}}, "registers (200 a thread)"),
        ({"resources": {"registers": 16, "shared_bytes": 100 << 10}}, "shared memory (100.0 KiB a block)"),
        ({"shapes": (SeenShape(blocks=900, threads=256, sharedmem=60 << 10),)}, "shared memory (60.0 KiB a block)"),
    ],
)
def test_low_occupancy_is_told_with_the_resource_that_limits_it(changes: dict[str, Any], limit: str) -> None:
    found = only(report(form(**changes)))
    assert found.about == "occupancy" and found.text.endswith(f"limited by {limit}")
    assert "in blocks of 256" in found.text


def test_local_memory_is_told_for_a_gpu_only() -> None:
    spilled = {"registers": 32, "local_bytes": 96}
    assert only(report(form(resources=spilled))).text.startswith("96 B of local memory a thread")
    assert advice(report(form(target="host", resources=spilled))) == []


def test_grids_that_leave_most_of_the_device_idle_are_told() -> None:
    small, large = (SeenShape(blocks=n, threads=256, count=1, room=1056) for n in (4, 2000))
    assert "4 blocks of 256 threads, and 1056 such blocks run at once" in only(report(form(shapes=(small,)))).text
    assert kinds(report(form(shapes=(small, large)))) == []
    assert kinds(report(form(shapes=(SeenShape(blocks=4, threads=256, count=1),)))) == []  # its device is not known
    assert kinds(report(form(shapes=(SeenShape(blocks=4, threads=256),)))) == []  # compiled for, not launched


@pytest.mark.parametrize(("seconds", "expected"), [(0.1, ["few blocks"]), (1e-5, [])])
def test_on_the_host_few_blocks_matter_in_long_launches(seconds: float, expected: list[str]) -> None:
    shape = SeenShape(blocks=2, threads=64, count=1, room=8, seconds=(seconds,))
    assert kinds(report(form(target="host", resources={}, shapes=(shape,)))) == expected


def test_arrays_copied_at_each_launch_are_told_for_a_gpu_only() -> None:
    why = "Python converts or copies x (ndarray)"
    found = only(report(form(), slices=launches(why, times=2)))
    assert found.about == "copies" and "2 seen, 0.2 ms" in found.text
    assert kinds(report(form(target="host"), slices=launches(why, target="host"))) == ["launches"]


def test_launches_from_python_are_told_where_each_goes_through_it() -> None:
    found = only(report(form(), slices=launches("it has callbacks that Python calls before each launch")))
    assert found.about == "launches" and found.text.endswith("it has callbacks that Python calls before each launch")
    assert kinds(report(form(), slices=launches("it has callbacks", times=3))) == []
    others = [dataclasses.replace(one, name=f"k{n}") for n in range(2) for one in launches("it has callbacks")]
    assert "(20 seen, 2.0 ms; so do those of 1 other kernel)" in only(report(form(), slices=tuple(others))).text
    assert all(kinds(report(form(), slices=launches(f"{why} ..."))) == [] for why in PASSING)


def test_launches_that_failed_are_not_advised_upon(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    args = {"kernel": "m.k", "error": "CompileError", "why": "it has callbacks", "config": "grid 1, block 1"}
    rows = [
        {"ph": "X", "name": "launch k", "cat": "launch", "ts": n, "dur": 1, "pid": 1, "tid": 1, "args": args}
        for n in range(20)
    ]
    (tmp_path / "failed.json").write_text(json.dumps(rows))
    told = of_trace(tmp_path / "failed.json", capsys)
    assert told["advice"] == [] and told["launches_from_python"][0]["why"] == "it failed: CompileError"


def test_a_fact_with_many_values_is_told_with_its_place_and_the_cure() -> None:
    found = only(report(*sizes(12)))
    assert found.text.startswith("12 specializations, which took 600 ms to compile, for 12 values of blockdim.x")
    assert "read at stats.py:9" in found.text and "at run time" in found.text
    assert kinds(report(*sizes(3))) == []
    assert "Do not read the value of that argument" in only(report(*sizes(12, "argument 2"))).text
    types = [form(signature=f"(float32[{n}d C])") for n in range(1, 10)]
    assert "fewer types" in only(report(*types)).text


def troubled() -> Report:
    """Return a report with a remedy of every kind."""
    return report(
        *sizes(9),
        form("a", resources={"registers": 200, "local_bytes": 8}),
        form("b", shapes=(SeenShape(blocks=1, threads=256, count=1, room=1056),)),
        *(form("c", signature=f"({n})") for n in range(9)),
        slices=(*launches("Python converts or copies x (ndarray)"), *launches("GRIDJIT_NATIVE_LAUNCH=0")),
    )


def test_every_remedy_names_a_section_of_the_documents() -> None:
    pages = {one.page for one in advice(troubled())}
    assert len(pages) == 6
    for name, _, anchor in (one.removeprefix("docs/").partition("#") for one in pages):
        headings = re.findall(r"^#+ (.*)", (DOCS / name).read_text(), re.M)
        assert anchor in {re.sub(r"[^\w -]", "", one.lower()).replace(" ", "-") for one in headings}


def test_remedies_are_in_the_page_the_text_and_the_json(capsys: pytest.CaptureFixture[str]) -> None:
    made = troubled()
    show(made)
    printed, shown, told = capsys.readouterr().out, page(made), as_json(made)["advice"]
    assert "What would make it faster" in shown and "what would make it faster:" in printed
    assert [one["kernel"] for one in told] == [one.kernel for one in advice(made)]
    for one in advice(made):
        assert one.page in printed and one.page in shown
        assert f"{one.kernel}: {one.text}" in printed


def test_a_long_list_of_remedies_is_cut_in_the_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    show(report(*(form(f"k{n}", resources={"registers": 200}) for n in range(25))))
    assert "5 more: --html tells all" in capsys.readouterr().out


@gridjit.jit
def add_one(x):
    i = cuda.grid(1)
    if i < x.size:
        x[i] += 1


@pytest.fixture
def traced(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, restart: Callable[[], None]) -> Path:
    """A trace of launches of one kernel in two shapes, each made from Python."""
    path = tmp_path / "trace.json"
    for name, value in (("TRACE", str(path)), ("TARGET", "host"), ("NATIVE_LAUNCH", "0"), ("HOST_THREADS", "3")):
        monkeypatch.setenv(f"GRIDJIT_{name}", value)
    restart()
    kernel = gridjit.jit(add_one.py_func)
    for block, times in ((32, 2), (64, 4)):
        for _ in range(times):
            kernel[2, block](np.ones(8))
    return path


def of_trace(path: Path, capsys: pytest.CaptureFixture[str]) -> dict[str, Any]:
    capsys.readouterr()
    assert main(["report", str(path), "--json"]) == 0
    told: dict[str, Any] = json.loads(capsys.readouterr().out)
    return told


def test_a_traces_launches_are_counted_by_shape_and_timed_where_the_host_waits(
    traced: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    told = of_trace(traced, capsys)
    ((name, (only_form,)),) = told["kernels"].items()
    assert name == f"{__name__}.add_one"
    shapes = [(one["blocks"], one["threads"], one["count"], one["room"]) for one in only_form["launches"]]
    assert shapes == [(2, 64, 4, 3), (2, 32, 2, 3)]
    timed = [one["timed"] for one in only_form["launches"]]
    assert timed == [3, 1]  # the first of each shape looks for its code
    assert only_form["launch_ms"] > 0
    assert only_form["compiled_for"] is None and only_form["file"] == str(Path(__file__))


def test_the_terminal_and_the_page_show_launches_with_their_grid_and_block(
    traced: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    capsys.readouterr()
    assert main(["report", str(traced)]) == 0
    rows = [line.split()[-10:] for line in capsys.readouterr().out.splitlines() if re.search(r" 2 x (32|64) ", line)]
    assert [(row[0:3], row[-3]) for row in rows] == [(["2", "x", "64"], "4"), (["2", "x", "32"], "2")]
    assert main(["report", str(traced), "--html", str(tmp_path / "page.html")]) == 0
    assert "of 2 x 64" in (tmp_path / "page.html").read_text()


def test_a_launch_in_a_stream_is_not_timed(traced: Path, capsys: pytest.CaptureFixture[str]) -> None:
    kernel, stream = gridjit.jit(add_one.py_func), gridjit.create_stream()
    for _ in range(3):
        kernel[7, 32, stream](cuda.to_device(np.ones(8)))
    stream.synchronize()
    ((_, (only_form,)),) = of_trace(traced, capsys)["kernels"].items()
    (queued,) = [one for one in only_form["launches"] if one["blocks"] == 7]
    assert queued["count"] >= 2 and (queued["timed"], queued["median_ms"]) == (0, None)


def test_the_time_of_compiles_is_one_number_and_not_in_launches(
    traced: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    told = of_trace(traced, capsys)
    compiles = sum(one["compile_ms"] or 0 for forms in told["kernels"].values() for one in forms)
    assert compiles == pytest.approx(sum(told["groups_ms"].values()), abs=0.1)
    launched = sum(one["seconds"] for one in told["launches_from_python"]) * 1e3
    whole = sum(event["dur"] for event in json.loads(traced.read_text()) if event.get("cat") == "launch") / 1e3
    assert launched + compiles == pytest.approx(whole, abs=1)


def test_all_compiles_of_a_specialization_count(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    args = {"kernel": "m.k", "signature": "()", "target": "host", "facts": {}}
    rows = [
        {"ph": "X", "name": "compile k", "cat": "compile", "ts": n, "dur": 2000, "pid": n, "tid": n, "args": args}
        for n in (1, 2)
    ]
    path = tmp_path / "two.json"
    path.write_text(json.dumps(rows))
    told = of_trace(path, capsys)
    assert (told["kernels"]["m.k"][0]["compile_ms"], told["groups_ms"], told["compiles"]) == (4.0, {"other": 4.0}, 2)


@pytest.mark.usefixtures("filled")
def test_a_caches_entries_tell_the_launch_that_they_were_compiled_for(capsys: pytest.CaptureFixture[str]) -> None:
    capsys.readouterr()
    assert main(["report", "--json", "--kernel", "sized"]) == 0
    ((_, forms),) = json.loads(capsys.readouterr().out)["kernels"].items()
    assert [(one["compiled_for"]["blocks"], one["compiled_for"]["threads"]) for one in forms] == [(1, 32), (1, 64)]


@pytest.mark.usefixtures("filled")
def test_an_entrys_compile_time_is_the_sum_of_its_phases(capsys: pytest.CaptureFixture[str]) -> None:
    capsys.readouterr()
    assert main(["report", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    forms = [one for forms in told["kernels"].values() for one in forms]
    assert sum(one["compile_ms"] for one in forms) == pytest.approx(sum(told["groups_ms"].values()), abs=0.1)
    assert main(["cache", "ls", "--json", "--kernel", "scale"]) == 0
    (entry,) = json.loads(capsys.readouterr().out)
    assert main(["cache", "show", entry["key"], "--json"]) == 0
    shown = json.loads(capsys.readouterr().out)
    assert shown["compile_ms"] == pytest.approx(sum(shown["phases_ms"].values()), abs=0.02)
