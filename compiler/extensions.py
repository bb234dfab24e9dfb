"""Extensions: what other libraries registered with numba-cuda that may change any kernel, as labelled key fields.

What counts is the code of everything registered, the code and the globals that it reaches, and the values of those
globals, as for a kernel's own source. Containers count by what they hold when the job is made, unless they are only
added to. A value that gridjit cannot see into keeps every kernel's artifact in this process.
"""

from __future__ import annotations

from collections.abc import Iterable
from types import FunctionType

from gridjit.compiler.frontend.registrations import Registration, registrations
from gridjit.compiler.frontend.rewrites import foreign_rewrites
from gridjit.compiler.source import SourceFingerprint, fingerprint_values
from gridjit.compiler.source_code import plan_of
from gridjit.values import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Extensions:
    """What is registered, as fields of a key; private: why no artifact made under them may be stored."""

    fields: tuple[tuple[str, str], ...] = ()
    private: tuple[str, ...] = ()


def extensions() -> Extensions:
    """Return what is registered now with numba-cuda; nothing in a process that has not imported it."""
    rewrites = [(f"rewrite {r.__module__}.{r.__qualname__} {kind}", r) for kind, r in foreign_rewrites()]
    general = [found for found in registrations() if not found.stub]
    if not rewrites and not general:
        return Extensions()
    found = [(label, fingerprint_values([(label, rewrite)])) for label, rewrite in rewrites]
    fields = [(label, fingerprint.digest) for label, fingerprint in found]
    fields += [(_label(registration), _text(registration)) for registration in general]
    if general:
        code = sources_fingerprint(general)
        fields.append(("extension code", code.digest))
        found.append(("", code))
    return Extensions(fields=numbered(fields), private=tuple(dict.fromkeys(o for _, f in found for o in f.opaque)))


def sources_fingerprint(found: Iterable[Registration]) -> SourceFingerprint:
    """Return the fingerprint of all that registrations consist of."""
    return fingerprint_values(
        (f"{_label(registration)} for {registration.about}{f', part {number}' if number else ''}", source)
        for registration in found
        for number, source in enumerate(registration.sources)
    )


def numbered(fields: Iterable[tuple[str, str]]) -> tuple[tuple[str, str], ...]:
    """Return fields with "(2)" and so on behind a label that was there before."""
    labelled: dict[str, str] = {}
    for label, text in fields:
        name, count = label, 1
        while name in labelled:
            count += 1
            name = f"{label} ({count})"
        labelled[name] = text
    return tuple(labelled.items())


def _label(registration: Registration) -> str:
    return f"extension {registration.kind} {registration.name}"


def _text(registration: Registration) -> str:
    codes = (plan_of(s.__code__).digest for s in registration.sources if isinstance(s, FunctionType))
    return " ".join((f"for {registration.about}", *codes))
