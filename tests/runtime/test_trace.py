"""GRIDJIT_TRACE: a file that trace viewers open tells every compile by phase, and every launch from Python with why."""

from __future__ import annotations

import fcntl
import itertools
import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import gridjit
from gridjit import cuda
from gridjit.cache.errors import CacheWarning
from gridjit.compiler.values.phases import OTHER
from gridjit.runtime.process.session import session
from gridjit.runtime.traced import tracer
from gridjit.runtime.traced.file import TraceFile
from tests.programs import run_python

Trace = Callable[[], list[dict[str, Any]]]


@gridjit.jit
def scale(x, factor):
    i = cuda.grid(1)
    if i < x.size:
        x[i] *= factor


@gridjit.jit
def refuse_negatives(x):
    if x[cuda.grid(1)] < 0.0:
        raise ValueError("a negative value")


@gridjit.jit
def sized(x):
    x[1] = gridjit.static.blockDim.x


@pytest.fixture
def trace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, restart: Callable[[], None]) -> Trace:
    """Have this process traced; return what reads the events."""
    monkeypatch.setenv("GRIDJIT_TRACE", str(tmp_path / "trace.json"))
    monkeypatch.setenv("GRIDJIT_TARGET", "host")
    restart()
    return lambda: json.loads((tmp_path / "trace.json").read_text())


def of(events: list[dict[str, Any]], category: str) -> list[dict[str, Any]]:
    return [event for event in events if event.get("cat") == category]


def milliseconds_of(events: list[dict[str, Any]], category: str) -> list[float]:
    return [event["dur"] / 1e3 for event in of(events, category)]


def test_a_compile_is_told_with_its_phases_inside_of_it(trace: Trace, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tracer, "_SHORTEST", 0.0)  # all are told
    kernel = gridjit.jit(scale.py_func)
    kernel[1, 8](np.ones(8), 2.0)
    events = trace()
    (whole,) = of(events, "compile")
    assert (whole["name"], whole["args"]["origin"], whole["args"]["target"]) == ("compile scale", "compiled", "host")
    names = {"cache", "front end", "types", "lowering", "optimization"}
    parts = [event for event in events if event.get("cat") in names]
    assert {part["cat"] for part in parts} == names
    ends = whole["ts"] + whole["dur"]
    assert all(whole["ts"] <= part["ts"] and part["ts"] + part["dur"] <= ends + 0.01 for part in parts)
    for one, after in itertools.pairwise(parts):
        assert one["ts"] + one["dur"] <= after["ts"] + 0.01
    (made,) = kernel.specializations
    rounded = 0.01 * len(made.phases)
    for name in names:  # what follows when it is made is told, too
        spent = sum(spent for phase, spent in made.phases.items() if tracer.group_of(phase) == name)
        assert sum(milliseconds_of(parts, name)) >= spent - rounded


def test_what_a_process_finds_in_the_cache_is_told_as_found(trace: Trace, restart: Callable[[], None]) -> None:
    gridjit.jit(sized.py_func)[1, 8](np.ones(8))
    restart()
    gridjit.jit(sized.py_func)[1, 8](np.ones(8))
    (found,) = of(trace(), "find")
    assert found["args"]["facts"] == {"blockdim.x": "8"}
    assert (found["args"]["origin"], found["args"]["why"]) == ("disk", "in the cache")


def test_a_failed_compile_is_told_with_its_error(trace: Trace) -> None:
    @gridjit.jit
    def wrong(x):
        x[0] = not_there  # type: ignore[name-defined]  # noqa: F821

    with pytest.raises(gridjit.CompileError):
        wrong[1, 1](np.ones(1))
    (failed,) = of(trace(), "fail")
    (launch,) = of(trace(), "launch")
    assert failed["args"]["kernel"] == launch["args"]["kernel"] == f"{__name__}.{wrong.py_func.__qualname__}"
    assert failed["args"]["error"] == launch["args"]["error"] == "CompileError"


def test_a_launch_is_told_with_its_kernels_full_name_and_file_and_with_its_code(trace: Trace) -> None:
    kernel = gridjit.jit(sized.py_func)
    kernel[2, 8](np.ones(8))
    kernel[2, 8, gridjit.create_stream()](cuda.to_device(np.ones(8)))
    events = trace()
    (made,) = of(events, "compile")
    first, queued = of(events, "launch")
    for name in ("kernel", "file", "signature", "target", "facts"):
        assert first["args"][name] == made["args"][name]
    assert (first["args"]["kernel"], first["args"]["file"]) == (f"{__name__}.sized", __file__)
    assert (first["args"]["waits"], queued["args"]["waits"]) == (True, False)
    assert first["args"]["room"] == session().settings.host_threads


