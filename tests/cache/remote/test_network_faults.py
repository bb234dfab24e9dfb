"""A network that fails in any way ends a call within its limits, as an error that names the remote."""

from __future__ import annotations

import signal
import socket
import threading

import pytest

from gridjit.cache.remote import limits as limits_module
from gridjit.cache.remote.address import addresses
from gridjit.cache.remote.limits import Deadline, within
from gridjit.cache.remote.transport import Limits, RemoteError
from tests.cache.remote.proxy import Proxy

MOST = 1 << 20
SHORT = Limits(connect=0.1, silence=0.1, whole=0.1)
# Long silences are borne, but not a long call.
DRIPPED = Limits(connect=20.0, silence=20.0, whole=0.2)
SERVERS = {"http": "nginx", "redis": "redis", "s3": "moto"}


class Remote:
    """A remote behind a proxy: its address, and a transport that waits long."""

    def __init__(self, proxy, url, opened):
        self.proxy = proxy
        (self.address,) = addresses(url)
        self.opened = opened

    def transport(self, limits=None):
        return self.opened(self.address, *([] if limits is None else [limits]))


@pytest.fixture(params=SERVERS)
def remote(request, opened, monkeypatch):
    """A remote of each kind of server behind a proxy, with bytes under one name."""
    url = request.getfixturevalue(SERVERS[request.param])
    if request.param == "s3":
        bucket = request.getfixturevalue("bucket")
    port = int(url.rpartition(":")[2].partition("/")[0])
    with Proxy(("127.0.0.1", port)) as proxy:
        if request.param == "s3":
            monkeypatch.setenv("AWS_ENDPOINT_URL", f"http://127.0.0.1:{proxy.port}")
            place = bucket
        else:
            place = f"{request.param}://127.0.0.1:{proxy.port}{'/files' if request.param == 'http' else '/0'}"
        made = Remote(proxy, f"{place}?prefix=faults", opened)
        made.transport().put("a", b"hello", new=False)
        yield made


@pytest.fixture
def web(nginx, opened):
    """nginx behind a proxy, with bytes under two names."""
    with Proxy(("127.0.0.1", int(nginx.rpartition(":")[2]))) as proxy:
        made = Remote(proxy, f"http://127.0.0.1:{proxy.port}/files?prefix=web", opened)
        made.transport().put("a", b"hello", new=False)
        made.transport().put("b", b"other", new=False)
        yield made


def calls(transport):
    return (
        lambda: transport.get("a", MOST),
        lambda: transport.put("a", b"more", new=True),
        lambda: transport.put("a", b"more", new=False),
        lambda: transport.has("a"),
    )


def fails(transport, remote):
    """Check that every call is an error that names the remote."""
    for call in calls(transport):
        with pytest.raises(RemoteError, match=f"^remote cache {remote.address.shown}: "):
            call()


def test_connections_that_are_reset(remote):
    transport = remote.transport()
    remote.proxy.drops = True
    remote.proxy.break_off()
    fails(transport, remote)


def test_a_server_that_never_answers(remote):
    remote.proxy.go.clear()
    fails(remote.transport(SHORT), remote)


def test_a_server_that_answers_again_is_used_again(remote):
    transport = remote.transport()
    remote.proxy.drops = True
    remote.proxy.break_off()
    fails(transport, remote)
    remote.proxy.drops = False
    assert transport.get("a", MOST) == b"hello"


def test_an_answer_that_is_late_but_in_time(remote):
    remote.proxy.go.clear()
    remote.proxy.asked.clear()
    found = []
    transport = remote.transport()
    asking = threading.Thread(target=lambda: found.append(transport.get("a", MOST)))
    asking.start()
    assert remote.proxy.asked.wait(60)
    assert found == []
    remote.proxy.go.set()
    asking.join()
    assert found == [b"hello"]


def test_an_answer_that_breaks_off(remote):
    remote.proxy.cut = b"hel"
    with pytest.raises(RemoteError, match="remote cache"):
        remote.transport().get("a", MOST)


