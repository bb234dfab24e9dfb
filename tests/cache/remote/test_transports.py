"""What every transport does, with real servers."""

from __future__ import annotations

import os
import threading

import pytest

from gridjit.cache.errors import CacheError
from gridjit.cache.remote.transport import RemoteError

MOST = 1 << 20


def test_a_name_never_put_is_not_there(transport):
    assert transport.get("job/shape", MOST) is None
    assert transport.has("job/shape") is False


@pytest.mark.parametrize("data", [b"", b"x", bytes(range(256)) * 2000], ids=["none", "one", "many"])
@pytest.mark.parametrize("new", [True, False])
def test_bytes_come_back_under_their_name(transport, data, new):
    assert transport.put("a/b/c", data, new=new) is True
    assert transport.get("a/b/c", len(data)) == data
    assert transport.has("a/b/c") is True
    assert transport.get("a/b/d", MOST) is None


def test_a_put_that_is_to_be_new_leaves_the_first_bytes(transport):
    assert transport.put("job/shape", b"first", new=True) is True
    assert transport.put("job/shape", b"second", new=True) is False
    assert transport.get("job/shape", MOST) == b"first"


def test_any_other_put_replaces_the_bytes(transport):
    for data in (b"first", b"the second", b"3"):
        assert transport.put("job/shape", data, new=False) is True
        assert transport.get("job/shape", MOST) == data


def test_more_bytes_than_asked_for_are_an_error(transport):
    transport.put("job/shape", b"12345", new=True)
    with pytest.raises(RemoteError, match="more than 4 bytes"):
        transport.get("job/shape", 4)
    assert transport.get("job/shape", 5) == b"12345"


def test_names_directly_under_a_folder_are_listed(transport):
    if not transport.lists:
        with pytest.raises(RemoteError, match="does not list names"):
            transport.names("job")
        return
    assert transport.names("job") == []
    for name in ("job/one", "job/two", "job/inner/three", "jobs/four"):
        transport.put(name, b"data", new=True)
    transport.put("job/one", b"data", new=True)
    assert sorted(transport.names("job")) == ["one", "two"]


def test_threads_share_a_transport(transport):
    count, meeting, found = 4, threading.Barrier(4), {}

    def work(number):
        meeting.wait()
        data = bytes([number]) * 1000
        transport.put(f"threads/{number}", data, new=True)
        found[number] = transport.get(f"threads/{number}", MOST) == data

    threads = [threading.Thread(target=work, args=(number,)) for number in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == dict.fromkeys(range(count), True)


def test_of_many_new_puts_at_once_one_wins(transport, address):
    count, meeting, won = 4, threading.Barrier(4), []

    def work(number):
        meeting.wait()
        if transport.put("job/shape", bytes([number]), new=True):
            won.append(number)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    # nginx and wsgidav do not look at If-None-Match before they write: several may win there, and bytes stay whole.
    assert len(won) == 1 or (won and address.scheme in ("http", "https"))
    assert transport.get("job/shape", 1) in [bytes([number]) for number in won]


@pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning")
def test_a_forked_child_disturbs_no_connection_of_its_parent(transport, address):
    transport.put("job/shape", b"of the parent", new=True)
    if not (child := os.fork()):
        try:
            found = transport.get("job/shape", MOST)
            os._exit(0 if found == b"of the parent" else 1)
        except RemoteError:
            os._exit(2)
        finally:
            os._exit(3)
    # obstore's threads are not in the child, which is told so.
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == (2 if address.scheme == "s3" else 0)
    assert transport.get("job/shape", MOST) == b"of the parent"


def test_a_closed_transport_can_be_used_again(transport):
    transport.put("job/shape", b"data", new=True)
    transport.close()
    assert transport.get("job/shape", MOST) == b"data"


@pytest.mark.parametrize("name", ["", "/a", "a/", "a//b", "../a", "a/..", "a/.b", ".a", "a b", "a\n", "a%2e", "é"])
def test_a_name_that_could_lead_elsewhere_is_a_mistake(transport, name):
    for call in (
        lambda: transport.get(name, 1),
        lambda: transport.put(name, b"", new=True),
        lambda: transport.has(name),
    ):
        with pytest.raises(CacheError, match="remote name"):
            call()
