"""What runs out of stack on the host is an error, or is not there: recursion, local arrays, small threads."""

# mypy: ignore-errors
from __future__ import annotations

import re
import resource
import threading

import numpy as np
import pytest

import gridjit
from gridjit import cuda
from tests.conftest import fresh_session
from tests.programs import run_python


@pytest.fixture(autouse=True)
def on_host(monkeypatch):
    monkeypatch.setenv("GRIDJIT_TARGET", "host")
    fresh_session()


@gridjit.jit("int64(int64)", device=True)
def depth(n):
    if n <= 0:
        return 0
    return 1 + (depth(n - 1) | 0)


@gridjit.jit(device=True)
def undeclared(n):
    if n <= 0:
        return 0.0
    return undeclared(n - 1) * 0.5 + 1.0


@gridjit.jit(device=True)
def digits_sum(n):
    if n < 10:
        return n
    return digits_sum(n // 10) + n % 10


@gridjit.jit
def declared_recursion(out, n):
    out[cuda.grid(1)] = depth(n)


@gridjit.jit
def undeclared_recursion(out, n):
    out[cuda.grid(1)] = undeclared(n)


@gridjit.jit
def met_by_one_thread(out, n):
    i = cuda.grid(1)
    out[i] = undeclared(n if i == 70 else 1)
    cuda.syncthreads()
    out[i] += 1


@pytest.mark.each_value_once
@pytest.mark.parametrize("earlier", [0, 4], ids=["first launch", "later launch"])
@pytest.mark.parametrize(
    ("kernel", "shape", "place"),
    [
        (declared_recursion, (1, 4), r"tid=\[0, 0, 0\]"),
        (undeclared_recursion, (1, 4), r"tid=\[0, 0, 0\]"),
        (met_by_one_thread, (2, 64), r"tid=\[6, 0, 0\] ctaid=\[1, 0, 0\]"),
    ],
)
def test_recursion_that_is_too_deep_is_an_error_that_names_the_thread(kernel, shape, place, earlier):
    out = np.zeros(128)
    for _ in range(earlier):
        kernel[shape](out, 5)
    with pytest.raises(gridjit.LaunchError, match=f"{place}.*recursion too deep") as caught:
        kernel[shape](out, 10**12)
    said = r"it takes ([\d,]+) of the ([\d,]+) bytes available, and the next call may take ([\d,]+) more"
    taken, limit, more = (int(word.replace(",", "")) for word in re.search(said, str(caught.value)).groups())
    assert 0 < taken <= limit < taken + more
    assert 2**20 < limit <= 2**26
    assert more >= 1024
    kernel[2, 64](out, 100)
    assert (out > 1).all()


@gridjit.jit
def sums_of_digits(out):
    i = cuda.grid(1)
    out[i] = digits_sum(i * 12345)


def test_recursion_that_ends_gives_its_result():
    out = np.zeros(1000, np.int64)
    sums_of_digits[10, 100](out)
    assert out.tolist() == [sum(map(int, str(i * 12345))) for i in range(1000)]


SMALL = """
import sys, threading
import numpy as np
import gridjit
from gridjit import cuda

threading.stack_size(int(sys.argv[1]) << 10)

@gridjit.jit("int64(int64)", device=True)
def depth(n):
    if n <= 0:
        return 0
    return 1 + (depth(n - 1) | 0)

@gridjit.jit(target="host")
def recursive(out, n):
    out[cuda.grid(1)] = depth(n)

@gridjit.jit(target="host")
def large(x):
    values = cuda.local.array(7000, np.float64)
    i = cuda.grid(1)
    for j in range(7000):
        values[j] = x[(i + j) % x.size]
    for j in range(7000):
        x[i] += values[(j * 7 + i) % 7000]

@gridjit.jit(target="host")
def waits(lock, x):
    while cuda.atomic.cas(lock, 0, 0, 1) != 0:
        pass
    x[0] += 1
    cuda.atomic.exch(lock, 0, 0)

@gridjit.jit(target="host")
def unknown(x):
    x[0] = 1

def launch():
    recursive[2, 32](np.zeros(64), 3)
    large[2, 32](np.zeros(64))
    waits[2, 32](np.zeros(1, np.int32), np.zeros(1))

def others():
    for _ in range(5):
        launch()
    for kernel, arguments in ((recursive, (np.zeros(64), 10**9)), (unknown, (np.zeros(1),))):
        try:
            kernel[2, 32](*arguments)
            print("no error")
        except gridjit.GridjitError as error:
            print(type(error).__name__, "recursion too deep" in str(error), "this thread's stack" in str(error))

for _ in range(int(sys.argv[2])):
    launch()
thread = threading.Thread(target=others)
thread.start()
thread.join()
"""


# With 32 KB, Python itself has no room to import what a second launch needs.
@pytest.mark.some(1)
@pytest.mark.parametrize(("earlier", "kilobytes"), [(1, 64), (4, 64), (4, 32)])
def test_a_thread_with_a_small_stack_launches_what_is_compiled_and_is_told_what_it_has_no_room_for(earlier, kilobytes):
    done = run_python("-c", SMALL, str(kilobytes), str(earlier))
    assert (done.stderr, done.stdout) == ("", "LaunchError True False\nCompileError False True\n")


LOCAL = """
import sys, threading
import numpy as np
import gridjit
from gridjit import cuda

SIZE = int(sys.argv[1]) * 128

@gridjit.jit(device=True)
def kept(n, x):
    values = cuda.local.array(SIZE, np.float64)
    for j in range(n):
        values[j * 77 % SIZE] = x[j % x.size] + n
    if n <= 0:
        return 0.0
    total = kept(n - 1, x)
    for j in range(n):
        total += values[j * 77 % SIZE]
    return total

@gridjit.jit(target="host")
def kernel(out, x, n):
    out[cuda.grid(1)] = kept(n, x)

def launch():
    out = np.zeros(64)
    try:
        kernel[2, 32](out, np.ones(8), 3)
        print(out[5])
    except gridjit.LaunchError as error:
        print("recursion too deep" in str(error))

for _ in range(int(sys.argv[2])):
    launch()
threading.stack_size(int(sys.argv[3]) << 10)
thread = threading.Thread(target=launch)
thread.start()
thread.join()
"""


@pytest.mark.some(2)
@pytest.mark.parametrize(
    ("kilobytes", "stack", "told"),
    [(1, 256, ["20.0", "20.0"]), (40, 64, ["20.0", "True"]), (40, 512, ["20.0", "20.0"]), (20_000, 64, ["True"] * 2)],
)
def test_local_arrays_of_a_recursion_that_fit_no_stack_are_an_error_that_says_so(kilobytes, stack, told):
    done = run_python("-c", LOCAL, str(kilobytes), "1", str(stack))
    assert (done.returncode, done.stdout.split()) == (0, told), done.stderr


def test_a_thread_with_a_stack_of_256_kilobytes_compiles():
    @gridjit.jit
    def counts(x):
        cuda.atomic.add(x, 0, 1)

    x, before = np.zeros(1), threading.stack_size(256 << 10)
    try:
        thread = threading.Thread(target=lambda: counts[1, 5](x))
        thread.start()
        thread.join()
    finally:
        threading.stack_size(before)
    assert x[0] == 5


UNLIMITED = """
import resource
import numpy as np
import gridjit
from gridjit import cuda

most = resource.getrlimit(resource.RLIMIT_AS)[1]
resource.setrlimit(resource.RLIMIT_STACK, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
resource.setrlimit(resource.RLIMIT_AS, (8 << 30, most))  # should it take all memory, only this process ends

@gridjit.jit(device=True)
def depth(n):
    return 0 if n <= 0 else depth(n - 1) + 1

@gridjit.jit(target="host")
def kernel(out, n):
    out[cuda.grid(1)] = depth(n)

out = np.zeros(8)
for _ in range(4):
    kernel[1, 8](out, 5)
try:
    kernel[1, 8](out, 10**12)
except gridjit.LaunchError as error:
    print("too deep" in str(error))
kernel[1, 8](out, 100)
print(out[0])
"""


@pytest.mark.skipif(
    resource.getrlimit(resource.RLIMIT_STACK)[1] != resource.RLIM_INFINITY, reason="stacks have a hard limit here"
)
def test_recursion_on_a_stack_without_a_limit_does_not_take_all_memory():
    done = run_python("-c", UNLIMITED)
    assert (done.stdout, done.returncode) == ("True\n100.0\n", 0), done.stderr
