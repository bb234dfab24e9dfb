"""program: a process of a program that `gridjit run` runs. Its kernels are gridjit's, and are counted.

numba.cuda's names are gridjit's as soon as it is imported; nothing is imported earlier. Processes that the program
starts add a line to a file for each thing that they count; the first process reads it at its end.
"""

from __future__ import annotations

import atexit
import contextlib
import faulthandler
import json
import os
import sys
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from types import ModuleType
from typing import Any

from gridjit.base.forking import lock, section
from gridjit.base.messages import say
from gridjit.base.printable import printable
from gridjit.runtime.installed.watching import Then, Watching
from gridjit.starting import TOLD
from gridjit.starting.counts import KernelCounts


def begin(environ: Mapping[str, str]) -> None:
    """Watch for numba-cuda and for gridjit; in the program's first process, print the counts at the end."""
    Watching(lambda name: _install if name == "numba.cuda" else None, around=_imported).begin()
    if told := environ.get(TOLD):
        _show_crashes()
        run = _Run(*told.split("\n"))
        Watching(run.watched.get).begin()
        atexit.register(run.end)  # the first: so it is called after what the program registers


def _show_crashes() -> None:
    """Write Python's lines to standard error if a signal such as SIGSEGV ends the process, as it then still does."""
    with contextlib.suppress(AttributeError, OSError, RuntimeError, ValueError):  # of a process without that stream
        faulthandler.enable()


def _install(module: ModuleType) -> None:
    from gridjit import installing

    installing.uninstall()  # if numba.cuda is imported once more, as by importlib.reload
    installing.install()


@contextlib.contextmanager
def _imported() -> Iterator[None]:
    from gridjit.compiler.frontend.bindings.bootstrap import runtime_version_answered

    with runtime_version_answered():
        yield


class _Run:
    """The counts of a run. process: its first one. path: the others' file. values: where --json goes, or ""."""

    def __init__(self, process: str, path: str, values: str) -> None:
        self._process, self._path, self._values = int(process), path, values
        self._counts, self._lock = KernelCounts(), lock()
        self._rest: list[Callable[[], None]] = []
        self.watched: dict[str, Then] = {
            "gridjit.runtime.kernel": self._count_ours,
            "gridjit.runtime.devices.findings": self._collect,
            "numba.cuda.dispatcher": self._count_numbas,
        }

    def tell(self, counted: dict[str, Any]) -> None:
        """Add counts; they may be lost where a file cannot be written."""
        if os.getpid() == self._process:
            with section(), self._lock:
                self._counts.add(counted)
            return
        with contextlib.suppress(OSError):
            flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC
            with open(os.open(self._path, flags, 0o600), "ab", buffering=0) as file:
                file.write(json.dumps(counted).encode() + b"\n")

    def end(self) -> None:
        """Print the counts, if this is the program's first process; the exit status is 1 if anything was found."""
        for rest in self._rest:
            rest()
        if os.getpid() != self._process:
            return
        self._take_in()
        if self._counts.findings:
            from gridjit.runtime.devices.findings import say_findings

            say_findings(self._counts.findings)
        say(f"gridjit run: {printable(self._counts.line)}", sys.stderr)
        try:
            if self._values:
                Path(self._values).write_text(json.dumps(self._counts.values, indent=2) + "\n")
        except OSError as error:
            say(f"gridjit run: {printable(self._values)} cannot be written: {error.strerror}", sys.stderr)

    def _take_in(self) -> None:
        """Add the counts of the program's other processes."""
        with contextlib.suppress(OSError, ValueError):
            lines = Path(self._path).read_bytes().splitlines()
            os.unlink(self._path)
            for line in lines:
                self._counts.add(json.loads(line))

    def _count_ours(self, module: Any) -> None:
        from gridjit.starting.counting import count_ours

        self._rest.append(count_ours(module.Kernel, self.tell))

    def _count_numbas(self, module: Any) -> None:
        from gridjit.starting.counting import count_numbas

        count_numbas(module, self.tell)

    def _collect(self, module: Any) -> None:
        module.collectors.append(lambda text: self.tell({"findings": [text]}))
