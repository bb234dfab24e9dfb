"""Hands on the plugin: Python processes that the tests start run on gridjit, too.

numba-cuda gets gridjit's names when it is imported there, and nothing is imported earlier.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator, Mapping
from types import ModuleType

from gridjit import installing
from gridjit.runtime.installed.watching import Then, Watching
from gridjit.starting import variables


@contextlib.contextmanager
def handing_on() -> Iterator[None]:
    """Make child processes begin with gridjit's names."""
    wanted = variables(__name__, os.environ)
    before = {name: os.environ.get(name) for name in wanted}
    os.environ.update(wanted)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value


def begin(environ: Mapping[str, str]) -> None:
    """Watch for numba-cuda."""
    Watching(_what_to_do).begin()


def _what_to_do(name: str) -> Then | None:
    if name == "numba.cuda":
        return _install
    return _leave_alone if name.rpartition(".")[2] in LEFT_ALONE else None


def _install(module: ModuleType) -> None:
    installing.install_kernels_only()


def _leave_alone(module: ModuleType) -> None:
    vars(module)["cuda"] = installing.original()


# Its queue of deallocations, its plugins, its handles, how its driver begins.
LEFT_ALONE = ("test_deallocations", "test_emm_plugins", "test_host_alloc", "test_init", "test_ipc")
