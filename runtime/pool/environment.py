"""ProcessEnvironment: the surroundings that a process shares with the program that it compiles for."""

from __future__ import annotations

import dataclasses
import os
import pickle
import sys

from gridjit.base.values import dataclass
from gridjit.runtime.environment.settings import Settings

# NumPy's linear algebra starts no threads in a server: they would take 0.1 s of the other cores, and a server forks.
# Tasks have the program's own environment. `gridjit run` counts programs' compiles, whichever process makes them.
ALONE = {"OPENBLAS_NUM_THREADS": "1", "_GRIDJIT_RUN": ""}


@dataclass(frozen=True, slots=True, kw_only=True)
class ProcessEnvironment:
    """A program's surroundings: settings, folder, environment, sys.path, and how it writes files.

    umask: None if it is not known. bytecode: whether it writes bytecode, and in which folder.
    """

    settings: Settings
    folder: str | None
    environ: tuple[tuple[str, str], ...]
    path: tuple[str, ...]
    umask: int | None
    bytecode: tuple[bool, str | None]

    @classmethod
    def of(cls, settings: Settings) -> ProcessEnvironment:
        """Return this thread's surroundings, with settings by which another process only compiles and stores."""
        quiet = dataclasses.replace(settings, record=None, log=(), compile_processes=0, compile_server=False)
        return cls(
            settings=quiet,
            folder=_folder(),
            environ=tuple(os.environ.items()),
            path=tuple(map(str, sys.path)),
            umask=_umask(),
            bytecode=(not sys.dont_write_bytecode, sys.pycache_prefix),
        )

    def to_bytes(self) -> bytes:
        """Return them as bytes, for another process."""
        return pickle.dumps(self)


def _folder() -> str | None:
    try:
        return os.getcwd()
    except OSError:
        return None


def _umask() -> int | None:
    """Return the rights that new files lack; os.umask would have to set it for a moment, for all threads."""
    try:
        with open("/proc/self/status") as status:
            return next((int(line.split()[1], 8) for line in status if line.startswith("Umask:")), None)
    except OSError:
        return None
