"""CompileJob: everything a compile may read except the launch configuration, as labelled key fields."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from gridjit.compiler.key.argument_classes import signature_fingerprint
from gridjit.compiler.key.entry_points import are_known_by_their_names, extension_fields
from gridjit.compiler.key.extensions import extensions
from gridjit.compiler.key.linked_files import link_fields, linked_files
from gridjit.compiler.key.source.fingerprint import SourceFingerprint, fingerprint
from gridjit.compiler.key.toolchain import debug_versions, environment, toolchain
from gridjit.compiler.options import Options
from gridjit.compiler.signature import Signature
from gridjit.compiler.target import LinkedFile, Target
from gridjit.values import dataclass


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class CompileJob:
    """One kernel for one signature, under its options, by one toolchain, for one target.

    marks: launch fields that the kernel's author declared it to depend on.
    extensions: those that are installed; what other libraries registered that may change any kernel, with digests of
    their sources.
    fields: the labelled parts of the job's key, the most telling first, as they were when the job was made.
    private: why no artifact of the job may leave this process.
    """

    function: Callable[..., Any]
    kernel: str
    source: SourceFingerprint
    signature: Signature
    options: Options
    target: Target
    linked: tuple[LinkedFile, ...] = ()
    marks: tuple[str, ...] = ()
    extensions: tuple[tuple[str, str], ...] = ()
    toolchain: tuple[tuple[str, str], ...] = ()
    environment: tuple[tuple[str, str], ...] = ()
    fields: tuple[tuple[str, str], ...] = ()
    private: tuple[str, ...] = ()

    @property
    def has_lines(self) -> bool:
        """Whether the code says at which lines of which file it was made from."""
        return self.options.debug or self.options.lineinfo


def make_job(
    function: Callable[..., Any],
    signature: Signature,
    options: Options,
    target: Target,
    marks: tuple[str, ...] = (),
) -> CompileJob:
    """Return the job of compiling function now: as it stands, with what it refers to at this moment."""
    if not are_known_by_their_names():
        from gridjit.compiler.frontend.bootstrap import load_installed_extensions

        load_installed_extensions()
    has_lines = options.debug or options.lineinfo
    source = fingerprint(function, lines=has_lines)
    registered = extensions()
    known = (*extension_fields(), *registered.fields)
    linked = linked_files(options)
    held = signature_fingerprint(signature)
    kernel = f"{function.__module__}.{function.__qualname__}"
    surroundings, versions = environment(), toolchain(target.kind)
    if has_lines and target.kind == "ptx":
        versions = (*versions, *debug_versions())
    return CompileJob(
        function=function,
        kernel=kernel,
        source=source,
        signature=signature,
        options=options,
        target=target,
        linked=linked,
        marks=marks,
        extensions=known,
        toolchain=versions,
        environment=surroundings,
        fields=(
            ("kernel", kernel),
            # Before the source: some options put lines and files into the code, and so into the source's parts.
            ("signature", str(signature)),
            *([("classes and types of the signature", held.digest)] if held.parts else ()),
            *options.fields,
            *source.parts,
            ("marked sensitive to", ", ".join(marks)),
            *link_fields(linked),
            *known,
            *surroundings,
            *target.fields,
            *versions,
        ),
        private=(*source.opaque, *signature.private, *held.opaque, *registered.private),
    )