def whys(trace: Trace) -> list[str]:
    return [event["args"]["why"] for event in of(trace(), "launch")]


def test_each_launch_from_python_says_why_it_was_one(trace: Trace) -> None:
    kernel = gridjit.jit(sized.py_func)
    for block in (8, 16):
        kernel[1, block](np.ones(8))
    with_hooks = kernel[1, 8]
    with_hooks.pre_launch_callbacks.append(lambda *_: None)
    with_hooks(np.ones(8))
    first, other, hooked = whys(trace)
    assert first.startswith("first launch") and "compiled" in first
    assert other.startswith("first launch") and "blockdim.x 8 -> 16" in other
    assert hooked == "it has callbacks that Python calls before each launch"


def test_a_launch_that_machine_code_makes_is_not_told(trace: Trace) -> None:
    launch, x = gridjit.jit(scale.py_func)[1, 8], cuda.device_array(8, np.float32)
    for _ in range(4):
        launch(x, 2.0)
    told = whys(trace)
    assert told[-1].startswith("machine code learned it")
    launch(x, 2.0)
    assert whys(trace) == told


def test_the_settings_that_send_launches_through_python_are_named(
    trace: Trace, monkeypatch: pytest.MonkeyPatch, restart: Callable[[], None]
) -> None:
    for name, value in (("GRIDJIT_NATIVE_LAUNCH", "0"), ("GRIDJIT_HOST_STEP", "1")):
        monkeypatch.setenv(name, value)
        restart()
        launch = gridjit.jit(scale.py_func)[1, 8]
        for _ in range(2):
            launch(np.ones(8), 2.0)
        assert name in whys(trace)[-1]
        monkeypatch.delenv(name)


def test_a_debug_kernel_is_a_reason(trace: Trace) -> None:
    checked = gridjit.jit(scale.py_func, debug=True)[1, 8]
    for _ in range(2):
        checked(np.ones(8), 2.0)
    assert "debug=True" in whys(trace)[-1]


def test_a_kernel_that_can_raise_is_launched_by_machine_code_from_its_third_launch_on(trace: Trace) -> None:
    launch, x = gridjit.jit(refuse_negatives.py_func)[1, 8], cuda.to_device(np.ones(8))
    for _ in range(2):
        launch(x)
    assert whys(trace)[-1].startswith("machine code launches a kernel from its third launch on")
    launch(x)
    told = whys(trace)
    launch(x)
    assert whys(trace) == told


def test_a_kernel_that_prints_is_a_reason(trace: Trace) -> None:
    @gridjit.jit
    def speak(x):
        print(x[0])

    for _ in range(4):
        speak[1, 1](np.ones(8))
    assert whys(trace)[-1] == "it prints, and Python shows the text when it ends"


