"""After interrupts at any moment everything still compiles: on this thread, on others, and with numba-cuda itself."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.programs import run_new_python, run_python

pytestmark = pytest.mark.usefixtures("llvm_makes_all_objects")

SCRIPT = """
import ctypes, faulthandler, os, random, signal, sys, threading, time, warnings
import numpy as np

kind, count, seed = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
choose = random.Random(seed)
SOON_S = 100

class Interrupt(BaseException):
    pass

import gridjit
from gridjit import cuda

TEXT = '''
def callee(a):
    return a * {0}.0

def kernel(x):
    i = cuda.grid(1)
    if i < x.size:
        x[i] = helper(x[i]) + math.sqrt(x[i]) + {0}
'''

def fresh(number, cache=True):
    import math
    names = {"cuda": cuda, "math": math, "__name__": "made"}
    exec(TEXT.format(number), names)
    names["helper"] = gridjit.jit(names["callee"], device=True)
    return gridjit.jit(names["kernel"], cache=cache)

def check(number):
    x = np.full(8, 4.0)
    fresh(number)[2, 4](x)
    assert x.tolist() == [4.0 * number + 2.0 + number] * 8, x

def on_another_thread(call):
    failed = []
    def run():
        try:
            call()
        except BaseException as error:
            failed.append(error)
    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    thread.join(SOON_S)
    if thread.is_alive():
        faulthandler.dump_traceback()
    assert not thread.is_alive(), "another thread waits for a lock that nobody gives back"
    assert not failed, failed

def interrupted(number, delay):
    \"\"\"Compile with an interrupt after a delay; return whether it came in time.\"\"\"
    main, done = threading.get_ident(), threading.Event()
    def later():
        if not done.wait(delay):
            ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(main), ctypes.py_object(Interrupt))
    try:
        if kind == "signal":
            signal.setitimer(signal.ITIMER_REAL, delay)
        else:
            thread = threading.Thread(target=later)
            thread.start()
        try:
            check(number)
        finally:
            if kind == "signal":
                signal.setitimer(signal.ITIMER_REAL, 0)
            else:
                done.set()
                thread.join()
                for _ in range(10):
                    pass
        return False
    except Interrupt:
        return True

def raise_interrupt(*_):
    raise Interrupt

signal.signal(signal.SIGALRM, raise_interrupt)
came, number = 0, 1
if kind == "first":
    # The first compile of a process, which imports numba: interrupted where chance has it.
    kind, count = "signal", 1
    came += interrupted(number, choose.uniform(0.0, 2.0))
    count = 0
else:
    check(number)
start = time.perf_counter()
check(2)
usual = max(0.05, time.perf_counter() - start)
number = 3
unraisable = []
sys.unraisablehook = lambda what: unraisable.append(what)
while came < count:
    number += 1
    start = time.perf_counter()
    if interrupted(number, choose.uniform(0.0, usual)):
        came += 1
        if came % 20 == 0:
            check(number + 1000000)
    else:
        usual = min(usual, time.perf_counter() - start)

from gridjit.compiler.view.config import current_view
from numba.core import target_extension
import numba.cuda.compiler
check(999)
on_another_thread(lambda: check(1000))
on_another_thread(lambda: gridjit.runtime.process.session.session().store().put("ab" * 16, b"x", suffix=".o"))
assert current_view() is None
assert target_extension.current_target() == "cpu", target_extension.current_target()
assert numba.cuda.compiler.get_current_device.__module__.startswith("numba")
from gridjit.compiler.frontend.isolated import isolation
from gridjit.compiler.frontend.bindings import replacing
from gridjit.compiler.process.locks import compiling_locks
from gridjit.base.forking import held
assert replacing.changes_now() == 0 and isolation._left.target is None
assert not any(map(held, compiling_locks()))
print(came)
"""


def run(tmp_path: Path, *arguments: object) -> str:
    script = tmp_path / "script.py"
    script.write_text(SCRIPT)
    settings = {"GRIDJIT_CACHE_DIR": str(tmp_path / "cache"), "GRIDJIT_TARGET": "host"}
    run_it = run_new_python if arguments[0] == "first" else run_python
    done = run_it(script, *arguments, env={**os.environ, **settings}, timeout=3000)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.parametrize("kind", ["signal", "exception set by another thread"])
def test_after_interrupts_at_random_moments_everything_compiles(tmp_path: Path, kind: str) -> None:
    assert run(tmp_path, kind, 8, 7) == "8\n"


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["signal", "exception set by another thread"])
def test_after_a_thousand_interrupts_everything_compiles(tmp_path: Path, kind: str) -> None:
    assert run(tmp_path, kind, 1000, 20) == "1000\n"


@pytest.mark.parametrize("seed", [0, *(pytest.param(seed, marks=pytest.mark.slow) for seed in (1, 2, 3))])
def test_a_first_compile_that_is_interrupted_is_simply_tried_again(tmp_path: Path, seed: int) -> None:
    assert run(tmp_path, "first", 1, seed) in ("0\n", "1\n")


FREED = """
import sys

import numpy as np
from llvmlite.binding import ffi

import gridjit
from gridjit import cuda

class Interrupt(BaseException):
    pass

def kernel_of(number):
    def kernel(x):
        i = cuda.grid(1)
        if i < x.size:
            x[i] += number
    return gridjit.jit(kernel, cache=False)

def check(number):
    x = np.zeros(8)
    kernel_of(number)[2, 4](x)
    assert x.tolist() == [number] * 8

def place():
    frame, found = sys._getframe(2), []
    while frame is not None and len(found) < 4:
        found.append((frame.f_code.co_name, frame.f_lineno))
        frame = frame.f_back
    return tuple(found)

places, freed = {}, []
check(1)
for name, function in list(ffi.lib._fntab.items()):
    if "Dispose" in name:
        def freeing(*arguments, name=name, function=function):
            function(*arguments)
            if not places.setdefault((name, place()), False):
                places[name, place()] = True
                freed.append(name)
                raise Interrupt
        ffi.lib._fntab[name] = freeing
sys.unraisablehook = lambda what: None

for number in range(2, 1000):
    before = len(freed)
    try:
        check(number)
    except Interrupt:
        pass
    if len(freed) == before:
        break
check(1000)
print(len(set(freed)))
"""


def test_what_llvm_had_freed_when_an_interrupt_came_is_not_freed_again(tmp_path: Path) -> None:
    script = tmp_path / "freed.py"
    script.write_text(FREED)
    done = run_python(script, env={**os.environ, "GRIDJIT_TARGET": "host"}, timeout=600)
    assert done.returncode == 0, done.stderr
    assert int(done.stdout) >= 3  # strings, modules and passes, at least
