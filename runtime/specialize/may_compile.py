"""may_compile: whether missing code may be compiled: errors of settings, of the certificate, and of a small stack."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from gridjit.base.stacks import stack_bytes
from gridjit.compiler.job import CompileJob
from gridjit.compiler.values.errors import CompileDisabledError, CompileError
from gridjit.runtime.specializations.look import Look

if TYPE_CHECKING:
    from gridjit.runtime.specialize.cold import Cold

# Of a compiling thread; a little of 256 KB is the system's own.
_LEAST_STACK = 240 << 10


def refuse_uncovered(look: Look, cold: Cold) -> None:
    """Raise CompileDisabledError for a launch outside of the certificate, before anybody is asked for its code."""
    if (path := cold.here.settings.certificate) is None or (certificate := cold.here.certificate) is None:
        return
    from gridjit.runtime.specializations.certificate import refuse_uncovered as refuse

    refuse(look, certificate, path, lambda: with_lines(why_missing(look, cold)))


def check_may_compile(job: CompileJob, reason: str, cold: Cold) -> None:
    """Raise CompileDisabledError if nothing may be compiled, CompileError if the compiler would overflow the stack."""
    if cold.here.settings.assert_no_compile:
        certificate = cold.here.settings.certificate
        covered = "" if certificate is None else f"though the certificate {certificate} covers it, "
        raise CompileDisabledError(
            f"{job.kernel}{job.signature} for {job.target} is not in the cache ({with_lines(reason)}), "
            f"{covered}and GRIDJIT_ASSERT_NO_COMPILE forbids compiling it"
            f"{''.join(f'; {told}' for told in (*_looked_in(cold), *cold.here.told_of_remotes()))}"
        )
    if not cold.kernel.may_compile:
        raise CompileDisabledError(
            f"{job.kernel}{job.signature} for {job.target} is not compiled ({with_lines(reason)}), "
            "and disable_compile() was called"
        )
    size = stack_bytes()
    if size is not None and size < _LEAST_STACK:
        raise CompileError(
            f"{job.kernel}{job.signature} for {job.target} is not compiled yet, and this thread's stack of "
            f"{size >> 10} KB is too small for the compiler: launch it from another thread first, or give threads at "
            "least 256 KB (threading.stack_size)"
        )


def _looked_in(cold: Cold) -> Iterator[str]:
    """Yield the words on the cache's folders, if the kernel's code is kept in any."""
    if cold.here.settings.cache and cold.form.cached:
        from gridjit.runtime.process.folders import told_of_folders

        yield told_of_folders(cold.here)


def why_missing(look: Look, cold: Cold) -> str:
    """Return the reason for the launch's compile, with places as they are stored."""
    from gridjit.runtime.specializations import explain

    return explain.reason(cold.code.table, look)


def with_lines(reason: str) -> str:
    """Return the reason with today's lines in its places."""
    from gridjit.compiler.source.code_place import shown

    return shown(reason)
