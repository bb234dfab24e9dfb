"""Sources: the places that give settings - the user's file, a project's file, the environment, the program's choice.

Each source beats the sources before it. All of them give texts, which are read as the environment's texts are.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from gridjit.base.printable import printable
from gridjit.base.values import dataclass
from gridjit.cache.folder import rooted
from gridjit.compiler.values.errors import ConfigError
from gridjit.runtime.environment.files import UnreadError, table_of
from gridjit.runtime.environment.misspelt import near_name
from gridjit.runtime.environment.models import is_file
from gridjit.runtime.environment.setting_words import WORDS

if TYPE_CHECKING:
    from gridjit.runtime.environment.settings import Variable

ENVIRONMENT, PROGRAM = "environment", "gridjit.settings"
# A project's file may be by others: it chooses neither code that runs here, nor files and servers that are written, nor
# the room of other programs' kernels.
_NOT_FOR_PROJECTS = ("cache_", "record", "trace", "host_symbols")
_SEPARATORS = {"separated as in PATH": os.pathsep, "separated by spaces": " ", "separated by commas": ","}

_PATHS = ("the path of", "paths of")


class Given(NamedTuple):
    """A setting's text, its source (a file's path, or a name), and the place that an error names."""

    text: str
    source: str
    place: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Sources:
    """All that is given, by variables' names, and the reasons why existing files are not read, by their paths."""

    given: Mapping[str, Given]
    unread: Mapping[str, str]

    @classmethod
    def of(
        cls,
        variables: Sequence[Variable],
        environ: Mapping[str, str],
        files: tuple[str | None, str | None],
        chosen: Mapping[str, Given],
    ) -> Sources:
        """Return all that is given. files: the user's and the project's, as far as they exist. Raises ConfigError."""
        unread: dict[str, str] = {}
        user, project = (
            {} if path is None else _of_file(path, is_project, variables, unread)
            for path, is_project in zip(files, (False, True), strict=True)
        )
        told = {one.name: Given(text, ENVIRONMENT) for one in variables if (text := environ.get(one.name)) is not None}
        return cls(given={**user, **project, **told, **chosen}, unread=unread)

    def values(self, variables: Sequence[Variable]) -> dict[str, Any]:
        """Return the values by fields, without settings that an empty text leaves at their defaults."""
        known = ((one, self.given[one.name]) for one in variables if one.name in self.given)
        return {one.field: value(one, given) for one, given in known if given.text}


def value(one: Variable, given: Given) -> Any:
    """Return the value of a text that is not empty; raises ConfigError naming its place."""
    try:
        return one.value(given.text)
    except ConfigError as error:
        if not given.place:
            raise
        raise ConfigError(f"{given.place}: {one.key}{str(error).removeprefix(one.name)}") from None


def variable(key: str, variables: Sequence[Variable], place: str) -> Variable:
    """Return the variable of a setting's name in files and programs; raises ConfigError with a near name."""
    for one in variables:
        if one.key == key:
            return one
    near = near_name(key, [one.name for one in variables])
    meant = next((f"did you mean {one.key}?" for one in variables if one.name == near), "`gridjit info` lists them")
    raise ConfigError(f"{place}: {printable(key)} is not a setting of gridjit: {meant}")


def is_for_projects(key: str) -> bool:
    """Return whether a project's file may give a setting."""
    return not key.startswith(_NOT_FOR_PROJECTS)


def text_of(one: Variable, found: object, folder: str, place: str) -> str:
    """Return a value as the environment would have it; relative paths begin at folder, "" for the current folder.

    Raises ConfigError for a value of a wrong type.
    """
    accepts = WORDS[one.name].accepts
    separator = next((text for words, text in _SEPARATORS.items() if words in accepts), "")
    is_list = isinstance(found, list | tuple)
    words = [_word(part, accepts) for part in (found if isinstance(found, list | tuple) else (found,))]
    if None in words or (is_list and (not separator or any(separator in str(word) for word in words))):
        raise ConfigError(f"{place}: {one.key}={_shown(found)}: give {accepts}")
    if separator and not is_list:
        words = [*str(words[0]).split(separator)]
    made = [_whole(word, folder) if _is_path(word, accepts) else word for word in words if word]
    return separator.join(made)


def _of_file(path: str, is_project: bool, variables: Sequence[Variable], unread: dict[str, str]) -> dict[str, Given]:
    """Return a file's texts, by variables' names; a file that is not read is noted with the reason."""
    try:
        table, line_of = table_of(path, is_project=is_project)
    except UnreadError as error:
        unread[path] = str(error)
        return {}
    given = {}
    for key, found in table.items():
        place = f"{path}{line_of(key)}"
        one = variable(key, variables, place)
        if is_project and not is_for_projects(key):
            raise ConfigError(
                f"{place}: a project's file cannot give {key}, because others may have written it: "
                f"give it in ~/.config/gridjit.toml, or as {one.name}"
            )
        given[one.name] = Given(text_of(one, found, os.path.dirname(path), place), path, place)
    return given


def _word(found: object, accepts: str) -> str | None:
    """Return a single value as the environment would have it; None for a value of a wrong type."""
    if isinstance(found, str | os.PathLike):
        return os.fsdecode(found)
    if accepts.startswith(_PATHS):
        return None
    if isinstance(found, bool):
        return str(found).lower()
    try:
        return str(found) if isinstance(found, float) or hasattr(found, "__index__") else None
    except ValueError:  # more digits than Python writes
        return None


def _shown(found: object) -> str:
    """Return a value for an error; a value that is long, or cannot be shown, by its type."""
    try:
        text = repr(found)
    except Exception:
        return type(found).__name__
    return printable(text) if len(text) < 200 else type(found).__name__


def _is_path(word: str, accepts: str) -> bool:
    return is_file(word) if "the name of" in accepts else accepts.startswith(_PATHS)


def _whole(word: str, folder: str) -> str:
    return rooted(os.path.join(folder, os.path.expanduser(word)))
