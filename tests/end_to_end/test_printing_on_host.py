"""print in kernels on the host: what a GPU would print, to sys.stdout, when the launch has ended."""

# mypy: ignore-errors
from __future__ import annotations

import io
import os
import sys
import threading

import numpy as np
import pytest

import gridjit
from gridjit import cuda


@pytest.fixture(autouse=True)
def on_host(monkeypatch):
    monkeypatch.setenv("GRIDJIT_TARGET", "host")


@gridjit.jit
def says_all(x, flag):
    i = cuda.grid(1)
    if i < x.size:
        print("at", i, x[i], flag, x[i] > 2, (i, x[i]), cuda.threadIdx, np.uint8(200), np.int8(-5), np.float32(0.5))


def test_every_kind_of_argument_is_printed_in_order(capsys):
    says_all[2, 2](np.array([1.5, 2.5, -3.0, np.inf]), True)
    assert capsys.readouterr().out.splitlines() == [
        "at 0 1.500000 True False (0, 1.500000) (0, 0, 0) 200 -5 0.500000",
        "at 1 2.500000 True True (1, 2.500000) (1, 0, 0) 200 -5 0.500000",
        "at 2 -3.000000 True False (2, -3.000000) (0, 0, 0) 200 -5 0.500000",
        "at 3 inf True True (3, inf) (1, 0, 0) 200 -5 0.500000",
    ]


def test_what_is_printed_comes_between_what_python_prints(capsys):
    @gridjit.jit
    def kernel(n):
        print("launch", n)

    for n in range(5):  # also once launches are made by machine code
        print("before", n)
        kernel[1, 1](n)
    lines = capsys.readouterr().out.splitlines()
    assert lines == [line for n in range(5) for line in (f"before {n}", f"launch {n}")]


def test_texts_are_printed_as_they_are_and_empty_lines_too(capsys):
    @gridjit.jit
    def kernel():
        print("100%d %s %", "zwölf")
        print()

    kernel[1, 1]()
    assert capsys.readouterr().out == "100%d %s % zwölf\n\n"


def test_lines_of_threads_that_run_at_once_are_whole(capsys):
    @gridjit.jit
    def kernel(x):
        i = cuda.grid(1)
        print("a line of thread", i, "that is long enough to be torn", x[i], "if it were", i)

    x = np.arange(4096.0)
    kernel[256, 16](x)
    lines = capsys.readouterr().out.splitlines()
    wanted = {f"a line of thread {i} that is long enough to be torn {i}.000000 if it were {i}" for i in range(4096)}
    assert len(lines) == 4096
    assert set(lines) == wanted


def test_launches_of_several_threads_print_all_their_lines(capsys):
    @gridjit.jit
    def kernel(who):
        print("launched by", who, "thread", cuda.grid(1))

    kernel[1, 1](0)
    capsys.readouterr()
    ready = threading.Barrier(4)

    def launch(who):
        ready.wait()
        kernel[4, 8](who)

    threads = [threading.Thread(target=launch, args=(who,)) for who in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    wanted = sorted(f"launched by {who} thread {i}" for who in range(4) for i in range(32))
    assert sorted(capsys.readouterr().out.splitlines()) == wanted


def test_what_was_printed_before_an_exception_is_shown(capsys):
    @gridjit.jit
    def kernel():
        print("so far")
        raise ValueError("and no further")

    with pytest.raises(ValueError, match="and no further"):
        kernel[1, 1]()
    assert capsys.readouterr().out == "so far\n"


def test_a_kernel_with_barriers_prints_in_the_order_of_its_regions(capsys):
    @gridjit.jit
    def kernel():
        print("first", cuda.threadIdx.x)
        cuda.syncthreads()
        print("second", cuda.threadIdx.x)

    kernel[1, 3]()
    assert capsys.readouterr().out.splitlines() == [f"{part} {i}" for part in ("first", "second") for i in range(3)]


def test_it_goes_to_what_sys_stdout_is_when_the_launch_ends(monkeypatch):
    @gridjit.jit
    def kernel():
        print("elsewhere")

    monkeypatch.setattr("sys.stdout", io.StringIO())
    kernel[1, 1]()
    assert sys.stdout.getvalue() == "elsewhere\n"
    monkeypatch.setattr("sys.stdout", None)
    kernel[1, 1]()  # as under pythonw: there is nowhere to print


def test_a_forked_child_prints_its_own_lines_only():
    @gridjit.jit
    def kernel(n):
        print("line", n)

    kernel[1, 1](1)
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        os.dup2(write, 1)
        with open(1, "w", closefd=False) as sys.stdout:
            kernel[1, 1](2)
        os._exit(0)
    os.close(write)
    with open(read) as text:
        assert text.read() == "line 2\n"
    assert os.waitpid(child, 0)[1] == 0


def test_what_code_needs_of_the_process_has_one_set_of_names():
    from gridjit.compiler.targets.host.library.symbols import RESOURCES
    from gridjit.runtime.devices.host.device import NEEDS

    assert RESOURCES.keys() == NEEDS
