"""shelves: programs compiled as if each were a process of its own, with a shelf between them."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import ModuleType

import pytest

from gridjit import LaunchConfig
from gridjit.compiler.frontend.kept import callees, keeping
from gridjit.compiler.values.options import Options
from gridjit.compiler.values.target import Target
from gridjit.compiler.view.config import ConfigView
from gridjit.compiler.view.recording import recording_of
from tests.compiler.frontend.making import HOST, Made, made, nothing_kept

NAME = "program_of_shelves"
HEAD = "import math\n\nimport numpy as np\n\nimport gridjit\nfrom gridjit import cuda\n\n"


class DictShelf:
    """A shelf in memory."""

    def __init__(self, around: str = "here", held: dict[str, bytes] | None = None) -> None:
        self.around = around
        self.was_used = False
        self.held: dict[str, bytes] = {} if held is None else held

    def get(self, key: str) -> bytes | None:
        return self.held.get(key)

    def put(self, key: str, data: bytes) -> None:
        self.held[key] = data

    def leave_nothing(self) -> None:
        self.held.clear()

    def when_it_went_well(self, do: Callable[[], None]) -> None:
        do()


def program(text: str, name: str = NAME) -> ModuleType:
    """Return a module of that text that nobody has run, found under its name as an imported one is."""
    module = ModuleType(name)
    sys.modules[name] = module
    exec(compile(HEAD + text, f"/somewhere/{name}.py", "exec"), vars(module))
    return module


def made_by(
    module: ModuleType,
    shelf: DictShelf | None,
    *,
    block: int = 64,
    target: Target = HOST,
    options: Options | None = None,
) -> Made:
    """Return what a process makes of a program's kernel that has compiled nothing before; without a shelf, a whole."""
    keeping.NUMBAS_OWN.clear()
    callees._implementations.clear()
    with shelved(shelf) if shelf is not None else nothing_kept():
        return made(module.kernel, config=LaunchConfig.of(4, block), target=target, options=options)


@contextmanager
def shelved(shelf: DictShelf) -> Iterator[None]:
    """Have compiles in the block use a shelf."""
    original = ConfigView.__init__

    def init(view: ConfigView, *args: object, **named: object) -> None:
        original(view, *args, **named)  # type: ignore[arg-type]
        recording_of(view).shelf = shelf

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ConfigView, "__init__", init)
        yield
