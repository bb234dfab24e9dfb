"""`gridjit cache`: what it shows, what it removes, and the exit statuses that scripts rely on."""

from __future__ import annotations

import json
import os
import re
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import gridjit
from gridjit.cache.entry import open_entry, seal
from gridjit.cache.store import EntryInfo
from gridjit.commands import main
from gridjit.commands.cache_upkeep import surplus
from gridjit.commands.printing import age_text, size_text
from gridjit.runtime.process.session import end_session


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]) -> Callable[..., tuple[int, str, str]]:
    """Return what runs `gridjit cache ...` and gives its status, output and errors."""

    def run_cache(*words: str) -> tuple[int, str, str]:
        capsys.readouterr()
        status = main(["cache", *words])
        done = capsys.readouterr()
        return status, done.out, done.err

    return run_cache


@pytest.fixture
def listed(run: Callable[..., tuple[int, str, str]]) -> Callable[..., list[dict[str, Any]]]:
    """Return what lists entries as values."""
    return lambda *words: json.loads(run("ls", "--json", *words)[1])


@pytest.fixture
def keys(tmp_path: Path) -> list[Path]:
    """The files of two signing keys."""
    made = [tmp_path / "one.key", tmp_path / "other.key"]
    for number, file in enumerate(made):
        file.write_bytes(bytes([65 + number]) * 32)
        file.chmod(0o400)
    return made


def kinds(items: list[dict[str, Any]]) -> dict[str, int]:
    """Return how many items there are of each kind."""
    return {kind: sum(item["kind"] == kind for item in items) for kind in sorted({i["kind"] for i in items})}


@pytest.mark.usefixtures("filled")
def test_ls_shows_each_compiled_kernel_with_what_it_depends_on(run: Any) -> None:
    status, out, _ = run("ls")
    assert status == 0
    assert re.search(r"opstats\.scale +\(float32\[1d C\], float64\) +host +nothing", out)
    assert "blockdim.x = 32" in out and "blockdim.x = 64" in out
    assert "manifest" not in out


@pytest.mark.usefixtures("filled")
def test_ls_gives_scripts_the_same_as_values(listed: Any) -> None:
    found = listed("--kernel", "sized")
    assert [item["facts"] for item in found] == [{"blockdim.x": 32}, {"blockdim.x": 64}]
    assert {(item["kernel"], item["signature"], item["target"], item["suffix"]) for item in found} == {
        ("opstats.sized", "(float32[1d C])", "host", ".o")
    }
    assert kinds(listed("--all", "--kernel", "opstats.*")) == {"code": 4, "history": 3, "manifest": 3}
    assert listed("--kernel", "opstats:scale") == listed("--kernel", "scale") == listed("--kernel", "opstats.scale")


def test_an_empty_cache_is_not_a_problem(run: Any) -> None:
    assert run("ls")[:2] == (0, "nothing in the cache\n")
    assert run("verify")[:2] == (0, "0 good, 0 bad\n")
    assert run("gc")[0] == run("clear")[0] == run("du")[0] == 0


def test_du_adds_up_to_the_files(run: Any, filled: Any, cache_dir: Path) -> None:
    status, out, _ = run("du", "--json")
    told = json.loads(out)
    files = list(cache_dir.glob("??/*"))
    assert (status, told["entries"], told["bytes"]) == (0, len(files), sum(path.stat().st_size for path in files))
    assert sum(kernel["bytes"] for kernel in told["kernels"]) == told["bytes"]
    assert told["max_bytes"] == 1 << 30
    assert "opstats.sized" in run("du")[1]


def test_show_describes_an_artifact(run: Any, filled: Any, listed: Any) -> None:
    key = listed("--kernel", "sized")[1]["key"]
    status, out, _ = run("show", key[:12])
    assert status == 0
    assert "blockdim.x 64, read at opstats.py:" in out
    assert "compiled because  blockdim.x 32 -> 64, read at opstats.py:" in out
    told = json.loads(run("show", key, "--json")[1])
    assert told["kernel"] == "opstats.sized"
    assert told["compile_ms"] > 0
    (fact,) = told["facts"]
    assert (fact["field"], fact["value"], fact["where"].startswith("opstats.py:")) == ("blockdim.x", 64, True)


