"""Folders of a network file system: files without parts, locks or links; and what is specific to buckets and Redis."""

from __future__ import annotations

import errno
import os
import sys
import threading
from pathlib import Path

import pytest

from gridjit.cache.remote import over_files
from gridjit.cache.remote.address import addresses
from gridjit.cache.remote.transport import Limits, MissingLibraryError, RemoteError, open_transport

MOST = 1 << 20


def at(url):
    (found,) = addresses(url)
    return found


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "remote").mkdir()
    return tmp_path / "remote"


@pytest.fixture
def transport(folder, opened):
    return opened(at(f"file://{folder}?prefix=team"))


def test_a_name_is_a_file_below_the_place(transport, folder):
    transport.put("job/shape", b"data", new=True)
    assert [file for file in folder.rglob("*") if file.is_file()] == [folder / "team" / "job" / "shape"]


def test_a_places_name_may_have_any_characters(tmp_path, opened):
    (tmp_path / "a b#").mkdir()
    opened(at(f"file://{tmp_path}/a%20b%23")).put("c", b"data", new=True)
    assert (tmp_path / "a b#" / "c").read_bytes() == b"data"


@pytest.mark.parametrize("new", [True, False])
@pytest.mark.parametrize("step", ["write_bytes", "publish"])
def test_a_put_that_fails_leaves_no_part_of_a_file(transport, folder, monkeypatch, new, step):
    transport.put("job/other", b"data", new=True)

    def fail(*_, **__):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    if step == "publish":
        monkeypatch.setattr(os, "link" if new else "replace", fail)
    else:
        monkeypatch.setattr(Path, "write_bytes", fail)
    with pytest.raises(RemoteError, match="No space left on device"):
        transport.put("job/shape", b"data", new=new)
    assert os.listdir(folder / "team" / "job") == ["other"]


def test_a_file_being_written_has_no_name_that_is_found(transport, folder, monkeypatch):
    seen, link = [], os.link

    def look(source, target):
        seen.append((transport.get("job/shape", MOST), transport.names("job"), os.path.getsize(source)))
        link(source, target)

    monkeypatch.setattr(os, "link", look)
    assert transport.put("job/shape", b"data", new=True) is True
    assert seen == [(None, [], 4)]
    assert transport.names("job") == ["shape"]


def test_the_first_of_two_new_puts_wins_however_late_the_second_looks(transport, monkeypatch):
    link = os.link

    def be_late(source, target):
        monkeypatch.setattr(os, "link", link)
        assert transport.put("job/shape", b"first", new=True) is True
        link(source, target)

    monkeypatch.setattr(os, "link", be_late)
    assert transport.put("job/shape", b"second", new=True) is False
    assert transport.get("job/shape", MOST) == b"first"


def test_a_link_whose_answer_was_lost_counts_as_made(transport, monkeypatch):
    link = os.link

    def lose_the_answer(source, target):
        link(source, target)
        raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST))

    monkeypatch.setattr(os, "link", lose_the_answer)
    assert transport.put("job/shape", b"data", new=True) is True


@pytest.mark.parametrize("number", [errno.EPERM, errno.EOPNOTSUPP, errno.ENOSYS])
def test_a_file_system_without_links_is_written_all_the_same(transport, monkeypatch, number):
    def refuse(source, target):
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(os, "link", refuse)
    assert transport.put("job/shape", b"data", new=True) is True
    assert transport.put("job/shape", b"other", new=True) is False
    assert transport.get("job/shape", MOST) == b"data"


def test_a_mount_that_hangs_ends_as_an_error(folder, opened, monkeypatch):
    go = threading.Event()

    def hang(*_):
        go.wait()

    for name in ("_read", "_write", "_names"):
        monkeypatch.setattr(over_files, name, lambda *_, **__: go.wait())
    monkeypatch.setattr(Path, "is_file", hang)
    transport = opened(at(f"file://{folder}"), Limits(whole=0.01))
    try:
        for call in (
            lambda: transport.get("a", MOST),
            lambda: transport.put("a", b"", new=True),
            lambda: transport.has("a"),
            lambda: transport.names("a"),
        ):
            with pytest.raises(RemoteError, match=f"remote cache file://{folder}: it took too long"):
                call()
    finally:
        go.set()


def test_a_name_of_another_kind_than_files_is_an_error_and_is_not_waited_for(transport, folder):
    transport.put("job/shape", b"data", new=True)
    os.mkfifo(folder / "team" / "job" / "pipe")
    for name in ("job/pipe", "job"):
        with pytest.raises(RemoteError, match=r"not a regular file|Is a directory"):
            transport.get(name, MOST)
    assert transport.names("job") == ["shape"]
    assert transport.get("job/shape/below", MOST) is None


@pytest.mark.parametrize(("url", "library"), [("s3://bucket", "obstore"), ("redis://localhost", "redis")])
def test_a_missing_library_is_named_with_its_extra(monkeypatch, url, library):
    monkeypatch.setitem(sys.modules, library, None)
    with pytest.raises(
        MissingLibraryError, match=rf"{url}: needs {library}, .* pip install \'\.\[remote\]\' in a checkout"
    ):
        open_transport(at(url))


def test_a_bucket_that_is_not_there_is_an_error(bucket, opened):
    with pytest.raises(RemoteError, match=r"remote cache s3://nobody/a: .*"):
        opened(at("s3://nobody/a")).put("a", b"data", new=True)


def test_an_evicted_folder_of_redis_is_listed_again_after_the_next_put(redis, opened):
    import redis as library

    transport = opened(at(f"{redis}?prefix=evicted"))
    transport.put("job/shape", b"data", new=True)
    with library.Redis.from_url(redis) as client:
        assert client.delete("evicted/job/") == 1
    assert transport.names("job") == []
    assert transport.put("job/shape", b"data", new=True) is False
    assert transport.names("job") == ["shape"]


def test_a_wrong_password_of_redis_is_an_error_without_it(secure_redis, opened):
    with pytest.raises(RemoteError, match="remote cache rediss://localhost") as caught:
        opened(at(secure_redis.replace("a-password", "a-mistake"))).get("a", MOST)
    assert "mistake" not in str(caught.value)
