"""Settings: gridjit's settings, declared once in VARIABLES, and read once: variables, files, the program's choice.

An invalid value is a ConfigError when the settings are first used. A name that is close to a setting's is a warning.
sources.py reads files and the program's choice, and is imported where there are some.
"""

from __future__ import annotations

import functools
import os
import pwd
import re
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from gridjit.base.interrupts import let_through
from gridjit.base.messages import warn_or_log
from gridjit.base.values import dataclass, field
from gridjit.cache.folder import read_apart, rooted
from gridjit.compiler.values.errors import ConfigError, ConfigWarning

if TYPE_CHECKING:
    from gridjit.cache.remote.address import RemoteAddress
    from gridjit.runtime.environment.sources import Given

PREFIX = "GRIDJIT_"
_CHECKS = ("bounds", "uninitialized", "races")
_LOGS = ("compiles",)
_ON, _OFF = ("1", "on", "yes", "true"), ("0", "off", "no", "false")
_UNITS = {"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30, "T": 1 << 40}
_SIZE = re.compile(r"(\d{1,18}(?:\.\d{0,9})?)\s*([KMGT]?)(?:I?B)?", re.I | re.A)
_MOST_SECONDS = 1e9
# More threads, processes or devices than exist; and a number that any other count stays far below.
MOST, _MOST_ENTRIES = 1 << 16, 1 << 62
# Of a file of settings; files.py refuses larger ones.
_MOST_BYTES = 1 << 20


def usable_cores() -> int:
    """Return how many cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """A process's settings. VARIABLES gives each field's variable, setting_words.py its meaning."""

    cache_dir: Path
    cache_writers: Path
    cache: bool = True
    cache_bytes: int = 1 << 30
    cache_entries: int = 100_000
    cache_bases: tuple[Path, ...] = ()
    cache_key_file: Path | None = None
    cache_remotes: tuple[RemoteAddress, ...] = ()
    cache_remote_token: Path | None = None
    cache_remote_certificate: Path | None = None
    cache_remote_ca: Path | None = None
    cache_signing_key: Path | None = None
    cache_allow_shared: bool = False
    record: Path | None = None
    certificate: Path | None = None
    trace: Path | None = None
    target: str | None = None
    host_threads: int = field(default_factory=usable_cores)
    log: tuple[str, ...] = ()
    debug: bool = False
    assert_no_compile: bool = False
    native_launch: bool = True
    check_streams: bool = False
    compile_processes: int | None = None
    compile_patience: float = 120.0
    compile_server: bool = False
    traceback: str = "short"
    host_device: str | None = None
    host_devices: int = 1
    host_limits: bool = True
    codegen: str = "llvm"
    host_checks: tuple[str, ...] = _CHECKS
    host_step: bool = False
    host_symbols: Path | None = None
    host_plain: bool = False
    host_passes: str | None = None
    host_patience: float = 10.0

    @classmethod
    def of(cls, environ: Mapping[str, str], values: Mapping[str, Any] | None = None) -> Settings:
        """Return environ's settings; raises ConfigError naming a variable, its value and the accepted values.

        An empty variable gives the default. values: the values of all sources, by fields, in place of the variables'.
        """
        if (given := values) is None:
            given = {one.field: one.value(text) for one in VARIABLES if (text := environ.get(one.name))}
        unset: dict[str, Any] = {
            "cache_dir": _folder(environ, "XDG_CACHE_HOME", ".cache"),
            "cache_writers": _folder(environ, "XDG_CONFIG_HOME", ".config") / "trusted-writers.json",
        }
        return cls(**{**unset, **given})

    @property
    def processes_that_serve(self) -> int:
        """How many processes of the compile server compile for this one at once: one for each thread that may run."""
        return usable_cores() if self.compile_processes is None else self.compile_processes

    def processes_for(self, background: bool | None) -> int:
        """Return how many processes compile a kernel's declared signatures; background: jit's parameter, or None."""
        if background is False or (background is None and self.compile_processes is None):
            return 0
        return self.processes_that_serve


class ProcessSettings:
    """This process's settings, once they are read, and the program's choice, by variables.

    owner: who gave the settings, if the program cannot choose them: "program", for a process that compiles for another,
    or "command", for a command that imports a program.
    """

    found: Settings | None = None
    owner = ""
    chosen: dict[str, Given] = {}


def settings() -> Settings:
    """Return this process's settings, read on the first call; warns of variables that look misspelt."""
    return _read() if (found := ProcessSettings.found) is None else found


def use_settings(wanted: Settings | None, *, owner: str = "") -> None:
    """Use these settings from now on, which an owner gave; None: forget settings and choice, as a new process would."""
    ProcessSettings.found, ProcessSettings.owner = wanted, owner
    if wanted is None:
        ProcessSettings.chosen = {}


def default_settings() -> Settings:
    """Return the settings of a process to which no source gives any."""
    return Settings.of(os.environ, {})


def _read() -> Settings:
    files = setting_files(os.environ)
    found = _of_all_sources(files) if ProcessSettings.chosen or any(files) else Settings.of(os.environ)
    if unknown := unknown_names(os.environ):
        from gridjit.runtime.environment.misspelt import warn_of_misspelt  # misspelt names are rare

        warn_of_misspelt(unknown, [one.name for one in VARIABLES])
    ProcessSettings.found = found
    return found


def _of_all_sources(files: tuple[str | None, str | None]) -> Settings:
    from gridjit.runtime.environment.sources import Sources  # most processes have the environment only

    found = Sources.of(VARIABLES, os.environ, files, ProcessSettings.chosen)
    if (user := files[0]) is not None and user in found.unread:
        warn_or_log(ConfigWarning(f"{user} is not read: it {found.unread[user]}"), logger="gridjit")
    return Settings.of(os.environ, found.values(VARIABLES))


def setting_files(environ: Mapping[str, str]) -> tuple[str | None, str | None]:
    """Return the paths of the user's file, and of the nearest project's file; None for a missing file.

    A project's file that cannot have a table for gridjit counts as missing.
    """
    folder = _folder(environ, "XDG_CONFIG_HOME", ".config")
    user = f"{folder}.toml"
    return user if os.path.exists(user) else None, _project_file(environ.get("HOME"))


def _project_file(home: str | None) -> str | None:
    """Return the nearest pyproject.toml, from the current folder up to, but without, the home and the root."""
    try:
        folder = os.getcwd()
    except OSError as error:
        let_through(error)
        return None
    while not os.path.exists(path := os.path.join(folder, "pyproject.toml")):
        folder = os.path.dirname(folder)
        if folder in ("/", home):
            return None
    return path if _may_choose(path) else None


def _may_choose(path: str) -> bool:
    """Return whether a project's file may have a table for gridjit: most have none, and are not parsed."""
    try:
        data = read_apart(path, _MOST_BYTES, lambda found: None)
    except OSError as error:
        let_through(error)
        return True  # sources.py finds out why
    return b"gridjit" in data and any(_may_begin_table(line) for line in data.splitlines())


def _may_begin_table(line: bytes) -> bool:
    words = line.lstrip(b"[ \t\"'")
    after = words[4:].lstrip(b"\"' \t")
    return words.startswith(b"tool") and (after.startswith((b"=", b"]")) or (after[:1] == b"." and b"gridjit" in after))


def unknown_names(environ: Mapping[str, str]) -> list[str]:
    """Return the names that begin as settings do, and are none: another program's, or misspelt."""
    # os.environ decodes each name that it yields; below, all names are at hand.
    names: Iterable[Any] = getattr(environ, "_data", environ)
    prefix: Any = PREFIX if names is environ else PREFIX.encode()
    given = {os.fsdecode(name) for name in names if name.startswith(prefix)}
    return sorted(given - {one.name for one in VARIABLES}) if given else []


def bytes_of(name: str, text: str) -> int:
    """Return the bytes of a text like "512M"; raises ConfigError naming its variable."""
    try:
        return _size(text)
    except ValueError:
        from gridjit.runtime.environment.setting_words import SIZES

        raise ConfigError(f"{_said(name, text)}: give {SIZES}") from None


class Variable(NamedTuple):
    """An environment variable: its name, its field, and a reader of its text, which may raise ValueError.

    runtime/environment/setting_words.py says what it accepts and means.
    """

    name: str
    field: str
    read: Callable[[str], Any]

    @property
    def key(self) -> str:
        """The setting's name in files and for gridjit.settings: "cache_dir"."""
        return self.name.removeprefix(PREFIX).lower()

    def value(self, text: str) -> Any:
        """Return the value of a text that is not empty; raises ConfigError."""
        try:
            return self.read(text)
        except ConfigError:  # its message is complete
            raise
        except _WrongWordError as error:
            raise ConfigError(f"{_said(self.name, text)}: {error}") from None
        except ValueError:
            from gridjit.runtime.environment.setting_words import WORDS

            raise ConfigError(f"{_said(self.name, text)}: give {WORDS[self.name].accepts}") from None


def _said(name: str, text: str) -> str:
    """Return a variable and its text for an error; a long text is cut."""
    from gridjit.base.printable import printable  # few settings are wrong

    return f"{name}={printable(text if len(text) < 200 else f'{text[:200]}...')}"


class _WrongWordError(ValueError):
    """A word among several is not known; the message names it and the known words."""


def _switch(text: str) -> bool:
    word = text.strip().lower()
    if word not in (*_ON, *_OFF):
        raise ValueError
    return word in _ON


def _one_of(text: str, known: tuple[str, ...]) -> str:
    if text not in known:
        raise ValueError
    return text


def _size(text: str) -> int:
    match = _SIZE.fullmatch(text.strip())
    size = int(float(match[1]) * _UNITS[match[2].upper()]) if match else 0
    if not 0 < size < _MOST_ENTRIES:
        raise ValueError
    return size


def _count(text: str, *, least: int = 1, most: int = MOST) -> int:
    number = int(text) if re.fullmatch(r"\d{1,19}", text, re.A) else -1
    if not least <= number <= most:
        raise ValueError
    return number


def _words(known: tuple[str, ...], none: tuple[str, ...] = ()) -> Callable[[str], tuple[str, ...]]:
    """Return a reader of several words with commas between, in the order of known; none: the value of "none"."""

    def read(text: str) -> tuple[str, ...]:
        named = {name.strip() for name in text.lower().split(",")} - {""}
        if unknown := named - {*known, "none"}:
            raise _WrongWordError(f"{sorted(unknown)[0]!r} is not one of {', '.join(known)}, none")
        if not named:
            raise ValueError
        return tuple(name for name in known if name in named) or none

    return read


def _seconds(text: str) -> float:
    seconds = float(text)
    if not 0 <= seconds < _MOST_SECONDS:
        raise ValueError
    return seconds


def _path(text: str) -> Path:
    """Return a path that stays the same when the process changes its folder; ~ is the home, as in a shell."""
    return Path(rooted(os.path.expanduser(text)))


def _paths(text: str) -> tuple[Path, ...]:
    return tuple(_path(part) for part in text.split(os.pathsep) if part)


def _folder_path(text: str) -> Path:
    """Return the path of a cache folder; a URL is a mistake, and would be a folder of that name."""
    if "://" in text:
        raise _WrongWordError("it is a folder's path: remote caches are named in GRIDJIT_CACHE_REMOTE")
    return _path(text)


def _folder_paths(text: str) -> tuple[Path, ...]:
    _folder_path(text)
    return _paths(text)


def _remotes(text: str) -> tuple[RemoteAddress, ...]:
    from gridjit.cache.remote.address import addresses  # most programs have none

    try:
        return addresses(text)
    except ValueError as error:
        raise _WrongWordError(str(error)) from None


def _device(text: str) -> str:
    """Return the name of a GPU for the host to simulate: a known name, or the path of a file that describes it."""
    from gridjit.runtime.environment.models import is_file, model  # few programs choose a device

    chosen = str(_path(text)) if is_file(text) else text
    model(chosen)
    return chosen


def _folder(environ: Mapping[str, str], variable: str, usual: str) -> Path:
    """Return gridjit's folder of a kind: in the one that a variable names, else in the usual one of the home."""
    if (base := environ.get(variable)) and os.path.isabs(base):  # its specification says to ignore other values
        return Path(base) / "gridjit"
    return _path(environ.get("HOME") or _home()) / usual / "gridjit"


def _home() -> str:
    """Return the home of the system's account, or a place where no folder can be made."""
    try:
        return pwd.getpwuid(os.getuid()).pw_dir
    except KeyError:
        return os.devnull


VARIABLES = (
    Variable("GRIDJIT_TARGET", "target", functools.partial(_one_of, known=("cuda", "host"))),
    Variable("GRIDJIT_CACHE", "cache", _switch),
    Variable("GRIDJIT_CACHE_DIR", "cache_dir", _folder_path),
    Variable("GRIDJIT_CACHE_SIZE", "cache_bytes", _size),
    Variable("GRIDJIT_CACHE_ENTRIES", "cache_entries", functools.partial(_count, most=_MOST_ENTRIES)),
    Variable("GRIDJIT_CACHE_BASE", "cache_bases", _folder_paths),
    Variable("GRIDJIT_CACHE_KEY_FILE", "cache_key_file", _path),
    Variable("GRIDJIT_CACHE_REMOTE", "cache_remotes", _remotes),
    Variable("GRIDJIT_CACHE_REMOTE_TOKEN", "cache_remote_token", _path),
    Variable("GRIDJIT_CACHE_REMOTE_CERT", "cache_remote_certificate", _path),
    Variable("GRIDJIT_CACHE_REMOTE_CA", "cache_remote_ca", _path),
    Variable("GRIDJIT_CACHE_WRITERS", "cache_writers", _path),
    Variable("GRIDJIT_CACHE_SIGNING_KEY", "cache_signing_key", _path),
    Variable("GRIDJIT_CACHE_ALLOW_SHARED", "cache_allow_shared", _switch),
    Variable("GRIDJIT_RECORD", "record", _path),
    Variable("GRIDJIT_CERTIFICATE", "certificate", _path),
    Variable("GRIDJIT_TRACE", "trace", _path),
    Variable("GRIDJIT_LOG", "log", _words(_LOGS)),
    Variable("GRIDJIT_TRACEBACK", "traceback", functools.partial(_one_of, known=("short", "full"))),
    Variable("GRIDJIT_DEBUG", "debug", _switch),
    Variable("GRIDJIT_ASSERT_NO_COMPILE", "assert_no_compile", _switch),
    Variable("GRIDJIT_COMPILE_PROCESSES", "compile_processes", functools.partial(_count, least=0)),
    Variable("GRIDJIT_COMPILE_PATIENCE", "compile_patience", _seconds),
    Variable("GRIDJIT_COMPILE_SERVER", "compile_server", _switch),
    Variable("GRIDJIT_NATIVE_LAUNCH", "native_launch", _switch),
    Variable("GRIDJIT_CHECK_STREAMS", "check_streams", _switch),
    Variable("GRIDJIT_CODEGEN", "codegen", functools.partial(_one_of, known=("nvvm", "llvm"))),
    Variable("GRIDJIT_HOST_THREADS", "host_threads", _count),
    Variable("GRIDJIT_HOST_DEVICE", "host_device", _device),
    Variable("GRIDJIT_HOST_DEVICES", "host_devices", _count),
    Variable("GRIDJIT_HOST_LIMITS", "host_limits", _switch),
    Variable("GRIDJIT_HOST_PATIENCE", "host_patience", _seconds),
    Variable("GRIDJIT_HOST_CHECKS", "host_checks", _words(_CHECKS, none=("none",))),
    Variable("GRIDJIT_HOST_STEP", "host_step", _switch),
    Variable("GRIDJIT_HOST_SYMBOLS", "host_symbols", _path),
    Variable("GRIDJIT_HOST_PLAIN", "host_plain", _switch),
    Variable("GRIDJIT_HOST_PASSES", "host_passes", functools.partial(_one_of, known=("print",))),
)
