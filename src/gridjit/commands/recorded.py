"""recorded: the work of a file that GRIDJIT_RECORD=FILE had a run write."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from gridjit.base import reading
from gridjit.base.digests import utf8
from gridjit.commands.warm_work import Built, WarmTask
from gridjit.compiler.values.errors import GridjitError
from gridjit.runtime.specializations.needs import Need


def recorded(path: Path, targets: Sequence[str] | None) -> tuple[list[WarmTask], list[Built]]:
    """Return the work of a recorded file, each once, and a failure for every line that is damaged."""
    try:
        lines = path.read_text("utf-8", "replace").splitlines()
    except OSError as error:
        raise GridjitError(f"{path} cannot be read: {error.strerror}") from None
    if not any(_may_be_recorded(line) for line in lines) and any(line.strip() for line in lines):
        raise GridjitError(f"{path} is not a file of recorded needs: GRIDJIT_RECORD={path} has a run write one")
    works: dict[tuple[object, ...], WarmTask] = {}
    failures = []
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        try:
            need = Need.from_line(line)
        except GridjitError as error:
            failures.append(Built(label=f"{path}:{number}", error=str(error)))
            continue
        for target in targets or [need.target]:
            works.setdefault((need.kernel, need.signature, need.facts, target), WarmTask.of(need, target))
    return list(works.values()), failures


def _may_be_recorded(line: str) -> bool:
    """Return whether a line is of a recorded file, of whatever version."""
    try:
        plain = reading.parse(utf8(line))
    except (reading.Unreadable, ValueError):
        return False
    return isinstance(plain, dict) and "schema" in plain
