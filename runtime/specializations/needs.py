"""Need: a specialization that a run needed, as one line of JSON; NeedLog: writes each need once, for `gridjit warm`."""

from __future__ import annotations

import dataclasses
import importlib
import json
import os
from pathlib import Path
from typing import Any

from gridjit.base import reading
from gridjit.base.digests import utf8
from gridjit.base.forking import lock, section
from gridjit.base.interrupts import let_through
from gridjit.base.values import dataclass
from gridjit.cache.errors import warn
from gridjit.compiler.values import signature as signature_types
from gridjit.compiler.values.errors import ConfigError
from gridjit.compiler.values.footprint import Fact, is_very_object
from gridjit.compiler.values.launch_config import LaunchConfig
from gridjit.compiler.values.signature import ClassName, Signature
from gridjit.runtime.specializations.table import Specialization

SCHEMA = 1
_MODE = 0o644
_PARTS = ("config", "facts", "kernel", "schema", "signature", "target")
_TYPES = {
    name: kind
    for name, kind in vars(signature_types).items()
    if isinstance(kind, type) and dataclasses.is_dataclass(kind)
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Need:
    """A launch's need for code: kernel ("module:name"), types, its configuration, and the facts that were read.

    target: of the code ("sm_90", "host"). facts: the part of config that matters.
    """

    kernel: str
    signature: Signature
    config: LaunchConfig | None
    target: str
    facts: tuple[Fact, ...] = ()

    @classmethod
    def of(cls, kernel: str, found: Specialization) -> Need:
        """Return the need that found was made for, without facts about the launch's objects.

        Generic code is compiled without a configuration, if it does not depend on one.
        """
        return cls(
            kernel=kernel,
            signature=found.signature,
            config=None if found.tier == "generic" and not found.footprint.facts else found.config,
            target=str(found.target),
            facts=tuple(fact for fact in found.footprint.facts if not is_very_object(fact.field)),
        )

    def to_line(self) -> str:
        """Return the need as one line of JSON; equal needs are equal lines."""
        plain = {
            "schema": SCHEMA,
            "kernel": self.kernel,
            "signature": _plain(self.signature),
            "config": None if self.config is None else dataclasses.asdict(self.config),
            "target": self.target,
            "facts": {fact.field: fact.value for fact in self.facts},
        }
        return json.dumps(plain, sort_keys=True, separators=(",", ":")) + "\n"

    @classmethod
    def from_line(cls, line: str) -> Need:
        """Return the need of a line; raises ConfigError saying what is wrong with the line."""
        try:
            plain = reading.parse(utf8(line))
            if isinstance(plain, dict) and plain.get("schema") != SCHEMA:
                raise ConfigError(f"this line has schema {plain.get('schema')!r}: another version of gridjit wrote it")
            return cls._read(reading.fields(plain, _PARTS))
        except ConfigError:
            raise
        except (Exception, SystemExit) as error:  # a line names classes, whose modules may fail in any way
            raise ConfigError(f"this is not a recorded line: {type(error).__name__}: {error}") from error

    @classmethod
    def _read(cls, plain: dict[str, Any]) -> Need:
        signature = _made(reading.nested(plain["signature"]))
        if not isinstance(signature, Signature) or not all(type(one) in _TYPES.values() for one in signature.arguments):
            raise reading.Unreadable("it has no signature")
        config, facts = reading.nested(plain["config"]), reading.nested(plain["facts"])
        return cls(
            kernel=reading.text(plain["kernel"]),
            signature=signature,
            config=None if config is None else LaunchConfig.of(**config),
            target=reading.text(plain["target"]),
            facts=tuple(Fact.read(field, value) for field, value in facts.items()),
        )


class NeedLog:
    """Adds a line to a file for each need, once per process; any number of processes may share the file."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._seen: set[tuple[object, ...]] = set()
        self._warned = False
        self._lock = lock()

    def note(self, need: Need) -> None:
        """Write need, unless a need of the same facts was written; an unwritable file is warned of once."""
        what = (need.kernel, need.signature, need.target, need.facts)
        with section(), self._lock:
            if what in self._seen:
                return
            self._seen.add(what)
        try:
            _append(self._path, need.to_line().encode())
        except OSError as error:
            let_through(error)
            if not self._warned:
                self._warned = True
                way_on = "Set it to a file that can be, or not at all."
                warn(f"GRIDJIT_RECORD={self._path} cannot be written: {error}. {way_on}")


def _append(path: Path, line: bytes) -> None:
    """Add a line in one write: the system puts it after other processes' lines, and never within them."""
    # Not blocking: a pipe without a reader would make the launch wait.
    flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC
    descriptor = os.open(path, flags, _MODE)
    try:
        os.write(descriptor, line)
    finally:
        os.close(descriptor)


def _plain(value: Any) -> Any:
    """Return a type of the signature as JSON values, class by name."""
    if isinstance(value, tuple):
        return [_plain(item) for item in value]
    if not dataclasses.is_dataclass(value) or isinstance(value, type):
        return value
    # A value without a repr is a class itself, which is found by its name.
    told = (f.name for f in dataclasses.fields(value) if f.compare and f.repr)
    fields = {name: _plain(getattr(value, name)) for name in told}
    # No field can have this name.
    return {"class": type(value).__name__, **fields}


def _made(plain: Any) -> Any:
    """Return the type of _plain's values."""
    if isinstance(plain, list):
        return tuple(_made(item) for item in plain)
    if not isinstance(plain, dict):
        return plain
    fields = {name: _made(value) for name, value in plain.items() if name != "class"}
    if plain["class"] == ClassName.__name__:
        return ClassName.of(_class(fields["module"], fields["qualname"]))
    return _TYPES[plain["class"]](**fields)


def _class(module: str, qualname: str) -> type:
    found: Any = importlib.import_module(module)
    for name in qualname.split("."):
        found = getattr(found, name)
    if not isinstance(found, type):
        raise TypeError(f"{module}.{qualname} is not a class")
    return found
