"""HttpTransport: GET, PUT and HEAD over connections that are kept alive, for web servers, WebDAV and bazel's `/ac`.

Answers are believed only if they are whole: as long as they say, with nothing after them. A redirect is followed when
something is read, and another host is sent no credentials.
"""

from __future__ import annotations

import contextlib
import hashlib
import http.client
import os
import ssl
from collections.abc import Iterator
from typing import Any
from urllib.parse import urljoin, urlsplit

from gridjit.base.interrupts import let_through
from gridjit.base.values import dataclass, field
from gridjit.cache.remote.address import RemoteAddress, check_name
from gridjit.cache.remote.credentials import Credentials, authorization, tls, tls_way_on, way_on
from gridjit.cache.remote.limits import Deadline, Limits, faults, refused
from gridjit.cache.remote.sockets import TimedSocket, connect

_MOST_REDIRECTS = 3
_REDIRECTS = (301, 302, 303, 307, 308)
_DONE = (200, 201, 202, 204)
# Of a server that closed a connection while nobody used it.
_DEAD = (http.client.RemoteDisconnected, ConnectionError)
_MOST_IDLE = 8
# Of an answer's body that says no more than its status; and of a body's chunks that are read at once.
_MOST_IGNORED, _PIECE = 64 << 10, 1 << 20