def test_an_answer_that_is_nonsense(remote):
    remote.proxy.answers = lambda data: b"\x00\xff nonsense \r\n\r\n" * 4
    with pytest.raises(RemoteError, match="remote cache"):
        remote.transport(SHORT).get("a", MOST)


def test_an_answer_that_drips(web):
    web.proxy.drips = True
    fails(web.transport(DRIPPED), web)


def test_a_handshake_that_never_ends(nginx, opened, authority):
    with Proxy(("127.0.0.1", int(nginx.rpartition(":")[2]))) as proxy:
        proxy.go.clear()
        (address,) = addresses(f"https://127.0.0.1:{proxy.port}/files")
        with pytest.raises(RemoteError, match="no answer in time"):
            opened(address, SHORT).get("a", MOST)


def test_a_server_that_does_not_accept(opened):
    with socket.socket() as full:
        full.bind(("127.0.0.1", 0))
        full.listen(0)
        port = full.getsockname()[1]
        waiting = [socket.socket() for _ in range(4)]  # more than the queue of connections holds
        for one in waiting:
            one.setblocking(False)
            one.connect_ex(("127.0.0.1", port))
        for url in (f"http://127.0.0.1:{port}/a", f"redis://127.0.0.1:{port}"):
            (address,) = addresses(url)
            with pytest.raises(RemoteError, match=f"remote cache {url}: "):
                opened(address, SHORT).get("a", MOST)
        for one in waiting:
            one.close()


@pytest.mark.parametrize(
    ("said", "says", "reason"),
    [
        (b"Content-Length: 5", b"Content-Length: 4", "longer than it says"),
        (b"Content-Length: 5", b"Content-Length: 2000000", "more than 1048576 bytes"),
        (b"Content-Length: 5", b"Content-Length: -1", "does not say how long"),
        (b"Content-Length: 5", b"X-Length: 5", "does not say how long"),
        (b"Content-Length: 5", b"Content-Encoding: gzip\r\nContent-Length: 5", "is encoded"),
        (b"200 OK", b"500 Oh", "GET a: status 500 Oh"),
        (b"200 OK", b"403 No", "GET a: status 403 No"),
        (b"200 OK", b"206 Part", "GET a: status 206 Part"),
        (b"HTTP/1.1 200", b"HTTP/9.9 200", "UnknownProtocol"),
        (b"HTTP/1.1 200", b"HTTP/1.1 two", "BadStatusLine"),
        (b"200 OK", b"302 Found\r\nLocation: ftp://127.0.0.1/a", "not followed"),
        (b"200 OK", b"302 Found\r\nLocation: http://u:p@127.0.0.1/a", "not followed"),
        (b"200 OK", b"302 Found", "not followed"),
        (b"200 OK", b"302 Found\r\nLocation: /\xff", "UnicodeEncodeError"),
        (b"200 OK", b"302 Found\r\nLocation: http://[::1/", "ValueError"),
        (b"200 OK", b"200 OK\r\n" + b"X: y\r\n" * 200, "more than 100 headers"),
        (b"200 OK", b"200 OK\r\nX: " + b"y" * 70_000, "LineTooLong"),
    ],
)
def test_an_answer_that_lies_about_itself(web, said, says, reason):
    web.proxy.answers = lambda data: data.replace(said, says, 1)
    with pytest.raises(RemoteError, match=reason):
        web.transport().get("a", MOST)


def test_an_answer_that_says_too_many_bytes_waits_no_longer_than_its_limit(web):
    web.proxy.answers = lambda data: data.replace(b"Content-Length: 5", b"Content-Length: 50")
    with pytest.raises(RemoteError, match="no answer in time"):
        web.transport(SHORT).get("a", MOST)


def test_bytes_in_chunks_are_put_together(web):
    def in_chunks(data):
        return data.replace(b"Content-Length: 5", b"Transfer-Encoding: chunked").replace(
            b"hello", b"2\r\nhe\r\n3\r\nllo\r\n0\r\n\r\n"
        )

    web.proxy.answers = in_chunks
    transport = web.transport()
    assert [transport.get("a", 5), transport.get("a", 5)] == [b"hello", b"hello"]
    with pytest.raises(RemoteError, match="more than 4 bytes"):
        transport.get("a", 4)


