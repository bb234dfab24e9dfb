"""A compile that begins again with the floats of 16 and 8 bits does nothing twice, and none fails for want of them."""

from __future__ import annotations

import pytest

from tests.programs import run_python
from tests.toolkit import missing_library

START = """
import signal
import sys
import threading
import warnings
import gridjit
import numba.cuda
import numpy as np
from gridjit import cuda
from gridjit.compiler.frontend import lower
from gridjit.compiler.frontend.isolated import isolation

jit = gridjit.jit(target="host", cache=False)

@jit
def plain(x):
    x[0] = abs(x[0]) * 2 + 1

plain.compile("void(float64[::1])")
assert "numba.cuda.fp16" not in sys.modules

def at_first_call(owner, name, do):
    original, calls = getattr(owner, name), []

    def call(*given, **named):
        calls.append(1)
        if len(calls) == 1:
            do()
        return original(*given, **named)

    setattr(owner, name, call)

def in_a_handler(work):
    def handle():
        signal.signal(signal.SIGUSR1, lambda *_: work())
        signal.raise_signal(signal.SIGUSR1)
    return handle

@jit
def rounded(x):
    x[0] = np.float16(x[0])

def round_a_number():
    x = np.full(1, 0.1)
    rounded[1, 1](x)
    print(float(x[0]))
"""

BESIDE = """
waits, thread = threading.Event(), threading.Thread(target=round_a_number)
in_isolation = isolation._in_isolation

def note_and_compile(*given):
    if threading.current_thread() is thread:
        waits.set()
    return in_isolation(*given)

isolation._in_isolation = note_and_compile
set_aside = isolation.set_contexts_aside

def inner_begins():
    complete = isolation.complete_contexts

    def complete_and_have_the_other_look():
        isolation.complete_contexts = complete
        complete()
        thread.start()
        waits.wait()

    isolation.complete_contexts = complete_and_have_the_other_look
    set_aside()

isolation.set_contexts_aside = inner_begins
at_first_call(isolation, "make_names_readable", in_a_handler(lambda: plain.compile("void(int8[::1])")))
plain.compile("void(float32[::1])")
thread.join()
"""


def test_a_compile_finds_them_whose_thread_looked_while_a_compile_inside_another_had_them() -> None:
    done = run_python("-c", START + BESIDE)
    assert (done.stdout, done.stderr) == ("0.0999755859375\n", "")


NUMBAS_OWN = """
from numba.cuda import types

def kernel(x):
    x[0] = x[0] + np.float16(3)

def compile_with_numba():
    ptx, _ = numba.cuda.compile(kernel, types.void(types.float16[::1]), cc=(9, 0), device=False, abi="numba")
    print(".visible .entry" in ptx)

at_first_call(isolation, "hide_from_backend", in_a_handler(compile_with_numba))
plain.compile("void(float32[::1])")
round_a_number()
"""


@pytest.mark.skipif(missing_library() is not None, reason="a library of the CUDA toolkit cannot be found")
def test_a_compile_of_numba_cudas_own_has_them_in_the_middle_of_one_without() -> None:
    done = run_python("-c", START + NUMBAS_OWN)
    assert (done.stdout, done.stderr) == ("True\n0.0999755859375\n", "")


WHERE_NOTHING_IS_IMPORTED = """
at_first_call(lower, "install_static", in_a_handler(round_a_number))
plain.compile("void(float32[::1])")
round_a_number()
"""


def test_a_handler_can_launch_a_kernel_that_meets_them_where_the_process_cannot_import_them_for_good() -> None:
    done = run_python("-c", START + WHERE_NOTHING_IS_IMPORTED)
    assert (done.stdout, done.stderr) == ("0.0999755859375\n" * 2, "")


WARNINGS = """
texts = {}
exec("def double(x):\\n    return x * 2 + 1", texts)
double = cuda.jit(device=True, lineinfo=True)(texts["double"])

def kernel(x):
    double(x[0])
    HALF

def other(*given):
    shown.append(str(given[0]))
    return None

shown = []
with warnings.catch_warnings(record=True) as recorded:
    warnings.simplefilter("always")
    if OWN:
        warnings.showwarning = other
    gridjit.jit(lineinfo=True, target="host", cache=False)(kernel).compile("void(float64[::1])")
told = shown or [str(one.message) for one in recorded]
print(sum("Could not find source" in text and "double" in text for text in told))
"""


@pytest.mark.parametrize("own", ["True", "False"])
def test_a_warning_of_a_compile_that_begins_again_is_shown_as_often_as_of_one_that_does_not(own: str) -> None:
    def warned(begin: str) -> str:
        program = WARNINGS.replace("OWN", own).replace("HALF", "x[0] = np.float16(x[0])")
        done = run_python("-c", START + begin + program)
        assert done.stderr == ""
        return done.stdout

    again, at_once = warned(""), warned("import numba.cuda.fp16")
    assert again == at_once
    assert int(again) > 0


HOOKS = """
from numba.cuda import launchconfig, types

called = []

class Wants:
    @property
    def _numba_type_(self):
        view = launchconfig.ensure_current_launch_config()
        view.pre_launch_callbacks.append(lambda kernel, config: called.append(1))
        view.sharedmem = view.sharedmem + 1024
        return types.float32

wants = Wants()

@jit
def kernel(x):
    wants
    x[0] = np.float16(x[0])

kernel[1, 1](np.ones(1))
print(len(called), kernel.specializations[0].artifact.effects.sharedmem)
"""


def test_what_is_asked_of_a_launch_counts_once() -> None:
    again = run_python("-c", START + HOOKS)
    at_once = run_python("-c", START + "import numba.cuda.fp16\n" + HOOKS)
    assert (again.stdout, again.stderr) == (at_once.stdout, at_once.stderr)
    assert again.stderr == ""


ORDER = """
import math
from numba.cuda import types
from numba.cuda.extending import overload

@overload(math.trunc, target="cuda")
def implementation(x):
    if isinstance(x, types.Float):
        return lambda x: 5.0

@jit
def kernel(x):
    x[0] = math.trunc(x[0])

for dtype in (np.float16, np.float32):
    x = np.full(1, 2.5, dtype)
    kernel[1, 1](x)
    print(x[0])
"""


@pytest.mark.parametrize("imported", ["", "import numba.cuda.fp16"])
def test_an_extension_that_came_before_them_has_the_place_that_it_has_after_them(imported: str) -> None:
    program = ORDER.replace("@jit", f"{imported}\n@jit")
    late = run_python("-c", START + program)
    before = run_python("-c", START + "import numba.cuda.fp16\nplain.compile('void(int8[::1])')" + ORDER)
    assert (late.stdout, late.stderr) == (before.stdout, "")


ERROR = """
@jit
def wrong(x):
    x[0] -= x

for _ in range(2):
    try:
        wrong.compile("void(float32[::1])")
    except gridjit.CompileError as error:
        print(error.original)
"""


def test_an_error_names_each_candidate_as_often_as_numba_cuda_does() -> None:
    later = run_python("-c", START + "import numba.cuda.fp16\n" + ERROR).stdout
    assert run_python("-c", START + ERROR).stdout == later
    assert "candidate implementations" in later
