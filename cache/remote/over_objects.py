"""ObjectTransport: buckets of S3, Google Cloud Storage and Azure, through obstore.

Endpoints and keys come from the provider's own variables, as AWS_ENDPOINT_URL and AWS_ACCESS_KEY_ID.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from typing import Any, TypeVar

from gridjit.cache.remote.address import RemoteAddress, check_name, is_name
from gridjit.cache.remote.credentials import Credentials
from gridjit.cache.remote.limits import Limits, RemoteError, faults, missing_library, refused, within

Value = TypeVar("Value")
# Of providers, with keys.
_VARIABLES = {"s3": "AWS_ACCESS_KEY_ID", "gs": "GOOGLE_APPLICATION_CREDENTIALS", "az": "AZURE_STORAGE_ACCOUNT_KEY"}
# The processes whose threads obstore has: a forked child would wait for its parent's forever.
_users: set[int] = set()


class ObjectTransport:
    """Bytes by name in the objects of a bucket."""

    lists = True

    def __init__(self, address: RemoteAddress, limits: Limits, credentials: Credentials) -> None:
        self._address, self._limits = address, limits
        try:
            import obstore
            import obstore.exceptions
            import obstore.store
        except ImportError as error:
            raise missing_library(address, "obstore") from error
        self._obstore: Any = obstore
        self._failures: Any = obstore.exceptions
        url = "/".join(part for part in (address.place, address.prefix) if part)
        # Other options of the variables are replaced by these. S3's requests are signed: its keys are not sent.
        options: dict[str, Any] = {"allow_http": address.scheme == "s3"}
        options |= {"connect_timeout": _text(limits.connect), "timeout": _text(limits.whole)}
        if credentials.ca is not None:
            try:
                options["root_certificate"] = credentials.ca.read_text()
            except (OSError, ValueError) as error:
                raise refused(
                    address, f"GRIDJIT_CACHE_REMOTE_CA={credentials.ca}: not readable as PEM: {error}"
                ) from None
        # A stalled request is not asked again: the caller has something better to do.
        self._store = self._asked(
            lambda: obstore.store.from_url(url, client_options=options, retry_config={"max_retries": 0})
        )

    def get(self, name: str, most: int) -> bytes | None:
        """Return the bytes of an object, or None; more than `most` bytes are a RemoteError."""
        check_name(name)
        return self._asked(lambda: self._read(name, most))

    def put(self, name: str, data: bytes, *, new: bool) -> bool:
        """Put an object; return False if it is to be new there, and there was one."""
        check_name(name)
        mode = "create" if new else "overwrite"
        return self._asked(lambda: self._write(name, data, mode))

    def has(self, name: str) -> bool:
        """Return whether there is an object."""
        check_name(name)
        return self._asked(lambda: self._size(name)) is not None

    def names(self, folder: str) -> list[str]:
        """Return the names of the objects in a folder."""
        check_name(folder)
        listed = self._asked(lambda: self._obstore.list_with_delimiter(self._store, folder))
        names = [one["path"].rpartition("/")[2] for one in listed["objects"]]
        return [name for name in names if is_name(name)]

    def close(self) -> None:
        """Do nothing: obstore closes connections that it has not used for a while."""

    def _read(self, name: str, most: int) -> bytes | None:
        try:
            found = self._obstore.get(self._store, name)
        except FileNotFoundError:
            return None
        if found.meta["size"] > most:
            raise refused(self._address, f"{name} has more than {most} bytes")
        return bytes(found.bytes())

    def _write(self, name: str, data: bytes, mode: str) -> bool:
        try:
            self._obstore.put(self._store, name, data, mode=mode, use_multipart=False)
        except self._failures.AlreadyExistsError:
            return False
        return True

    def _size(self, name: str) -> int | None:
        try:
            return int(self._obstore.head(self._store, name)["size"])
        except FileNotFoundError:
            return None

    def _asked(self, work: Callable[[], Value]) -> Value:
        """Return work(); obstore's own limit is one of each request, and it may ask for keys first."""
        if not _users <= {os.getpid()}:
            raise refused(self._address, "obstore cannot be used by a process that is forked after its first use")
        _users.add(os.getpid())
        with faults(self._address):
            try:
                return within(self._limits.whole, work)
            except BaseException as error:
                # A panic of Rust's code derives from BaseException.
                if not isinstance(error, self._failures.BaseError) and type(error).__name__ != "PanicException":
                    raise
                cure = _way_on(error, self._address.scheme)
                raise RemoteError(f"remote cache {self._address.shown}: {_reason(error)}{cure}") from None


def _text(seconds: float) -> str:
    return f"{max(1, round(seconds * 1000))}ms"


def _reason(error: BaseException) -> str:
    """Return an error's first line, without queries of URLs, which may be signatures."""
    return re.sub(r"\?\S*", "", f"{type(error).__name__}: {error}".splitlines()[0])[:300]


def _way_on(error: BaseException, scheme: str) -> str:
    """Return the setting that may cure an error, in words that follow it; "" for an error of another kind."""
    if type(error).__name__ in ("PermissionDeniedError", "UnauthenticatedError"):
        return f": are the provider's variables right, such as {_VARIABLES[scheme]}?"
    return ": GRIDJIT_CACHE_REMOTE_CA names authorities to trust" if "certificate" in str(error) else ""