@pytest.mark.parametrize("body", [b"zz\r\nhello\r\n0\r\n\r\n", b"-5\r\nhello\r\n0\r\n\r\n", b"5\r\nhel"])
def test_chunks_that_are_not_whole_are_an_error(web, body):
    chunked = b"Transfer-Encoding: chunked\r\nConnection: close"
    web.proxy.answers = lambda data: data.replace(b"Content-Length: 5", chunked).replace(b"hello", body)
    web.proxy.cut = body
    with pytest.raises(RemoteError, match="remote cache"):
        web.transport().get("a", MOST)


def test_an_answer_to_nobodys_question_is_not_taken_for_the_next_one(web):
    late = b"HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nevil"
    transport = web.transport()
    web.proxy.answers = lambda data: data + late
    with pytest.raises(RemoteError, match="longer than it says"):
        transport.get("a", MOST)
    web.proxy.answers = bytes
    assert transport.get("a", MOST) == b"hello"


# Whether bytes are right is for their readers to check: a transport passes on whole answers.
def test_bytes_that_were_changed_on_their_way_come_as_they_are(web):
    web.proxy.answers = lambda data: data.replace(b"hello", b"hellp")
    assert web.transport().get("a", MOST) == b"hellp"


def test_another_names_bytes_come_as_they_are(web):
    web.proxy.requests = lambda data: data.replace(b"/web/a ", b"/web/b ")
    assert web.transport().get("a", MOST) == b"other"


class Handled(TimeoutError):
    """The error of a program's own handler, which is an OSError."""


def test_the_error_of_a_signals_handler_is_not_taken_for_the_networks(web, monkeypatch):
    def handler(number, frame):
        raise Handled("the program's time is up")

    web.proxy.go.clear()
    web.proxy.asked.clear()
    before = signal.signal(signal.SIGUSR1, handler)
    main = threading.get_ident()

    def interrupt():
        assert web.proxy.asked.wait(60)
        signal.pthread_kill(main, signal.SIGUSR1)

    interrupting = threading.Thread(target=interrupt)
    interrupting.start()
    try:
        with pytest.raises(Handled):
            web.transport().get("a", MOST)
    finally:
        interrupting.join()
        signal.signal(signal.SIGUSR1, before)


def test_a_deadline_gives_less_time_as_it_comes_nearer():
    now = [100.0]
    deadline = Deadline(0.3, clock=lambda: now[0])
    assert deadline.left(0.1) == 0.1
    now[0] += 0.25
    assert deadline.left(0.1) == pytest.approx(0.05)
    now[0] += 0.05
    with pytest.raises(TimeoutError):
        deadline.left(0.1)


def test_work_is_waited_for_no_longer_than_asked():
    go, ended = threading.Event(), threading.Event()

    def work():
        go.wait()
        ended.set()

    with pytest.raises(TimeoutError):
        within(0.01, work)
    go.set()
    assert ended.wait(60)
    assert within(60.0, lambda: 7) == 7
    with pytest.raises(ZeroDivisionError):
        within(60.0, lambda: 1 // 0)


def test_a_name_server_that_is_silent_ends_as_an_error(opened, monkeypatch):
    go, resolve = threading.Event(), socket.getaddrinfo

    def silent(host, port, *more, **options):
        if host == "silent.example.com" and not options.get("flags"):
            go.wait()
        return resolve("127.0.0.1", port) if not options.get("flags") else resolve(host, port, *more, **options)

    monkeypatch.setattr(socket, "getaddrinfo", silent)
    (address,) = addresses("http://silent.example.com/a")
    try:
        with pytest.raises(RemoteError, match="it took too long"):
            opened(address, SHORT).get("a", MOST)
    finally:
        go.set()


def test_where_no_thread_can_be_had_a_call_is_an_error(tmp_path, opened, monkeypatch):
    def refuse(run):
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(limits_module, "on_new_thread", refuse)
    (address,) = addresses(f"file://{tmp_path}")
    with pytest.raises(RemoteError, match="needs a thread"):
        opened(address).get("a", MOST)
