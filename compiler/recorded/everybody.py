"""everybody: the installed extensions' registrations that may be in any kernel, and so are in every key.

A rewrite, or an implementation of anything but an extension's own functions and types, may be in any kernel. Whether an
extension registers any is known once numba has loaded it. The answer is kept in the cache, as an entry of its own under
the identity of the installed distributions, so that only the first process that meets them loads them to ask.
"""

from __future__ import annotations

import functools
import json
import os
import sys
from collections.abc import Callable, Iterable
from typing import Any, Protocol, TypeAlias

from gridjit.base import reading
from gridjit.base.digests import utf8
from gridjit.base.values import dataclass
from gridjit.compiler.key.entry_points import current_extensions
from gridjit.compiler.key.installed import Distribution, installed_as
from gridjit.compiler.key.site_folders import first_look
from gridjit.compiler.source.code import digest_fields
from gridjit.compiler.source.files import import_path
from gridjit.compiler.values.errors import CompileError

Fields: TypeAlias = "tuple[tuple[str, str], ...]"
Settings: TypeAlias = "tuple[tuple[str, str, str, str, int], ...]"

# Raise it whenever other registrations are for everybody than before.
_SCHEMA = "gridjit extensions 4"
_SUFFIX = ".json"
_NOT_KNOWN = "registrations, which are not known yet"


