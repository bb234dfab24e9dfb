"""docs/kernel-language.md is true: its examples compile for the targets that it names, and it has every name."""

# mypy: ignore-errors
from __future__ import annotations

import inspect
import linecache
import re
import weakref
from collections.abc import Iterable
from functools import cache, reduce
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

import gridjit
from gridjit import cuda, griddepcontrol
from gridjit.compiler.frontend.bindings.bootstrap import numba_cuda
from gridjit.compiler.frontend.language.table import CHAPTERS, DTYPES, PROGRAM, with_table
from gridjit.compiler.frontend.language.terms import Term
from tests.toolkit import needs_toolkit

PAGE = Path(__file__).parents[3] / "docs" / "kernel-language.md"
ROWS = [row for chapter in CHAPTERS for row in chapter.terms]
BY_NAME = [pytest.param(row, id=f"{number}-{row.names[0]}") for number, row in enumerate(ROWS)]
RECORD = np.dtype([("a", np.float32), ("b", np.int32)])
ARGUMENTS = (*DTYPES, "m", "d", "r", "states", "n")
# Python 3.10 and NumPy 1 do not have these.
NEW = {"math.exp2", "np.bool", "np.trapezoid", "cuda.bool"}
# NumPy 2 does not have it, nor numba its namesake.
OLD = {"cuda.float_"}
# numba-cuda's constants and classes of Python beside its public names.
BESIDE = (ModuleType, str, bool, tuple)


@cache
def program() -> dict[str, object]:
    """Return the names that the page's program defines."""
    names = {"__name__": "kernel_language"}
    exec(PROGRAM, names)
    return names


def kernel_of(lines: Iterable[str]) -> object:
    """Return a kernel of lines; errors show them."""
    text = "\n    ".join((f"def kernel({', '.join(ARGUMENTS)}):", "t = cuda.grid(1)", *lines)) + "\n"
    file = f"<{hash(text)}>"
    linecache.cache[file] = (len(text), None, text.splitlines(True), file)
    names = dict(program())
    exec(compile(text, file, "exec"), names)
    return names["kernel"]


def arguments() -> list[object]:
    """Return an argument for each name of ARGUMENTS."""
    counted = np.arange(1, 65)
    arrays = [(counted / 64 if dtype[0] in "fc" else counted).astype(dtype) for dtype in DTYPES.values()]
    states = np.arange(1, 129, dtype=np.uint64).view(cuda.random.xoroshiro128p_dtype)
    return [*arrays, np.ones((8, 8)), np.zeros(64, "datetime64[s]"), np.zeros(64, RECORD), states, 64]


@cache
def signature() -> tuple[object, ...]:
    """Return numba's types of the arguments."""
    numba_cuda()
    from numba.cuda.np.numpy_support import from_dtype

    flat = [np.dtype(dtype) for dtype in (*DTYPES.values(), "datetime64[s]")]
    flat += [RECORD, cuda.random.xoroshiro128p_dtype]
    *numbers, dates, records, states = (from_dtype(dtype)[::1] for dtype in flat)
    return (*numbers, cuda.float64[:, ::1], dates, records, states, cuda.int64)


def run_on_host(lines: Iterable[str]) -> None:
    """Run a kernel of lines on the host."""
    gridjit.jit(target="host", cache=False)(kernel_of(lines))[1, 64](*arguments())


def compile_for_cuda(lines: Iterable[str]) -> None:
    """Compile a kernel of lines for a GPU, and link it."""
    gridjit.jit(cache=False)(kernel_of(lines)).compile(signature(), (1, 64), target="sm_90")


def check(row: Term, target: str, compiled: object) -> None:
    """Check that all examples of a row compile, together, or that each is refused in words that have its name."""
    if target in row.targets:
        compiled(line for example in row.examples for line in example)
        return
    for example, name in zip(row.examples, row.names, strict=True):
        with pytest.raises((gridjit.CompileError, gridjit.UnsupportedError)) as caught:
            compiled(example)
        assert row.syntax or name.rpartition(".")[2] in str(caught.value)


