"""Web servers: credentials, certificates, redirects, connections that are kept, and layouts."""

from __future__ import annotations

import hashlib
import os
import socket
import urllib.request
from pathlib import Path

import pytest

from gridjit.cache.remote.address import addresses
from gridjit.cache.remote.transport import RemoteError
from tests.cache.remote.proxy import Proxy

MOST = 1 << 20
# A number that is nobody's, of those for documents: nothing is ever sent there.
FAR = "http://192.0.2.1/files"


def at(url):
    (found,) = addresses(url)
    return found


@pytest.fixture
def token_file(tmp_path: Path) -> Path:
    """A file with the token that nginx wants."""
    file = tmp_path / "token"
    file.write_text("a-token\n")
    return file


@pytest.fixture
def proxy(nginx):
    """A proxy to nginx."""
    host, _, port = nginx.removeprefix("http://").partition(":")
    with Proxy((host, int(port))) as made:
        yield made


def test_a_token_is_sent_and_read_anew(nginx, opened, token_file):
    transport = opened(at(f"{nginx}/private"), token_file=token_file)
    assert transport.put("a/token", b"data", new=True) is True
    token_file.write_text("of-yesterday")
    with pytest.raises(RemoteError, match="GET a/token: status 401") as caught:
        transport.get("a/token", MOST)
    assert "yesterday" not in str(caught.value)
    token_file.write_text("a-token")
    assert transport.get("a/token", MOST) == b"data"


def test_without_its_token_a_server_refuses(nginx, opened):
    with pytest.raises(RemoteError, match="status 401"):
        opened(at(f"{nginx}/private")).get("a/token", MOST)


@pytest.mark.parametrize("text", ["", "two words", "two\nlines", "a\x00b", "ü"])
def test_a_file_without_a_token_is_named_but_not_shown(nginx, opened, token_file, text):
    token_file.write_text(text)
    with pytest.raises(RemoteError, match=f"REMOTE_TOKEN={token_file}: give a file that holds a token") as caught:
        opened(at(nginx), token_file=token_file)
    assert not text or text not in str(caught.value)


def test_a_missing_token_file_is_named(nginx, opened, tmp_path):
    with pytest.raises(RemoteError, match=f"REMOTE_TOKEN={tmp_path / 'none'}: No such file"):
        opened(at(nginx), token_file=tmp_path / "none")


def test_credentials_are_not_sent_in_clear_to_another_machine(opened, token_file, home):
    with pytest.raises(RemoteError, match="would be sent in clear: use https://"):
        opened(at(FAR), token_file=token_file)
    netrc(home, "machine 192.0.2.1 login u password secret")
    with pytest.raises(RemoteError, match="would be sent in clear: use https://") as caught:
        opened(at(FAR))
    assert "secret" not in str(caught.value)


def netrc(home: Path, text: str) -> None:
    (home / ".netrc").write_text(text)
    (home / ".netrc").chmod(0o600)


def asked(proxy: Proxy) -> list[bytes]:
    """Return the list that the proxy's requests are added to."""
    found: list[bytes] = []

    def note(data):
        found.append(data)
        return data

    proxy.requests = note
    return found


@pytest.mark.parametrize("place", ["netrc", "url"])
def test_a_password_is_sent_as_the_standard_says(proxy, opened, home, place):
    requests = asked(proxy)
    netrc(home, "machine 127.0.0.1 login aladdin password opensesame" if place == "netrc" else "machine other login x")
    user = "" if place == "netrc" else "aladdin:open%73esame@"
    opened(at(f"http://{user}127.0.0.1:{proxy.port}/files")).get("a", MOST)
    assert b"\r\nAuthorization: Basic YWxhZGRpbjpvcGVuc2VzYW1l\r\n" in requests[0]


@pytest.mark.parametrize("text", ["default login u password secret", ""])
def test_a_host_that_netrc_does_not_name_gets_nothing(proxy, opened, home, text):
    netrc(home, text)
    requests = asked(proxy)
    opened(at(f"http://127.0.0.1:{proxy.port}/files")).get("a", MOST)
    assert b"authorization" not in requests[0].lower()


def test_a_netrc_that_cannot_be_read_is_named_without_its_words(nginx, opened, home):
    netrc(home, "machine 127.0.0.1 login u pass secret")
    with pytest.raises(RemoteError, match="netrc cannot be read: line 1") as caught:
        opened(at(nginx))
    assert "secret" not in str(caught.value)


def test_a_server_whose_authority_is_unknown_is_refused(secure_nginx, opened, home):
    with pytest.raises(RemoteError, match="CERTIFICATE_VERIFY_FAILED"):
        opened(at(secure_nginx), ca=None).get("a", MOST)


def test_a_server_with_another_hosts_certificate_is_refused(secure_nginx, opened):
    with pytest.raises(RemoteError, match="CERTIFICATE_VERIFY_FAILED"):
        opened(at(secure_nginx.replace("localhost", "127.0.0.1"))).get("a", MOST)


def test_a_client_is_known_by_its_certificate(secure_nginx, opened, authority):
    address = at(f"{secure_nginx}/known")
    with pytest.raises(RemoteError, match="status 403"):
        opened(address).get("a", MOST)
    transport = opened(address, certificate=authority.certificate("client"))
    assert transport.put("a", b"data", new=False) is True
    assert transport.get("a", MOST) == b"data"


def test_a_certificate_whose_key_needs_a_password_is_named(secure_nginx, opened, authority):
    file = authority.certificate("client", password=b"secret")
    with pytest.raises(RemoteError, match=f"CERT={file}: not readable as PEM"):
        opened(at(secure_nginx), certificate=file)


