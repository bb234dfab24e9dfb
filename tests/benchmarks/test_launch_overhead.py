"""What the benchmarks of launches are made of says what was measured, and refuses what cannot be."""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
import xml.dom.minidom
from dataclasses import replace
from pathlib import Path
from runpy import run_path
from typing import Any

import pytest
from launch_overhead import device, goals, plot, tables
from launch_overhead.repositories import ROOTS, Repository, link
from launch_overhead.timing import BATCH, COUNTS, Case, Row, calls, indexed_calls, measure, pooled

ROOT = Path(__file__).parents[2]
FLOOR = 2.0


def make_row(**changes: Any) -> Row:
    row = Row(
        who="gridjit",
        what="scalars",
        count=1,
        how="once",
        signature="lazy",
        mean=2.1,
        stdev=0.1,
        median=2.1,
        samples=7,
        floor=FLOOR,
    )
    return replace(row, **changes)


def test_a_loop_makes_as_many_calls_as_it_is_told_with_the_values_in_order():
    seen = []
    calls(lambda *args: seen.append(args), [1, "two"])(3)
    assert seen == [(1, "two")] * 3


def test_a_loop_of_indexed_calls_indexes_each_time():
    class Kernel:
        indexings = 0

        def __getitem__(self, launch):
            self.indexings += 1
            return lambda: None

    kernel = Kernel()
    indexed_calls(kernel, [])(5)
    assert kernel.indexings == 5


def test_every_case_is_measured_in_batches_with_a_synchronize_after_each():
    made, waits = [], []
    case = Case(who="gridjit", what="scalars", count=1, words=1, launch=made.append)
    rows = measure([case], lambda words, times: None, lambda: waits.append(len(made)), loops=2 * BATCH, repeats=3)
    assert [(row.who, row.samples) for row in rows] == [("floor", 6), ("gridjit", 6)]
    assert made.count(BATCH) == 6
    assert len(waits) > 6


def test_a_row_is_compared_with_the_floor_of_as_many_words():
    cases = [Case(who="gridjit", what="own arrays", count=n, words=7 * n, launch=lambda times: None) for n in (1, 2)]
    rows = measure(cases, lambda words, times: None, lambda: None, loops=1, repeats=1)
    floors = {row.count: row.median for row in rows if row.who == "floor"}
    assert {row.count: row.floor for row in rows if row.who == "gridjit"} == floors


def test_a_row_is_the_same_after_a_way_through_json():
    row = make_row()
    assert Row.of(json.loads(json.dumps(row.as_json()))) == row


@pytest.mark.parametrize(("median", "word"), [(2.2, "reached"), (2.21, "MISSED")])
def test_a_goal_is_judged_by_the_worst_row_it_is_about(median, word):
    rows = [make_row(), make_row(count=4, median=median), make_row(what="torch tensors", median=9.0)]
    found = goals.verdicts(rows, {})[0]
    assert (found.word, found.figure) == (word, median / FLOOR)


def test_a_goal_that_nothing_was_measured_for_is_not_reached():
    assert {verdict.word for verdict in goals.verdicts([], {})} == {"not measured"}


def test_the_second_repository_is_shown_by_its_difference_to_the_first():
    rows = [make_row(who="a", floor=None), make_row(who="b", median=4.2, floor=None)]
    assert "4.20 (+100%)" in tables.launches(rows, ["a", "b"], details=False)
    assert tables.ratios(rows, "a", "b").split()[-len(COUNTS) :] == ["-", "2.00", "-", "-", "-", "-"]


def test_a_machine_that_slowed_down_for_one_repository_makes_no_difference():
    rows = [make_row(who="a"), make_row(who="b", median=2.1 * 1.22, floor=FLOOR * 1.22)]
    assert "2.56 (+0%)" in tables.launches(rows, ["a", "b"], details=False)
    assert tables.ratios(rows, "a", "b").split()[-len(COUNTS) :] == ["-", "1.00", "-", "-", "-", "-"]


def test_runs_are_pooled_case_by_case_over_all_their_samples():
    one = [make_row(who="floor", median=2.0, floor=None), make_row(median=3.0, mean=3.0, stdev=0.0, samples=2)]
    two = [make_row(who="floor", median=4.0, floor=None), make_row(median=5.0, mean=5.0, stdev=0.0, samples=2)]
    floor, row = pooled([one, two])
    assert (floor.who, floor.median, floor.floor) == ("floor", 3.0, None)
    assert (row.median, row.mean, row.samples, row.floor) == (4.0, 4.0, 4, FLOOR)
    assert row.stdev == pytest.approx(statistics.stdev([3.0, 3.0, 5.0, 5.0]), abs=1e-4)


def test_checkouts_are_measured_in_turns_and_the_header_says_so(monkeypatch, tmp_path):
    program = run_path(str(ROOT / "scripts" / "bench-launch-overhead.py"))
    order = []

    def rows(run, given, folder, name, arguments, environment):
        order.append((name, arguments[arguments.index("--repeats") + 1]))
        return [make_row(who="floor", floor=None), make_row(who=name)]

    monkeypatch.setitem(program["_in_turns"].__globals__, "_rows", rows)
    run = program["Run"](machine={})
    given = argparse.Namespace(target="cuda", repeats=3, loops=10, details=False)
    program["_in_turns"](run, given, tmp_path, {"a": {}, "b": {}}, [])
    assert order == [(name, "1") for name in "abbaab"]
    assert [(row.who, row.samples) for row in run.rows] == [("floor", 21), ("a", 21), ("b", 21)]
    assert "%: against a, measured in turns, as multiples of their own floors" in program["_report"](
        run, ["a", "b"], [], given
    )


def test_a_picture_is_well_formed_and_names_its_lines(tmp_path):
    rows = [make_row(count=count, who=who) for who in ("floor", "gridjit", "a < b") for count in (0, 26)]
    file = plot.draw(rows, ["gridjit"], "a title", tmp_path / "picture.svg")
    assert file.suffix == ".svg"
    texts = [
        node.firstChild.data  # type: ignore[union-attr]
        for node in xml.dom.minidom.parse(str(file)).getElementsByTagName("text")
    ]
    assert {"a title", "C loop, scalars", "gridjit, scalars", "a < b, scalars"} <= set(texts)


@pytest.mark.parametrize("text", ["nothing", "=path", "name=", "name=/nonexistent"])
def test_what_is_not_a_named_checkout_is_refused(text):
    with pytest.raises(ValueError, match=r"name=path|not a checkout of gridjit"):
        Repository.of(text)


def test_a_linked_checkout_has_all_of_the_package(tmp_path):
    package = link(Repository(name="a/b", path=ROOT), tmp_path) / "gridjit"
    assert {"__init__.py", *ROOTS} <= {path.name for path in package.iterdir()}
    assert (package / "compiler" / "values" / "errors.py").is_file()


@pytest.mark.skipif(not device.why_no_gpu(), reason="there is a GPU")
@pytest.mark.parametrize("command", [["bench-launch-overhead.py"], ["bench-against.py", "HEAD", "HEAD"]])
def test_without_a_gpu_the_programs_refuse_and_say_the_way_on(command):
    program, *arguments = command
    done = subprocess.run(
        [sys.executable, str(ROOT / "scripts" / program), *arguments], capture_output=True, text=True, check=False
    )
    assert done.returncode == 2
    assert "--target host" in done.stderr
