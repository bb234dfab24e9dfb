"""`gridjit cache push`, `pull` and `pack`, and what other commands tell of remote caches."""

# mypy: ignore-errors
from __future__ import annotations

import json
import re

import numpy as np
import pytest

import gridjit
from gridjit import cuda
from gridjit.commands import main
from gridjit.runtime.environment.settings import settings
from tests.conftest import fresh_session


@gridjit.jit
def add_one(x):
    i = cuda.grid(1)
    if i < x.size:
        x[i] += 1


@pytest.fixture
def remote(tmp_path, cache_dir, on_host, monkeypatch):
    """A remote cache in a folder, unsigned; the cache has one kernel, which the remote lacks."""
    gridjit.jit(add_one.py_func)[1, 32](np.zeros(3))
    (tmp_path / "remote").mkdir()
    monkeypatch.setenv("GRIDJIT_CACHE_REMOTE", f"file://{tmp_path}/remote?unsigned")
    fresh_session()
    return tmp_path / "remote"


def told(capsys, *words):
    """Return the status of a command, and the JSON that it prints."""
    status = main([*words, "--json"])
    return status, json.loads(capsys.readouterr().out)


def in_empty_cache(tmp_path, monkeypatch, name="empty"):
    monkeypatch.setenv("GRIDJIT_CACHE_DIR", str(tmp_path / name))
    fresh_session()


def test_code_is_pushed_once_and_pulled_where_it_lacks(remote, tmp_path, capsys, monkeypatch):
    assert told(capsys, "cache", "push")[1][0] | {"bytes": 0, "remote": ""} == {
        "remote": "", "added": 1, "known": 0, "bytes": 0,
    }  # fmt: skip
    assert told(capsys, "cache", "push")[1][0]["known"] == 1
    in_empty_cache(tmp_path, monkeypatch)
    status, (counts,) = told(capsys, "cache", "pull")
    assert (status, counts["added"], counts["refused"]) == (0, 1, 0)
    assert told(capsys, "cache", "pull")[1][0]["known"] == 1
    monkeypatch.setenv("GRIDJIT_ASSERT_NO_COMPILE", "1")
    monkeypatch.delenv("GRIDJIT_CACHE_REMOTE")
    fresh_session()
    found = gridjit.jit(add_one.py_func)
    found[1, 32](x := np.zeros(3))
    assert x.tolist() == [1, 1, 1] and found.stats.disk_hits == 1


def test_a_pack_has_a_programs_kernels(remote, tmp_path, capsys, monkeypatch):
    assert main(["cache", "pack", "app/1"]) == 0
    assert capsys.readouterr().out.startswith(f"file://{remote}: ")
    in_empty_cache(tmp_path, monkeypatch)
    status, (counts,) = told(capsys, "cache", "pull", "--pack", "app/1")
    assert status == 0 and counts["added"] > 1


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["pull", "--pack", "other"], "has no pack other: `gridjit cache pack` writes one"),
        (["pull", "--pack", "../x"], "'../x' does not name a pack"),
        (["push", "--remote", "htps://h/x"], "unknown scheme 'htps': did you mean 'https'?"),
        (["push", "--remote", "file:///x?unsigned&read-only"], "no remote cache that is named is written to"),
        (["pull", "--remote", "http://127.0.0.1:1/x"], "nobody is trusted to write there"),
        (["pull", "--remote", "http://127.0.0.1:1/x?unsigned"], "its names cannot be listed: name a pack"),
        (["pull", "--remote", "http://127.0.0.1:1/x?unsigned&pack=p"], "remote cache http://127.0.0.1:1/x: "),
        (["pack", "p", "--kernel", "nothing"], "holds no entry of nothing"),
        (["pack", "p", "--from", "/nowhere/needs"], "/nowhere/needs cannot be read"),
    ],
)
def test_mistakes_are_named_with_the_way_on(remote, capsys, words, said):
    try:
        status = main(["cache", *words])
    except SystemExit as ended:
        status = ended.code
    assert status in (1, 2)
    assert said in capsys.readouterr().err


def test_without_a_remote_the_way_on_is_told(cache_dir, capsys):
    assert main(["cache", "push"]) == 2
    assert "give --remote URL, or set GRIDJIT_CACHE_REMOTE" in capsys.readouterr().err


def test_a_refused_entry_is_named_and_not_added(remote, tmp_path, capsys, monkeypatch):
    assert main(["cache", "push"]) == 0
    (entry,) = (remote / "entries").iterdir()
    data = bytearray(entry.read_bytes())
    data[100] ^= 1
    entry.write_bytes(data)
    in_empty_cache(tmp_path, monkeypatch)
    capsys.readouterr()
    assert main(["cache", "pull"]) == 1
    out, err = capsys.readouterr()
    assert "0 added, 0 known, 1 refused" in out
    assert f"{entry.name[:12]} is damaged" in err


