"""`gridjit info`: gridjit's view of this machine - versions, target, GPUs, cache, settings and their origin."""

from __future__ import annotations

import argparse
import os
import platform
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from gridjit.cache.remote.address import RemoteAddress
from gridjit.commands import printing
from gridjit.compiler.key.toolchain import NOT_INSTALLED, toolchain
from gridjit.compiler.numba_state.pristine import is_known_version
from gridjit.compiler.values.errors import ConfigError, DeviceError
from gridjit.runtime.devices import presence
from gridjit.runtime.environment.misspelt import near_name
from gridjit.runtime.environment.settings import (
    VARIABLES,
    ProcessSettings,
    Settings,
    Variable,
    setting_files,
    unknown_names,
)
from gridjit.runtime.environment.sources import Sources
from gridjit.runtime.pool.address import listening_process
from gridjit.runtime.process.folders import folder_faults
from gridjit.runtime.process.session import Session, session

_UNKNOWN = ", which this gridjit does not know: kernels are right, but it compiles them by numba-cuda's slower ways"
# Variables that defaults depend on, by fields.
_BASES = {"cache_dir": "XDG_CACHE_HOME", "cache_writers": "XDG_CONFIG_HOME"}
_NOT_VERSIONS = ("artifact schema", "python", "gridjit sources", "cuda toolkit")


def run(given: argparse.Namespace) -> int:
    """Print the facts; returns 0."""
    facts = collect()
    if given.json:
        printing.print_json(facts)
        return 0
    rows = list(_rows(facts))
    width = max(len(label) for label, _ in rows)
    for label, text in rows:
        printing.say(f"{label:{width}}  {text}".rstrip())
    return 0


def collect() -> dict[str, Any]:
    """Return the facts as values: numbers, texts, lists, None for a missing fact."""
    here, made_with = session(), dict(toolchain("ptx"))
    sources = Sources.of(VARIABLES, os.environ, setting_files(os.environ), ProcessSettings.chosen)
    return {
        "gridjit": made_with["gridjit"],
        "python": platform.python_version(),
        "versions": {
            name: None if version == NOT_INSTALLED else version
            for name, version in made_with.items()
            if name not in (*_NOT_VERSIONS, "gridjit")
        },
        "knows_numba_cuda": is_known_version(),
        "artifact_schema": int(made_with["artifact schema"]),
        "target": _target(here),
        "cuda": {
            "driver": presence.driver_version(),
            "gpus": presence.gpus(),
            "why_not": presence.why_not() or None,
        },
        "cache": {
            "enabled": here.settings.cache,
            "folder": str(here.settings.cache_dir),
            "max_bytes": here.settings.cache_bytes,
            "max_entries": here.settings.cache_entries,
            **_folders(here),
        },
        "remotes": [_remote(address, here) for address in here.settings.cache_remotes],
        "compile_server": listening_process(here.settings.cache_dir),
        "settings": [_setting(one, here.settings, sources) for one in VARIABLES],
        "unread_files": [{"file": path, "why": why} for path, why in sources.unread.items()],
        "unknown_variables": [
            {"variable": name, "did_you_mean": near_name(name, [one.name for one in VARIABLES])}
            for name in unknown_names(os.environ)
        ],
    }


def _target(here: Session) -> dict[str, Any]:
    """Return the target of kernels that name no target, or why there is none."""
    try:
        found = here.target(None)
    except DeviceError as error:
        return {"kind": None, "arch": None, "stands_in_for": None, "why_not": str(error)}
    stands_in = None
    if found.kind == "host":
        from gridjit.runtime.environment.models import model

        stands_in = model(here.settings.host_device).name
    return {"kind": found.kind, "arch": found.arch, "stands_in_for": stands_in, "why_not": None}


def _folders(here: Session) -> dict[str, Any]:
    """Return why the cache's own folder is not of full use, None if it is, and the same of its bases."""
    if not here.settings.cache:
        return {"fault": None, "bases": []}
    try:
        (_, fault), *bases = folder_faults(here)
    except ConfigError as error:
        return {"fault": f"not used: {error}", "bases": []}
    return {
        "fault": fault or None,
        "bases": [{"folder": str(base.folder), "fault": fault or None} for base, fault in bases],
    }


