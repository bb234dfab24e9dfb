"""Exceptions raised in kernels, raised again in Python with the kernel, the block and the thread named."""

from __future__ import annotations

from gridjit.compiler.values.artifact import Artifact
from gridjit.compiler.values.errors import LaunchError
from gridjit.compiler.values.launch_config import Dim3
from gridjit.compiler.values.target import ExceptionEntry
from gridjit.runtime.devices import findings
from gridjit.runtime.devices.hooks import named
from gridjit.runtime.environment.tracebacks import note_as_kernels


def kernel_exception(
    artifact: Artifact, code: int, block: Dim3, thread: Dim3, outside: tuple[int, int] | None = None
) -> BaseException:
    """Return the exception that a kernel's return code stands for, with the place of the thread that raised it.

    The thread is named in numba-cuda's words: programs look for them. outside: an index, and the size of its axis.
    """
    place = f"{artifact.kernel}, tid={list(thread)} ctaid={list(block)}"
    entry = artifact.exceptions.get(code)
    if entry is None:
        return LaunchError(f"{place}: the kernel failed with unknown code {code}")
    if entry.where:
        place = f"In {entry.where}, of {place}"
    message = ", ".join(map(str, entry.arguments)) or entry.qualname
    if entry.qualname == "IndexError" and message.startswith("index is out of bounds: index {index}"):
        message = _with_index(message, outside)
    kind = _type(entry)
    findings.note((artifact.kernel, code), f"{entry.qualname}: {place}: {message}")
    if kind is None:
        return LaunchError(f"{place}: {entry.module}.{entry.qualname}: {message}")
    raised = kind(f"{place}: {message}")
    note_as_kernels(raised)
    return raised


def _with_index(message: str, outside: tuple[int, int] | None) -> str:
    """Return a checked kernel's message about an index, with the index and the size if they are known."""
    if outside is None:
        return message.replace(": index {index}", "", 1).replace(", whose size is {size}", "", 1)
    index, size = map(str, outside)
    return message.replace("{index}", index, 1).replace("{size}", size, 1)


def _type(entry: ExceptionEntry) -> type[BaseException] | None:
    found = named(entry.module, entry.qualname)
    if not isinstance(found, type) or not issubclass(found, BaseException):
        return None
    try:
        found("")
    except Exception:  # making a foreign exception can fail in any way
        return None
    return found
