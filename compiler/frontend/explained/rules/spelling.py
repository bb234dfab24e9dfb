"""Spelling: how kernels write a name of NumPy, math, CUDA C++ or OpenCL, by the table of their language."""

from __future__ import annotations

import functools
from typing import Final

from gridjit.compiler.frontend.language.table import CHAPTERS

_ATOMIC: Final = {"atomicadd": "add", "atomicand": "and_", "atomicor": "or_", "atomiccas": "cas"}
_BLOCK: Final = "Use cuda.threadIdx and cuda.syncthreads() for the block, and cuda.cg.this_grid().sync() for the grid."
_WARP: Final = "Use cuda.laneid, cuda.syncwarp(mask) and cuda.shfl_sync(mask, value, lane) for the lanes of a warp."
_CLOCK: Final = "Kernels have no clock: time the launch with events, cuda.event() and cuda.event_elapsed_time(a, b)."
_MEMORY: Final = "Use cuda.local.array(shape, dtype) or cuda.shared.array(shape, dtype), or an array as an argument."
DRAWN: Final = "Use gridjit.cuda.random: its states are made before the launch, and each thread draws from its own."
# Names that the language has in another form, by their keys: an expression for them, or a whole sentence.
_FORMS: Final = {
    **dict.fromkeys(("power", "floatpower"), "x ** y"),
    **dict.fromkeys(("mod", "remainder"), "x % y"),
    **dict.fromkeys(("clip", "clamp"), "min(max(x, low), high)"),
    **dict.fromkeys(("popcount", "bitwisecount", "bitcount"), "cuda.popc(x)"),
    **dict.fromkeys(("clock", "clock64", "globaltimer", "perfcounter", "timens"), _CLOCK),
    **dict.fromkeys(("thisblock", "thisthreadblock", "threadblock", "thisthread", "thiscluster"), _BLOCK),
    **dict.fromkeys(("coalescedthreads", "tiledpartition", "thiswarp"), _WARP),
    **dict.fromkeys(("malloc", "cudamalloc"), _MEMORY),
    **dict.fromkeys(("curand", "curandinit", "curanduniform", "curandnormal", "rand", "randn", "randint"), DRAWN),
    **dict.fromkeys(("sync", "barrier", "syncblock", "syncall", "synchronize"), "cuda.syncthreads()"),
    **dict.fromkeys(("syncgrid", "gridsync"), "cuda.cg.this_grid().sync()"),
    **dict.fromkeys(("warpid", "warpidx"), "cuda.threadIdx.x // cuda.warpsize"),
    **dict.fromkeys(("threadid", "tid", "getlocalid"), "cuda.threadIdx.x"),
    **dict.fromkeys(("blockid", "gridid", "getgroupid"), "cuda.blockIdx.x"),
    **dict.fromkeys(("blocksize", "numthreads", "getlocalsize"), "cuda.blockDim.x"),
    **dict.fromkeys(("numblocks", "getnumgroups"), "cuda.gridDim.x"),
    **dict.fromkeys(("globalid", "getglobalid"), "cuda.grid(1)"),
    **dict.fromkeys(("printf", "println", "cout"), "print(x, y)"),
    **dict.fromkeys(("null", "nullptr"), "None"),
    "absolute": "abs(x)",
    "add": "x + y",
    "cooperativegroups": "cuda.cg",
    "false": "False",
    "floordivide": "x // y",
    "getglobalsize": "cuda.gridsize(1)",
    "grididx": "cuda.blockIdx",
    "heaviside": "0.0 if x < 0 else 1.0",
    "isclose": "abs(x - y) <= tolerance",
    "isneginf": "x == -math.inf",
    "isposinf": "x == math.inf",
    "ldg": "x[i], or cuda.ldca(x, i)",
    "lerp": "x + (y - x) * t",
    "logaddexp": "math.log(math.exp(x) + math.exp(y))",
    "mad": "cuda.fma(x, y, z)",
    "memcpy": "x[i] = y[i] in a loop",
    "multiply": "x * y",
    "nantonum": "x if math.isfinite(x) else 0.0",
    "negative": "-x",
    "positive": "x",
    "reciprocal": "1 / x",
    "roundf": "cuda.libdevice.roundf(x), which rounds halves away from zero",
    "sign": "(x > 0) - (x < 0)",
    "signbit": "x < 0",
    "sleep": "cuda.nanosleep(nanoseconds)",
    "square": "x * x",
    "subtract": "x - y",
    "true": "True",
    "where": "a if condition else b",
}


def spelled(name: str) -> str:
    """Return advice on how a kernel writes a name, in a sentence; "" for a name that no kernel has in any form."""
    found = _FORMS.get(_key(name), "")
    if found.endswith("."):
        return found
    found = found or known_name(name)
    return f"Write {found}." if found else ""


def known_name(name: str) -> str:
    """Return the name of a kernel's function by its name elsewhere: "math.exp" of expf, "cuda.popc" of __popcll."""
    key, own, libdevice = _key(name), *_names()
    key = f"atomic{_ATOMIC.get(key, key[6:])}".rstrip("_") if key.startswith("atomic") else key
    stems = [key, key.removesuffix("f"), key.removesuffix("ll"), f"{key}sync", key.removeprefix("make")]
    stems += [f"a{key[3:]}"] if key.startswith("arc") else []
    fast = libdevice.get(f"fast{key}", "") if name.startswith("__") else ""
    return fast or next(
        (names[one] for names, of in ((own, stems), (libdevice, (key,))) for one in of if one in names), ""
    )


def offered(owner: str) -> tuple[str, ...]:
    """Return the names that a kernel may write behind a module's or a class's name, "cuda" or "cuda.atomic"."""
    names = (one.removeprefix(f"{owner}.") for one in usable() if one.startswith(f"{owner}."))
    return tuple(dict.fromkeys(name.partition(".")[0] for name in names))


@functools.cache
def usable() -> tuple[str, ...]:
    """Return all names that kernels may use without allocating."""
    return tuple(name for name, allocates in _terms() if not allocates)


@functools.cache
def allocating() -> frozenset[str]:
    """Return the names that make arrays in kernels which may allocate: functions of NumPy and methods of arrays."""
    return frozenset(name for name, _ in _terms() if name.startswith(("np.", "array.")))


def is_same(name: str, other: str) -> bool:
    """Return whether two names differ at most in underscores and capitals."""
    return _key(name) == _key(other)


def _terms() -> tuple[tuple[str, bool], ...]:
    terms = (one for chapter in CHAPTERS for one in chapter.terms if one.targets and not one.syntax)
    return tuple((name, one.allocates) for one in terms for name in one.names)


@functools.cache
def _names() -> tuple[dict[str, str], dict[str, str]]:
    """Return the functions of kernels and of libdevice by their names' keys; Python's own come before math's."""
    named = [one for one in usable() if one.startswith(("math.", "cuda.", "builtins.", "static."))]
    own = {_key(one.partition(".")[2]): one.removeprefix("builtins.") for one in named if "libdevice" not in one}
    own |= {_key(one[9:]): one[9:] for one in named if one.startswith("builtins.")}
    own |= {name.lower(): f"cuda.{name}" for name in ("threadIdx", "blockIdx", "blockDim", "gridDim")}
    return own, {_key(one[15:]): one for one in named if one.startswith("cuda.libdevice.")}


def _key(name: str) -> str:
    return name.lower().replace("_", "").replace(".", "")
