"""The page of `gridjit certify`: for each kernel the launches that are covered, and the missing code with reasons."""

from __future__ import annotations

from collections.abc import Iterator

from gridjit.commands import printing
from gridjit.compiler.values.footprint import Fact, fact_text
from gridjit.runtime.specializations.certificate import (
    DECLARED,
    RECORDED,
    Certificate,
    CertifiedCode,
    CertifiedKernel,
    values_text,
)


def show(made: Certificate) -> None:
    """Print a certificate for people."""
    for kernel in made.kernels:
        for line in _lines(kernel):
            printing.say(line)
    for what, error in made.unknown:
        printing.say(f"unknown: {what}")
        printing.say_lines(f"  {error}")
    printing.say(_summary(made))


def _lines(kernel: CertifiedKernel) -> Iterator[str]:
    state = f"{len(kernel.stored)} of {len(kernel.code)} in the cache"
    state = "in the cache, for any launch" if kernel.serves_any and not kernel.missing else state
    yield f"{kernel.kernel} ({', '.join(kernel.signature)}) for {kernel.target}: {state}"
    yield from (f"  {_values(kernel, fact)}" for fact in kernel.fields)
    yield from (f"  missing: {_missing(code)}" for code in kernel.missing)


def _values(kernel: CertifiedKernel, fact: Fact) -> str:
    """Return the values of a fact that were seen and that are declared."""
    place = f", read at {fact.where}" if fact.where else ""
    seen, declared = (kernel.values(fact.field, source) for source in (RECORDED, DECLARED))
    told = f"; declared: {values_text(declared)}" if declared else "; none is declared"
    return f"{fact.field}{place}: seen: {values_text(seen)}{told}"


def _missing(code: CertifiedCode) -> str:
    facts = ", ".join(f"{fact.field} = {fact_text(fact.value)}" for fact in code.varied)
    return f"{facts or code.launch or 'code for any launch'}: {code.why}"


def _summary(made: Certificate) -> str:
    stored = sum(len(kernel.stored) for kernel in made.kernels)
    missing = sum(len(kernel.missing) for kernel in made.kernels)
    if made.is_complete:
        return f"complete: {printing.count('specialization', stored)}, and no covered launch compiles"
    unknown = f", {printing.count('need', len(made.unknown))} unknown" if made.unknown else ""
    return f"incomplete: {stored} in the cache, {missing} missing{unknown}"