class Answers(Protocol):
    """Where answers are kept: the cache's store."""

    def get(self, key: str) -> bytes | None:
        """Return the data put under key, or None."""

    def put(self, key: str, data: bytes, *, suffix: str) -> None:
        """Keep data under key."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """The registrations for everybody that loading the installed extensions makes, and its inputs.

    registered: (distribution, words for its first registration). files: path, time of writing and size of the files
    that ran meanwhile and that no distribution lists. environment: names of the variables that were read meanwhile,
    and the digest of each. settings: (extension, module, name, text, 1 if the module's import gives it) of each plain
    value that its loading may have read. The answer holds while files, environment and settings are the same. reached:
    (extension, distribution) of each other distribution that the code of an extension reaches, whose objects it may
    have changed.
    """

    registered: tuple[tuple[str, str], ...] = ()
    files: tuple[tuple[str, int, int], ...] = ()
    environment: tuple[tuple[str, str], ...] = ()
    settings: Settings = ()
    reached: tuple[tuple[str, str], ...] = ()

    def holds(self) -> bool:
        """Return whether the files, the variables of the environment and the settings are as they were."""
        variables = all(variable(os.environ.get(name)) == text for name, text in self.environment)
        files = variables and all(stamp_of(path) == (path, *stamp) for path, *stamp in self.files)
        return files and all(_is_set(*one[1:]) for one in self.settings)

    def installation(self, name: str) -> str:
        """Return the text of an extension's installation, as it was loaded: version and digest."""
        texts = tuple(text for one in self.settings if one[0] == name for text in one[1:4])
        return f"{_text_of(name)} {_digest_of(texts)}" if texts else _text_of(name)

    def to_bytes(self) -> bytes:
        """Return the answer as JSON."""
        plain = {name: getattr(self, name) for name in _ANSWER}
        return json.dumps({"schema": _SCHEMA, **plain}, sort_keys=True, separators=(",", ":")).encode("ascii")

    @classmethod
    def from_bytes(cls, data: bytes | None) -> Answer | None:
        """Return the answer in data; None if there is none of this schema."""
        try:
            given = reading.fields(reading.parse(data or b""), ("schema", *_ANSWER))
            if given["schema"] != _SCHEMA:
                return None
            return cls(**{name: reading.items(given[name], read) for name, read in _ANSWER.items()})
        except reading.Unreadable:
            return None


def everybody_fields(load: Callable[[], None], answers: Answers | None = None) -> Fields:
    """Return a field for each distribution that registers something for everybody once the extensions are loaded.

    load: loads them, if it is not known. answers: where the answer is kept; without it, by this process alone.
    """
    try:
        found = _told(load, answers)
    except CompileError:  # nothing can be compiled here, so nothing is loaded
        found = unknown()
    _counting[:] = [found]
    fields = ((f"installed extension {name}, for its {what}", name) for name, what in found.registered)
    return tuple((field, found.installation(name)) for field, name in fields)


def set_up_by(library: str) -> Fields:
    """Return each extension that may have changed objects of a distribution, itself too, with its installation."""
    found = _in_force()
    names = dict.fromkeys(name for name, other in found.reached if other == library)
    names |= dict.fromkeys(name for name, *_ in found.settings if name == library)
    return tuple((name, found.installation(name)) for name in names)


# The answer that the last key was made with.
_counting: list[Answer] = []


def _in_force() -> Answer:
    return next(iter([answer for answer, _ in _by_loading] or _counting), Answer())


def unknown() -> Answer:
    """Return the answer that counts while the extensions are being loaded: each may register anything."""
    return Answer(registered=tuple((name, _NOT_KNOWN) for name in extension_names()))


def extension_names() -> tuple[str, ...]:
    """Return the names of the distributions that extend numba."""
    return tuple(dict.fromkeys(name for name, _, _ in current_extensions()))


def installed_identities() -> Fields:
    """Return each installed extension with the text of its installation."""
    return tuple((name, _in_force().installation(name)) for name in extension_names())


def stamp_of(path: str) -> tuple[str, int, int]:
    """Return a file's path, time of writing and size; zeros if there is none."""
    try:
        status = os.stat(path)
    except (OSError, ValueError):
        return (path, 0, 0)
    return (path, status.st_mtime_ns, status.st_size)


def variable(value: str | None) -> str:
    """Return a digest of an environment variable's value, which may be a secret; "" if it is not set."""
    return "" if value is None else digest_fields([utf8(value)])


# The answer of loading, and whether another process may rely on it; empty before that.
_by_loading: list[tuple[Answer, bool]] = []


def note_told(answer: Answer, *, lasting: bool) -> None:
    """Note the answer of loading. lasting: another process would get the same."""
    _by_loading[:] = [(answer, lasting)]


def note_put(fields: Iterable[tuple[str, str]]) -> None:
    """Note the changes of numba that loading made: they are in no key, as the answer holds their owners."""
    _put.update(fields)


def without_put_by_loading(fields: Fields) -> Fields:
    """Return the fields of changes of numba, less the changes that loading made."""
    return tuple(field for field in fields if field not in _put)


_put: set[tuple[str, str]] = set()


def _told(load: Callable[[], None], answers: Answers | None) -> Answer:
    if not _by_loading and answers is not None and (found := _kept_in(answers)) is not None:
        return found
    load()
    if not _by_loading:  # another thread is about to load them, and has been for very long
        return unknown()
    found, lasting = _by_loading[0]
    if lasting and answers is not None:
        _keep(found, answers)
    return found


# The answers of stores, by the key of the installation; each is read, and put, once. A store stays alive with its own.
_known: dict[tuple[str, int], tuple[Answers, Answer | None]] = {}


def _kept_in(answers: Answers) -> Answer | None:
    """Return the answer that a store has, if it holds; None if it has none."""
    if (key := _environment(import_path())) is None:
        return None
    if (key, id(answers)) not in _known:
        found = Answer.from_bytes(answers.get(key))
        _known[key, id(answers)] = (answers, found if found is not None and found.holds() else None)
    return _known[key, id(answers)][1]


def _keep(found: Answer, answers: Answers) -> None:
    """Keep an answer for other processes, where that is not done."""
    key = _environment(import_path())
    if key is not None and _kept_in(answers) != found:
        _known[key, id(answers)] = (answers, found)
        answers.put(key, found.to_bytes(), suffix=_SUFFIX)


@functools.lru_cache(maxsize=4)
def _environment(paths: tuple[str, ...]) -> str | None:
    """Return the key of the answer for the installed distributions; None if an extension is of no distribution.

    An extension's registrations may depend on any other distribution, whose version counts. Of extensions, all counts.
    """
    if not all(map(installed_as, extension_names())):
        return None
    described = [name for names in first_look(paths).values() for name in names]
    extensions = [text for one in current_extensions() for text in one]
    texts = (_SCHEMA, sys.version, *extensions, *map(_text_of, extension_names()), *described)
    return digest_fields(map(utf8, texts)) * 2


@functools.cache
def _text_of(name: str) -> str:
    """Return the text of a distribution's installation: version and digest."""
    found = installed_as(name)
    version = found[0].version if found else "unknown"
    return f"{version} {digest_fields(utf8(one.identity) for one in found)[:16]}"


@functools.lru_cache(maxsize=64)
def _digest_of(texts: tuple[str, ...]) -> str:
    return digest_fields(map(utf8, texts))[:16]


def _is_set(module: str, path: str, text: str, by_import: int) -> bool:
    """Return whether a setting has a text, or will once its module is imported."""
    if module not in sys.modules:
        return bool(by_import)
    from gridjit.compiler.recorded.library_settings import setting_now

    return setting_now(module, path) == text


def changed_since_it_began(found: Iterable[Distribution]) -> bool:
    """Return whether a distribution was modified after the process began: loaded code may be older."""
    return any(one.overtaken for one in found)


def _setting(value: object) -> tuple[str, str, str, str, int]:
    *texts, by_import = reading.row(value, 5)
    name, module, path, text = map(reading.text, texts)
    return name, module, path, text, reading.whole(by_import)


def _file(value: object) -> tuple[str, int, int]:
    path, written, size = reading.row(value, 3)
    return reading.text(path), reading.whole(written), reading.whole(size)


# The items of a written answer, each with its reader.
_ANSWER: dict[str, Callable[[object], Any]] = {
    "registered": reading.pair,
    "files": _file,
    "environment": reading.pair,
    "settings": _setting,
    "reached": reading.pair,
}
