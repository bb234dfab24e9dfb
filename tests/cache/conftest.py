"""Keys and stores that the cache's tests share."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from gridjit.cache.chain import ChainStore
from gridjit.cache.disk import DiskStore
from gridjit.cache.memory import MemoryStore
from gridjit.cache.store import Store


def _shared(folder: Path) -> DiskStore:
    """A store in a folder that everybody may write."""
    folder.mkdir()
    folder.chmod(0o777)
    return DiskStore(folder, allow_shared=True, secret=b"a secret")


_MAKERS: dict[str, Callable[[Path], Store]] = {
    "memory": lambda path: MemoryStore(),
    "disk": lambda path: DiskStore(path / "cache"),
    "signed disk": lambda path: DiskStore(path / "cache", secret=b"a secret"),
    "shared disk": lambda path: _shared(path / "cache"),
    "chain": lambda path: ChainStore(MemoryStore(), DiskStore(path / "base", read_only=True)),
}


@pytest.fixture(params=sorted(_MAKERS))
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Store]:
    """A store of every kind, empty."""
    made = _MAKERS[request.param](tmp_path)
    yield made
    made.close()
