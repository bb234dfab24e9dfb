"""While the driver starts, another thread imports what a first array and a first launch need."""

from __future__ import annotations

import contextlib
import os
import sys
from pathlib import Path
from typing import Any

import pytest

from gridjit.compiler.values.errors import DeviceError
from gridjit.runtime.devices import presence
from gridjit.runtime.environment.settings import settings
from gridjit.runtime.process import ahead
from gridjit.runtime.process.session import Session
from tests.programs import run_new_python

PROGRAM = """
import sys, threading
from gridjit import cuda
cuda.to_device
from gridjit.compiler.values.errors import DeviceError
from gridjit.runtime.process import ahead
from gridjit.runtime.devices import presence
done, real = threading.Event(), ahead._import
def importing():
    real()
    done.set()
ahead._import = importing
wanted = "devices.cuda.device", "memory.device_array", "memory.layout", "native.function"
class Library:
    def cuDeviceGetCount(self, count):
        return 3  # not initialized
    def cuInit(self, flags):
        print("the driver starts", done.is_set() or done.wait(60))
        print([name for name in wanted if f"gridjit.runtime.{name}" not in sys.modules])
        return 100  # no device
    def cuGetErrorName(self, code, text):
        return 1
presence._library = Library
print(cuda.to_device([1, 2, 3]).copy_to_host().tolist())
"""


def test_what_comes_next_is_imported_while_the_driver_starts(tmp_path: Path) -> None:
    (tmp_path / "program.py").write_text(PROGRAM)
    # Where a target is said, it is not looked for.
    env = {name: value for name, value in os.environ.items() if name != "GRIDJIT_TARGET"}
    done = run_new_python(tmp_path / "program.py", env=env)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == ["the driver starts True", "[]", "[1, 2, 3]"]


class Library:
    """A driver's library: count_code is what it returns when it is asked for its devices."""

    def __init__(self, count_code: int = 3) -> None:
        self.count_code = count_code
        self.started = 0

    def cuDeviceGetCount(self, count: Any) -> int:  # noqa: N802
        return self.count_code

    def cuInit(self, flags: int) -> int:  # noqa: N802
        self.started += 1
        return 100

    def cuGetErrorName(self, code: int, text: Any) -> int:  # noqa: N802
        return 1


@pytest.fixture
def library(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Return a driver that nobody has started, and which finds no device."""
    made = Library()
    monkeypatch.setattr(presence, "_library", lambda: made)
    forget()
    yield made
    forget()


def forget() -> None:
    """Have the driver asked anew."""
    presence.why_not.cache_clear()
    presence.device_count.cache_clear()


def test_nothing_is_imported_ahead_where_the_driver_was_started_before(
    library: Library, monkeypatch: pytest.MonkeyPatch
) -> None:
    begun: list[str] = []
    monkeypatch.setattr(ahead, "import_ahead", lambda: begun.append("ahead"))
    library.count_code = 0
    assert Session(settings()).is_host
    assert (begun, library.started) == ([], 1)

    forget()
    library.count_code = 3
    assert Session(settings()).is_host
    assert (begun, library.started) == (["ahead"], 2)
    assert Session(settings()).is_host
    assert begun == ["ahead"]


def test_a_target_that_is_said_is_imported_ahead_too(library: Library, monkeypatch: pytest.MonkeyPatch) -> None:
    begun: list[str] = []
    monkeypatch.setattr(ahead, "import_ahead", lambda: begun.append("ahead"))
    with contextlib.suppress(DeviceError):
        Session(settings()).device("cuda")
    assert begun == ["ahead"]


def test_where_there_can_be_no_thread_the_driver_starts_all_the_same(
    library: Library, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(run: object) -> None:
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(ahead, "start_with_room", refuse)
    assert Session(settings()).is_host
    assert library.started == 1


def test_what_cannot_be_imported_is_told_to_who_needs_it_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "gridjit.runtime.native.function", None)
    ahead._import()
    with pytest.raises(ImportError):
        import gridjit.runtime.native.function  # noqa: F401
