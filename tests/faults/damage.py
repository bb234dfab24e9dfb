"""What happens to a cache's database file, and what must never be unpickled."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from pathlib import Path


def replace_by_garbage(database: Path) -> None:
    """Overwrite the file in place."""
    database.write_bytes(b"not a database at all " * 1000)


def replace_by_another_file(database: Path) -> None:
    """Put another file in its place."""
    database.with_name("other").write_bytes(b"not a database at all " * 1000)
    database.with_name("other").rename(database)


def truncate(database: Path) -> None:
    """Cut the file to nothing."""
    database.write_bytes(b"")


def cut(database: Path) -> None:
    """Cut the file in the middle."""
    database.write_bytes(database.read_bytes()[:5000])


def drop_the_tables(database: Path) -> None:
    """Leave a database without tables."""
    with sqlite3.connect(database) as connection:
        connection.executescript("DROP TABLE Cache; DROP TABLE Settings;")
    connection.close()


class Bomb:
    """What leaves a file behind when it is unpickled."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self) -> tuple[Callable[..., object], tuple[object, ...]]:
        return (Path.touch, (self.path,))
