"""Errors of servers that want credentials or certificates name the setting that gives them."""

from __future__ import annotations

import contextlib
import http.server
import ssl
import threading
from collections.abc import Iterator

import pytest

from gridjit.cache.remote.address import addresses
from gridjit.cache.remote.tier import Remote
from gridjit.cache.remote.transport import Credentials, RemoteError, open_transport
from tests.cache.remote.certificates import Authority
from tests.cache.remote.conftest import LONG
from tests.cache.remote.tier.objects import SEALING, Clock, found, job_of

MOST = 1 << 20


@contextlib.contextmanager
def serving(status: int, context: ssl.SSLContext | None = None) -> Iterator[str]:
    """Give the place of a server that answers everything with one status."""

    class Answering(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(status)
            self.send_header("Content-Length", "0")
            self.end_headers()

        def do_PUT(self) -> None:
            self.do_GET()

        def log_message(self, *words: object) -> None:
            pass

    class Quiet(http.server.ThreadingHTTPServer):
        def handle_error(self, *words: object) -> None:
            pass

    server = Quiet(("127.0.0.1", 0), Answering)
    if context is not None:
        server.socket = context.wrap_socket(server.socket, server_side=True, do_handshake_on_connect=False)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"localhost:{server.server_port}"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def said(url: str, *, write: bool = False, **credentials: object) -> str:
    """Return the error of a read, or of a write, with a remote."""
    (address,) = addresses(url)
    with pytest.raises(RemoteError) as caught:
        transport = open_transport(address, LONG, Credentials(**credentials))  # type: ignore[arg-type]
        transport.put("a", b"", new=False) if write else transport.get("a", MOST)
    return str(caught.value)


@pytest.mark.parametrize("status", [401, 403])
def test_a_server_that_refuses_is_an_error_with_the_credentials_it_may_want(status, home, tmp_path):
    with serving(status) as place:
        nothing = "give GRIDJIT_CACHE_REMOTE_TOKEN, a user in ~/.netrc, or a certificate in GRIDJIT_CACHE_REMOTE_CERT"
        assert said(f"http://{place}").endswith(nothing)
        assert said(f"http://{place}", write=True).endswith(f"{nothing}; ?read-only in the address writes nothing")
        assert "the user and password in the address or ~/.netrc" in said(f"http://me:secret@{place}")
        (home / ".netrc").write_text("machine localhost login me password secret")
        (home / ".netrc").chmod(0o600)
        assert "the user and password in the address or ~/.netrc" in said(f"http://{place}")
        (token := tmp_path / "token").write_text("a-token")
        assert said(f"http://{place}", token_file=token).endswith(
            "does not accept the token of GRIDJIT_CACHE_REMOTE_TOKEN"
        )


def test_tls_that_fails_is_an_error_with_the_setting_that_is_missing(authority: Authority) -> None:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(authority.certificate("localhost"))
    with serving(200, context) as place:
        assert "CERTIFICATE_VERIFY_FAILED" in (error := said(f"https://{place}"))
        assert error.endswith(": GRIDJIT_CACHE_REMOTE_CA names authorities to trust")
        there = f"https://{place.replace('localhost', '127.0.0.1')}"
        assert said(there, ca=authority.file).endswith(": is the address right?")
    context.load_verify_locations(authority.file)
    context.verify_mode = ssl.CERT_REQUIRED
    with serving(200, context) as place:
        error = said(f"https://{place}", ca=authority.file)
        assert error.endswith("does it want a client's certificate, in GRIDJIT_CACHE_REMOTE_CERT?"), error
    with serving(200) as place:
        assert "does it speak TLS? An address that begins with http:// does without" in said(f"https://{place}")


@pytest.mark.parametrize("url", ["https://a.example/x", "https://a.example/x?pack=p", "s3://bucket/x"])
def test_files_of_credentials_that_cannot_be_read_are_one_warning_of_a_process(url, tmp_path):
    (address,) = addresses(url)
    credentials = Credentials(token_file=tmp_path / "none", ca=None if url.startswith("https") else tmp_path / "none")
    clock = Clock()
    remote = Remote(address, SEALING, lambda limits: open_transport(address, limits, credentials), clock)
    with pytest.warns(UserWarning, match=f"GRIDJIT_CACHE_REMOTE_(TOKEN|CA)={tmp_path / 'none'}") as warned:
        for number in range(3):
            assert remote.pack() is None
            assert not found(remote, job_of(number))
            clock.now += 1000.0  # it is asked again
    assert len(warned) == 1
