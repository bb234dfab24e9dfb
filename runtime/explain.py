"""explain: why a kernel was compiled, in words that name the fact that changed."""

from __future__ import annotations

from collections.abc import Iterable

from gridjit.compiler.footprint import current_value, fact_text
from gridjit.compiler.launch_config import LaunchConfig
from gridjit.compiler.signature import Signature
from gridjit.compiler.targets.base import Target
from gridjit.runtime.specializations import Specialization, Specializations
from gridjit.runtime.statistics import Statistics


def reason(known: Specializations, signature: Signature, target: Target, config: LaunchConfig | None) -> str:
    """Return why no specialization in use serves a launch: the fact that differs, with both values."""
    fact = known.nearest_difference(signature, target, config)
    if fact is not None:
        now = fact_text(current_value(fact.field, config))
        place = f", read at {fact.where}" if fact.where else ""
        return f"{fact.field} {fact_text(fact.value)} -> {now}{place}"
    seen = known.all()
    if not seen:
        return "first use in this process, nothing in the cache"
    if any(found.signature == signature for found in seen):
        return f"first use for {target}"
    return f"argument types {seen[-1].signature} -> {signature}"


def story(name: str, stats: Statistics, specializations: Iterable[Specialization]) -> str:
    """Return the story of a kernel: its counts, then a paragraph for each specialization."""
    lines = [f"{name}: {stats.compiles} compiled, {stats.disk_hits} from the cache"]
    for number, found in enumerate(specializations, 1):
        lines += _paragraph(number, found)
    return "\n".join(lines)


def _paragraph(number: int, found: Specialization) -> list[str]:
    lines = [
        f"{number}. {found.signature} for {found.target}, {found.origin} in {found.milliseconds:.0f} ms",
        f"   why: {found.reason}",
    ]
    facts = [str(fact) for fact in found.footprint.facts if fact.field != "launch"]
    lines.append("   depends on: " + ("; ".join(facts) if facts else "nothing of the launch configuration"))
    if found.artifact.effects.sharedmem:
        lines.append(f"   requires {found.artifact.effects.sharedmem} bytes of dynamic shared memory")
    lines += [f"   not stored on disk: {why}" for why in found.artifact.private]
    return lines
