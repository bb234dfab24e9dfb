"""Settings: the environment variables gridjit reads. They are read here and nowhere else."""

from __future__ import annotations

import functools
import os
import pwd
from collections.abc import Mapping
from pathlib import Path

from gridjit.cache.folder import rooted
from gridjit.compiler.errors import ConfigError
from gridjit.values import dataclass

_DEFAULT_CACHE_BYTES = 1 << 30
_DEFAULT_CACHE_ENTRIES = 100_000
_CHECKS = ("bounds", "uninitialized", "races")
_DEFAULT_PATIENCE_S = 10.0
_MOST_SECONDS = 1e9
_UNITS = {"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30, "T": 1 << 40}


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """What the environment asks for.

    cache: whether to keep artifacts on disk (GRIDJIT_CACHE=0 turns it off).
    cache_dir: where (GRIDJIT_CACHE_DIR; default $XDG_CACHE_HOME/gridjit or ~/.cache/gridjit).
    cache_bytes: how much (GRIDJIT_CACHE_SIZE, like "512M"; default 1 GiB).
    cache_entries: how many entries (GRIDJIT_CACHE_ENTRIES; default 100,000).
    cache_bases: folders that are read where cache_dir misses, and never written (GRIDJIT_CACHE_BASE, like a PATH).
    cache_key_file: a secret that signs entries; only what it signed is read (GRIDJIT_CACHE_KEY_FILE).
    cache_allow_shared: use folders that other users can write (GRIDJIT_CACHE_ALLOW_SHARED=1).
    record: a file to add a line to for each specialization that a run needs (GRIDJIT_RECORD).
    target: "cuda", "host" or None for whichever is there (GRIDJIT_TARGET).
    host_threads: threads that run blocks on the host target (GRIDJIT_HOST_THREADS; default: the usable cores).
    host_device: the GPU that the host stands in for, by its name or a JSON file's (GRIDJIT_HOST_DEVICE; default: h100).
    host_devices: how many of it (GRIDJIT_HOST_DEVICES; default 1).
    host_limits: refuse on the host what such a GPU has no room for (GRIDJIT_HOST_LIMITS=0 turns that off).
    host_checks: what debug kernels are checked for on the host (GRIDJIT_HOST_CHECKS=bounds,uninitialized,races, all of
        which is the default; "none").
    host_step: run kernels on the host as plain Python, one thread at a time, for debuggers (GRIDJIT_HOST_STEP=1).
    host_symbols: a folder to write the host's code with line tables to, for gdb (GRIDJIT_HOST_SYMBOLS).
    host_patience: seconds that a kernel's threads may wait for each other in vain; 0: for ever (GRIDJIT_HOST_PATIENCE;
        default: 10).
    log: what to report on standard error ("compiles"; GRIDJIT_LOG).
    traceback: what errors show: "short", what users wrote, or "full", all of it (GRIDJIT_TRACEBACK).
    assert_no_compile: turn any compile into an error (GRIDJIT_ASSERT_NO_COMPILE=1).
    native_launch: launch through machine code (GRIDJIT_NATIVE_LAUNCH=0: from Python, with equal results).
    compile_processes: how many processes compile declared signatures (GRIDJIT_COMPILE_PROCESSES); None: not said.
    """

    cache: bool
    cache_dir: Path
    cache_bytes: int
    cache_entries: int = _DEFAULT_CACHE_ENTRIES
    cache_bases: tuple[Path, ...] = ()
    cache_key_file: Path | None = None
    cache_allow_shared: bool = False
    record: Path | None = None
    target: str | None
    host_threads: int
    log: str
    assert_no_compile: bool
    native_launch: bool
    compile_processes: int | None = None
    traceback: str = "short"
    host_device: str | None = None
    host_devices: int = 1
    host_limits: bool = True
    host_checks: tuple[str, ...] = _CHECKS
    host_step: bool = False
    host_symbols: Path | None = None
    host_patience: float = _DEFAULT_PATIENCE_S

    @classmethod
    def of(cls, environ: Mapping[str, str]) -> Settings:
        """Return the settings that environ asks for; raises ConfigError naming a variable that makes no sense."""
        target = environ.get("GRIDJIT_TARGET") or None
        if target not in (None, "cuda", "host"):
            raise ConfigError(f"GRIDJIT_TARGET={target}: give 'cuda' or 'host', or unset it to use what is available")
        return cls(
            cache=_switch("GRIDJIT_CACHE", environ.get("GRIDJIT_CACHE")),
            cache_dir=_cache_dir(environ),
            cache_bytes=_bytes("GRIDJIT_CACHE_SIZE", environ.get("GRIDJIT_CACHE_SIZE"), _DEFAULT_CACHE_BYTES),
            cache_entries=_count("GRIDJIT_CACHE_ENTRIES", environ.get("GRIDJIT_CACHE_ENTRIES"), _DEFAULT_CACHE_ENTRIES),
            cache_bases=_paths(environ.get("GRIDJIT_CACHE_BASE")),
            cache_key_file=_path(environ.get("GRIDJIT_CACHE_KEY_FILE")),
            cache_allow_shared=_switched_on(environ.get("GRIDJIT_CACHE_ALLOW_SHARED")),
            record=_path(environ.get("GRIDJIT_RECORD")),
            target=target,
            host_threads=_threads(environ.get("GRIDJIT_HOST_THREADS")),
            log=environ.get("GRIDJIT_LOG", ""),
            traceback=_one_of("GRIDJIT_TRACEBACK", environ.get("GRIDJIT_TRACEBACK"), ("short", "full")),
            assert_no_compile=_switched_on(environ.get("GRIDJIT_ASSERT_NO_COMPILE")),
            native_launch=environ.get("GRIDJIT_NATIVE_LAUNCH", "1") != "0",
            compile_processes=_processes(environ.get("GRIDJIT_COMPILE_PROCESSES")),
            host_device=environ.get("GRIDJIT_HOST_DEVICE") or None,
            host_devices=_count("GRIDJIT_HOST_DEVICES", environ.get("GRIDJIT_HOST_DEVICES"), 1),
            host_limits=_switch("GRIDJIT_HOST_LIMITS", environ.get("GRIDJIT_HOST_LIMITS")),
            host_symbols=_path(environ.get("GRIDJIT_HOST_SYMBOLS")),
            host_step=_switched_on(environ.get("GRIDJIT_HOST_STEP")),
            host_checks=_checks(environ.get("GRIDJIT_HOST_CHECKS")),
            host_patience=_seconds("GRIDJIT_HOST_PATIENCE", environ.get("GRIDJIT_HOST_PATIENCE"), _DEFAULT_PATIENCE_S),
        )

    def processes_for(self, background: bool | None) -> int:
        """Return how many processes compile what a kernel declares: background is what jit was told, None nothing."""
        if background is False or (background is None and self.compile_processes is None):
            return 0
        return usable_cores() if self.compile_processes is None else self.compile_processes


@functools.cache
def settings() -> Settings:
    """Return this process's settings, read on the first call."""
    return Settings.of(os.environ)


def _switch(name: str, text: str | None) -> bool:
    """Return whether a switch is on, as it is when it is not set."""
    if (text or "1").lower() in ("1", "on", "yes", "true"):
        return True
    if (text or "1").lower() in ("0", "off", "no", "false"):
        return False
    raise ConfigError(f"{name}={text}: give 1 or 0")


def _one_of(name: str, text: str | None, known: tuple[str, ...]) -> str:
    """Return which of the known words text is; the first if it is not set."""
    word = (text or known[0]).lower()
    if word not in known:
        raise ConfigError(f"{name}={text}: give {' or '.join(known)}")
    return word


def _cache_dir(environ: Mapping[str, str]) -> Path:
    if given := environ.get("GRIDJIT_CACHE_DIR"):
        return _absolute(given)
    if (base := environ.get("XDG_CACHE_HOME")) and os.path.isabs(base):  # of others, its specification says: ignore
        return Path(base) / "gridjit"
    return _absolute(environ.get("HOME") or _home()) / ".cache" / "gridjit"


def _home() -> str:
    """Return the home that the system's account has, or a place where no folder can be made."""
    try:
        return pwd.getpwuid(os.getuid()).pw_dir
    except KeyError:
        return os.devnull


def bytes_of(name: str, text: str) -> int:
    """Return the bytes that text like "512M" stands for; raises ConfigError naming where it was given."""
    number, unit = text.rstrip("iIbB").rstrip("KMGTkmgt"), text.rstrip("iIbB")[-1:].upper()
    try:
        size = int(float(number) * _UNITS.get(unit, 1))
    except (ValueError, OverflowError):
        raise ConfigError(f"{name}={text}: give bytes, such as 1073741824, 512M or 2G") from None
    if size <= 0:
        raise ConfigError(f"{name}={text}: give more than 0 bytes (GRIDJIT_CACHE=0 turns the cache off)")
    return size


def _bytes(name: str, text: str | None, default: int) -> int:
    return bytes_of(name, text) if text else default


def _count(name: str, text: str | None, default: int) -> int:
    if not text:
        return default
    if not (text.isascii() and text.isdigit()) or int(text) < 1:
        raise ConfigError(f"{name}={text}: give a whole number from 1")
    return int(text)


def _checks(text: str | None) -> tuple[str, ...]:
    if text is None or not text.strip():
        return _CHECKS
    named = {name.strip() for name in text.lower().split(",")}
    if unknown := named - {*_CHECKS, "none"}:
        raise ConfigError(
            f"GRIDJIT_HOST_CHECKS={text}: {sorted(unknown)[0]!r} is not one of {', '.join(_CHECKS)}, none"
        )
    return tuple(name for name in _CHECKS if name in named) or ("none",)


def _seconds(name: str, text: str | None, default: float) -> float:
    try:
        seconds = float(text) if text else default
    except ValueError:
        seconds = -1.0
    if not 0 <= seconds < _MOST_SECONDS:
        raise ConfigError(f"{name}={text}: give seconds, such as 10 or 0.5, or 0 for no limit")
    return seconds


def _absolute(text: str) -> Path:
    """Return a path that stays the same when the process changes its folder; ~ is the home, as in a shell."""
    return Path(rooted(os.path.expanduser(text)))


def _path(text: str | None) -> Path | None:
    return _absolute(text) if text else None


def _paths(text: str | None) -> tuple[Path, ...]:
    return tuple(_absolute(part) for part in (text or "").split(os.pathsep) if part)


def _switched_on(text: str | None) -> bool:
    return (text or "0") not in ("0", "off", "no")


def usable_cores() -> int:
    """Return how many cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _processes(text: str | None) -> int | None:
    if not text:
        return None
    if not (text.isascii() and text.isdigit()):
        raise ConfigError(f"GRIDJIT_COMPILE_PROCESSES={text}: give a whole number, 0 for none")
    return int(text)


def _threads(text: str | None) -> int:
    if not text:
        return usable_cores()
    if not text.isdigit() or int(text) < 1:
        raise ConfigError(f"GRIDJIT_HOST_THREADS={text}: give a whole number from 1")
    return int(text)
