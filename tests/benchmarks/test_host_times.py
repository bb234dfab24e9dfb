"""The host benchmark times a side when the threads of the other one sleep, and its own are awake."""

from __future__ import annotations

from pathlib import Path

import pytest
from host_times import rest, rows


@pytest.mark.parametrize("looks", [[[]], [["S"]], [["R", "S"], ["S", "R"], ["S", "S"]]])
def test_rest_ends_when_all_other_threads_sleep(monkeypatch: pytest.MonkeyPatch, looks: list[list[str]]) -> None:
    left = iter(looks)
    monkeypatch.setattr(rest, "_states", lambda: iter(next(left)))
    assert rest.rest()
    assert list(left) == []


def test_rest_does_not_wait_for_ever(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rest, "_PATIENCE_S", 0.0)
    monkeypatch.setattr(rest, "_states", lambda: iter(["R"]))
    assert not rest.rest()


def test_a_threads_state_is_behind_its_name(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for task, text in {"1": "1 (a) S 0 0", "2": "2 (b) S) R 0 0", "3": "3 (c d) D 0"}.items():
        (tmp_path / task).mkdir()
        (tmp_path / task / "stat").write_text(text)
    (tmp_path / "4").mkdir()  # has ended meanwhile
    monkeypatch.setattr(rest, "_TASKS", tmp_path)
    assert sorted(rest._states()) == ["D", "R", "S"]


def test_each_side_is_timed_when_the_others_threads_sleep_and_its_own_are_awake(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    done: list[str] = []
    monkeypatch.setattr(rows, "rest", lambda: done.append("rest"))
    pair = rows.Pair(ours=lambda: done.append("ours"), peer=lambda: done.append("peer"), check=lambda: None)
    times = iter(range(1000))

    def clock() -> float:
        done.append("clock")
        return next(times)

    rows.measured(rows.Row(name="", peer="", goal=1.0, prepare=lambda: pair), 0.0, clock)
    turn = ["rest", "ours", "clock", "ours", "clock", "rest", "peer", "clock", "peer", "clock"]
    assert done[-50:] == 5 * turn
