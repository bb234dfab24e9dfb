"""RedisTransport: keys of Redis or Valkey, through redis-py, which takes long to import: for servers, not for launches.

A set for each folder holds its names, as a scan goes through all keys of the database. A set that was evicted is made
again by the puts to come.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from gridjit.cache.remote.address import RemoteAddress, check_name, is_name
from gridjit.cache.remote.credentials import Credentials
from gridjit.cache.remote.limits import Limits, faults, missing_library, refused, within

Value = TypeVar("Value")
_FOLDER = "gridjit"


class RedisTransport:
    """Bytes by name in the keys of a database."""

    lists = True

    def __init__(self, address: RemoteAddress, limits: Limits, credentials: Credentials) -> None:
        self._address, self._limits = address, limits
        try:
            import redis
        except ImportError as error:
            raise missing_library(address, "redis") from error
        self._failure = redis.RedisError
        self._redis = redis.Redis.from_url(address.place, **_options(address, limits, credentials))

    def get(self, name: str, most: int) -> bytes | None:
        """Return the bytes of a key, or None; more than `most` bytes are a RemoteError."""
        key = self._key(name)
        found = self._asked(lambda: self._read(key, most))
        if found is not None and len(found) > most:
            raise refused(self._address, f"{name} has more than {most} bytes")
        return found

    def put(self, name: str, data: bytes, *, new: bool) -> bool:
        """Set a key; return False if it is to be new there, and there was one."""
        key = self._key(name)
        return self._asked(lambda: self._write(key, data, new))

    def has(self, name: str) -> bool:
        """Return whether there is a key."""
        key = self._key(name)
        return bool(self._asked(lambda: self._redis.exists(key)))

    def names(self, folder: str) -> list[str]:
        """Return the names that were put in a folder; some may have been evicted."""
        key = self._key(folder)
        found = self._asked(lambda: self._redis.smembers(f"{key}/"))
        return [name for one in found if is_name(name := one.decode("latin-1"))]

    def close(self) -> None:
        """Close the connections."""
        with faults(self._address, self._failure):
            self._redis.close()

    def _key(self, name: str) -> str:
        return f"{self._address.prefix or _FOLDER}/{check_name(name)}"

    def _read(self, key: str, most: int) -> bytes | None:
        found: Any = self._redis.getrange(key, 0, most)
        # A part of a key that is not there is empty, too.
        return found if found or self._redis.exists(key) else None

    def _write(self, key: str, data: bytes, new: bool) -> bool:
        folder, _, name = key.rpartition("/")
        asked: Any = self._redis.pipeline(transaction=False)
        asked.set(key, data, nx=new).sadd(f"{folder}/", name)
        return bool(asked.execute()[0])

    def _asked(self, work: Callable[[], Value]) -> Value:
        with faults(self._address, self._failure):
            return within(self._limits.whole, work)


def _options(address: RemoteAddress, limits: Limits, credentials: Credentials) -> dict[str, Any]:
    """Return how to connect: within the limits, and once."""
    from redis.backoff import NoBackoff
    from redis.retry import Retry

    options: dict[str, Any] = {
        "socket_connect_timeout": limits.connect,
        "socket_timeout": limits.silence,
        "retry": Retry(NoBackoff(), 0),
        "protocol": 2,
    }
    if address.scheme == "rediss":
        files = {"ssl_ca_certs": credentials.ca, "ssl_certfile": credentials.certificate}
        options |= {name: str(file) for name, file in files.items() if file is not None}
    return options
