"""`gridjit cache show`: everything that one entry says about itself."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from typing import Any

from gridjit.cache.history import History, PastJob
from gridjit.cache.manifest import Manifest
from gridjit.cache.store import Store
from gridjit.commands import printing
from gridjit.commands.inventory import DAMAGED, ListedEntry, find_item, open_cache, plain_fact
from gridjit.compiler.values.artifact import Artifact
from gridjit.compiler.values.errors import GridjitError
from gridjit.runtime.specializations.explain import recent_artifacts


def run(given: argparse.Namespace) -> int:
    """Print the entry; returns 0, or 1 if it is damaged."""
    store = open_cache(given.dir)
    item = find_item(store, given.key, given)
    if given.asm:
        printing.say_lines(_assembly(item))
        return 0
    if given.json:
        printing.print_json(plain(item, store))
    else:
        _print(dict(describe(item, store)))
    return 1 if item.kind == DAMAGED else 0


def plain(item: ListedEntry, store: Store) -> dict[str, Any]:
    """Return an entry's content as JSON values: numbers, texts, lists; a time is in seconds since 1970."""
    known = item.as_dict()
    match item.content:
        case Artifact():
            known |= _plain_artifact(item.content)
        case Manifest():
            known |= _plain_manifest(item.content, store)
        case History():
            jobs = ({"key": job.key, "made": job.made, "fields": dict(job.fields)} for job in item.content.jobs)
            known |= {"jobs": list(jobs)}
    return known


def _plain_artifact(artifact: Artifact) -> dict[str, Any]:
    known, target = artifact._description(), artifact.target
    hooks = {name: known[name] for name in ("hooks", "setup", "teardown")}
    return {
        "signature": artifact.signature,
        "target": {"kind": target.kind, "arch": target.arch, "features": target.features},
        "entry": artifact.entry,
        "facts": [plain_fact(fact) for fact in artifact.footprint.facts],
        "sharedmem": artifact.effects.sharedmem,
        **hooks,
        "dependencies": known["dependencies"],
        "resources": artifact.resources,
        "exceptions": [
            {"code": code, "type": f"{e.module}.{e.qualname}", "arguments": list(e.arguments), "where": e.where}
            for code, e in sorted(artifact.exceptions.items())
        ],
        "cooperative": artifact.cooperative,
        "launch_config_sensitive": artifact.launch_config_sensitive,
        "job": artifact.metadata.get("job"),
        "compile_ms": artifact.metadata.get("compile_ms"),
        "phases_ms": artifact.metadata.get("phases") or {},
        "generator": artifact.metadata.get("generator"),
        "reason": artifact.why or None,
    }


def _plain_manifest(manifest: Manifest, store: Store) -> dict[str, Any]:
    recent = reversed(list(recent_artifacts(store, manifest)))
    return {
        "shapes": [{"facts": list(shape.facts), "used": list(map(list, shape.used))} for shape in manifest.shapes],
        "artifacts": [
            {"key": key, "facts": None if found is None else [plain_fact(fact) for fact in found.footprint.facts]}
            for key, found in recent
        ],
    }


def _print(facts: dict[str, Any]) -> None:
    width = max(map(len, facts))
    for label, value in facts.items():
        lines = value if isinstance(value, list) else [value]
        for number, line in enumerate(lines or ["none"]):
            printing.say(f"{label if number == 0 else '':{width}}  {line}")


def describe(item: ListedEntry, store: Store) -> Iterator[tuple[str, Any]]:
    """Yield (label, value) of an entry's content, for people; a value is a number, a text or a list of texts."""
    yield "key", item.info.key
    yield "kind", item.kind
    yield "kernel", item.kernel
    if item.file:
        yield "file", item.file
    yield "bytes", item.info.size
    yield "stored", f"{printing.age_text(item.info.stored)} ago"
    match item.content:
        case Artifact():
            yield from _artifact(item.content)
        case Manifest():
            yield from _manifest(item.content, store)
        case History():
            yield from _history(item.content)


def _artifact(artifact: Artifact) -> Iterator[tuple[str, Any]]:
    yield "signature", artifact.signature
    yield "target", f"{artifact.target.kind} {artifact.target.arch}"
    if artifact.target.features:
        yield "features", artifact.target.features
    yield "entry", artifact.entry
    yield "depends on", [str(fact) for fact in artifact.footprint.facts]
    yield "needs sharedmem", artifact.effects.sharedmem
    for name in ("hooks", "setup", "teardown"):
        yield name, [str(hook) for hook in getattr(artifact.effects, name)]
    yield "used", [used.label for used in artifact.dependencies]
    yield "resources", [f"{name} {number}" for name, number in sorted(artifact.resources.items())]
    yield "raises", [f"{e.qualname}{e.arguments} {e.where}".rstrip() for _, e in sorted(artifact.exceptions.items())]
    yield "cooperative", artifact.cooperative
    yield "compiled in ms", artifact.metadata.get("compile_ms", "unknown")
    phases = artifact.metadata.get("phases")
    yield "phases in ms", [f"{name} {spent}" for name, spent in phases.items()] if isinstance(phases, dict) else []
    if made_by := artifact.metadata.get("generator"):
        yield "PTX by", made_by
    yield "compiled because", artifact.why or "unknown"


def _manifest(manifest: Manifest, store: Store) -> Iterator[tuple[str, Any]]:
    for number, shape in enumerate(manifest.shapes, 1):
        yield f"reads {number}", [*shape.facts, *(f"{kind} {name}" for kind, name in shape.used)]
    for number, (key, artifact) in enumerate(reversed(list(recent_artifacts(store, manifest))), 1):
        facts = () if artifact is None else artifact.footprint.facts
        used = [f"used {used.label}" for used in artifact.dependencies] if artifact else ["no longer there"]
        yield f"record {number}", [f"artifact {key}", *map(str, facts), *used]


def _history(history: History) -> Iterator[tuple[str, Any]]:
    previous: PastJob | None = None
    for number, job in enumerate(history.jobs, 1):
        changed = job.fields if previous is None else [f for f in job.fields if f not in previous.fields]
        yield f"job {number}", [job.key, *(f"{label}: {value}" for label, value in changed)]
        previous = job


def _assembly(item: ListedEntry) -> str:
    if item.artifact is None or not item.artifact.assembly:
        raise GridjitError(f"entry {item.info.key[:16]} ({item.kind}) holds no assembly text")
    return item.artifact.assembly