def test_a_pack_of_recorded_needs_leaves_out_other_kernels(remote, tmp_path, capsys, monkeypatch):
    other = gridjit.jit(lambda x: None)
    monkeypatch.setenv("GRIDJIT_RECORD", str(tmp_path / "needs"))
    fresh_session()
    add_one_again = gridjit.jit(add_one.py_func)
    add_one_again[1, 32](np.zeros(3))
    monkeypatch.delenv("GRIDJIT_RECORD")
    fresh_session()
    other[1, 1](np.zeros(3))
    assert main(["cache", "pack", "p", "--from", str(tmp_path / "needs")]) == 0
    in_empty_cache(tmp_path, monkeypatch)
    assert main(["cache", "pull", "--pack", "p"]) == 0
    capsys.readouterr()
    assert [item["kernel"] for item in told(capsys, "cache", "ls")[1]] == [f"{__name__}.add_one"]


def test_counts_of_remotes_are_told_as_text_as_json_and_as_metrics(remote, tmp_path, capsys, monkeypatch):
    counts = dict.fromkeys(("hits", "misses", "remembered", "silent", "refused", "failed", "packs", "written"), 2)
    line = {"remote": 'a"b', **counts, "dropped": 0, "received": 4096, "sent": 0, "seconds": 0.25}
    (settings().cache_dir / "remote-uses.jsonl").write_text(f"{json.dumps(line)}\nnot json\n{json.dumps(line)}\n")
    assert told(capsys, "cache", "stats")[1]["remotes"]['a"b']["hits"] == 4
    assert main(["cache", "stats"]) == 0
    assert re.search(r'a"b +4 +4 +4 +4 +4 +8\.0 KiB', capsys.readouterr().out)
    assert main(["report"]) == 0
    assert 'remote cache a"b: 4 found, 4 not, 4 failures, 8.0 KiB read' in capsys.readouterr().out
    file = tmp_path / "metrics"
    assert main(["cache", "stats", "--metrics", str(file)]) == 0
    lines = file.read_text().splitlines()
    assert r'gridjit_remote_seconds_total{remote="a\"b"} 0.5' in lines and lines[-1] == "# EOF"
    assert [path.name for path in tmp_path.iterdir() if path.name.startswith(".metrics")] == []
    assert main(["cache", "stats", "--metrics", "-"]) == 0
    assert capsys.readouterr().out.endswith("# EOF\n") and lines.count("") == 0


def test_a_certificate_counts_code_in_a_remote_cache(remote, tmp_path, capsys, monkeypatch):
    assert main(["cache", "push"]) == 0
    monkeypatch.setenv("GRIDJIT_RECORD", str(tmp_path / "needs"))
    fresh_session()
    gridjit.jit(add_one.py_func)[1, 32](np.zeros(3))
    monkeypatch.delenv("GRIDJIT_RECORD")
    in_empty_cache(tmp_path, monkeypatch)
    assert main(["certify", str(tmp_path / "needs")]) == 0
    monkeypatch.delenv("GRIDJIT_CACHE_REMOTE")
    in_empty_cache(tmp_path, monkeypatch, "emptier")
    assert main(["certify", str(tmp_path / "needs")]) == 1


def test_explain_tells_what_remote_caches_did(remote, tmp_path, monkeypatch):
    assert main(["cache", "push"]) == 0
    monkeypatch.setenv("GRIDJIT_CACHE_REMOTE", f"http://127.0.0.1:1/x?unsigned file://{remote}?unsigned")
    in_empty_cache(tmp_path, monkeypatch)
    kernel = gridjit.jit(add_one.py_func)
    kernel[1, 32](np.zeros(3))
    told = kernel.explain()
    assert re.search(rf"1\. .*, remote in .* ms\n   why: in the remote cache file://{remote}\n", told)
    assert re.search(
        r"remote cache http://127.0.0.1:1/x\?unsigned: misses 1, failed 1, waited \d+ ms, left alone now; .*refused",
        told,
    )
    assert re.search(rf"remote cache file://{remote}\?unsigned: hits 1, ", told)


