"""Real servers on this machine, each for a module's tests: nginx, wsgidav, moto and Redis."""

from __future__ import annotations

import contextlib
import os
import shutil
import socket
import subprocess
import threading
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cache.remote.certificates import Authority

NGINX = """
daemon off; pid {folder}/pid; error_log {folder}/errors; worker_processes 1; {user}
load_module {module};
events {{ worker_connections 64; }}
http {{
    access_log off; client_max_body_size 0; client_body_temp_path {folder}/bodies; proxy_temp_path {folder}/proxied;
    fastcgi_temp_path {folder}/fast; uwsgi_temp_path {folder}/u; scgi_temp_path {folder}/s;
    server {{
        listen 127.0.0.1:{port} {tls}; root {folder}/files; {more}
        dav_methods PUT MKCOL; create_full_put_path on;
        location /private/ {{ if ($http_authorization != "Bearer a-token") {{ return 401; }} }}
        location /leads/ {{ return 302 /files$request_uri; }}
        location /circle/ {{ return 302 $request_uri; }}
    }}
}}
"""
TLS = """
ssl_certificate {server}; ssl_certificate_key {server}; ssl_client_certificate {ca}; ssl_verify_client optional;
location /known/ {{ if ($ssl_client_verify != SUCCESS) {{ return 403; }} }}
"""
_MODULES = ("/usr/lib/nginx/modules", "/usr/lib64/nginx/modules", "/usr/share/nginx/modules")


def binary(name: str) -> str:
    """Return a server's program; skips the test where there is none."""
    found = shutil.which(name, path=f"{os.environ.get('PATH', '')}:/usr/sbin:/usr/local/sbin")
    if found is None:
        pytest.skip(f"needs {name}, which is not installed")
    return found


def _dav() -> str:
    """Return nginx's module for WebDAV; its name is that of the extension, which loads after the built-in methods."""
    found = [file for folder in _MODULES for file in Path(folder).glob("ngx_http_dav_ext_module.so")]
    if not found:
        pytest.skip("needs nginx's module dav-ext: apt-get install libnginx-mod-http-dav-ext")
    return str(found[0])


@contextlib.contextmanager
def nginx(folder: Path, authority: Authority | None = None) -> Iterator[str]:
    """Run nginx over a folder's files, and yield its URL; with TLS, if there is an authority."""
    (folder / "files").mkdir()
    module, program = _dav(), binary("nginx")
    # It takes over a socket that already listens: its port is nobody else's, and whoever connects waits until it runs.
    with socket.create_server(("127.0.0.1", 0)) as listening:
        port = listening.getsockname()[1]
        more = "" if authority is None else TLS.format(server=authority.certificate("localhost"), ca=authority.file)
        text = NGINX.format(
            folder=folder,
            module=module,
            port=port,
            tls="ssl" if authority else "",
            more=more,
            user="user root;" if os.getuid() == 0 else "",
        )
        (folder / "conf").write_text(text)
        command = [program, "-c", str(folder / "conf"), "-e", str(folder / "errors")]
        environment = {**os.environ, "NGINX": f"{listening.fileno()};"}
        with subprocess.Popen(command, env=environment, pass_fds=[listening.fileno()]) as server, ended(server):
            yield f"https://localhost:{port}" if authority else f"http://127.0.0.1:{port}"


@contextlib.contextmanager
def ended(server: subprocess.Popen[str] | subprocess.Popen[bytes]) -> Iterator[None]:
    """End a server after the block."""
    try:
        yield
    finally:
        server.terminate()
        server.wait()


@contextlib.contextmanager
def redis(folder: Path, authority: Authority | None = None) -> Iterator[str]:
    """Run Redis, and yield its URL; with TLS and a password, if there is an authority."""
    pytest.importorskip("redis", reason="needs redis-py, of the remote extra")
    program = binary("redis-server")
    for _ in range(5):
        with socket.create_server(("127.0.0.1", 0)) as taken:
            port = taken.getsockname()[1]
        command = [program, "--bind", "127.0.0.1", "--save", "", "--dir", str(folder), *_ports(port, authority)]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server, ended(server):
            if any("Ready to accept connections" in line for line in server.stdout or ()):
                yield f"rediss://:a-password@localhost:{port}/0" if authority else f"redis://127.0.0.1:{port}/0"
                return
    pytest.fail("Redis does not start")


def _ports(port: int, authority: Authority | None) -> list[str]:
    """Return Redis's options for a port."""
    if authority is None:
        return ["--port", str(port)]
    certificate = str(authority.certificate("localhost"))
    files = ["--tls-cert-file", certificate, "--tls-key-file", certificate, "--tls-ca-cert-file", str(authority.file)]
    return ["--port", "0", "--tls-port", str(port), *files, "--requirepass", "a-password", "--tls-auth-clients", "no"]


@contextlib.contextmanager
def moto() -> Iterator[str]:
    """Run moto's S3 with one bucket, and yield its URL for AWS_ENDPOINT_URL."""
    pytest.importorskip("obstore", reason="needs obstore, of the remote extra")
    threaded = pytest.importorskip("moto.server", reason="needs moto[server], of the test extra").ThreadedMotoServer
    server = threaded(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    try:
        host, port = server.get_host_and_port()
        yield f"http://{host}:{port}"
    finally:
        server.stop()


def bucket_variables(url: str) -> dict[str, str]:
    """Return variables with which programs find moto's buckets."""
    variables = {"ACCESS_KEY_ID": "tests", "SECRET_ACCESS_KEY": "tests", "REGION": "us-east-1", "ENDPOINT_URL": url}
    return {f"AWS_{name}": value for name, value in variables.items()}


def make_bucket(url: str, name: str) -> None:
    """Make a bucket; moto knows its users by a header's form."""
    signed = {"Authorization": "AWS4-HMAC-SHA256 Credential=tests/20260101/us-east-1/s3/aws4_request, Signature=0"}
    urllib.request.urlopen(urllib.request.Request(f"{url}/{name}", method="PUT", data=b"", headers=signed)).close()


@contextlib.contextmanager
def webdav(folder: Path) -> Iterator[str]:
    """Run wsgidav, which makes no folders for files, and yield its URL."""
    reason = "needs wsgidav and cheroot: pip install wsgidav cheroot"
    app = pytest.importorskip("wsgidav.wsgidav_app", reason=reason)
    wsgi = pytest.importorskip("cheroot.wsgi", reason=reason)
    config = {"provider_mapping": {"/": str(folder)}, "simple_dc": {"user_mapping": {"*": True}}, "verbose": 0}
    server = wsgi.Server(("127.0.0.1", 0), app.WsgiDAVApp(config | {"logging": {"enable": False}}))
    server.prepare()
    serving = threading.Thread(target=server.serve)
    serving.start()
    try:
        yield f"http://127.0.0.1:{server.bind_addr[1]}"
    finally:
        server.stop()
        serving.join()
