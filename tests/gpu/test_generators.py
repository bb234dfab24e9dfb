"""LLVM's code computes the very bits that NVVM's does, over numba-cuda's operations, functions and types."""

# mypy: ignore-errors
from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import gridjit
from gridjit import cuda
from gridjit.compiler.frontend.bindings.bootstrap import numba_cuda
from gridjit.compiler.targets.ptx import nvptx
from gridjit.compiler.values.options import Options

pytestmark = [
    pytest.mark.gpu,
    pytest.mark.skipif(bool(nvptx.why_not([], "sm_90", Options())), reason="llvmlite's LLVM is older"),
]
COUNT = 4096
FLOATS = ("float32", "float64")
INTEGERS = ("int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64")

ARITHMETIC = ["x + y", "x - y", "x * y", "x / y", "x // y", "x % y", "-x", "abs(x)", "min(x, y)", "max(x, y)"]
ARITHMETIC += [f"x {name} y" for name in ("<", "<=", ">", ">=", "==", "!=")]
MATH = [
    f"math.{name}(x)"
    for name in [
        "acos",
        "acosh",
        "asin",
        "asinh",
        "atan",
        "atanh",
        "ceil",
        "cos",
        "cosh",
        "degrees",
        "erf",
        "erfc",
        "exp",
    ]
]
MATH += [
    f"math.{name}(x)"
    for name in ["expm1", "exp2", "fabs", "floor", "gamma", "lgamma", "log", "log10", "log1p", "log2", "radians"]
]
MATH += [f"math.{name}(x)" for name in ["sin", "sinh", "sqrt", "tan", "tanh", "trunc", "isnan", "isinf", "isfinite"]]
MATH += [f"math.{name}(x, y)" for name in ("atan2", "copysign", "fmod", "hypot", "pow", "remainder", "nextafter")]
MATH += ["math.frexp(x)[0]", "math.frexp(x)[1]", "math.modf(x)[0]", "math.modf(x)[1]", "math.ldexp(x, i % 37 - 18)"]
FUSED = ["x * y + z", "x * y - z", "z - x * y", "x * x + y * y", "x * y + z * w", "(x + y) * (x - y)", "x * 2 + y / 3"]
FUSED += ["x * y * z + w", "cuda.fma(x, y, z)", "x + y + z + w", "x / y * z", "1 / x", "x / 3", "x * 0.1", "x - x"]
POWERS = ["x ** y", "x ** 2", "x ** 3", "x ** -1", "x ** 0.5", "x ** (i % 5)", "round(x)", "round(x, 2)"]
OF_FLOATS = [*ARITHMETIC, *FUSED, *POWERS, *MATH[::4], "cuda.cbrt(x)", "cuda.selp(x < y, x, z)", "x if x > y else z"]
OF_FLOATS += [f"np.{kind}(x)" for kind in ("int8", "int16", "int32", "int64", "uint8", "uint32", "uint64")]
OF_FLOATS += ["np.float32(x)", "np.float64(x)", "np.float16(x)", "np.float32(np.float16(x))", "divmod(x, y)[0]"]
OF_INTEGERS = [one for one in ARITHMETIC if one != "x / y"] + ["x & y", "x | y", "x ^ y", "~x", "x / y", "x * y + z"]
OF_INTEGERS += ["x << (y & 7)", "x >> (y & 7)", "np.float32(x)", "np.float64(x)", "x // 7", "x % 7", "x // 8", "x % 8"]
OF_INTEGERS += ["cuda.popc(np.uint32(x))", "cuda.clz(np.uint32(x))", "cuda.ffs(np.int32(x))", "cuda.brev(np.uint32(x))"]
OF_INTEGERS += ["cuda.popc(np.uint64(x))", "cuda.clz(np.uint64(x))", "cuda.ffs(np.int64(x))", "cuda.brev(np.uint64(x))"]
OF_INTEGERS += ["math.sqrt(x)", "math.exp(x % 50)", "x ** 3", "bool(x)", "np.int8(x)", "np.uint16(x)", "np.int64(x)"]
OF_HALVES = [
    "x + y",
    "x - y",
    "x * y",
    "x / y",
    "-x",
    "abs(x)",
    "x < y",
    "x == y",
    "min(x, y)",
    "max(x, y)",
    "x * y + z",
]
OF_HALVES += [
    f"math.{name}(x)" for name in ("sin", "cos", "exp", "log", "log2", "log10", "sqrt", "ceil", "floor", "trunc")
]
OF_HALVES += ["np.float32(x)", "np.float64(x)", "np.int32(x)", "cuda.fp16.hfma(x, y, z)", "cuda.fp16.hmax(x, y)"]
OF_COMPLEX = ["x + y", "x - y", "x * y", "x / y", "abs(x)", "-x", "x ** 2", "x.conjugate()", "x == y"]
OF_COMPLEX += [f"cmath.{name}(x)" for name in ("exp", "log", "sqrt", "sin", "cos", "phase", "tanh", "atan")]