def test_show_lists_the_records_of_a_manifest_and_the_jobs_of_a_history(run: Any, filled: Any, listed: Any) -> None:
    items = listed("--all", "--kernel", "sized")
    manifest = next(item["key"] for item in items if item["kind"] == "manifest")
    history = next(item["key"] for item in items if item["kind"] == "history")
    codes = [item["key"] for item in items if item["kind"] == "code"]
    told = json.loads(run("show", manifest, "--json")[1])
    assert {one["key"] for one in told["artifacts"]} == set(codes)
    assert told["artifacts"][0]["facts"][0]["value"] == 32
    assert [job["key"] for job in json.loads(run("show", history, "--json")[1])["jobs"]] == [manifest]
    assert run("show", manifest, "--asm")[0] == 1


def test_show_needs_a_prefix_of_exactly_one_key(run: Any, filled: Any) -> None:
    status, _, error = run("show", "")
    assert status == 1 and "keys begin with ''" in error and "give more digits" in error
    status, _, error = run("show", "zz")
    assert status == 1 and "no entry in" in error


def test_verify_finds_damage_and_removes_it_only_if_asked(run: Any, filled: Any, cache_dir: Path) -> None:
    victim = next(cache_dir.glob("??/*.lcs"))
    victim.write_bytes(victim.read_bytes()[:-1] + b"?")
    status, out, _ = run("verify")
    assert status == 1
    assert f"{victim.name} is damaged\n" in out
    assert victim.exists()
    assert json.loads(run("verify", "--json")[1])["bad"] == [victim.stem]
    assert run("verify", "--remove")[0] == 1
    assert not victim.exists()
    assert run("verify")[0] == 0


