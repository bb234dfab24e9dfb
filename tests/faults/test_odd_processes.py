"""Whatever a program made of its process - names, paths, folders - launches go on."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from tests.programs import run_python

pytestmark = pytest.mark.usefixtures("llvm_makes_all_objects")

ODD = {
    "a module without a name": "del settings.__name__",
    "a module whose name is a number": "settings.__name__ = 7",
    "import paths that are not texts": "sys.path += [None, 5, b'x', '']",
    "import paths with characters that no file's name has": "sys.path[:0] = ['a\\0b', chr(0xD800), 'x' * 5000]",
    "an import path that leads to itself": "os.symlink('own', at := tempfile.mkdtemp() + '/own'); sys.path[:0] = [at]",
    "an import path that is a pipe": "os.mkfifo(place := tempfile.mkdtemp() + '/pipe'); sys.path[:0] = [place]",
    "modules whose names are not texts": "sys.modules.update({7: settings, None: settings, ('a',): settings})",
    "modules whose names are odd": "sys.modules.update({'': settings, 'a..b': settings, '\\0': os, chr(0xD800): os})",
    "modules that are none": "sys.modules.update(a=None, b=3, c=object(), d=type('D', (), {})())",
    "modules of which no attribute can be read": "sys.modules.update(lazy=Lazy('lazy'), mute=Mute(), silent=Silent())",
    "a lazy module that ends the program": "sys.modules['ends'] = Ends('ends')",
    "a module whose file is odd": "settings.__file__ = 3; settings.__path__ = None",
    "a module whose file has a zero": "settings.__file__ = 'a\\0.py'; sys.modules['settings'] = settings",
    "a module that is equal to nothing": "sys.modules['unequal'] = Unequal('unequal')",
    "a current folder that is gone": "place = tempfile.mkdtemp(); os.chdir(place); os.rmdir(place)",
}
SCRIPT = """
import os, sys, tempfile, types
import numpy as np
import gridjit
from gridjit import cuda

def four():
    pass

@cuda.extending.overload(four)
def implemented():
    return lambda: 4

settings = types.ModuleType("settings")
settings.TILE = 3

class Lazy(types.ModuleType):
    def __getattribute__(self, name):
        raise RuntimeError(name)

class Mute:
    def __getattr__(self, name):
        raise ImportError(name)

class Silent:
    def __getattribute__(self, name):
        raise RuntimeError(name)

class Ends(types.ModuleType):
    def __getattr__(self, name):
        raise SystemExit(name)

class Unequal(types.ModuleType):
    __hash__ = None
    def __eq__(self, other):
        raise RuntimeError("compared")

@gridjit.jit
def kernel(x):
    x[0] = settings.TILE

exec(sys.argv[1])
x = np.zeros(1)
kernel[1, 1](x)
print(x.tolist())
"""


def run(tmp_path: Path, script: str, *arguments: str, **settings: str) -> str:
    (tmp_path / "script.py").write_text(script)
    environment = {"GRIDJIT_TARGET": "host", "GRIDJIT_CACHE_DIR": str(tmp_path / "cache")}
    done = run_python(tmp_path / "script.py", *arguments, env={**os.environ, **environment, **settings})
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.some(4)
@pytest.mark.parametrize("odd", ODD)
def test_a_program_launches_whatever_it_made_of_its_process(tmp_path: Path, odd: str) -> None:
    assert run(tmp_path, SCRIPT, ODD[odd]) == "[3.0]\n"


def test_a_cache_folder_whose_name_is_too_long_is_a_warning(tmp_path: Path) -> None:
    assert run(tmp_path, SCRIPT, "", GRIDJIT_CACHE_DIR=str(tmp_path) + "/a" * 2500) == "[3.0]\n"
    assert not (tmp_path / "a").exists()


def test_a_compile_from_inside_llvm_leaves_the_lock_to_who_holds_it(tmp_path: Path) -> None:
    script = """
import numpy as np
import gridjit
from llvmlite.binding import ffi

@gridjit.jit
def kernel(x):
    x[0] = 4

@gridjit.jit
def first(x):
    x[0] = 1

x = np.zeros(1)
first[1, 1](x)  # imports numba, which may take the lock on another thread
inside = next(value for value in vars(ffi).values() if getattr(value, "__name__", "") == "_lib_fn_wrapper")
inside(ffi.lib._lock, lambda: kernel[1, 1](x))()
print(x.tolist(), ffi.lib._lock._lock._is_owned())
"""
    assert run(tmp_path, script) == "[4.0] False\n"


# Room for one page every 4 GB of the address space: what is mapped next is scattered over these holes.
SCATTERED = """
import ctypes, math, mmap
import numpy as np
import gridjit
from gridjit import cuda

libc = ctypes.CDLL(None)
libc.mmap.restype = ctypes.c_void_p
libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, *[ctypes.c_int] * 3, ctypes.c_long]
libc.munmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t]
PRIVATE_ANONYMOUS_UNRESERVED, NEVER_REPLACE, NO_ACCESS = 0x4022, 0x100000, 0
GIGABYTE, LIBRARIES = 1 << 30, 0x7000_0000_0000

@gridjit.jit
def scaled(x, y):
    i = cuda.grid(1)
    if i < x.size:
        y[i] = math.sin(x[i]) * 0.375 + 1.625

image = scaled.compile("void(float64[::1], float64[::1])", target="host")
from gridjit.runtime.devices.host.load import load
kept = []
def reserve(size, at=None, flags=0):
    return libc.mmap(at, size, NO_ACCESS, PRIVATE_ANONYMOUS_UNRESERVED | flags, -1, 0)
def fill_holes():
    rows = [line.split() for line in open("/proc/self/maps")]
    spans = [[*(int(end, 16) for end in row[0].split("-")), row[-1]] for row in rows]
    for (_, end, _), (start, _, name) in zip(spans, spans[1:]):
        if end > LIBRARIES and start > end and name != "[stack]":
            reserve(start - end, end, NEVER_REPLACE)
fill_holes()
for _ in range(20):
    start = reserve(64 * GIGABYTE)
    for number in range(16):
        libc.munmap(start + number * 4 * GIGABYTE, mmap.PAGESIZE)
    kept.append(load(image.image, image.entry))
x = np.arange(4.0)
scaled[1, 4](x, y := np.zeros(4))
print(np.allclose(y, np.sin(x) * 0.375 + 1.625))
"""


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="maps memory as Linux does")
def test_code_loads_where_free_memory_lies_scattered_over_the_address_space(tmp_path: Path) -> None:
    assert run(tmp_path, SCATTERED) == "True\n"