def _remote(address: RemoteAddress, here: Session) -> dict[str, Any]:
    """Return whose entries a remote cache is read for, and whether it is written to; it is not asked."""
    from gridjit.runtime.process.remote import opened_remote

    try:
        found, why_not = opened_remote(address, here.settings, here.secret)
    except ConfigError as error:
        found, why_not = None, str(error)
    if found is None:
        return {"remote": address.shown, "address": address.told, "trusted": None, "written": False, "why_not": why_not}
    return {
        "remote": address.shown,
        "address": address.told,
        "trusted": found.sealing.told,
        "written": found.writes,
        "why_not": None,
    }


def _setting(one: Variable, settings: Settings, sources: Sources) -> dict[str, Any]:
    value = getattr(settings, one.field)
    return {"variable": one.name, "value": _plain(value), "source": _source(one, sources)}


def _plain(value: Any) -> Any:
    if isinstance(value, RemoteAddress):
        return value.told
    if isinstance(value, tuple):
        return [_plain(item) for item in value]
    return str(value) if isinstance(value, Path) else value


def _source(one: Variable, sources: Sources) -> str:
    """Return a setting's source: "environment", a file, the variable that the default depends on, or "default"."""
    given = sources.given.get(one.name)
    if given is not None and given.text:
        return given.source
    base = _BASES.get(one.field, "")
    if os.path.isabs(os.environ.get(base, "")):
        return base
    return "default" if given is None else f"default, as {given.source} leaves it empty"


def _rows(facts: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """Yield (label, text) for people."""
    target, cuda, cache = facts["target"], facts["cuda"], facts["cache"]
    yield "gridjit", f"{facts['gridjit']}, artifacts of schema {facts['artifact_schema']}"
    yield "python", facts["python"]
    for name, version in facts["versions"].items():
        is_new = name == "numba-cuda" and version and not facts["knows_numba_cuda"]
        yield name, f"{version or 'not installed'}{_UNKNOWN if is_new else ''}"
    instead = f", stands in for {target['stands_in_for']}" if target["stands_in_for"] else ""
    yield "target", f"{target['kind']} ({target['arch']}){instead}" if target["kind"] else f"none: {target['why_not']}"
    yield "CUDA driver", cuda["driver"] or "none"
    for gpu in cuda["gpus"]:
        yield f"GPU {gpu['device']}", f"{gpu['name']}, {gpu['arch']}, {printing.size_text(gpu['bytes'])}"
    if cuda["why_not"]:
        yield "GPUs", f"none: {cuda['why_not']}"
    bounds = f"at most {printing.size_text(cache['max_bytes'])} and {cache['max_entries']} entries"
    fault = f"; {cache['fault']}" if cache["fault"] else ""
    yield "cache", f"{cache['folder']}, {bounds}{fault}" if cache["enabled"] else "off"
    for base in cache["bases"]:
        yield "base", f"{base['folder']}; {base['fault']}" if base["fault"] else base["folder"]
    for one in facts["remotes"]:
        written = "written to" if one["written"] else "not written to"
        yield (
            "remote cache",
            f"not used: {one['why_not']}" if one["why_not"] else (f"{one['address']}: {one['trusted']}, {written}"),
        )
    server = facts["compile_server"]
    yield "compile server", f"process {server}" if server else "none: `gridjit serve` is one"
    for one in facts["settings"]:
        yield one["variable"], f"{_text(one['value'])}  ({one['source']})"
    for one in facts["unread_files"]:
        yield "settings", f"{one['file']} is not read: it {one['why']}"
    for unknown in facts["unknown_variables"]:
        near = f"; did you mean {unknown['did_you_mean']}?" if unknown["did_you_mean"] else ""
        yield unknown["variable"], f"is not a setting of gridjit{near}"


def _text(value: Any) -> str:
    """Return a setting's value as the variable would say it."""
    if value is None or value == []:
        return "-"
    if isinstance(value, bool):
        return str(int(value))
    return (
        os.pathsep.join(value)
        if isinstance(value, list) and value[0].startswith("/")
        else (",".join(value) if isinstance(value, list) else str(value))
    )
