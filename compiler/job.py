"""CompileJob: everything a compile may read except the launch configuration, as labelled key fields."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeAlias

from gridjit.base.forking import ThreadTimes, thread_times
from gridjit.base.values import dataclass, field
from gridjit.compiler.key.entry_points import current_extensions
from gridjit.compiler.key.fingerprint import SourceFingerprint, fingerprint
from gridjit.compiler.key.toolchain import debug_versions, environment, toolchain
from gridjit.compiler.key.values import InstalledTexts
from gridjit.compiler.values.options import Options
from gridjit.compiler.values.signature import Signature
from gridjit.compiler.values.target import LinkedFile, Target

if TYPE_CHECKING:
    from gridjit.compiler.recorded.everybody import Answers

Fields: TypeAlias = "tuple[tuple[str, str], ...]"


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class CompileJob:
    """One kernel for one signature, under its options, by one toolchain, for one target.

    marks: launch fields that the kernel's author declared it to depend on.
    extensions: registrations of installed extensions for every kernel, and of other libraries that may change any
    kernel, with digests of their sources.
    fields: the labelled parts of the job's key, the most telling first, as they were when the job was made.
    private: why no artifact of the job may leave this process.
    others: how long other threads of the program had run when the job was made.
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
    others: ThreadTimes = field(default_factory=dict)

    @property
    def file(self) -> str:
        """The file that the kernel is in, by which people tell it from another of its name; it is not keyed."""
        from gridjit.compiler.source.code_place import file_named  # only compiles ask

        return file_named(self.function.__code__.co_filename)

    @property
    def told(self) -> Fields:
        """The fields as a kernel's history has them: for a script's, with its file, as many scripts have its name."""
        of_script = self.kernel.startswith("__main__.") and self.file
        return (*self.fields[:1], ("file", self.file), *self.fields[1:]) if of_script else self.fields

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
    objects: InstalledTexts | None = None,
    answers: Answers | None = None,
) -> CompileJob:
    """Return the job of compiling function now: as it stands, with the values that it refers to at this moment.

    objects: objects of installed classes whose texts are known (see SourceFingerprint).
    answers: the store of the installed extensions' registrations for everybody (see everybody).
    """
    others = thread_times()
    installed = _installed_extensions(answers)
    has_lines = options.debug or options.lineinfo
    source = fingerprint(function, lines=has_lines, objects=objects)
    registered, unseen = _registered()
    put, not_followed = _put_in_numba()
    known = (*installed, *registered)
    linked, link_parts = _linked(options, target)
    held, hidden = _held(signature)
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
            *held,
            *options.fields,
            *source.parts,
            ("marked sensitive to", ", ".join(marks)),
            *link_parts,
            *known,
            *put,
            *surroundings,
            *target.fields,
            *versions,
        ),
        private=(*source.opaque, *signature.private, *hidden, *unseen, *not_followed),
        others=others,
    )


# Most kernels have none of these, and a warm start imports nothing for what it does not have.


def _registered() -> tuple[Fields, tuple[str, ...]]:
    """Return the fields of registrations with numba-cuda, and why artifacts made under them may not be stored."""
    if "numba.cuda" not in sys.modules:
        return (), ()
    from gridjit.compiler.key.extensions import extensions

    found = extensions()
    return found.fields, found.private


def _installed_extensions(answers: Answers | None) -> Fields:
    """Return the fields of registrations for every kernel by extensions that numba loads itself."""
    if not current_extensions():
        return ()
    from gridjit.compiler.recorded.everybody import everybody_fields

    return everybody_fields(_load, answers)


def _load() -> None:
    from gridjit.compiler.frontend.bindings.bootstrap import load_installed_extensions

    load_installed_extensions()


def _put_in_numba() -> tuple[Fields, tuple[str, ...]]:
    """Return the fields of programs' changes of numba, and why artifacts made with them may not be stored."""
    if "numba" not in sys.modules:
        return (), ()
    from gridjit.compiler.numba_state.changes import changes

    put, not_followed = changes()
    if put and current_extensions():
        from gridjit.compiler.recorded.everybody import without_put_by_loading

        put = without_put_by_loading(put)
    return put, not_followed


def _linked(options: Options, target: Target) -> tuple[tuple[LinkedFile, ...], Fields]:
    """Return the files that a kernel is linked with, read now, and their fields."""
    if not options.link:
        return (), ()
    from gridjit.compiler.key.linked_files import link_fields, linked_files

    files = linked_files(options, target.kind)
    return files, link_fields(files)


def _held(signature: Signature) -> tuple[Fields, tuple[str, ...]]:
    """Return the field of the contents of a signature's classes and types, and sentences on hidden contents."""
    if not signature.classes and not signature.foreign:
        return (), ()
    from gridjit.compiler.key.argument_classes import signature_fingerprint

    found = signature_fingerprint(signature)
    return (("classes and types of the signature", found.digest),) if found.parts else (), found.opaque
