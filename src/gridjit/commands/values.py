"""Words of the command line, read as values: numbers, sizes, ages, launches, targets, names of kernels.

An invalid value is a WrongWord that names the value and says what is valid.
"""

from __future__ import annotations

import argparse
import re
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gridjit.compiler.values.errors import ConfigError, GridjitError
from gridjit.compiler.values.launch_config import SHORT_NAMES, LaunchConfig
from gridjit.runtime.environment.settings import bytes_of

if TYPE_CHECKING:
    from gridjit.cache.remote.address import RemoteAddress

SHELLS = ("bash", "zsh", "fish")
ORDERS = ("kernel", "size", "age", "target", "compile", "hits", "used")
_ENGINE = re.compile(r"dask://[^/]+:\d{1,5}|ray://(auto|[^/]+:\d{1,5})|mpi")
_TARGET = re.compile(r"host|sm_\d{2,3}[af]?")
_DAYS = {"h": 1 / 24, "d": 1.0, "w": 7.0}
_DAY_S = 86400.0


class WrongWord(GridjitError):
    """A word of the command line makes no sense; not a ValueError, of which argparse would tell nothing."""


def count(option: str, *, least: int = 1) -> Callable[[str], int]:
    """Return the function that reads an option's whole number."""

    def read(text: str) -> int:
        if not re.fullmatch(r"[+-]?\d{1,18}", text, re.A):
            raise argparse.ArgumentTypeError(f"{text!r} is not a whole number")
        if int(text) < least:
            raise WrongWord(f"{option} {text}: give a whole number from {least}")
        return int(text)

    return read


def size(text: str) -> int:
    """Return the bytes of --max-size."""
    return int(_or_wrong_word(lambda: bytes_of("--max-size", text)))


def age(text: str) -> float:
    """Return the seconds that text like "30d" stands for."""
    match = re.fullmatch(r"(\d{1,9}(?:\.\d{1,9})?)([hdw])", text, re.A)
    if match is None:
        raise WrongWord(f"--older-than {text}: give hours, days or weeks, such as 36h, 30d or 8w")
    return float(match[1]) * _DAYS[match[2]] * _DAY_S


def kernel(text: str) -> str:
    """Return the name of one kernel."""
    if not all(parts_of(text)):
        raise WrongWord(f"{text}: give module:kernel or script.py:kernel, such as stats.rows:scale")
    return text


def file(text: str) -> Path:
    """Return the name of a file that is read or replaced as a whole, as no stream can be."""
    if text == "-":
        raise argparse.ArgumentTypeError("give the name of a file; ./- is a file named -")
    return Path(text)


def folder(text: str) -> str:
    """Return the name of a folder: an empty name is an unset variable's, and would mean the default."""
    if not text:
        raise WrongWord("--dir is empty: give a folder, or leave --dir out for the one in use")
    return text


def writer(text: str) -> str:
    """Return the name of a writer of a remote cache."""
    from gridjit.cache.remote.key_lines import WritersError, checked_name

    try:
        return checked_name(text)
    except WritersError as error:
        raise WrongWord(str(error)) from None


def pack(text: str) -> str:
    """Return the name of a pack in a remote cache."""
    from gridjit.cache.remote.address import are_parts

    if not are_parts(text):
        raise WrongWord(f"{text!r} does not name a pack: give letters, digits and ._- with / between parts")
    return text


def remotes(text: str) -> tuple[RemoteAddress, ...]:
    """Return the remote caches of URLs with spaces between."""
    from gridjit.cache.remote.address import addresses

    try:
        return addresses(text)
    except ValueError as error:
        raise WrongWord(str(error)) from None


def prefix(text: str) -> str:
    """Return a pattern of prefixes of a remote cache."""
    from gridjit.cache.remote.key_lines import WritersError
    from gridjit.cache.remote.trust_file import checked_prefix

    try:
        return checked_prefix(text)
    except WritersError as error:
        raise WrongWord(f"--prefix: {error}") from None


def parts_of(name: str) -> tuple[str, str]:
    """Return the module, or the script's path, and the kernel ("" for all) of a name."""
    module, _, path = name.rpartition(":") if ".py:" in name else name.partition(":")
    return (name, "") if not module else (module, path)


def launch(text: str) -> LaunchConfig:
    """Return the launch of --config."""
    read: LaunchConfig = _or_wrong_word(lambda: parse_config(text))
    return read


def engine(text: str) -> str:
    """Return the address of --on."""
    if not _ENGINE.fullmatch(text):
        raise WrongWord(f"--on {text}: give dask://HOST:8786, ray://HOST:10001, ray://auto or mpi")
    return text


def targets(text: str) -> list[str]:
    """Return the targets of "sm_80,host"."""
    return [name for name in _or_wrong_word(lambda: parse_targets(text)) if name]


def parse_config(text: str) -> LaunchConfig:
    """Return the launch that "grid=4,block=16x16,sharedmem=1024" describes; raises ConfigError."""
    fields: dict[str, Any] = {}
    for part in text.split(","):
        name, _, value = part.strip().partition("=")
        label = SHORT_NAMES.get(name, name)
        if label in fields:
            raise ConfigError(f"--config {text}: {name} is given twice")
        fields[label] = _field(text, label, value)
    if missing := {"griddim", "blockdim"} - set(fields):
        raise ConfigError(f"--config {text}: {' and '.join(sorted(missing))} missing; write grid=4,block=128")
    return LaunchConfig.of(**fields)


def parse_targets(text: str | None) -> list[str | None]:
    """Return the targets of "sm_80,host"; [None], this machine's own, for nothing. Raises ConfigError."""
    names = [name.strip() for name in (text or "").split(",") if name.strip()]
    for name in names:
        if not _TARGET.fullmatch(name):
            raise ConfigError(f"--target {name}: give 'host' or an architecture such as 'sm_90'")
    return list(dict.fromkeys(names)) or [None]


def _field(text: str, label: str, value: str) -> Any:
    try:
        match label:
            case "griddim" | "blockdim" | "cluster":
                return tuple(int(dim) for dim in value.split("x"))
            case "sharedmem":
                return int(value)
            case "cooperative":
                return {"0": False, "1": True}[value]
    except (ValueError, KeyError):
        raise ConfigError(f"--config {text}: {value!r} is not a value for {label}") from None
    raise ConfigError(f"--config {text}: fields are grid, block, sharedmem, cluster, cooperative; not {label!r}")


def _or_wrong_word(read: Callable[[], Any]) -> Any:
    try:
        return read()
    except ConfigError as error:
        raise WrongWord(str(error)) from None