def test_an_addition_waits_for_one_that_is_under_way(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path, write, take = tmp_path / "trace.json", os.pwrite, fcntl.flock
    TraceFile(path).add([{"name": "first"}])
    arrived = threading.Event()

    def add_third() -> None:
        TraceFile(path).add([{"name": "third"}])
        arrived.set()  # only here if nothing made it wait

    third = threading.Thread(target=add_third)

    def taking(descriptor: int, operation: int) -> None:
        if threading.current_thread() is third:
            arrived.set()
        take(descriptor, operation)

    def writing(*given: Any) -> int:
        if threading.current_thread() is not third:  # it has found the end of the array, and writes there
            third.start()
            assert arrived.wait(60)
        return write(*given)

    monkeypatch.setattr(fcntl, "flock", taking)
    monkeypatch.setattr(os, "pwrite", writing)
    TraceFile(path).add([{"name": "second"}])
    third.join()
    assert [event["name"] for event in json.loads(path.read_text())] == ["first", "second", "third"]


NOTES = """
import sys
from pathlib import Path
from gridjit.runtime.traced.file import TraceFile
print("ready", flush=True)
sys.stdin.readline()
file = TraceFile(Path(sys.argv[1]))
for number in range(200):
    file.add([{"ph": "X", "name": sys.argv[2], "ts": number, "dur": 1, "args": {}}] * 3)
"""


def test_processes_add_to_one_file_at_once_and_lose_nothing(tmp_path: Path) -> None:
    path = tmp_path / "trace.json"
    started = [
        subprocess.Popen([sys.executable, "-c", NOTES, path, str(n)], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        for n in range(3)
    ]
    for one in started:
        assert one.stdout is not None and one.stdout.readline() == b"ready\n"
    for one in started:
        one.communicate(b"go\n")
    events = json.loads(path.read_text())
    for number in range(3):
        assert [event["ts"] for event in events if event["name"] == str(number)] == [
            n for n in range(200) for _ in "abc"
        ]


KILLED = """
import os, signal, sys
from pathlib import Path
from gridjit.runtime.traced import file
calls, write = [], os.pwrite
def dying(*given):
    calls.append(given)
    if len(calls) == 3:
        os.kill(os.getpid(), signal.SIGKILL)
    return write(*given)
os.pwrite = dying
made = file.TraceFile(Path(sys.argv[1]))
for number in range(9):
    made.add([{"ph": "X", "name": "one", "ts": number, "dur": 1}])
"""


def test_the_trace_of_a_killed_process_is_valid_and_others_go_on_with_it(tmp_path: Path) -> None:
    path = tmp_path / "trace.json"
    done = run_python("-c", KILLED, str(path))
    assert done.returncode == -signal.SIGKILL
    assert [event["ts"] for event in json.loads(path.read_text())] == [0, 1]
    TraceFile(path).add([{"name": "after"}])
    assert json.loads(path.read_text())[-1] == {"name": "after"}


def test_a_name_with_percent_p_gives_each_process_a_file_of_its_own(tmp_path: Path) -> None:
    file = TraceFile(tmp_path / "trace-%p.json")
    file.add([{"name": "parent"}])
    if not (child := os.fork()):
        file.add([{"name": "child"}])
        os._exit(0)
    os.waitpid(child, 0)
    found = {path.name: json.loads(path.read_text()) for path in tmp_path.iterdir()}
    assert found == {
        f"trace-{os.getpid()}.json": [{"name": "parent"}],
        f"trace-{child}.json": [{"name": "child"}],
    }


def test_threads_are_told_apart_by_number_and_name(trace: Trace) -> None:
    kernel = gridjit.jit(scale.py_func)
    thread = threading.Thread(target=lambda: kernel[1, 8](np.ones(8), 2.0), name="worker <7>")
    thread.start()
    thread.join()
    names = {event["args"]["name"]: event["tid"] for event in trace() if event["name"] == "thread_name"}
    (launch,) = of(trace(), "launch")
    assert names["worker <7>"] == launch["tid"] != threading.get_native_id()


@pytest.mark.parametrize("what", ["folder", "other", "pipe", "missing"])
def test_what_is_not_a_trace_is_left_alone_and_said_once(tmp_path: Path, what: str) -> None:
    path = tmp_path / "it"
    if what == "folder":
        path.mkdir()
    elif what == "other":
        path.write_text("my own notes")
    elif what == "pipe":
        os.mkfifo(path)
    else:
        path = path / "no" / "file"
    file = TraceFile(path)
    with pytest.warns(CacheWarning, match="GRIDJIT_TRACE=.* cannot be written") as caught:
        for _ in range(3):
            file.add([{"name": "one"}])
    assert len(caught) == 1
    if what == "other":
        assert path.read_text() == "my own notes"


def test_a_name_that_is_hard_to_write_is_still_json(tmp_path: Path) -> None:
    file = TraceFile(tmp_path / "trace.json")
    file.add([{"name": 'a"b\n\udc80é\0'}])
    assert json.loads((tmp_path / "trace.json").read_bytes()) == [{"name": 'a"b\n\udc80é\0'}]


def test_every_phase_of_a_compile_has_a_group(trace: Trace) -> None:
    gridjit.jit(scale.py_func)[1, 8](np.ones(8), 2.0)
    assert OTHER not in {event["cat"] for event in trace() if event["ph"] == "X"}
    found = [*map(tracer.group_of, ("host: anything", "PTX", "link"))]
    assert found == ["optimization", "PTX", "link"]


def test_without_the_setting_nothing_of_it_is_imported() -> None:
    program = (
        "import sys, numpy, gridjit; gridjit.jit(lambda x, y: None)[1, 8](numpy.ones(8), 2.0);"
        "print([name for name in sys.modules if name.startswith('gridjit.runtime.traced')])"
    )
    done = run_python("-c", program, env=os.environ | {"GRIDJIT_TARGET": "host"})
    assert (done.returncode, done.stdout) == (0, "[]\n"), done.stderr