class HttpTransport:
    """Bytes by name at a web server."""

    lists = False

    def __init__(self, address: RemoteAddress, limits: Limits, credentials: Credentials) -> None:
        self._address, self._limits, self._credentials = address, limits, credentials
        split = urlsplit(address.place)
        self._origin = f"{split.scheme}://{split.netloc.rpartition('@')[2]}"
        self._folder = "".join(f"/{part}" for part in (split.path.strip("/"), address.prefix) if part)
        self._idle: list[_Connection] = []
        self._context = tls(address, credentials) if address.scheme == "https" else None
        self._authorization = authorization(address, credentials)

    def get(self, name: str, most: int) -> bytes | None:
        """Return the bytes under name, or None; more than `most` bytes are a RemoteError."""
        with self._faults():
            answer = self._read("GET", name, most, Deadline(self._limits.whole))
            if answer.status != 404:
                self._expect(answer, (200,), f"GET {name}")
            return answer.body if answer.status == 200 else None

    def put(self, name: str, data: bytes, *, new: bool) -> bool:
        """Put data under name; return False if it is to be new there, and something was.

        A server without If-None-Match decides that when it is asked, a moment before.
        """
        with self._faults():
            deadline = Deadline(self._limits.whole)
            if new and self._has(name, deadline):
                return False
            answer = self._put(name, data, new, deadline)
            if answer.status == 409:  # WebDAV: its folder is missing
                self._make_folders(name, deadline)
                answer = self._put(name, data, new, deadline)
            if new and answer.status == 412:
                return False
            self._expect(answer, _DONE, f"PUT {name}")
            return True

    def has(self, name: str) -> bool:
        """Return whether there are bytes under name."""
        with self._faults():
            return self._has(name, Deadline(self._limits.whole))

    def names(self, folder: str) -> list[str]:
        """Raise RemoteError: web servers do not list names."""
        raise refused(self._address, "a web server does not list names")

    def close(self) -> None:
        """Close the connections that nobody uses."""
        while (found := self._popped()) is not None:
            found.timed.end()

    @contextlib.contextmanager
    def _faults(self) -> Iterator[None]:
        with faults(self._address, http.client.HTTPException, ValueError):
            try:
                yield
            except ssl.SSLError as error:
                raise refused(self._address, tls_way_on(error)) from error

    def _expect(self, answer: _Answer, statuses: tuple[int, ...], asked: str) -> None:
        if answer.status not in statuses:
            said = f"{asked}: status {answer.status} {answer.reason}"[:200]
            if answer.status in (401, 403):
                said += f": {way_on(self._credentials, self._authorization, asked.partition(' ')[0])}"
            raise refused(self._address, said)

    def _path(self, name: str) -> str:
        check_name(name)
        if self._address.layout == "bazel":
            name = f"ac/{hashlib.sha256(name.encode()).hexdigest()}"
        return f"{self._folder}/{name}"

    def _question(self, method: str, target: str, **more: Any) -> _Question:
        return _Question(method=method, origin=self._origin, target=target, **more)

    def _has(self, name: str, deadline: Deadline) -> bool:
        answer = self._read("HEAD", name, 0, deadline)
        if answer.status != 404:
            self._expect(answer, (200, 204), f"HEAD {name}")
        return answer.status != 404

    def _put(self, name: str, data: bytes, new: bool, deadline: Deadline) -> _Answer:
        headers = {"Content-Type": "application/octet-stream"} | ({"If-None-Match": "*"} if new else {})
        return self._ask(self._question("PUT", self._path(name), headers=headers, body=data), deadline)

    def _make_folders(self, name: str, deadline: Deadline) -> None:
        """Make the folders of a name, below the address's place; whether they are there, the next PUT says."""
        place = urlsplit(self._address.place).path.strip("/")
        folder = f"/{place}" if place else ""
        for part in self._path(name)[len(folder) + 1 :].split("/")[:-1]:
            folder += f"/{part}"
            self._ask(self._question("MKCOL", f"{folder}/"), deadline)

    def _read(self, method: str, name: str, most: int, deadline: Deadline) -> _Answer:
        """Return the answer to GET or HEAD, also where redirects lead to it."""
        url = f"{self._origin}{self._path(name)}"
        for _ in range(_MOST_REDIRECTS + 1):
            split = urlsplit(url)
            target = f"{split.path or '/'}?{split.query}".rstrip("?")
            origin = f"{split.scheme}://{split.netloc}"
            answer = self._ask(_Question(method=method, origin=origin, target=target, most=most), deadline)
            if answer.status not in _REDIRECTS:
                return answer
            url = self._followed(url, answer)
        raise refused(self._address, f"{method} {name}: more than {_MOST_REDIRECTS} redirects")

    def _followed(self, url: str, answer: _Answer) -> str:
        """Return where a redirect leads; raises RemoteError where it must not be followed."""
        led = urljoin(url, answer.location)
        scheme = urlsplit(led).scheme
        if not answer.location or "@" in urlsplit(led).netloc or scheme not in {"https", urlsplit(url).scheme}:
            raise refused(self._address, "it redirects to a place that is not followed")
        return led

    def _ask(self, question: _Question, deadline: Deadline) -> _Answer:
        """Return the answer to a question; asked again if it was put to a connection that had died."""
        if (kept := self._kept(question.origin)) is not None:
            try:
                return self._exchange(kept, question, deadline)
            except _DEAD as error:
                let_through(error)
                self.close()  # the others have probably died, too
        return self._exchange(self._connected(question.origin, deadline), question, deadline)

    def _kept(self, origin: str) -> _Connection | None:
        """Return a connection that is kept alive; none of a parent's, which uses it on."""
        while (found := self._popped()) is not None:
            if found.origin == origin and found.process == os.getpid() and found.timed.is_quiet():
                return found
            found.timed.end()
        return None

    def _popped(self) -> _Connection | None:
        try:
            return self._idle.pop()
        except IndexError:
            return None

    def _connected(self, origin: str, deadline: Deadline) -> _Connection:
        split = urlsplit(origin)
        host, secure = split.hostname or "", split.scheme == "https"
        usual = 443 if secure else 80
        port = split.port or usual
        speaker = http.client.HTTPConnection(host, port)
        speaker.default_port, speaker.auto_open = usual, 0
        timed = connect(host, port, self._limits, deadline, self._tls(origin) if secure else None)
        speaker.sock = timed
        return _Connection(origin=origin, process=os.getpid(), timed=timed, speaker=speaker)

    def _tls(self, origin: str) -> ssl.SSLContext:
        if self._context is not None and origin == self._origin:
            return self._context
        return tls(self._address, self._credentials, known=False)

    def _exchange(self, connection: _Connection, question: _Question, deadline: Deadline) -> _Answer:
        connection.timed.begin(deadline)
        try:
            headers = question.headers | self._credential(question.origin)
            connection.speaker.request(question.method, question.target, question.body, headers)
            response = connection.speaker.getresponse()
            answer = self._answer(response, question)
            if connection.timed.has_more():
                raise refused(self._address, f"{question.method}: its answer is longer than it says")
        except BaseException:
            connection.timed.end()
            raise
        self._keep(connection, response)
        return answer

    def _credential(self, origin: str) -> dict[str, str]:
        if origin != self._origin:
            return {}
        # A token is renewed by who writes its file.
        renewed = self._credentials.token_file is not None
        header = authorization(self._address, self._credentials) if renewed else self._authorization
        return {} if header is None else {"Authorization": header}

    def _keep(self, connection: _Connection, response: http.client.HTTPResponse) -> None:
        """Keep a connection for the next question, if it is in order."""
        if not response.isclosed() or response.will_close or len(self._idle) >= _MOST_IDLE:
            connection.timed.end()
        else:
            self._idle.append(connection)

    def _answer(self, response: http.client.HTTPResponse, question: _Question) -> _Answer:
        location = response.getheader("Location") or ""
        wanted = question.method == "GET" and response.status == 200
        body = self._body(response, question.most) if wanted else b""
        if not wanted:
            response.read(_MOST_IGNORED)
        return _Answer(status=response.status, reason=response.reason, location=location, body=body)

    def _body(self, response: http.client.HTTPResponse, most: int) -> bytes:
        """Return the whole of a body that says how long it is, `most` bytes at the most."""
        length = response.length
        if response.getheader("Content-Encoding", "identity") != "identity":
            raise refused(self._address, "its answer is encoded, which nobody asked for")
        if length is None and not response.chunked:
            raise refused(self._address, "its answer does not say how long it is")
        body = response.read() if length is not None and length <= most else b""
        if length is None:
            body = _joined(response, most + 1)
        if max(length or 0, len(body)) > most:
            raise refused(self._address, f"its answer has more than {most} bytes")
        return body


def _joined(response: http.client.HTTPResponse, most: int) -> bytes:
    """Return the chunks of a body, `most` bytes at the most."""
    parts = []
    while most and (part := response.read(min(most, _PIECE))):
        parts.append(part)
        most -= len(part)
    return b"".join(parts)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Question:
    """A request: what is asked of an origin, and how many bytes the answer may have."""

    method: str
    origin: str
    target: str
    headers: dict[str, str] = field(default_factory=dict)
    body: bytes | None = None
    most: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class _Answer:
    """A response: its status, where it redirects to, and the body of a GET that succeeded."""

    status: int
    reason: str
    location: str
    body: bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class _Connection:
    """A connection to an origin, and the process that made it."""

    origin: str
    process: int
    timed: TimedSocket
    speaker: http.client.HTTPConnection