def test_an_authority_that_is_not_pem_is_named(secure_nginx, opened, tmp_path):
    (tmp_path / "ca").write_text("not PEM")
    with pytest.raises(RemoteError, match=f"CA={tmp_path / 'ca'}: not readable as PEM"):
        opened(at(secure_nginx), ca=tmp_path / "ca")


def test_a_web_server_without_tls_is_refused_over_tls(nginx, opened):
    with pytest.raises(RemoteError, match="SSL"):
        opened(at(nginx.replace("http:", "https:"))).get("a", MOST)


def test_a_redirect_is_followed_when_bytes_are_read(nginx, opened):
    opened(at(f"{nginx}/files/leads")).put("a/b", b"data", new=True)
    transport = opened(at(f"{nginx}/leads"))
    assert transport.get("a/b", MOST) == b"data"
    assert transport.has("a/b") is True
    assert transport.get("a/c", MOST) is None
    with pytest.raises(RemoteError, match="PUT a/b: status 302"):
        transport.put("a/b", b"other", new=False)


def test_redirects_in_a_circle_end(nginx, opened):
    with pytest.raises(RemoteError, match="more than 3 redirects"):
        opened(at(f"{nginx}/circle")).get("a", MOST)


def test_another_host_is_sent_no_token(nginx, proxy, opened, token_file):
    opened(at(f"{nginx}/files")).put("far/a", b"data", new=True)
    here = b"Location: http://127.0.0.1:%d/leads" % proxy.port
    proxy.answers = lambda data: data.replace(b"Location: " + nginx.encode() + b"/files/leads/", b"Location: /files/")
    with Proxy(("127.0.0.1", int(nginx.rpartition(":")[2]))) as first:
        first.answers = lambda data: data.replace(b"Location: " + nginx.encode() + b"/files/leads", here)
        requests = asked(proxy)
        own = asked(first)
        transport = opened(at(f"http://127.0.0.1:{first.port}/leads"), token_file=token_file)
        assert transport.get("far/a", MOST) == b"data"
    assert b"Bearer a-token" in own[0]
    assert requests
    assert b"authorization" not in b"".join(requests).lower()


def test_a_connection_is_kept_for_the_next_call(proxy, opened):
    transport = opened(at(f"http://127.0.0.1:{proxy.port}/files"))
    transport.put("kept/a", b"data", new=True)
    assert [transport.get("kept/a", MOST), transport.get("kept/none", MOST)] == [b"data", None]
    assert transport.has("kept/a")
    assert proxy.connections == 1


def test_a_connection_that_died_meanwhile_is_made_anew(proxy, opened):
    transport = opened(at(f"http://127.0.0.1:{proxy.port}/files"))
    for number in range(1, 4):
        assert transport.get("none", MOST) is None
        assert proxy.connections == number
        proxy.break_off()


def test_a_connection_that_dies_when_it_is_asked_is_made_anew_once(proxy, opened):
    transport = opened(at(f"http://127.0.0.1:{proxy.port}/files"))
    assert transport.get("none", MOST) is None

    def fail_once(data):
        proxy.requests = bytes
        raise OSError("the connection ends at the request")

    proxy.requests = fail_once
    assert transport.get("none", MOST) is None
    assert proxy.connections == 2
    proxy.drops = True
    proxy.break_off()
    with pytest.raises(RemoteError):
        transport.get("none", MOST)
    assert proxy.connections == 3


@pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning")
def test_a_forked_child_makes_a_connection_of_its_own(proxy, opened):
    transport = opened(at(f"http://127.0.0.1:{proxy.port}/files"))
    assert transport.get("none", MOST) is None
    if not (child := os.fork()):
        try:
            os._exit(0 if transport.get("none", MOST) is None else 1)
        finally:
            os._exit(2)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert proxy.connections == 2
    assert transport.get("none", MOST) is None
    assert proxy.connections == 2


def test_bazels_layout_names_files_by_digests(nginx, opened):
    opened(at(f"{nginx}/cache?prefix=team&layout=bazel")).put("job/shape", b"data", new=True)
    digest = hashlib.sha256(b"job/shape").hexdigest()
    with urllib.request.urlopen(f"{nginx}/cache/team/ac/{digest}") as answer:
        assert answer.read() == b"data"


def test_folders_are_made_where_a_put_is_in_conflict_with_their_absence(proxy, opened):
    requests = asked(proxy)

    def be_in_conflict(data):
        if b"201 Created" in data:
            proxy.answers = bytes
        return data.replace(b"201 Created", b"409 Conflict")

    proxy.answers = be_in_conflict
    assert opened(at(f"http://127.0.0.1:{proxy.port}/?prefix=conflict")).put("a/b/c", b"data", new=False) is True
    lines = [request.partition(b" HTTP/")[0].decode() for request in requests if b" HTTP/" in request]
    folders = ["MKCOL /conflict/", "MKCOL /conflict/a/", "MKCOL /conflict/a/b/"]
    assert lines == ["PUT /conflict/a/b/c", *folders, "PUT /conflict/a/b/c"]


def test_webdavs_folders_are_made(webdav, opened):
    transport = opened(at(f"{webdav}?prefix=made/by/put"))
    assert transport.put("a/b/c", b"data", new=True) is True
    assert transport.get("a/b/c", MOST) == b"data"


def test_nobody_listening_is_an_error(opened):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
    with pytest.raises(RemoteError, match=f"remote cache http://127.0.0.1:{port}: ConnectionRefusedError"):
        opened(at(f"http://127.0.0.1:{port}")).get("a", MOST)
