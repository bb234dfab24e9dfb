"""Linked code: its callbacks come back from disk, and kernels that allocate are linked with numba-cuda's runtime."""

from __future__ import annotations

import functools
import importlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import gridjit
from gridjit.compiler.frontend.bindings.bootstrap import numba_cuda
from gridjit.compiler.hooks.hook import Hook
from gridjit.compiler.key.toolchain import header_versions
from gridjit.compiler.values.errors import CompileError
from gridjit.runtime.kernel import Kernel
from gridjit.runtime.specializations.table import Specialization
from tests.toolkit import needs_toolkit

cuda: Any = numba_cuda()


pytestmark = needs_toolkit()

TWICE = 'extern "C" __device__ int twice(int *out, int x) { *out = x + x; return 0; }'


def set_up(module: Any) -> None:
    """A setup callback."""


def set_up_otherwise(module: Any) -> None:
    """Another."""


def tear_down(size: int, module: Any) -> None:
    """A teardown callback with an argument before the module."""


def increment(x):
    x[0] += 1


def specialized(kernel: Kernel, signature: str = "void(int32[::1])") -> Specialization:
    """Return the kernel's specialization for a GPU that this machine need not have."""
    kernel.compile(signature, target="sm_90")
    (found,) = kernel.specializations
    return found


def linked(**callbacks: Any) -> Kernel:
    """Return a kernel that is linked with code that has callbacks."""
    return gridjit.jit(increment, link=[cuda.CUSource("", **callbacks)])


def test_callbacks_come_back_from_disk(restart: Callable[[], None]) -> None:
    wanted = functools.partial(tear_down, 4096)
    for origin in ("compiled", "disk"):
        restart()
        found = specialized(linked(setup_callback=set_up, teardown_callback=wanted))
        assert found.origin == origin
        assert found.module.setup == (set_up,)
        (call,) = found.module.teardown
        assert isinstance(call, functools.partial) and (call.func, call.args) == (tear_down, (4096,))
        assert found.artifact.effects.setup == (Hook(module=__name__, qualname="set_up"),)


def test_another_callback_is_another_kernel(restart: Callable[[], None]) -> None:
    specialized(linked(setup_callback=set_up))
    restart()
    other = specialized(linked(setup_callback=set_up_otherwise))
    assert (other.origin, other.module.setup) == ("compiled", (set_up_otherwise,))
    assert "set_up -> " in other.reason


def test_a_callback_that_cannot_be_imported_stays_in_memory_and_explain_says_so(restart: Callable[[], None]) -> None:
    specialized(linked(setup_callback=set_up))
    for _ in range(2):
        restart()
        calls: list[Any] = []
        kernel = linked(setup_callback=calls.append, teardown_callback=lambda module, calls=calls: calls.clear())
        found = specialized(kernel)
        assert (found.origin, found.module.setup) == ("compiled", (calls.append,))
        assert "not stored on disk: the setup callback" in kernel.explain()
        assert "not stored on disk: the teardown callback" in kernel.explain()


def test_callbacks_of_a_declared_function_come_along(restart: Callable[[], None]) -> None:
    twice = cuda.declare_device(
        "twice", "int32(int32)", link=[cuda.CUSource(TWICE, setup_callback=set_up, teardown_callback=set_up_otherwise)]
    )

    def calls_it(x):
        x[0] = twice(x[0])

    for origin in ("compiled", "disk"):
        restart()
        found = specialized(gridjit.jit(calls_it))
        assert found.origin == origin
        assert (found.module.setup, found.module.teardown) == ((set_up,), (set_up_otherwise,))


def test_a_file_that_two_functions_bring_along_is_set_up_once() -> None:
    library = cuda.CUSource(TWICE + TWICE.replace("twice", "again"), setup_callback=set_up)
    twice, again = (cuda.declare_device(name, "int32(int32)", link=[library]) for name in ("twice", "again"))

    def calls_both(x):
        x[0] = twice(x[0]) + again(x[0])

    assert specialized(gridjit.jit(calls_both)).module.setup == (set_up,)


# -- numba-cuda's runtime ----------------------------------------------------------------------------------------------


