"""GRIDJIT_RECORD: each specialization that a run needed is one line, which reads back as what it was."""

from __future__ import annotations

import enum
import os
import subprocess
import sys
from collections import namedtuple
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import gridjit
from gridjit.cache.errors import CacheWarning
from gridjit.compiler.frontend.bindings.bootstrap import numba_cuda
from gridjit.compiler.values.footprint import Fact
from gridjit.compiler.values.launch_config import LaunchConfig
from gridjit.compiler.values.signature import (
    ArrayType,
    ClassName,
    ClassType,
    EnumType,
    Field,
    PointerType,
    RecordType,
    ScalarType,
    Signature,
    TupleType,
)
from gridjit.runtime.specializations.needs import Need, NeedLog

Point = namedtuple("Point", "x y")
PAIR = RecordType(fields=(Field(name="a", type="int32", offset=0), Field(name="b", type="<U4", offset=4)), size=20)


class Colour(enum.IntEnum):
    """A class that a signature names."""

    RED = 1


def need(*arguments: Any, **changes: Any) -> Need:
    """Return a need of a kernel with these arguments."""
    values: dict[str, Any] = {
        "kernel": "stats:scale",
        "signature": Signature(arguments=arguments),
        "config": LaunchConfig.of((4, 2), 128, 64),
        "target": "sm_90",
        "facts": (Fact(field="blockdim", value=(128, 1, 1)), Fact(field="launch", value=True)),
    }
    return Need(**{**values, **changes})


@pytest.mark.parametrize(
    "argument",
    [
        ScalarType(dtype="int64"),
        ScalarType(dtype="datetime64[ns]"),
        ArrayType(dtype="float32", ndim=2, layout="A", readonly=True, aligned=False),
        ArrayType(dtype=PAIR, ndim=1),
        PAIR,
        PointerType(dtype="void"),
        ClassType(dtype=PAIR, form="dtype"),
        TupleType(items=(ScalarType(dtype="int8"), TupleType(items=()))),
        EnumType(
            enum=ClassName.of(pytest.ExitCode), dtype=ScalarType(dtype="int64"), members=(("OK", "0"),), integral=True
        ),
    ],
    ids=str,
)
def test_a_line_reads_back_as_the_need_that_it_was(argument: Any) -> None:
    before = need(argument, ScalarType(dtype="bool"))
    line = before.to_line()
    assert line.endswith("\n") and line.count("\n") == 1
    after = Need.from_line(line)
    assert after == before
    assert after.to_line() == line


def test_a_class_is_the_class_again() -> None:
    kind = EnumType(enum=ClassName.of(pytest.ExitCode), dtype=ScalarType(dtype="int64"), members=(), integral=True)
    (again,) = Need.from_line(need(kind).to_line()).signature.arguments
    assert isinstance(again, EnumType) and again.enum.python is pytest.ExitCode


def test_a_need_outside_a_launch_has_no_configuration() -> None:
    assert Need.from_line(need(config=None, facts=()).to_line()).config is None


@pytest.mark.parametrize(
    "line",
    [
        "",
        "{}",
        "[]",
        "null",
        need().to_line()[:-20],
        need().to_line().replace('"schema":1', '"schema":2'),
        need(ScalarType(dtype="int8")).to_line().replace("int8", "int9"),
        need(ScalarType(dtype="int8")).to_line().replace("ScalarType", "OSError"),
        need().to_line().replace('"sharedmem":64', '"colour":64'),
        need(PAIR).to_line().replace('"RecordType"', '"ClassName"'),
        need().to_line().replace('{"arguments":[],"class":"Signature"}', "[]"),
    ],
)
def test_what_is_not_a_recorded_line_is_said_not_to_be_one(line: str) -> None:
    with pytest.raises(gridjit.ConfigError):
        Need.from_line(line)


@pytest.fixture
def record(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, restart: Callable[[], None]) -> Path:
    """A file that this process records to."""
    path = tmp_path / "needs.jsonl"
    monkeypatch.setenv("GRIDJIT_RECORD", str(path))
    restart()
    return path


def sized() -> Any:
    """Return a kernel that depends on its block size."""

    @gridjit.jit(target="host")
    def sized(x):
        x[0] = gridjit.static.blockDim.x

    return sized


def test_each_need_is_a_line_once_whatever_the_rest_of_the_launch(record: Path) -> None:
    kernel = sized()
    for grid, block in ((1, 32), (2, 32), (1, 64), (3, 64)):
        kernel[grid, block](np.ones(1, np.float32))
    needs = [Need.from_line(line) for line in record.read_text().splitlines()]
    assert [fact.value for found in needs for fact in found.facts if fact.field == "blockdim.x"] == [32, 64]
    assert {found.kernel for found in needs} == {f"{__name__}:sized.<locals>.sized"}
    assert {str(found.signature) for found in needs} == {"(float32[1d C])"}


def test_disk_hits_are_recorded_too(record: Path, restart: Callable[[], None]) -> None:
    sized()[1, 32](np.ones(1, np.float32))
    first = record.read_text()
    record.unlink()
    restart()
    sized()[1, 32](np.ones(1, np.float32))
    assert record.read_text() == first


def test_what_another_process_would_not_understand_is_not_recorded(record: Path) -> None:
    numba_cuda()
    from numba.cuda import types

    @gridjit.jit(target="host")
    def kernel(x, kind):
        x[0] = 2

    out = np.ones(1)
    kernel[1, 1](out, types.unicode_type)
    assert out[0] == 2
    assert not record.exists()


def test_a_file_that_cannot_be_written_is_said_once_and_launches_go_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, restart: Callable[[], None]
) -> None:
    monkeypatch.setenv("GRIDJIT_RECORD", str(tmp_path / "missing" / "needs.jsonl"))
    restart()
    kernel = sized()
    out = np.zeros(1, np.float32)
    with pytest.warns(CacheWarning, match="GRIDJIT_RECORD") as caught:
        for block in (32, 64):
            kernel[1, block](out)
            assert out[0] == block
    assert len(caught) == 1


WRITER = """
import sys
from pathlib import Path
from gridjit.compiler.values.signature import Signature
from gridjit.runtime.specializations.needs import Need, NeedLog
recorder = NeedLog(Path(sys.argv[1]))
for number in range(300):
    name = f"{sys.argv[2]}:k{number}" + "x" * 600
    recorder.note(Need(kernel=name, signature=Signature(arguments=()), config=None, target="host"))
"""


def test_lines_of_processes_that_write_at_once_stay_whole(tmp_path: Path) -> None:
    path = tmp_path / "needs.jsonl"
    writers = [subprocess.Popen([sys.executable, "-c", WRITER, path, f"w{number}"]) for number in range(4)]
    assert [writer.wait() for writer in writers] == [0] * 4
    kernels = {Need.from_line(line).kernel for line in path.read_text().splitlines()}
    assert len(kernels) == 4 * 300


def test_one_recorder_writes_a_need_once(tmp_path: Path) -> None:
    recorder = NeedLog(tmp_path / "needs.jsonl")
    for grid in (1, 2):
        recorder.note(need(config=LaunchConfig.of(grid, 128)))
    assert len((tmp_path / "needs.jsonl").read_text().splitlines()) == 1


@pytest.mark.timeout(60)
def test_a_pipe_that_nobody_reads_is_said_and_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    with pytest.warns(CacheWarning, match="GRIDJIT_RECORD"):
        NeedLog(tmp_path / "pipe").note(need())