# What differs, and why: docs/numba-cuda.md says it to users.
_REMAINDERS = "with an infinite divisor, LLVM computes a remainder, NVVM a NaN"
_OVERFLOW = "a product of signed integers does not overflow, for LLVM"
_FLUSHED = "of a negative number too small for float64's exponent, with fastmath, NVVM takes the logarithm of zero"
_UNROLLED = "the last bit, yn's in order 0: LLVM unrolls the polynomials of y0, and fuses other products"
DIFFERS = {
    **dict.fromkeys(("x // y", "x % y", "divmod(x, y)[0]"), _REMAINDERS),
    "np.uint8(x)": "of a number that does not fit, LLVM keeps 8 bits, NVVM 16",
    "x ** 3": _OVERFLOW,
    **dict.fromkeys(("math.log10(x)", "libdevice.log10(x)", "libdevice.log2(x)", "libdevice.log(x)"), _FLUSHED),
    **dict.fromkeys(("libdevice.y0(x)", "libdevice.yn(x, y)"), _UNROLLED),
}


def values(dtype: str, seed: int) -> np.ndarray[Any, Any]:
    """Return values of a type: ordinary ones, of every size, and those where functions have corners."""
    rng, kind = np.random.default_rng(seed), np.dtype(dtype)
    if kind.kind == "c":
        part = f"float{kind.itemsize * 4}"
        return np.stack([values(part, seed), values(part, seed + 1)], axis=1).view(kind).ravel()
    if kind.kind in "iu":
        some = np.frombuffer(rng.bytes(COUNT * kind.itemsize), kind).copy()
        limits = np.iinfo(kind)
        corners = [0, 1, 2, 3, 7, limits.max, limits.max - 1, limits.min, limits.min + 1]
        some[: len(corners) * 8] = rng.permutation(np.repeat(np.array(corners, kind), 8))
        some[COUNT // 2 :] %= kind.type(100)
        return rng.permutation(some)
    info = np.finfo(kind)
    tiny, corners = info.smallest_subnormal, [0.0, 1.0, 0.5, 2.0, 1.5, 10.0, np.pi, np.inf, np.nan]
    corners += [
        info.max,
        info.tiny,
        tiny,
        tiny * 3,
        info.eps,
        1 + float(info.eps),
        1e4,
        88.5,
        709.0,
        127.0,
        2**24 + 1.0,
    ]
    corners = [*corners, *(-one for one in corners)]
    with np.errstate(over="ignore"):
        some = rng.standard_normal(COUNT) * np.exp(rng.uniform(-12, 12, COUNT))
        some[COUNT // 2 :] = rng.uniform(-4, 4, COUNT // 2)
        some[: 4 * len(corners)] = np.repeat(corners, 4)
        return rng.permutation(some).astype(kind)


def kernel_of(expression: str, names: str = "x, y, z, w") -> Any:
    """Return a kernel that stores what an expression gives for each thread's items."""
    of_item = ", ".join(f"{name}[i]" for name in names.split(", "))
    text = f"def kernel(out, {names}):\n    i = cuda.grid(1)\n    {names} = {of_item}\n    out[i] = {expression}\n"
    scope = {"cuda": cuda, "np": np, "math": math, "cmath": __import__("cmath"), "libdevice": numba_cuda().libdevice}
    exec(text, scope)
    return scope["kernel"]


def result_type(expression: str, dtype: str) -> str:
    """Return a type that holds every result of an expression."""
    if np.dtype(dtype).kind == "c":
        return "float64" if "abs" in expression or "phase" in expression else "complex128"
    return "int64" if expression.startswith(("np.int", "np.uint", "cuda.popc", "cuda.brev", "x &")) else "float64"


class Bits:
    """What kernels compute by each generator."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, restart: Any) -> None:
        self.monkeypatch, self.restart = monkeypatch, restart

    def by(self, generator: str, work: list[tuple[str, Any, tuple[Any, ...], str]], **options: Any) -> dict[str, Any]:
        self.monkeypatch.setenv("GRIDJIT_CODEGEN", generator)
        self.restart()
        found = {}
        for name, function, arrays, kind in work:
            out = cuda.to_device(np.zeros(COUNT, kind))
            kernel = gridjit.jit(function, cache=False, **options)
            try:
                kernel[COUNT // 256, 256](out, *map(cuda.to_device, arrays))
            except gridjit.CompileError:
                found[name] = None  # not of this type
                continue
            (made,) = kernel.specializations
            assert made.metadata["generator"].startswith("LLVM" if generator == "llvm" else "NVVM"), made.metadata
            found[name] = out.copy_to_host()
        return found

    def differing(self, work: list[tuple[str, Any, tuple[Any, ...], str]], **options: Any) -> Iterator[str]:
        """Yield each piece of work whose results should have the same bits and have not, with the first of them."""
        ours, theirs = self.by("llvm", work, **options), self.by("nvvm", work, **options)
        assert any(one is not None for one in ours.values())
        for name, _, arrays, _ in work:
            mine, other = ours[name], theirs[name]
            if (mine is None) != (other is None):
                yield f"{name}: compiles with one of them only"
            elif name not in DIFFERS and mine is not None and (wrong := _others(mine, other)).size:
                item = wrong[0]
                given = ", ".join(repr(array[item]) for array in arrays)
                yield f"{name}: {len(wrong)} differ, at ({given}): LLVM {mine[item]!r}, NVVM {other[item]!r}"


def _others(mine: np.ndarray[Any, Any], other: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """Return where two arrays do not have the same bits; one NaN is as good as another."""
    size = mine.itemsize // (2 if mine.dtype.kind == "c" else 1)
    bits = [array.view(f"u{size}").reshape(COUNT, -1) for array in (mine, other)]
    differ = bits[0] != bits[1]
    if mine.dtype.kind in "fc":
        differ &= ~np.all([np.isnan(array.view(f"f{size}")) for array in bits], axis=0)
    return np.flatnonzero(differ.any(axis=1))


@pytest.fixture
def bits(monkeypatch: pytest.MonkeyPatch, restart: Any) -> Iterator[Bits]:
    yield Bits(monkeypatch, restart)
    monkeypatch.undo()
    restart()


def work_on(expressions: list[str], dtype: str, nonzero: bool = False) -> list[tuple[str, Any, tuple[Any, ...], str]]:
    arrays = tuple(values(dtype, seed) for seed in range(4))
    if nonzero:  # a division by zero, and of the least number by -1, is undefined
        arrays[1][(arrays[1] == 0) | (arrays[1] == np.array(-1).astype(dtype))] = 3
    return [(one, kernel_of(one), arrays, result_type(one, dtype)) for one in expressions]


def in_parts(cases: list[str], size: int = 24) -> list[list[str]]:
    return [cases[at : at + size] for at in range(0, len(cases), size)]


def name_of(part: Any) -> str | None:
    return f"{part[0]} to {part[-1]}" if isinstance(part, list) else None


FAST = pytest.mark.parametrize("fastmath", [False, True], ids=["exact", "fastmath"])


@FAST
@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("part", in_parts(OF_FLOATS), ids=name_of)
def test_floats_are_the_same(part: list[str], dtype: str, fastmath: bool, bits: Bits) -> None:
    assert list(bits.differing(work_on(part, dtype), fastmath=fastmath)) == []


@pytest.mark.parametrize("dtype", INTEGERS)
@pytest.mark.parametrize("part", in_parts(OF_INTEGERS), ids=name_of)
def test_integers_are_the_same(part: list[str], dtype: str, bits: Bits) -> None:
    assert list(bits.differing(work_on(part, dtype, nonzero=True))) == []


@FAST
def test_halves_are_the_same(fastmath: bool, bits: Bits) -> None:
    assert list(bits.differing(work_on(OF_HALVES, "float16"), fastmath=fastmath)) == []


@FAST
@pytest.mark.parametrize("dtype", ["complex64", "complex128"])
def test_complex_numbers_are_the_same(dtype: str, fastmath: bool, bits: Bits) -> None:
    assert list(bits.differing(work_on(OF_COMPLEX, dtype), fastmath=fastmath)) == []


def library_functions(fastmath: bool) -> list[str]:
    """Return the names of libdevice's functions; those for float32, where fastmath makes a difference."""
    from numba.cuda import libdevicefuncs

    return [name for name in sorted(libdevicefuncs.functions) if name.endswith("f") or not fastmath]


def work_of_library(names: list[str]) -> list[tuple[str, Any, tuple[Any, ...], str]]:
    """Return a kernel for each function of libdevice, and for each of the results of those that have several."""
    from numba.cuda import libdevicefuncs

    work = []
    for name in names:
        result, arguments = libdevicefuncs.functions[name]
        kinds = [one.ty.name for one in arguments if not one.is_ptr]
        results = sum(one.is_ptr for one in arguments) + (result.name != "none")
        arrays = tuple(values(kind, seed) for seed, kind in enumerate(kinds))
        letters = ", ".join("xyzw"[: len(kinds)])
        for which in range(results):
            call = f"libdevice.{name.removeprefix('__nv_')}({letters})" + (f"[{which}]" if results > 1 else "")
            wide = "int64" if not which and result.name.startswith("int") else "float64"
            work.append((call, kernel_of(call, letters), arrays, wide))
    return work


@FAST
@pytest.mark.parametrize("part", range(16))
def test_libdevices_functions_are_the_same(part: int, fastmath: bool, bits: Bits) -> None:
    assert list(bits.differing(work_of_library(library_functions(fastmath)[part::16]), fastmath=fastmath)) == []


ATOMICS = ["add", "sub", "max", "min", "nanmax", "nanmin", "exch", "cas"]
OF_BITS = ["and_", "or_", "xor", "inc", "dec"]


@pytest.mark.parametrize("dtype", ["int32", "uint32", "int64", "uint64", "float32", "float64"])
@pytest.mark.parametrize("space", ["global", "shared"])
def test_atomics_are_the_same(dtype: str, space: str, bits: Bits) -> None:
    work = []
    for name in [*ATOMICS, *(OF_BITS if "float" not in dtype else [])]:
        many = "0, x[i], x[i] + x[i]" if name == "cas" else "0, x[i]"
        to = "tile" if space == "shared" else "out"
        text = f"""def kernel(out, x):
    tile = cuda.shared.array(2, np.{dtype})
    i = cuda.threadIdx.x
    if i == 0:
        tile[0] = out[0]
    cuda.syncthreads()
    old = cuda.atomic.{name}({to}, {many}) if i < 64 else x[i]
    cuda.syncthreads()
    if i == 0:
        out[0] = {to}[0]
        out[1] = old if {name!r} == "never" else x[1]
"""
        scope = {"cuda": cuda, "np": np}
        exec(text, scope)
        x = (
            np.full(COUNT, 5, dtype)
            if name in ("exch", "cas", "inc", "dec")
            else (np.arange(COUNT) % 61 + 1).astype(dtype)
        )
        work.append((name, scope["kernel"], (x,), dtype))
    assert list(bits.differing(work)) == []