@pytest.fixture(autouse=True)
def allocations(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the kernels of rows about allocations allocate."""
    row = getattr(request.node, "callspec", None) and request.node.callspec.params.get("row")
    if row:
        numba_cuda()
        from numba.cuda import config

        monkeypatch.setattr(config, "CUDA_ENABLE_NRT", row.allocates)
        if any(name in NEW and found(name) is None for name in row.names):
            pytest.skip("this Python or NumPy is older than the name")


@pytest.mark.some(24)
@pytest.mark.parametrize("row", BY_NAME)
def test_an_example_runs_on_the_host_or_is_refused_by_its_name(row: Term) -> None:
    check(row, "host", run_on_host)


@pytest.mark.parametrize("row", [pytest.param(*one.values, id=one.id, marks=needs_toolkit()) for one in BY_NAME])
@pytest.mark.some(24)
def test_an_example_compiles_for_cuda_or_is_refused_by_its_name(row: Term) -> None:
    check(row, "cuda", compile_for_cuda)


@pytest.mark.some(4)
@pytest.mark.parametrize("row", [one for one in BY_NAME if one.values[0].allocates and one.values[0].targets])
def test_an_example_that_allocates_is_refused_where_kernels_do_not(row: Term, monkeypatch: pytest.MonkeyPatch) -> None:
    from numba.cuda import config

    monkeypatch.setattr(config, "CUDA_ENABLE_NRT", False)
    for example in row.examples:
        with pytest.raises(gridjit.CompileError):
            run_on_host(example)


ATOMICS = [(name, row.all_types) for row in ROWS for name in row.names if name.startswith("cuda.atomic.")]


@pytest.mark.parametrize(("name", "types"), ATOMICS)
def test_the_help_of_an_atomic_operation_names_no_type_that_the_table_lacks_and_all_that_it_has(
    name: str, types: str
) -> None:
    names = set(re.findall(r"u?int\d+|float\d+", types))
    told = set(re.findall(r"u?int\d+|float\d+", inspect.getdoc(found(name))))
    assert told in (names, set())


def found(name: str) -> object:
    """Return the object of a name of the page; None if there is none."""
    numba_cuda()
    import builtins
    import cmath
    import math
    import operator

    modules = {"array": np.ndarray, "float8": program()["float8"], "static": gridjit.static}
    modules |= {"griddepcontrol": griddepcontrol, "cuda": cuda, "np": np, "int": int, "complex": complex}
    modules |= {module.__name__: module for module in (builtins, cmath, math, operator)}
    first, *rest = name.split(".")
    return reduce(part_of, rest, modules[first])


def part_of(owner: object, name: str) -> object:
    """Return a part of owner, also where it has a value in kernels only."""
    return inspect.getattr_static(owner, name, None) or getattr(owner, name, None)


def test_every_name_of_the_page_exists() -> None:
    names = {name for row in ROWS if not row.syntax for name in row.names} - NEW
    assert sorted(name for name in names if found(name) is None and name != "np.newaxis") == []


def known() -> set[str]:
    """Return the names of the page, and the modules and classes that have them."""
    return {name.rsplit(".", count)[0] for row in ROWS for name in row.names for count in range(3)}


def test_the_page_has_every_public_name_of_gridjit_cuda_and_its_modules() -> None:
    names = {f"cuda.{name}" for name in dir(cuda) if not isinstance(getattr(cuda, name, None), BESIDE)}
    names |= {f"cuda.{module}.{name}" for module in ("fp16", "bf16") for name in getattr(cuda, module).__all__}
    names |= {f"cuda.libdevice.{name}" for name, of in vars(cuda.libdevice).items() if inspect.isfunction(of)}
    names |= {f"cuda.atomic.{name}" for name in vars(cuda.atomic)}
    names |= {f"static.{name}" for name in gridjit.static.__all__}
    names |= {f"griddepcontrol.{name}" for name in griddepcontrol.__all__}
    public = {name for name in names if not name.rpartition(".")[2].startswith("_") or ".__h" in name}
    assert sorted(name for name in public - known() - OLD if not name.endswith("_registry")) == []


@pytest.mark.skipif(np.lib.NumpyVersion(np.__version__) < "2.0.0", reason="NumPy 1 has other names")
def test_the_page_has_every_function_that_numba_cuda_types_in_kernels() -> None:
    numba_cuda()
    from numba.cuda.descriptor import cuda_target

    cuda_target.target_context.refresh()
    context = cuda_target.typing_context
    context.refresh()
    values = [value() if isinstance(value, weakref.ref) else value for value in list(context._globals)]
    homes = {"numpy": "np", "_operator": "operator", "builtins": "builtins", "math": "math", "cmath": "cmath"}
    homes |= {f"numpy.{name}": f"np.{name}" for name in ("linalg", "lib.stride_tricks", "polynomial.polynomial")}
    named = [(homes.get(getattr(value, "__module__", None)), getattr(value, "__name__", "")) for value in values]
    names = {f"{home}.{name}" for home, name in named if home and name.isidentifier()}
    leaving = {"np.in1d", "np.row_stack", "np.trapz"}  # NumPy removes them, or has done so
    assert sorted(names - known() - leaving) == []


def test_the_page_has_the_table() -> None:
    text = PAGE.read_text()
    assert with_table(text) == text, "scripts/kernel-language.py writes it"


def test_a_row_names_what_its_braces_stand_for() -> None:
    row = Term("a.f{x,y}_{1,2} g b.h", "", "", "{}({x}) + {last}", "i32 f64")
    assert row.names == ("a.fx_1", "a.fx_2", "a.fy_1", "a.fy_2", "a.g", "b.h")
    assert row.examples[:2] == [["a.fx_1(i32) + fx_1"], ["a.fx_1(f64) + fx_1"]]
    assert len(row.examples) == 12
    assert row.all_types == "int32, float64"
