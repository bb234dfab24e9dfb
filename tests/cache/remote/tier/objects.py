"""Remotes whose objects are in memory, for tests of the tier in front of them; their clock is the tests' own."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable

from gridjit.cache.manifest import Shape
from gridjit.cache.remote.address import addresses
from gridjit.cache.remote.sealing import Sealing
from gridjit.cache.remote.tier import Found, Remote

PLAIN = Shape.of()
BY_BLOCK = Shape.of(["blockDim"])
ELSEWHERE = Shape.of(["blockDim"], [("loaded setting", '["antigravity","x"]')])
SEALING = Sealing(prefix="", trust=None, secret=b"of the tests")


class Clock:
    """Seconds that pass when a test says so."""

    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


class Objects:
    """A transport to objects in memory, which notes requests and fails as a test tells it to."""

    def __init__(self, *, lists: bool = True) -> None:
        self.lists = lists
        self.objects: dict[str, bytes] = {}
        self.requests: list[str] = []
        self.puts: list[str] = []
        self.reading: Callable[[str], object] = len
        self.writing: Callable[[str], object] = len
        self.changed: Callable[[str, bytes], bytes] = lambda name, data: data

    def get(self, name: str, most: int) -> bytes | None:
        self.requests.append(name)
        self.reading(name)
        data = self.objects.get(name)
        return None if data is None else self.changed(name, data)

    def put(self, name: str, data: bytes, *, new: bool) -> bool:
        self.puts.append(name)
        self.writing(name)
        if new and name in self.objects:
            return False
        self.objects[name] = data
        return True

    def has(self, name: str) -> bool:
        return name in self.objects

    def names(self, folder: str) -> list[str]:
        self.requests.append(f"{folder}/")
        self.reading(folder)
        inside = (name.removeprefix(f"{folder}/") for name in self.objects if name.startswith(f"{folder}/"))
        return [name for name in inside if "/" not in name]

    def close(self) -> None:
        pass


def remote_at(objects: Objects, clock: Callable[[], float], sealing: Sealing = SEALING, url: str = "") -> Remote:
    """Return a remote of objects."""
    (address,) = addresses(url or "https://remote.example/cache")
    return Remote(address, sealing, lambda limits: objects, clock)


def job_of(number: int) -> str:
    return f"{number:032x}"


def key_of(job: str, shape: Shape, block: int = 32) -> str:
    """Return the key of an entry of a launch."""
    return f"{job}{len(shape.facts):x}{block:08x}"


def today(job: str, block: int = 32) -> Callable[[Shape], str | None]:
    return lambda shape: key_of(job, shape, block)


def found(remote: Remote, job: str, block: int = 32) -> list[Found]:
    return list(remote.find(job, today(job, block)))


def fill(remote: Remote, jobs: Iterable[int], shape: Shape = BY_BLOCK) -> None:
    """Write an entry for each job."""
    for job in map(job_of, jobs):
        assert remote.write(job, shape, key_of(job, shape), job.encode())


def hangs(stopped: threading.Event) -> Callable[[str], object]:
    def hang(name: str) -> object:
        return stopped.wait()

    return hang


def fails(error: BaseException, where: str = "") -> Callable[[str], object]:
    """Return what raises for names that begin so."""

    def fail(name: str) -> object:
        if name.startswith(where):
            raise error
        return None

    return fail
