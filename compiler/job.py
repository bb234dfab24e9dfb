"""CompileJob: everything a compile may read except the launch configuration, as labelled key fields."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from types import FunctionType
from typing import Any

from gridjit.compiler.dependencies import module_digest
from gridjit.compiler.frontend.rewrites import foreign_rewrites
from gridjit.compiler.link import link_fields, linked_files
from gridjit.compiler.options import Options
from gridjit.compiler.signature import Signature
from gridjit.compiler.source import SourceFingerprint, fingerprint
from gridjit.compiler.source_code import digest_fields, plan_of
from gridjit.compiler.targets.base import LinkedFile, Target
from gridjit.compiler.toolchain import environment, toolchain


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class CompileJob:
    """One kernel for one signature, under its options, by one toolchain, for one target.

    marks: launch fields that the kernel's author declared it to depend on.
    rewrites: what extensions registered to rewrite kernels, with digests of their sources.
    """

    function: Callable[..., Any]
    kernel: str
    source: SourceFingerprint
    signature: Signature
    options: Options
    target: Target
    linked: tuple[LinkedFile, ...] = ()
    marks: tuple[str, ...] = ()
    rewrites: tuple[tuple[str, str], ...] = ()
    toolchain: tuple[tuple[str, str], ...] = ()
    environment: tuple[tuple[str, str], ...] = ()
    private: tuple[str, ...] = field(default=())

    @property
    def fields(self) -> tuple[tuple[str, str], ...]:
        """The labelled parts of the job's key, the most telling first."""
        return (
            ("kernel", self.kernel),
            *self.source.parts,
            ("signature", str(self.signature)),
            *self.options.fields,
            ("marked sensitive to", ", ".join(self.marks)),
            *link_fields(self.linked),
            *self.rewrites,
            *self.environment,
            *self.target.fields,
            *self.toolchain,
        )


def make_job(
    function: Callable[..., Any],
    signature: Signature,
    options: Options,
    target: Target,
    marks: tuple[str, ...] = (),
) -> CompileJob:
    """Return the job of compiling function now: as it stands, with what it refers to at this moment."""
    source = fingerprint(function, lines=options.debug or options.lineinfo)
    return CompileJob(
        function=function,
        kernel=f"{function.__module__}.{function.__qualname__}",
        source=source,
        signature=signature,
        options=options,
        target=target,
        linked=linked_files(options),
        marks=marks,
        rewrites=rewrite_fields(),
        toolchain=toolchain(target.kind),
        environment=environment(),
        private=source.opaque,
    )


def rewrite_fields() -> tuple[tuple[str, str], ...]:
    """Return a field for each rewrite that an extension registered: they may change any kernel.

    A rewrite counts by its code and its module's file; what its globals hold is not seen.
    """
    return tuple(sorted((f"rewrite {r.__module__}.{r.__qualname__}", _class_digest(r)) for r in foreign_rewrites()))


def _class_digest(rewrite: type[Any]) -> str:
    functions = (value for _, value in sorted(vars(rewrite).items()) if isinstance(value, FunctionType))
    digests = (plan_of(function.__code__).digest for function in functions)
    return digest_fields(text.encode() for text in (*digests, module_digest(rewrite.__module__) or ""))
