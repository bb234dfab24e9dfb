"""Every public name that numba-cuda's users reach for is here, or in docs/numba-cuda.md with what replaces it."""

from __future__ import annotations

import ast
import inspect
import re
import textwrap
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import gridjit
from gridjit import cuda

DOCUMENT = Path(__file__).parents[3] / "docs" / "numba-cuda.md"
SECTION = re.compile(r"^## Names that gridjit does not have\n(.*?)(?=^## |\Z)", re.MULTILINE | re.DOTALL)
ROW = re.compile(r"^\| (`.*?`) \| (.+?) \|$", re.MULTILINE)


@gridjit.jit(target="host", cache=False)
def fill(x):
    x[cuda.grid(1)] = 1


def theirs() -> dict[str, Any]:
    """Return numba-cuda's classes by what the document calls their objects."""
    from numba.cuda.cudadrv import devicearray, driver
    from numba.cuda.dispatcher import CUDADispatcher, _Kernel, _LaunchConfiguration

    return {
        "kernel": CUDADispatcher,
        "overload": _Kernel,
        "configured": _LaunchConfiguration,
        "stream": driver.Stream,
        "event": driver.Event,
        "array": devicearray.DeviceNDArray,
    }


@pytest.fixture(scope="module")
def ours() -> dict[str, Any]:
    """Our own objects, by the same names; the tests only look at them."""
    array = cuda.to_device(np.zeros(32))
    fill[1, 32](array)
    return {
        "kernel": fill,
        "overload": fill.get_overload(fill.signatures[0]),
        "configured": fill[1, 32],
        "stream": cuda.stream(),
        "event": cuda.event(),
        "array": array,
    }


def public_names(cls: type) -> set[str]:
    """Return the public names of a class's objects: what it defines, and what its own methods set."""
    return {name for name in {*dir(cls), *_set_on_self(cls)} if not name.startswith("_")}


def _set_on_self(cls: type) -> set[str]:
    sources = [inspect.getsource(base) for base in cls.__mro__ if _is_python(base)]
    nodes = [node for source in sources for node in ast.walk(ast.parse(textwrap.dedent(source)))]
    return {
        node.attr
        for node in nodes
        if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store) and ast.unparse(node.value) == "self"
    }


def _is_python(cls: type) -> bool:
    if not cls.__module__.startswith("numba"):
        return False
    try:
        return bool(inspect.getsource(cls))
    except (OSError, TypeError):  # it is made by C code
        return False


def listed() -> set[str]:
    """Return the names that the document lists, as "kernel.call"; each row says what to use instead."""
    found = SECTION.search(DOCUMENT.read_text())
    assert found is not None
    rows = ROW.findall(found[1])
    assert all(len(instead) > 3 for _, instead in rows)
    return {name for names, _ in rows for name in re.findall(r"`([a-z]+\.\w+)`", names)}


@pytest.mark.parametrize("kind", ["kernel", "overload", "configured", "stream", "event", "array"])
def test_a_public_name_of_numba_cudas_is_here_or_listed_with_its_replacement(kind: str, ours: dict[str, Any]) -> None:
    missing = {f"{kind}.{name}" for name in public_names(theirs()[kind]) if not hasattr(ours[kind], name)}
    assert missing == {name for name in listed() if name.startswith(f"{kind}.")}


def test_all_names_of_the_module_are_here() -> None:
    import numba.cuda

    assert [name for name in dir(numba.cuda) if not name.startswith("_") and not hasattr(cuda, name)] == []


def test_an_overload_tells_what_numba_cudas_kernels_tell(ours: dict[str, Any]) -> None:
    from numba.cuda import types

    overload = ours["overload"]
    assert overload.argument_types == overload.argtypes == (types.float64[::1],)
    assert not (overload.debug or overload.lineinfo or overload.launch_bounds or overload.objectmode)
    assert (overload.py_func, overload.extensions) == (fill.py_func, [])
    assert "define" in overload.library.get_llvm_str()
    assert "float64" in str(overload.type_annotation)
    overload.bind()
    assert fill.nopython_signatures == [types.void(types.float64[::1])]


def test_a_compile_result_is_compiled_if_it_is_not_there() -> None:
    made = gridjit.jit(fill.py_func, target="host", cache=False)
    found = made.get_compile_result("void(float32[::1])")
    assert found.specialization is made.specializations[0]
    assert made.get_overload("void(float32[::1])").specialization is found.specialization