@pytest.fixture
def runtime(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """Let kernels allocate; returns numba's configuration."""
    config: Any = importlib.import_module("numba.cuda").config
    monkeypatch.setattr(config, "CUDA_ENABLE_NRT", True)
    monkeypatch.setattr(config, "CUDA_NRT_STATS", False)
    return config


def allocates(x):
    copied = x.copy()
    made = np.empty(10, np.int32)
    made[5] = copied.sum()
    x[0] = made[5]


@pytest.mark.slow
def test_a_kernel_that_allocates_is_linked_with_the_runtime_as_lto_ir_too(runtime: Any) -> None:
    found = specialized(gridjit.jit(allocates, lto=True))
    assert b"NRT_MemSys_set\0" in found.artifact.image
    assert not found.module


def test_a_debug_kernel_may_allocate(runtime: Any) -> None:
    assert b"NRT_MemSys_set\0" in specialized(gridjit.jit(allocates, debug=True, opt=False)).artifact.image


def test_a_kernel_that_does_not_allocate_is_linked_with_nothing(runtime: Any) -> None:
    assert b"NRT_" not in specialized(gridjit.jit(increment)).artifact.image


def test_code_that_says_it_needs_the_runtime_gets_it(runtime: Any) -> None:
    source = 'extern "C" __device__ void *NRT_Allocate(size_t);\n'
    source += TWICE.replace("{", "{ NRT_Allocate(8);")
    twice = cuda.declare_device("twice", "int32(int32)", link=[cuda.CUSource(source, nrt=True)])

    def calls_it(x):
        x[0] = twice(x[0])

    assert b"NRT_Allocate\0" in specialized(gridjit.jit(calls_it)).artifact.image


def test_a_kernel_that_may_not_allocate_says_how_it_may(runtime: Any) -> None:
    runtime.CUDA_ENABLE_NRT = False
    with pytest.raises(CompileError, match="NUMBA_CUDA_ENABLE_NRT=1"):
        specialized(gridjit.jit(allocates))


def test_a_kernel_that_allocates_is_linked_with_the_runtime_and_statistics_are_kept_once_they_are_asked_for(
    runtime: Any, restart: Callable[[], None]
) -> None:
    found = specialized(gridjit.jit(allocates))
    assert b"NRT_MemSys_set\0" in found.artifact.image
    assert not found.module
    runtime.CUDA_NRT_STATS = True
    for origin in ("compiled", "disk"):
        restart()
        found = specialized(gridjit.jit(allocates))
        assert found.origin == origin
        assert [call.__qualname__ for call in found.module.setup] == ["count"]


# -- what is linked, as numba-cuda shows it ----------------------------------------------------------------------------


def synchronizes(x):
    x[0] = 1
    cuda.cg.this_grid().sync()


@pytest.mark.parametrize(("function", "files"), [(increment, ()), (synchronizes, ("cudadevrt",))])
def test_what_a_kernel_is_linked_with_is_named(function: Any, files: tuple[str, ...]) -> None:
    kernel = gridjit.jit(function)
    specialized(kernel)
    (overload,) = kernel.overloads.values()
    assert overload._codelibrary._linking_files == files


# -- CUDA's headers ----------------------------------------------------------------------------------------------------


@pytest.fixture
def headers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[str], None]]:
    """Return what has a package of CUDA's headers that lists other headers take the place of the installed one."""

    def replace(listed: str) -> None:
        folder = tmp_path / "site" / "nvidia_cuda_cccl-99.9.dist-info"
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "RECORD").write_text(
            f"nvidia/cu13/include/cccl/cuda/atomic,sha256={listed},1\n{folder.name}/RECORD,,\n"
        )
        header_versions.cache_clear()

    monkeypatch.syspath_prepend(str(tmp_path / "site"))
    header_versions.cache_clear()
    yield replace
    header_versions.cache_clear()


def declares(x):
    x[0] = twice_in_memory(x[0])


twice_in_memory = cuda.declare_device("twice", "int32(int32)", link=[cuda.CUSource(TWICE)])


@pytest.mark.some(1)
@pytest.mark.parametrize("linking", ["named", "declared", "numba-cuda's own"])
def test_other_headers_of_cuda_are_a_miss_for_linked_cuda_code(
    restart: Callable[[], None], headers: Callable[[str], None], runtime: Any, linking: str
) -> None:
    def compiles() -> int:
        restart()
        kernel = {
            "named": lambda: linked(),
            "declared": lambda: gridjit.jit(declares),
            "numba-cuda's own": lambda: gridjit.jit(allocates),
        }[linking]()
        specialized(kernel)
        return kernel.stats.compiles

    assert [compiles(), compiles()] == [1, 0]
    for listed in ("one", "another"):
        headers(listed)
        assert [compiles(), compiles()] == [1, 0]


def test_other_headers_of_cuda_are_a_hit_for_kernels_without_cuda_code(
    restart: Callable[[], None], headers: Callable[[str], None]
) -> None:
    specialized(gridjit.jit(increment))
    headers("one")
    restart()
    assert specialized(gridjit.jit(increment)).origin == "disk"
