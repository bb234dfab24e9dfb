"""ProcessEnvironment: what a process that compiles for another must share with it, so that both mean the same job."""

from __future__ import annotations

import dataclasses
import os
import pickle
import sys

from gridjit.runtime.settings import Settings
from gridjit.values import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class ProcessEnvironment:
    """A program's settings, folder, environment and sys.path, as they are at one moment."""

    settings: Settings
    folder: str | None
    environ: tuple[tuple[str, str], ...]
    path: tuple[str, ...]

    @classmethod
    def of(cls, settings: Settings) -> ProcessEnvironment:
        """Return what surrounds this thread, with settings by which another process only compiles and stores."""
        quiet = dataclasses.replace(settings, record=None, log=(), compile_processes=0)
        return cls(settings=quiet, folder=_folder(), environ=tuple(os.environ.items()), path=tuple(map(str, sys.path)))

    def to_bytes(self) -> bytes:
        """Return them as bytes, for a process that takes them over."""
        return pickle.dumps(self)


def _folder() -> str | None:
    try:
        return os.getcwd()
    except OSError:
        return None
