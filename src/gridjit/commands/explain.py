"""`gridjit explain`: a kernel's stored artifacts, whether they are up to date, and why it would be compiled now."""

from __future__ import annotations

import argparse
import dataclasses
from collections.abc import Iterator
from typing import Any

from gridjit.cache.history import PastJob, read_history
from gridjit.cache.manifest import read_manifest
from gridjit.cache.store import Store
from gridjit.commands import printing
from gridjit.commands.inventory import KEY_DIGITS, NEEDS_LAUNCH, plain_fact
from gridjit.commands.kernels import find_kernel
from gridjit.compiler.job import CompileJob
from gridjit.compiler.source.code_place import file_named
from gridjit.compiler.source.code_place import shown as with_lines
from gridjit.compiler.values.artifact import Artifact
from gridjit.compiler.values.footprint import CIRCUMSTANCES, Fact
from gridjit.compiler.values.launch_config import LaunchConfig
from gridjit.compiler.values.signature import Signature
from gridjit.compiler.values.target import Target
from gridjit.runtime.kernel import Kernel
from gridjit.runtime.process.session import session
from gridjit.runtime.specializations import explain
from gridjit.runtime.specializations.look import Launch, Look
from gridjit.runtime.specializations.table import Specializations

CURRENT = "up to date"
# What distinguishes one job of a kernel from another without being a change of the kernel.
_VARIANTS = ("file", "signature", "target.kind", "target.arch", "target.features")


def run(given: argparse.Namespace) -> int:
    """Print the stored artifacts, and the answer for a signature; returns 0, or 1 if that would be compiled."""
    kernel = find_kernel(given.kernel)
    store = session().store(kernel.cached)
    stored = list(stored_results(kernel, store))
    answer = None
    if given.signature:
        (target,) = given.target or [None]
        answer = predict(kernel, store, given.signature, given.config, target)
    if given.json:
        printing.print_json({"kernel": given.kernel, "stored": stored, "now": answer})
    else:
        _print(given.kernel, stored, answer)
    return 0 if answer is None or answer["artifact"] else 1


def stored_results(kernel: Kernel, store: Store) -> Iterator[dict[str, Any]]:
    """Yield the artifacts stored for a kernel, job by job, each with the first change since, if any.

    Those of kernels of this name in other files come last: "other_file" names the file.
    """
    mine = file_named(kernel.py_func.__code__.co_filename)
    for job in sorted(read_history(store, _name(kernel)).jobs, key=lambda job: job.field("file") not in (None, mine)):
        file = job.field("file")
        for key, artifact in reversed(list(explain.recent_artifacts(store, read_manifest(store, job.key)))):
            yield {
                "artifact": key,
                "job": job.key,
                "other_file": None if file == mine else file,
                "signature": job.field("signature"),
                "target": {"kind": job.field("target.kind"), "arch": job.field("target.arch")},
                "facts": [plain_fact(fact) for fact in _facts(artifact) if fact.field not in CIRCUMSTANCES],
                "changed": _changed(kernel, job, artifact),
                "reason": artifact and (artifact.why or None),
                "needs_launch": artifact is not None and artifact.needs_launch,
            }


def predict(
    kernel: Kernel, store: Store, signature: str, config: LaunchConfig | None, target: str | None
) -> dict[str, Any]:
    """Return the answer to a launch: the artifact's key, or None and the reason for which it would be compiled."""
    from gridjit.compiler.frontend.bindings.types import parse_signature

    job = kernel.job_for(parse_signature(signature), kernel.target_for(target))
    look = Look.at(store, job, Launch(config=config))
    needed = look.needs_launch
    found = None if needed else look.stored
    why = "" if found or needed else with_lines(explain.reason(Specializations(), look))
    return {
        "signature": str(job.signature),
        "target": {"kind": job.target.kind, "arch": job.target.arch},
        "config": None if config is None else dataclasses.asdict(config),
        "artifact": found,
        "reason": why or None,
        "needs_launch": needed,
        "private": list(job.private),
    }


def _print(name: str, stored: list[dict[str, Any]], answer: dict[str, Any] | None) -> None:
    others = sum(result["other_file"] is not None for result in stored)
    beside = f", and {others} of this name in other files" if others else ""
    printing.say(f"{name}: {len(stored) - others} stored{beside}")
    for result in stored:
        facts = "; ".join(str(Fact.read(fact["field"], fact["value"], fact["where"] or "")) for fact in result["facts"])
        printing.say(f"{result['artifact'][:KEY_DIGITS]}  {result['signature']} for {_target_text(**result['target'])}")
        if result["other_file"]:
            printing.say(f"  file: {result['other_file']}")
        nothing = NEEDS_LAUNCH if result["needs_launch"] else "nothing of the launch configuration"
        printing.say(f"  depends on: {facts or nothing}")
        printing.say(f"  compiled because: {result['reason'] or 'unknown'}")
        printing.say(f"  state: {result['changed'] or CURRENT}")
    if answer is None:
        return
    launch = f", {LaunchConfig(**answer['config'])}" if answer["config"] else ""
    kind = answer["target"]["kind"] if answer["target"]["kind"] == "host" else answer["target"]["arch"]
    printing.say(f"now {answer['signature']} for {kind}{launch}:")
    if answer["artifact"]:
        printing.say(f"  in the cache: {answer['artifact'][:KEY_DIGITS]}")
    elif not answer["needs_launch"]:
        printing.say(f"  compiles: {answer['reason']}")
    depends = answer["needs_launch"] or any(result["facts"] for result in stored)
    if not answer["artifact"] and answer["config"] is None and depends:
        printing.say("  it depends on the launch: give one with --config")
    for reason in answer["private"]:
        printing.say(f"  not stored on disk: {reason}")


def _changed(kernel: Kernel, job: PastJob, artifact: Artifact | None) -> str | None:
    """Return the first change since an artifact was made, in words; None if it is up to date."""
    if artifact is None:
        return "its code is no longer in the cache, or is damaged"
    now = _job_now(kernel, job)
    shown = PastJob.of("", now.fields)
    if (change := explain.change_text(_without_variants(job), _without_variants(shown))) is not None:
        return f"out of date: {change}"
    function = explain.broken_dependency(artifact, now)
    return None if function is None else f"out of date: {function} has changed, or is not imported"


def _job_now(kernel: Kernel, job: PastJob) -> CompileJob:
    """Return a job of the kernel as it is now, for the same kind of target."""
    target = Target(kind=job.field("target.kind") or "host", arch=job.field("target.arch") or "")
    return kernel.job_for(Signature(arguments=()), target)


def _without_variants(job: PastJob) -> PastJob:
    return PastJob(key=job.key, fields=tuple(field for field in job.fields if field[0] not in _VARIANTS))


def _facts(artifact: Artifact | None) -> tuple[Fact, ...]:
    return () if artifact is None else artifact.footprint.facts


def _target_text(kind: str | None, arch: str | None) -> str:
    return arch or "" if kind == "ptx" else f"{kind or ''} {arch or ''}".strip()


def _name(kernel: Kernel) -> str:
    return f"{kernel.py_func.__module__}.{kernel.py_func.__qualname__}"
