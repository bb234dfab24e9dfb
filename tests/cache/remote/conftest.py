"""Remotes of every kind, whose servers are shared by the tests of a run, and no files of the user's."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from gridjit.cache.remote.address import RemoteAddress, addresses
from gridjit.cache.remote.transport import Credentials, Limits, Transport, open_transport
from tests.cache.remote import servers
from tests.cache.remote.certificates import Authority

# A busy machine takes its time: these end no test that passes.
LONG = Limits(connect=20.0, silence=40.0, whole=60.0)
_numbers = itertools.count()


@pytest.fixture(autouse=True)
def home(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A home with nothing in it."""
    folder = tmp_path_factory.mktemp("home")
    monkeypatch.setenv("HOME", str(folder))
    return folder


@pytest.fixture(scope="session")
def authority(tmp_path_factory: pytest.TempPathFactory) -> Authority:
    """An authority that nobody knows, unless its file is given."""
    return Authority(tmp_path_factory.mktemp("authority"))


@pytest.fixture(scope="session")
def nginx(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The URL of nginx."""
    with servers.nginx(tmp_path_factory.mktemp("nginx")) as url:
        yield url


@pytest.fixture(scope="session")
def secure_nginx(tmp_path_factory: pytest.TempPathFactory, authority: Authority) -> Iterator[str]:
    """The URL of nginx with TLS."""
    with servers.nginx(tmp_path_factory.mktemp("nginx"), authority) as url:
        yield url


@pytest.fixture(scope="session")
def webdav(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The URL of wsgidav."""
    with servers.webdav(tmp_path_factory.mktemp("webdav")) as url:
        yield url


@pytest.fixture(scope="session")
def redis(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The URL of Redis."""
    with servers.redis(tmp_path_factory.mktemp("redis")) as url:
        yield url


@pytest.fixture(scope="session")
def secure_redis(tmp_path_factory: pytest.TempPathFactory, authority: Authority) -> Iterator[str]:
    """The URL of Redis with TLS and a password."""
    with servers.redis(tmp_path_factory.mktemp("redis"), authority) as url:
        yield url


@pytest.fixture(scope="session")
def moto() -> Iterator[str]:
    """The URL of moto."""
    with servers.moto() as url:
        yield url


@pytest.fixture
def bucket(moto: str, monkeypatch: pytest.MonkeyPatch) -> str:
    """The URL of a bucket, with keys that moto takes."""
    for name, value in servers.bucket_variables(moto).items():
        monkeypatch.setenv(name, value)
    servers.make_bucket(moto, "tests")
    return "s3://tests/folder"


_PLACES: dict[str, tuple[str, str]] = {
    "http": ("nginx", "/files?"),
    "https": ("secure_nginx", "?"),
    "webdav": ("webdav", "?"),
    "bazel": ("nginx", "?layout=bazel&"),
    "s3": ("bucket", "?"),
    "redis": ("redis", "?"),
    "rediss": ("secure_redis", "?"),
    "files": ("tmp_path", "?"),
}


@pytest.fixture(params=_PLACES)
def address(request: pytest.FixtureRequest) -> RemoteAddress:
    """A remote of every kind, with nothing in it."""
    server, more = _PLACES[request.param]
    url = request.getfixturevalue(server)
    (found,) = addresses(f"{url if '://' in str(url) else f'file://{url}'}{more}prefix=test/{next(_numbers)}")
    return found


@pytest.fixture
def opened(authority: Authority) -> Iterator[Callable[..., Transport]]:
    """What opens a transport that waits long, and closes it after the test."""
    transports = []

    def opens(address: RemoteAddress, limits: Limits = LONG, **files: Path) -> Transport:
        credentials = Credentials(**({"ca": authority.file} if address.scheme in ("https", "rediss") else {}) | files)
        transports.append(open_transport(address, limits, credentials))
        return transports[-1]

    yield opens
    for transport in transports:
        transport.close()


@pytest.fixture
def transport(address: RemoteAddress, opened: Callable[..., Transport]) -> Transport:
    """A transport of every kind, to a remote with nothing in it."""
    return opened(address)
