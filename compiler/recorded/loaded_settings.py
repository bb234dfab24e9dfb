"""The settings that installed extensions read, as they were when the extensions were loaded, and their readers."""

from __future__ import annotations

from collections.abc import Collection, Iterable

from gridjit.compiler.key.extensions import all_registrations, extensions, sources_fingerprint
from gridjit.compiler.key.registration import Registration
from gridjit.compiler.recorded.library_reach import reach
from gridjit.compiler.recorded.library_settings import LibrarySetting

# The settings of modules that were imported with the installed extensions. A process that has not loaded them yet
# will find the same.
_as_loaded: dict[LibrarySetting, str | None] = {}
_imported: set[str] = set()


def note_loaded_settings(imported: Collection[str]) -> None:
    """Remember the settings of modules that were just imported, with the installed extensions."""
    _imported.update(imported)
    found = reach(roots(all_registrations())).texts()
    _as_loaded.update((setting, text) for setting, text in found.items() if setting[0] in imported)


def imported_by_loading() -> frozenset[str]:
    """Return the names of the modules that were imported with the installed extensions."""
    return frozenset(_imported)


def as_loaded(setting: LibrarySetting) -> str | None:
    """Return the text of a setting when the installed extensions were loaded; None if it was not there."""
    return _as_loaded.get(setting)


def roots(registered: Iterable[Registration]) -> list[object]:
    """Return the installed code in registrations, and installed code that the user's code in them may run."""
    registered = tuple(registered)
    mine = [source for one in registered if one.owner is not None for source in one.sources]
    users = [one for one in registered if one.owner is None and one.stub]
    return [*mine, *extensions().reached, *(sources_fingerprint(users).reached if users else ())]