def test_entries_of_a_withdrawn_writer_are_replaced_by_a_trusted_one(remote, tmp_path, capsys, monkeypatch):
    pytest.importorskip("cryptography", reason="cryptography is not installed")
    monkeypatch.setenv("GRIDJIT_CACHE_WRITERS", str(tmp_path / "writers.json"))
    monkeypatch.setenv("GRIDJIT_CACHE_REMOTE", f"file://{remote}?prefix=main")
    for name in ("one", "two"):
        assert main(["keys", "new", name, "--file", str(tmp_path / f"{name}.key")]) == 0
        (tmp_path / f"{name}.pub").write_text(capsys.readouterr().out.splitlines()[-1])
        assert main(["keys", "trust", str(tmp_path / f"{name}.pub")]) == 0
    monkeypatch.setenv("GRIDJIT_CACHE_SIGNING_KEY", str(tmp_path / "one.key"))
    fresh_session()
    capsys.readouterr()
    assert told(capsys, "cache", "push")[1][0]["added"] == 1
    assert main(["keys", "withdraw", "one"]) == 0
    fresh_session()
    assert main(["cache", "push"]) == 2
    assert "the signing key is of one, who was withdrawn on" in capsys.readouterr().err
    monkeypatch.setenv("GRIDJIT_CACHE_SIGNING_KEY", str(tmp_path / "two.key"))
    fresh_session()
    assert main(["cache", "push"]) == 0
    out, err = capsys.readouterr()
    assert "1 added, 0 known" in out and "is signed by one, who was withdrawn" in err
    in_empty_cache(tmp_path, monkeypatch)
    assert told(capsys, "cache", "pull")[1][0]["added"] == 1


def test_a_writer_trusts_itself(remote, tmp_path, capsys, monkeypatch):
    pytest.importorskip("cryptography", reason="cryptography is not installed")
    monkeypatch.setenv("GRIDJIT_CACHE_WRITERS", str(tmp_path / "writers.json"))
    monkeypatch.setenv("GRIDJIT_CACHE_REMOTE", f"file://{remote}?prefix=main")
    assert main(["keys", "new", "ci", "--file", str(tmp_path / "ci.key")]) == 0
    monkeypatch.setenv("GRIDJIT_CACHE_SIGNING_KEY", str(tmp_path / "ci.key"))
    fresh_session()
    assert main(["cache", "push"]) == 0
    in_empty_cache(tmp_path, monkeypatch)
    kernel = gridjit.jit(add_one.py_func)
    kernel[1, 32](np.zeros(3))
    assert kernel.specializations[0].origin == "remote"


def test_a_pack_without_a_recorded_kernel_is_refused(remote, tmp_path, capsys, monkeypatch):
    monkeypatch.setenv("GRIDJIT_RECORD", str(tmp_path / "needs"))
    fresh_session()
    gridjit.jit(add_one.py_func)[1, 32](np.zeros(3, np.float32))
    monkeypatch.delenv("GRIDJIT_RECORD")
    in_empty_cache(tmp_path, monkeypatch)
    gridjit.jit(add_one.py_func)[1, 32](np.zeros(3))
    assert main(["cache", "pack", "p", "--from", str(tmp_path / "needs")]) == 1
    err = capsys.readouterr().err
    assert "the cache lacks" in err and "add_one(float32[1d C]) for host" in err and "nothing was written" in err


def test_nothing_is_written_where_the_shared_folder_is_not_mounted(remote, tmp_path, capsys):
    assert main(["cache", "push", "--remote", f"file://{tmp_path}/unmounted?unsigned"]) == 1
    assert f"there is no folder {tmp_path}/unmounted" in capsys.readouterr().err
    assert not (tmp_path / "unmounted").exists()
    assert main(["cache", "pull", "--remote", f"file://{tmp_path}/unmounted?unsigned&prefix=x"]) == 1
    assert f"{tmp_path}/unmounted?prefix=x&unsigned has no entries: is its address right?" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("url", "said"),
    [
        (
            "https://cache.example/x?unsigned&read-only",
            "GRIDJIT_CACHE_REMOTE_TOKEN={folder}/none: No such file or directory",
        ),
        ("https://cache.example/x", "nobody is trusted to write there"),
    ],
)
def test_a_remote_that_cannot_be_used_is_named_by_info_and_by_warm(
    kernels, cache_dir, tmp_path, capsys, monkeypatch, url, said
):
    monkeypatch.setenv("GRIDJIT_CACHE_REMOTE", url)
    monkeypatch.setenv("GRIDJIT_CACHE_REMOTE_TOKEN", str(tmp_path / "none"))
    fresh_session()
    why = said.format(folder=tmp_path)
    (remote,) = told(capsys, "info")[1]["remotes"]
    assert why in remote["why_not"] and not remote["written"]
    assert main(["warm", "opstats:scale", "--signature", "void(float32[::1], float32)", "--jobs", "1"]) == 0
    out, error = capsys.readouterr()
    assert out.startswith("1 compiled") and error.count(why) == 1


def test_warm_names_a_remote_that_does_not_answer(kernels, cache_dir, tmp_path, capsys, monkeypatch):
    monkeypatch.setenv("GRIDJIT_CACHE_REMOTE", "http://127.0.0.1:9/x?unsigned&read-only")
    fresh_session()
    assert main(["warm", "opstats:scale", "--signature", "void(float32[::1], float32)", "--jobs", "1"]) == 0
    out, error = capsys.readouterr()
    assert out.startswith("1 compiled")
    assert error.splitlines() == [
        "gridjit: remote cache http://127.0.0.1:9/x: ConnectionRefusedError: Connection refused"
    ]
