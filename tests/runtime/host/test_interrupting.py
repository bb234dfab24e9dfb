"""Signals during launches on the host: what their handlers raise ends a launch, however long its blocks take.

Each program launches a kernel that says in its array that it runs. Another process sees it there, as the array is in
memory that they share, and sends the signal only then.
"""

# mypy: ignore-errors
from __future__ import annotations

import platform

import pytest

from gridjit.runtime.native.layout.probes import object_layout
from tests.programs import run_python

pytestmark = pytest.mark.skipif(
    object_layout() is None or platform.machine() != "x86_64", reason="blocks are only left where launches are native"
)

PROGRAM = """
import mmap, os, signal, sys, threading, time
import numpy as np

how, earlier = sys.argv[1], int(sys.argv[2])
GO_ON, STARTED, RESULT, SIGNAL = range(4)
flags = np.frombuffer(mmap.mmap(-1, 4096), np.int64)[:4]

parent = os.getpid()
if os.fork() == 0:
    while os.getppid() == parent:
        if flags[SIGNAL] and flags[STARTED]:
            number, flags[SIGNAL] = flags[SIGNAL], 0
            os.kill(parent, number)
        time.sleep(0.0005)  # leave the processor to what compiles
    os._exit(0)

import gridjit
from gridjit import cuda

@gridjit.jit(target="host", hold_gil=how == "GIL held")
def waits(flags, first):
    if cuda.blockIdx.x >= first:
        cuda.atomic.add(flags, 1, 1)
        while cuda.atomic.add(flags, 0, 0) == 0:
            pass

@gridjit.jit(target="host")
def works(flags, n):
    cuda.atomic.add(flags, 1, 1)
    for _ in range(n):
        cuda.atomic.exch(flags, 2, 1)

@gridjit.jit(target="host")
def adds(flags, n):
    cuda.atomic.add(flags, 1, 1)
    value = cuda.grid(1)
    for _ in range(n):
        value = 5 * value + 1
    cuda.atomic.add(flags, 2, value)

@gridjit.jit(target="host")
def increment(x):
    i = cuda.grid(1)
    if i < x.size:
        x[i] += 1

launch = {
    "one block": lambda: waits[1, 1](flags, 0),
    "GIL held": lambda: waits[1, 1](flags, 0),
    "all blocks": lambda: waits[64, 1](flags, 0),
    # The caller begins with the first ones: helpers meet the others.
    "later blocks": lambda: waits[4096, 1](flags, 2048),
    "many blocks": lambda: works[1 << 30, 1](flags, 1000),
    # What these add is seen when a group of them has run.
    "groups of blocks": lambda: adds[1 << 30, 1](flags, 10_000),
}[how]

flags[GO_ON] = 1
for _ in range(earlier):
    if how == "many blocks":
        works[4, 1](flags, 1000)
    elif how == "groups of blocks":
        adds[64, 1](flags, 1000)
    else:
        launch()

class Odd(Exception):
    pass

def refuse(number, frame):
    raise Odd

def answer(number, frame):
    flags[GO_ON] = 1

signal.signal(signal.SIGUSR1, refuse)
signal.signal(signal.SIGUSR2, answer)

exec(BEFORE)
for number in map(int, sys.argv[3:]):
    flags[:] = 0
    flags[SIGNAL] = number
    try:
        launch()
        print("ended")
    except (KeyboardInterrupt, Odd) as error:
        print(type(error).__name__)

# All is as before: this and other kernels launch, on this thread and others.
flags[GO_ON] = 1
before = flags[STARTED]
if how not in ("many blocks", "groups of blocks"):
    launch()
    assert flags[STARTED] > before
x = np.zeros(2_000_000)
run = lambda: increment[-(-x.size // 128), 128](x)
other = threading.Thread(target=run)
for _ in range(4):
    run()
other.start()
other.join()
assert (x == 5).all()
print("fine")
"""
INT, ODD, ANSWER = 2, 10, 12


def said_by(*arguments, before=""):
    done = run_python("-c", f"BEFORE = {before!r}\n{PROGRAM}", *arguments)
    assert (done.stderr, done.returncode) == ("", 0)
    return done.stdout.split()