def test_a_kernel_that_may_not_compile_launches_what_is_compiled() -> None:
    made = gridjit.jit(fill.py_func, target="host")
    x, y = np.zeros(32), np.zeros(32, np.float32)
    made[1, 32](x)
    made.disable_compile()
    made[1, 32](x)
    for refused in (lambda: made[1, 32](y), lambda: made.specialize(y), lambda: made.compile("void(int32[::1])")):
        with pytest.raises(
            gridjit.CompileDisabledError, match=r"fill\(.*\) for host is not compiled .*disable_compile"
        ):
            refused()
    made.disable_compile(False)
    made[1, 32](y)
    assert x.all() and y.all()


def test_a_kernel_that_may_not_compile_still_takes_from_the_cache(restart: Any) -> None:
    first = gridjit.jit(fill.py_func, target="host")
    first[1, 32](np.zeros(32))
    restart()
    again = gridjit.jit(fill.py_func, target="host")
    again.disable_compile()
    x = np.zeros(32)
    again[1, 32](x)
    assert (bool(x.all()), again.stats.compiles, again.stats.disk_hits) == (True, 0, 1)


def test_caching_that_is_enabled_later_keeps_what_is_compiled_then(restart: Any) -> None:
    made = gridjit.jit(fill.py_func, target="host", cache=False)
    made.enable_caching()
    made[1, 32](np.zeros(32))
    restart()
    again = gridjit.jit(fill.py_func, target="host")
    again[1, 32](np.zeros(32))
    assert (again.stats.compiles, again.stats.disk_hits) == (0, 1)


def test_a_kernel_says_whether_it_is_being_compiled() -> None:
    seen = []

    def looked(x):
        x[0] = 1

    made = gridjit.jit(looked, target="host", cache=False)
    compile_job = made._compile_for_args

    def look(job: Any, view: Any) -> Any:
        seen.append(made.is_compiling)
        return compile_job(job, view)

    vars(made)["_compile_for_args"] = look
    seen.append(made.is_compiling)
    made[1, 1](np.zeros(1))
    seen.append(made.is_compiling)
    assert seen == [False, True, False]


def test_code_that_reads_numbers_of_its_kernel_while_it_compiles_is_not_stored() -> None:
    from gridjit.launchconfig import ensure_current_launch_config

    def asks():
        """Return a number."""

    @cuda.extending.overload(asks)
    def overload_asks() -> Any:
        count = len(ensure_current_launch_config().dispatcher.get_regs_per_thread())
        return lambda: count

    @gridjit.jit(target="host")
    def counts(x):
        x[0] = asks()

    counts[1, 1](np.ones(1))
    assert any("get_regs_per_thread" in why for why in counts.specializations[0].artifact.private)


class Theirs:
    """An array of another library, with work under way in a stream."""

    def __init__(self, array: Any, stream: int) -> None:
        self.__cuda_array_interface__ = {**array.__cuda_array_interface__, "stream": stream}
        self.array = array


@pytest.mark.parametrize(("sync", "waited"), [((), 1), ((True,), 1), ((False,), 0)])
def test_an_imported_arrays_stream_is_waited_for_unless_the_caller_says_not_to(
    monkeypatch: pytest.MonkeyPatch, sync: tuple[bool, ...], waited: int
) -> None:
    from gridjit.runtime.devices import presence

    monkeypatch.setenv("GRIDJIT_TARGET", "host")
    monkeypatch.setattr(presence, "device_count", lambda: 0)
    stream, array = cuda.stream(), cuda.to_device(np.arange(4.0))
    calls = []
    timeline = array.space.timeline
    synchronize = type(timeline).synchronize
    monkeypatch.setattr(
        type(timeline), "synchronize", lambda self, handle: (calls.append(handle), synchronize(self, handle))[1]
    )
    there = cuda.as_cuda_array(Theirs(array, stream.handle), *sync)
    assert calls.count(stream.handle) == waited
    assert there.copy_to_host().tolist() == [0, 1, 2, 3]


def test_a_kernel_has_the_names_that_its_inspection_answers_to_and_is_not_made_of_it() -> None:
    from gridjit.runtime.numba_names.inspection import Inspection

    public = {name for name in vars(Inspection) if not name.startswith("_")}
    assert not issubclass(gridjit.Kernel, Inspection)
    assert {name for name in public if getattr(gridjit.Kernel, name) is not vars(Inspection)[name]} == set()
    assert public <= {*dir(gridjit.jit(lambda x: None))}
