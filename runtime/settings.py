"""Settings: the environment variables gridjit reads. They are read here and nowhere else."""

from __future__ import annotations

import functools
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from gridjit.compiler.errors import ConfigError

_DEFAULT_CACHE_BYTES = 1 << 30
_UNITS = {"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30, "T": 1 << 40}


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """What the environment asks for.

    cache: whether to keep artifacts on disk (GRIDJIT_CACHE=0 turns it off).
    cache_dir: where (GRIDJIT_CACHE_DIR; default $XDG_CACHE_HOME/gridjit or ~/.cache/gridjit).
    cache_bytes: how much (GRIDJIT_CACHE_SIZE, like "512M"; default 1 GiB).
    target: "cuda", "host" or None for whichever is there (GRIDJIT_TARGET).
    host_threads: threads that run blocks on the host target (GRIDJIT_HOST_THREADS; default: the usable cores).
    log: what to report on standard error ("compiles"; GRIDJIT_LOG).
    assert_no_compile: turn any compile into an error (GRIDJIT_ASSERT_NO_COMPILE=1).
    native_launch: launch through machine code (GRIDJIT_NATIVE_LAUNCH=0: from Python, with equal results).
    """

    cache: bool
    cache_dir: Path
    cache_bytes: int
    target: str | None
    host_threads: int
    log: str
    assert_no_compile: bool
    native_launch: bool

    @classmethod
    def of(cls, environ: Mapping[str, str]) -> Settings:
        """Return the settings that environ asks for; raises ConfigError naming a variable that makes no sense."""
        target = environ.get("GRIDJIT_TARGET") or None
        if target not in (None, "cuda", "host"):
            raise ConfigError(f"GRIDJIT_TARGET={target}: 'cuda', 'host', or unset for whichever is there")
        return cls(
            cache=environ.get("GRIDJIT_CACHE", "1") not in ("0", "off", "no"),
            cache_dir=_cache_dir(environ),
            cache_bytes=_bytes("GRIDJIT_CACHE_SIZE", environ.get("GRIDJIT_CACHE_SIZE"), _DEFAULT_CACHE_BYTES),
            target=target,
            host_threads=_threads(environ.get("GRIDJIT_HOST_THREADS")),
            log=environ.get("GRIDJIT_LOG", ""),
            assert_no_compile=environ.get("GRIDJIT_ASSERT_NO_COMPILE", "0") not in ("", "0"),
            native_launch=environ.get("GRIDJIT_NATIVE_LAUNCH", "1") != "0",
        )


@functools.cache
def settings() -> Settings:
    """Return this process's settings, read on the first call."""
    return Settings.of(os.environ)


def _cache_dir(environ: Mapping[str, str]) -> Path:
    if given := environ.get("GRIDJIT_CACHE_DIR"):
        return Path(given).absolute()
    if base := environ.get("XDG_CACHE_HOME"):
        return Path(base) / "gridjit"
    return Path(environ.get("HOME") or "/nonexistent") / ".cache" / "gridjit"


def _bytes(name: str, text: str | None, default: int) -> int:
    if not text:
        return default
    number, unit = text.rstrip("iIbB").rstrip("KMGTkmgt"), text.rstrip("iIbB")[-1:].upper()
    try:
        size = int(float(number) * _UNITS.get(unit, 1))
    except ValueError:
        raise ConfigError(f"{name}={text}: give bytes, like 1073741824, 512M or 2G") from None
    if size <= 0:
        raise ConfigError(f"{name}={text}: give more than 0 bytes (GRIDJIT_CACHE=0 turns the cache off)")
    return size


def _threads(text: str | None) -> int:
    if not text:
        return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    if not text.isdigit() or int(text) < 1:
        raise ConfigError(f"GRIDJIT_HOST_THREADS={text}: give a whole number from 1")
    return int(text)
