"""settings: a program's choice of settings, before their first use. The choice beats the environment and the files."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any

from gridjit.base.messages import warn_or_log
from gridjit.compiler.values.errors import ConfigError, ConfigWarning
from gridjit.runtime.environment.settings import VARIABLES, ProcessSettings, Settings, Variable, default_settings
from gridjit.runtime.environment.sources import PROGRAM, Given, text_of, value, variable
from gridjit.runtime.process.session import use_in_session

# All that reads these settings asks for them each time.
_LATE = ("assert_no_compile", "log", "traceback")


def settings(**values: object) -> None:
    """Choose settings of this process, which beat the environment and the files.

    values: values by settings' names: a variable's name without `GRIDJIT_`, in lower case, as in
    `gridjit.settings(cache_dir="build/cache", host_threads=4)`. An empty text or list gives the default; None is as if
    the setting was not named. Relative paths begin at the current folder.

    Call it before the first use of settings: by a launch, an array, a stream or a declared signature. Only
    `assert_no_compile`, `log` and `traceback` can be changed later. Processes that compile for this process have its
    settings. Other processes that it starts have not, unless they call this function too.

    Raises ConfigError for an unknown name, a value that is not accepted, and for a change that comes too late.
    """
    given = {one.name: text for one, text in _texts(values)}
    chosen = {one: value(one, given[one.name]) for one in VARIABLES if one.name in given and given[one.name].text}
    if ProcessSettings.found is None:
        ProcessSettings.chosen = {**ProcessSettings.chosen, **given}
        return
    unset = default_settings()
    wanted = {one: chosen.get(one, getattr(unset, one.field)) for one in VARIABLES if one.name in given}
    changed = {one: found for one, found in wanted.items() if getattr(ProcessSettings.found, one.field) != found}
    if ProcessSettings.owner:
        _warn_of_owner(changed)
    elif changed:
        _change(changed, ProcessSettings.found)


def _texts(values: Mapping[str, object]) -> list[tuple[Variable, Given]]:
    known = [(variable(key, VARIABLES, PROGRAM), found) for key, found in values.items()]
    return [
        (one, Given(text_of(one, found, "", PROGRAM), PROGRAM, PROGRAM)) for one, found in known if found is not None
    ]


def _warn_of_owner(changed: Mapping[Variable, Any]) -> None:
    """Warn of choices that a command does not follow; a process that compiles has the program's settings already."""
    if changed and ProcessSettings.owner == "command":
        names = ", ".join(one.key for one in changed)
        words = f"gridjit.settings: a command that imports the program has its own {names}: give them in a file"
        warn_or_log(ConfigWarning(f"{words}, or as {', '.join(one.name for one in changed)}"), logger="gridjit")


def _change(changed: Mapping[Variable, Any], now: Settings) -> None:
    fixed = [one for one in changed if one.field not in _LATE]
    if fixed:
        names = ", ".join(one.key for one in fixed)
        raise ConfigError(
            f"gridjit.settings: {names} cannot change any more, because this process has used its settings: "
            "call gridjit.settings before the first launch, array, stream and declared signature. "
            f"Only {', '.join(_LATE)} can still change"
        )
    use_in_session(dataclasses.replace(now, **{one.field: found for one, found in changed.items()}))