def test_verify_tells_damage_from_entries_without_this_key(
    run: Any, filled: Any, cache_dir: Path, keys: list[Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    def reasons() -> dict[str, int]:
        end_session()
        return Counter(json.loads(run("verify", "--json")[1])["reasons"])

    entries = len([*cache_dir.glob("??/*.*")])
    monkeypatch.setenv("GRIDJIT_CACHE_KEY_FILE", str(keys[0]))
    assert reasons() == {"is not signed": entries}
    victim = next(cache_dir.glob("??/*.lcs"))
    payload = open_entry(victim.stem, victim.read_bytes())
    assert payload is not None
    victim.write_bytes(seal(victim.stem, payload, secret=keys[0].read_bytes()))
    assert reasons() == {"is not signed": entries - 1}
    monkeypatch.setenv("GRIDJIT_CACHE_KEY_FILE", str(keys[1]))
    assert reasons() == {"is not signed": entries - 1, "is damaged, or signed with another key": 1}
    monkeypatch.delenv("GRIDJIT_CACHE_KEY_FILE")
    assert reasons() == {"is signed, and no key is set to check it": 1}


@pytest.mark.usefixtures("filled")
def test_a_folder_that_was_signed_serves_processes_with_the_key_and_keeps_its_times(
    run: Any, listed: Any, cache_dir: Path, keys: list[Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    def times() -> dict[str, float]:
        return {path.name: path.stat().st_mtime for path in cache_dir.glob("??/*.*")}

    for path in cache_dir.glob("??/*.*"):
        os.utime(path, (1e9, 1e9))
    before, kernels = times(), listed()
    assert run("sign", "--key", str(keys[0])) == (0, f"{len(before)} signed, 0 known, 0 refused\n", "")
    assert times() == before
    assert (
        run("sign", "--key", str(keys[0]), "--json")[1]
        == json.dumps({"known": len(before), "refused": [], "signed": 0}, indent=2) + "\n"
    )
    monkeypatch.setenv("GRIDJIT_CACHE_KEY_FILE", str(keys[0]))
    end_session()
    assert run("verify")[:2] == (0, f"{len(before)} good, 0 bad\n")
    assert listed() == kernels


def test_damaged_and_foreign_entries_are_never_signed(
    run: Any, filled: Any, cache_dir: Path, keys: list[Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    damaged, foreign = [*cache_dir.glob("??/*.o")][:2]
    damaged.write_bytes(damaged.read_bytes()[:-1] + b"?")
    payload = open_entry(foreign.stem, foreign.read_bytes())
    assert payload is not None
    foreign.write_bytes(seal(foreign.stem, payload, secret=keys[1].read_bytes()))
    before = damaged.read_bytes(), foreign.read_bytes()
    monkeypatch.setenv("GRIDJIT_CACHE_KEY_FILE", str(keys[0]))
    end_session()
    status, out, _ = run("sign")
    assert status == 1 and out.endswith(", 0 known, 2 refused\n")
    assert f"{damaged.name} is damaged\n" in out
    assert f"{foreign.name} is damaged, or signed with another key\n" in out
    assert (damaged.read_bytes(), foreign.read_bytes()) == before
    status, out, _ = run("sign", "--old-key", str(keys[1]))
    assert status == 1 and out.splitlines()[-1].startswith("1 signed, ") and foreign.name not in out
    assert open_entry(foreign.stem, foreign.read_bytes(), secret=keys[0].read_bytes()) == payload


def test_a_folder_that_others_can_write_is_not_signed_even_where_it_is_used(
    run: Any, filled: Any, cache_dir: Path, keys: list[Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    cache_dir.chmod(0o777)
    monkeypatch.setenv("GRIDJIT_CACHE_ALLOW_SHARED", "1")
    end_session()
    status, out, error = run("sign", "--key", str(keys[0]))
    assert (status, out) == (1, "")
    assert "is not signed: it can be written by other users (mode 777), and a signature would vouch" in error
    cache_dir.chmod(0o700)
    victim = next(cache_dir.glob("??/*.o"))
    victim.chmod(0o666)
    status, out, _ = run("sign", "--key", str(keys[0]))
    assert status == 1 and f"{victim.name} cannot be read ({victim.name} can be written by other users" in out


def test_to_sign_without_a_key_or_with_a_refused_key_is_wrong_usage(
    run: Any, cache_dir: Path, keys: list[Path]
) -> None:
    assert run("sign") == (2, "", "gridjit: no key is named: give --key FILE, or set GRIDJIT_CACHE_KEY_FILE\n")
    keys[0].chmod(0o444)
    status, _, error = run("sign", "--key", str(keys[0]))
    assert status == 2 and f"--key {keys[0]} can be used by users other than its owner" in error


@pytest.mark.usefixtures("filled")
def test_a_folder_that_cannot_be_written_is_an_error_of_signing(
    run: Any, keys: list[Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object, **__: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("gridjit.cache.files._write_new", full)
    status, _, error = run("sign", "--key", str(keys[0]))
    assert status == 1 and error.endswith("cannot be written: No space left on device\n")


def test_clear_removes_a_kernel_or_everything_and_a_dry_run_nothing(run: Any, filled: Any, listed: Any) -> None:
    before = listed("--all")
    status, out, _ = run("clear", "--kernel", "sized", "--dry-run")
    assert (status, listed("--all")) == (0, before)
    assert "would remove 4 entries" in out
    assert run("clear", "--kernel", "sized")[1].startswith("removed 4 entries")
    assert kinds(listed()) == {"code": 2}
    assert json.loads(run("clear", "--json")[1])["removed"] == len(before) - 4
    assert listed("--all") == []


def test_gc_keeps_the_newest_within_the_bounds(run: Any, filled: Any, listed: Any, cache_dir: Path) -> None:
    for number, path in enumerate(sorted(cache_dir.glob("??/*"))):
        os.utime(path, (1e9 + number, 1e9 + number))
    newest = {item["key"] for item in sorted(listed("--all"), key=lambda item: item["stored"])[-3:]}
    assert run("gc", "--max-entries", "3", "--dry-run")[0] == 0
    assert len(listed("--all")) > 3
    assert run("gc", "--max-entries", "3")[0] == 0
    assert {item["key"] for item in listed("--all")} == newest
    assert "removed 3 entries" in run("gc", "--older-than", "30d")[1]
    assert listed("--all") == []


def test_gc_sweeps_what_dead_writers_left(run: Any, filled: Any, cache_dir: Path) -> None:
    left = cache_dir / "tmp" / f"{16 * 'a'}-{16 * 'b'}"
    left.write_bytes(b"half")
    os.utime(left, (1e9, 1e9))
    assert json.loads(run("gc", "--json")[1])["leftovers"] == 1
    assert not left.exists()


def test_gc_spares_the_files_of_others_in_a_folder_that_is_not_the_caches_alone(
    run: Any, filled: Any, cache_dir: Path
) -> None:
    theirs = [cache_dir / "tmp" / "thesis.tex", cache_dir / "locks" / "front-door.lock", cache_dir / "ab" / "notes.o"]
    for path in theirs:
        path.parent.mkdir(exist_ok=True)
        path.write_text("precious")
        os.utime(path, (1e9, 1e9))
    assert json.loads(run("gc", "--max-entries", "0", "--json")[1])["leftovers"] == 0
    (cache_dir / "cache.db").unlink()
    filled.scale[1, 32](np.ones(4, np.float32), 2.0)
    assert run("clear")[0] == 0
    assert [path.read_text() for path in theirs] == ["precious"] * 3


@pytest.mark.parametrize(
    "words", [["gc", "--older-than", "soon"], ["gc", "--max-size", "big"], ["gc", "--max-entries", "-1"]]
)
def test_a_value_that_makes_no_sense_is_wrong_usage(words: list[str], run: Any) -> None:
    status, _, error = run(*words)
    assert status == 2
    assert error.startswith("gridjit: --")


@pytest.mark.parametrize("words", [["defrag"], ["show"], ["gc", "--max-entries", "x"]])
def test_an_action_that_is_not_there_is_wrong_usage(words: list[str], run: Any) -> None:
    with pytest.raises(SystemExit) as caught:
        run(*words)
    assert caught.value.code == 2


def test_a_folder_that_is_not_trusted_is_a_problem_and_says_why(run: Any, cache_dir: Path) -> None:
    cache_dir.mkdir()
    cache_dir.chmod(0o777)
    status, _, error = run("ls")
    assert status == 1
    assert "can be written by other users" in error


def test_another_folder_is_looked_at_with_dir(run: Any, filled: Any, listed: Any, tmp_path: Path) -> None:
    (tmp_path / "other").mkdir(0o700)
    assert listed("--dir", str(tmp_path / "other")) == []


def test_surplus_goes_by_age_and_by_both_bounds() -> None:
    infos = [EntryInfo(key=f"{n:08x}", suffix=".o", size=10, stored=float(n)) for n in (3, 1, 2, 4)]

    def gone(**bounds: Any) -> list[float]:
        return [i.stored for i in surplus(infos, **{"max_bytes": 99, "max_entries": 9, "before": 0.0, **bounds})]

    assert gone() == []
    assert gone(max_entries=3) == [1.0]
    assert gone(max_bytes=29) == [1.0, 2.0]
    assert gone(before=4.0) == [1.0, 2.0, 3.0]
    assert gone(max_entries=0) == [1.0, 2.0, 3.0, 4.0]


def test_sizes_and_ages_are_written_as_people_do() -> None:
    assert [size_text(size) for size in (0, 1023, 1024, 3 << 20, 5 << 40)] == [
        "0 B",
        "1023 B",
        "1.0 KiB",
        "3.0 MiB",
        "5120.0 GiB",
    ]
    now = time.time()
    assert [age_text(now - age) for age in (0, 61, 7300, 200_000)] == ["0 s", "1 min", "2 h", "2 d"]


def test_stats_count_finds_and_compiles_by_kernel(
    run: Any, filled: Any, listed: Any, restart: Callable[[], None]
) -> None:
    for _ in range(3):
        restart()
        fresh = gridjit.jit(filled.scale.py_func)
        fresh[1, 32](np.ones(4, np.float32), 2.0)
    told = json.loads(run("stats", "--json")[1])
    kernels = {one["kernel"]: (one["hits"], one["compiles"]) for one in told["kernels"]}
    assert kernels == {"opstats.scale": (3, 1), "opstats.sized": (0, 2), "opstats.declared": (0, 1)}
    assert (told["hits"], told["compiles"], told["hit_rate"]) == (3, 4, 0.4286)
    assert told["since"] <= told["last_use"] <= time.time()
    assert "opstats.scale" in run("stats")[1] and "43%" in run("stats")[1]
    assert listed("--sort", "hits")[0]["kernel"] == "opstats.scale"
    assert listed("--sort", "hits")[0]["hits"] == 3
    assert run("clear")[0] == 0
    assert run("stats")[1] == "no uses are counted yet\n"


@pytest.mark.parametrize("order", ["size", "age", "compile", "target", "hits", "used", "kernel"])
def test_ls_sorts_by_what_it_is_asked_to(run: Any, filled: Any, listed: Any, order: str) -> None:
    found = listed("--sort", order)
    assert len(found) == 4
    values = {"size": "size", "age": "stored", "hits": "hits", "used": "last_use"}
    if order != "compile":  # which the list does not show
        sorted_by = [one[values.get(order, order)] for one in found]
        assert sorted_by == sorted(sorted_by, reverse=order in values)
    assert run("ls", "--sort", order)[0] == 0