@pytest.mark.each_value_once
@pytest.mark.parametrize("earlier", [0, 4], ids=["first launch", "later launch"])
@pytest.mark.parametrize(
    "how", ["one block", "all blocks", "later blocks", "many blocks", "groups of blocks", "GIL held"]
)
def test_an_interrupt_ends_a_launch_and_leaves_all_usable(how, earlier):
    assert said_by(how, earlier, INT) == ["KeyboardInterrupt", "fine"]


@pytest.mark.parametrize("how", ["one block", "later blocks"])
def test_a_launch_is_interrupted_again_and_again(how):
    assert said_by(how, 4, INT, INT, ODD, INT) == ["KeyboardInterrupt"] * 2 + ["Odd", "KeyboardInterrupt", "fine"]


@pytest.mark.each_value_once
@pytest.mark.parametrize("earlier", [0, 4], ids=["first launch", "later launch"])
@pytest.mark.parametrize("how", ["one block", "all blocks"])
def test_a_launch_goes_on_after_a_signal_whose_handler_returns(how, earlier):
    assert said_by(how, earlier, ANSWER, ANSWER) == ["ended", "ended", "fine"]


# The programs' own handlers raise Odd if a launch sends them a signal.
TAKEN = {
    "handled": "signal.signal(signal.SIGURG, refuse)",
    "blocked": "signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGURG])",
    "handled and blocked": "signal.signal(signal.SIGURG, refuse)\n"
    "signal.pthread_sigmask(signal.SIG_BLOCK, range(52, 61))",
}


@pytest.mark.each_value_once
@pytest.mark.parametrize("earlier", [0, 4], ids=["first launch", "later launch"])
@pytest.mark.parametrize("how", ["one block", "later blocks"])
@pytest.mark.parametrize("taken", TAKEN)
def test_an_interrupt_ends_a_launch_whichever_signals_the_program_took_since_it_launched(taken, how, earlier):
    assert said_by(how, earlier, INT, INT, before=TAKEN[taken]) == ["KeyboardInterrupt"] * 2 + ["fine"]


def test_an_interrupt_ends_a_launch_after_the_program_gave_a_signal_back():
    lent = "signal.signal(signal.SIGURG, refuse)\nlaunch()\nsignal.signal(signal.SIGURG, signal.SIG_IGN)"
    assert said_by("one block", 4, INT, before=lent) == ["KeyboardInterrupt", "fine"]


NESTED = """
import mmap, os, signal, time
import numpy as np
import gridjit
from gridjit import cuda

flags = np.frombuffer(mmap.mmap(-1, 4096), np.int64)[:2]
GO_ON, STARTED = range(2)

@gridjit.jit(target="host")
def waits(flags):
    cuda.atomic.add(flags, 1, 1)
    while cuda.atomic.add(flags, 0, 0) == 0:
        pass

flags[GO_ON] = 1
for _ in range(4):
    waits[1, 1](flags)
flags[:] = 0

parent = os.getpid()
if os.fork() == 0:
    seen = 0
    while os.getppid() == parent:
        if flags[STARTED] > seen:
            seen = flags[STARTED]
            os.kill(parent, signal.SIGUSR1)
        time.sleep(0.0005)
    os._exit(0)

class Enough(Exception):
    pass

levels = []

def deeper(number, frame):
    levels.append(int(flags[STARTED]))
    if len(levels) == 10:
        raise Enough
    waits[1, 1](flags)

signal.signal(signal.SIGUSR1, deeper)
try:
    waits[1, 1](flags)
except Enough:
    print(levels == [*range(1, 11)])
signal.signal(signal.SIGUSR1, signal.SIG_IGN)
flags[GO_ON] = 1
waits[1, 1](flags)
print("fine")
"""


def test_endless_launches_in_each_others_handlers_are_all_left():
    done = run_python("-W", "ignore::DeprecationWarning", "-c", NESTED)  # of forks, from Python 3.12 on
    assert (done.stderr, done.returncode, done.stdout) == ("", 0, "True\nfine\n")
