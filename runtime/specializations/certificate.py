"""Certificate: the specializations that a program can need, and the launches that each serves: canonical JSON.

`gridjit certify` writes it. A process that must not compile reads it after a miss, to name the part of a launch that no
specialization serves.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

from gridjit.base import reading
from gridjit.base.values import dataclass
from gridjit.compiler.job import CompileJob
from gridjit.compiler.values.errors import CompileDisabledError, ConfigError
from gridjit.compiler.values.footprint import CIRCUMSTANCES, Fact, FactValue, fact_text
from gridjit.runtime.specializations.look import Launch, Look

SCHEMA = 1
RECORDED, DECLARED = "recorded", "declared"
_DIGITS = 12
# Values that a message lists.
_SHOWN = 16
_PARTS = ("complete", "gridjit", "kernels", "schema", "toolchains", "unknown")
_OF_KERNEL = ("any", "facts", "kernel", "key", "signature", "specializations", "target")
_OF_CODE = ("artifact", "facts", "launch", "sources", "why")


@dataclass(frozen=True, slots=True, kw_only=True)
class CertifiedCode:
    """One specialization: the facts of the launches that it serves, and its key; without one, the cache lacks it.

    sources: "recorded", "declared" or both. launch: a launch that needs it, in words. why: the reason if it is missing.
    """

    facts: tuple[Fact, ...]
    sources: tuple[str, ...]
    artifact: str | None = None
    launch: str | None = None
    why: str | None = None

    @property
    def varied(self) -> tuple[Fact, ...]:
        """The facts in which one launch differs from another."""
        return tuple(fact for fact in self.facts if fact.field not in CIRCUMSTANCES)

    @property
    def serves_launches(self) -> bool:
        """Whether launches may use it, and not only compiles ahead of them."""
        return not any(fact.field in CIRCUMSTANCES and fact.value is False for fact in self.facts)

    def as_json(self) -> dict[str, Any]:
        """Return it as JSON has it; `read` turns that back, without the facts' places."""
        facts = {fact.field: fact.value for fact in self.facts}
        told = {"artifact": self.artifact, "facts": facts, "launch": self.launch}
        return {**told, "sources": list(self.sources), "why": self.why}

    @classmethod
    def read(cls, value: Any) -> CertifiedCode:
        """Return the specialization that as_json wrote; raises Unreadable for anything else."""
        given = reading.fields(value, _OF_CODE)
        return cls(
            facts=tuple(Fact.read(field, one) for field, one in reading.nested(given["facts"]).items()),
            sources=reading.items(given["sources"], reading.text),
            artifact=_text_or_none(given["artifact"]),
            launch=_text_or_none(given["launch"]),
            why=_text_or_none(given["why"]),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class CertifiedKernel:
    """A kernel ("module:name") for one signature and target. key: of its job; code: its specializations."""

    kernel: str
    signature: tuple[str, ...]
    target: str
    key: str
    code: tuple[CertifiedCode, ...]

    @property
    def stored(self) -> tuple[CertifiedCode, ...]:
        """The specializations in the cache."""
        return tuple(code for code in self.code if code.artifact is not None)

    @property
    def missing(self) -> tuple[CertifiedCode, ...]:
        """The specializations that the cache lacks."""
        return tuple(code for code in self.code if code.artifact is None)

    @property
    def serves_any(self) -> bool:
        """Whether one stored specialization serves every launch."""
        return any(code.serves_launches and not code.varied for code in self.stored)

    @property
    def fields(self) -> tuple[Fact, ...]:
        """A fact of each field that varies, with a place that read it."""
        facts = sorted((fact for code in self.code for fact in code.varied), key=lambda fact: (fact.field, fact.place))
        return tuple({fact.field: fact for fact in facts}.values())

    def values(self, field: str, source: str = "", code: Iterable[CertifiedCode] | None = None) -> list[FactValue]:
        """Return a field's values in code (by default, in all of it) of a source, each once, in order."""
        chosen = (one for one in (self.code if code is None else code) if not source or source in one.sources)
        found = {fact.value: None for one in chosen for fact in one.facts if fact.field == field}
        return sorted(found, key=lambda value: (str(type(value)), value))

    def as_json(self) -> dict[str, Any]:
        """Return it as JSON has it; `read` turns that back."""
        return {
            "any": self.serves_any,
            "facts": {fact.field: self._field_as_json(fact) for fact in self.fields},
            "kernel": self.kernel,
            "key": self.key,
            "signature": list(self.signature),
            "specializations": [code.as_json() for code in self.code],
            "target": self.target,
        }

    def _field_as_json(self, fact: Fact) -> dict[str, Any]:
        values = {source: self.values(fact.field, source) for source in (RECORDED, DECLARED)}
        covered = self.values(fact.field, code=self.stored)
        return values | {"covered": covered, "read_at": fact.where or None}

    @classmethod
    def read(cls, value: Any) -> CertifiedKernel:
        """Return the kernel that as_json wrote; raises Unreadable for anything else."""
        given = reading.fields(value, _OF_KERNEL)
        return cls(
            kernel=reading.text(given["kernel"]),
            signature=reading.items(given["signature"], reading.text),
            target=reading.text(given["target"]),
            key=reading.text(given["key"]),
            code=reading.items(given["specializations"], CertifiedCode.read),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Certificate:
    """The kernels of a program; the toolchain of each target; and needs that could not be read, with the errors."""

    kernels: tuple[CertifiedKernel, ...]
    gridjit: str = ""
    toolchains: tuple[tuple[str, tuple[tuple[str, str], ...]], ...] = ()
    unknown: tuple[tuple[str, str], ...] = ()

    @property
    def is_complete(self) -> bool:
        """Whether every specialization is in the cache."""
        return not self.unknown and not any(kernel.missing for kernel in self.kernels)

    def as_json(self) -> dict[str, Any]:
        """Return it as JSON values."""
        return {
            "complete": self.is_complete,
            "gridjit": self.gridjit,
            "kernels": [kernel.as_json() for kernel in self.kernels],
            "schema": SCHEMA,
            "toolchains": {target: dict(versions) for target, versions in self.toolchains},
            "unknown": [{"error": error, "what": what} for what, error in self.unknown],
        }

    def to_text(self) -> str:
        """Return canonical JSON: the same certificate is the same text."""
        return json.dumps(self.as_json(), sort_keys=True, separators=(",", ":")) + "\n"

    @classmethod
    def at(cls, path: Path) -> Certificate:
        """Return the kernels of a file; raises ConfigError if it is not a certificate that this version reads."""
        try:
            given = reading.parse(path.read_bytes())
            if isinstance(given, dict) and given.get("schema") not in (None, SCHEMA):
                raise reading.Unreadable(f"it has schema {given['schema']!r}, of another version of gridjit")
            kernels = reading.items(reading.fields(given, _PARTS)["kernels"], CertifiedKernel.read)
        except (OSError, reading.Unreadable) as error:
            said = error.strerror if isinstance(error, OSError) else error
            raise ConfigError(
                f"GRIDJIT_CERTIFICATE={path}: {said}; `gridjit certify --output FILE` makes one"
            ) from None
        return cls(kernels=kernels)

    def objection(self, look: Look) -> str:
        """Return the part of a launch that no stored specialization serves, and the covered values; "" if one does."""
        job = look.job
        types = tuple(map(str, job.signature.arguments))
        wanted: tuple[tuple[str, object, Callable[[CertifiedKernel], object]], ...] = (
            ("kernel", f"{job.function.__module__}:{job.function.__qualname__}", lambda one: one.kernel),
            ("target", str(job.target), lambda one: one.target),
            ("number of arguments", len(types), lambda one: len(one.signature)),
            *((f"type of argument {n}{_name(job, n)}", one, _argument(n)) for n, one in enumerate(types)),
            ("job", look.key[:_DIGITS], lambda one: one.key[:_DIGITS]),
        )
        left: Sequence[CertifiedKernel] = self.kernels
        for name, value, of in wanted:
            if not (same := [one for one in left if of(one) == value]):
                return _not_covered(name, value, dict.fromkeys(map(of, left)))
            left = same
        return _first_difference([code for one in left for code in one.stored], look.launch)


def refuse_uncovered(look: Look, certificate: Certificate, path: Path, why: Callable[[], str]) -> None:
    """Raise CompileDisabledError if a certificate does not cover a launch. why: the reason for its compile."""
    if objection := certificate.objection(look):
        raise CompileDisabledError(
            f"{look.job.kernel}{look.job.signature} for {look.job.target} is not in the cache ({why()}) and outside of "
            f"the certificate {path}: {objection}. GRIDJIT_ASSERT_NO_COMPILE forbids compiling it: record this launch "
            "or declare it, jit(launches=...), and run `gridjit certify` again"
        )


def _name(job: CompileJob, number: int) -> str:
    """Return the name of a parameter, in brackets."""
    names = job.function.__code__.co_varnames
    return f" ({names[number]})" if number < len(names) else ""


def _argument(number: int) -> Callable[[CertifiedKernel], object]:
    return lambda one: one.signature[number]


def _first_difference(stored: Sequence[CertifiedCode], launch: Launch) -> str:
    """Return the first fact that the launch does not share with the code nearest to it; "" if it shares all of some."""
    broken = [[fact for fact in code.facts if not launch.has(fact)] for code in stored]
    if not all(broken):
        return ""
    if not broken:
        return "none of its specializations was in the cache"
    field = min(broken, key=len)[0].field
    rest = [facts for facts in broken if facts[0].field == field]
    values = {fact.value: None for facts in rest for fact in facts if fact.field == field}
    return _not_covered(field, launch.value(field), values)


def _not_covered(name: str, value: Any, covered: Iterable[Any]) -> str:
    return f"{name} {fact_text(value)} is not covered (covered: {values_text(covered)})"


def values_text(values: Iterable[Any]) -> str:
    """Return values as people read them; of many, the first and the number of the others."""
    shown = [fact_text(value) for value in values]
    more = f" and {len(shown) - _SHOWN} more" if len(shown) > _SHOWN else ""
    return f"{', '.join(shown[:_SHOWN]) or 'nothing'}{more}"


def _text_or_none(value: Any) -> str | None:
    return None if value is None else reading.text(value)
