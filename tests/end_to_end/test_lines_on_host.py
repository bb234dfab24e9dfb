"""lineinfo=True on the host: the object code knows the lines of the kernel and of its device functions."""

# mypy: ignore-errors
from __future__ import annotations

import os
import re
import shutil
import subprocess

import numpy as np
import pytest

import gridjit
from gridjit import cuda
from gridjit.compiler.values.elf import named_sections


@pytest.fixture
def folder(cache_dir, monkeypatch, restart, tmp_path):
    monkeypatch.setenv("GRIDJIT_TARGET", "host")
    monkeypatch.setenv("GRIDJIT_HOST_SYMBOLS", str(tmp_path / "symbols"))
    restart()
    return tmp_path / "symbols"


@gridjit.jit(device=True, lineinfo=True)
def raised(value, power):
    result = value
    for _ in range(power):
        result *= value + power
    return result


def turns(x, power):
    tile = cuda.shared.array(32, np.float64)
    t = cuda.threadIdx.x
    if t < x.size:
        tile[t] = x[t]
    cuda.syncthreads()
    x[t] = raised(tile[31 - t], power)


def lines_of(path):
    """Return the lines that an object file's line table names, as a reader of DWARF on this computer has them."""
    if shutil.which("llvm-dwarfdump"):
        text = subprocess.run(["llvm-dwarfdump", "--debug-line", path], capture_output=True, text=True).stdout
        return {int(line) for line in re.findall(r"^0x[0-9a-f]+\s+(\d+)\s", text, re.MULTILINE)}
    if shutil.which("readelf"):
        command = ["readelf", "--debug-dump=decodedline", path]
        text = subprocess.run(command, capture_output=True, text=True).stdout
        return {int(line) for line in re.findall(r"^\S+\.py\s+(\d+)\s", text, re.MULTILINE)}
    pytest.skip("needs llvm-dwarfdump or readelf")


def line(function, number):
    return function.__code__.co_firstlineno + number


def test_the_line_table_has_the_kernels_and_its_functions_lines(folder):
    x = np.ones(32)
    gridjit.jit(turns, lineinfo=True)[1, 32](x, 1)
    assert x.tolist() == [2] * 32
    (path,) = folder.glob("*.o")
    found = lines_of(path)
    assert {line(turns, 4), line(turns, 6)} <= found
    assert line(raised.py_func, 4) in found


def test_a_kernel_without_lineinfo_has_no_line_table(folder):
    kernel = gridjit.jit(turns)
    kernel[1, 32](np.ones(32), 1)
    assert not folder.exists()
    (found,) = kernel.specializations
    assert ".debug_line" not in {name for name, _, _ in named_sections(found.artifact.image)}


def test_code_with_lines_computes_the_same_and_comes_from_the_cache(folder, restart):
    plain, lined, again = np.arange(32.0), np.arange(32.0), np.arange(32.0)
    gridjit.jit(turns)[1, 32](plain, 2)
    gridjit.jit(turns, lineinfo=True)[1, 32](lined, 2)
    restart()
    kernel = gridjit.jit(turns, lineinfo=True)
    kernel[1, 32](again, 2)
    assert plain.tolist() == lined.tolist() == again.tolist()
    assert kernel.stats.compiles == 0
    assert len(list(folder.glob("*.o"))) == 2


@pytest.mark.skipif(not shutil.which("gdb"), reason="needs gdb")
def test_gdb_finds_the_line_of_an_address(folder):
    gridjit.jit(turns, lineinfo=True)[1, 32](np.ones(32), 1)
    script = (folder / f"gdb-{os.getpid()}").read_text()
    commands = ["gdb", "-batch", "-ex", "set confirm off", "-ex", script.strip(), "-ex", f"info line {__file__}:"]
    commands[-1] += str(line(turns, 6))
    told = subprocess.run(commands, capture_output=True, text=True)
    start = int(script.rsplit(" ", 1)[1], 16)
    (address,) = re.findall(r"starts at address (0x[0-9a-f]+)", told.stdout)[:1]
    assert start <= int(address, 16) < start + (1 << 20)
