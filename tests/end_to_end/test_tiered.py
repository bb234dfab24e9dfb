"""jit(tiered=True): generic code serves at once, specialized code once another process made it, with one result."""

from __future__ import annotations

import importlib
import os
import sys
import textwrap
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import gridjit
from gridjit.runtime.process.session import session
from gridjit.runtime.specialize.declared import Ahead
from tests import pools
from tests.end_to_end.float_kernels import KERNELS

HEAD = """
import os, sys
import gridjit
from gridjit import cuda

if "gridjit.runtime.workers.worker" in sys.modules:
    open(os.environ["GATE"]).close()
"""
SCALE = """
    @gridjit.jit(specialize="blockdim", tiered=True)
    def scale(x):
        i = cuda.grid(1)
        if i < x.size:
            for _ in range(cuda.blockDim.x // 32):
                x[i] *= 2
"""
LAUNCHES = [(1, 100), (2, 64), (3, 128), (8, 4)]


@pytest.fixture(autouse=True)
def forked_servers(monkeypatch: pytest.MonkeyPatch) -> None:
    """Fork the servers of pools from a process that has imported the compiler."""
    pools.fork_servers(monkeypatch)


@pytest.fixture
def started(forked_servers: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """Have them started, as programs do."""
    pools.start_servers(monkeypatch)


@pytest.fixture
def gate(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[], None]]:
    """What lets other processes import the modules that a test makes; until then they wait."""
    pipe = tmp_path / "gate"
    os.mkfifo(pipe)
    monkeypatch.setenv("GATE", str(pipe))
    yield lambda: pipe.open("w").close()
    session().end()


@pytest.fixture
def module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., Any]]:
    """What imports a module of the given text, which other processes can import too; each call as a new process."""
    monkeypatch.syspath_prepend(tmp_path)

    def make(text: str = SCALE, head: str = HEAD) -> Any:
        (tmp_path / "tieredkernels.py").write_text(head + textwrap.dedent(text))
        sys.modules.pop("tieredkernels", None)
        importlib.invalidate_caches()
        return importlib.import_module("tieredkernels")

    yield make
    sys.modules.pop("tieredkernels", None)


def launched(kernel: Any, block: int = 64, grid: int = 2) -> float:
    """Launch, and return what became of ones."""
    x = np.ones(8, np.float32)
    kernel[grid, block](x)
    assert len(set(x.tolist())) == 1
    return float(x[0])


def forms(kernel: Any) -> list[tuple[str, int | None]]:
    """Return what a kernel has in memory: generic code, and specialized code for which block."""
    found = kernel.specializations
    return [(one.tier, one.footprint.facts[0].value[0] if one.footprint.facts else None) for one in found]


# Each launch is a compile. Two come to both sides of each condition on the launch that these kernels have.
@pytest.mark.some(3)
@pytest.mark.each_value_once
@pytest.mark.parametrize("launches", [LAUNCHES[:2], pytest.param(LAUNCHES, marks=pytest.mark.slow)], ids=len)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("function", KERNELS, ids=lambda one: one.__name__)
def test_generic_and_specialized_code_give_the_same_bits(
    function: Any,
    dtype: Any,
    launches: list[tuple[int, int]],
    target: str,
    monkeypatch: pytest.MonkeyPatch,
    restart: Callable[[], None],
) -> None:
    monkeypatch.setenv("GRIDJIT_COMPILE_PROCESSES", "0")  # each launch compiles what it is specialized for
    restart()
    kernel = gridjit.jit(function, specialize=("blockdim", "griddim"), tiered=True)
    generic: Any = kernel.form_for(None)
    for grid, block in launches:
        numbers = np.random.default_rng(block)
        x, y = (numbers.random(512).astype(dtype) * 2 for _ in range(2))
        x[3], y[5] = np.finfo(dtype).tiny, np.finfo(dtype).smallest_subnormal
        results = []
        for code in (generic, kernel):
            out = np.zeros(512, dtype)
            code[grid, block](x, y, out)
            results.append(out)
        different = np.flatnonzero(results[0].view(np.uint8) != results[1].view(np.uint8))
        assert not different.size, (grid, block, different)
    assert sorted(one.tier for one in kernel.specializations) == ["generic"] + ["specialized"] * len(launches)


@pytest.mark.usefixtures("target", "started")
def test_generic_code_serves_until_specialized_code_is_there(module: Any, gate: Any) -> None:
    scale = module().scale
    assert [launched(scale) for _ in range(3)] == [4, 4, 4]
    assert forms(scale) == [("generic", None)]
    assert "generic code served 3 launches; specialized code is being compiled" in scale.explain()
    gate()
    scale.wait_for_compiles()
    assert [launched(scale) for _ in range(2)] == [4, 4]
    assert forms(scale) == [("generic", None), ("specialized", 64)]
    assert (scale.stats.compiles, scale.stats.generic_launches, scale.stats.swaps) == (1, 3, 1)
    assert "blockdim 64, (float32[1d C]): generic code served 3 launches, for " in scale.explain()
    assert "s, then specialized code" in scale.explain()


@pytest.mark.usefixtures("target")
def test_what_was_compiled_yesterday_serves_a_new_launch_at_once(module: Any, gate: Any, restart: Any) -> None:
    module()
    assert launched(sys.modules["tieredkernels"].scale, 32) == 2
    restart()
    scale = module().scale
    assert launched(scale, 128) == 16
    assert (scale.stats.compiles, scale.stats.disk_hits, scale.stats.generic_launches) == (0, 1, 1)
    assert forms(scale) == [("generic", None)]


@pytest.mark.usefixtures("target")
def test_generic_code_serves_where_nothing_may_be_compiled(
    module: Any, gate: Any, monkeypatch: pytest.MonkeyPatch, restart: Any
) -> None:
    launched(module().scale, 32)
    monkeypatch.setenv("GRIDJIT_ASSERT_NO_COMPILE", "1")
    restart()
    scale = module().scale
    assert [launched(scale, 128) for _ in range(3)] == [16, 16, 16]
    assert "there is no specialized code: GRIDJIT_ASSERT_NO_COMPILE forbids any compile" in scale.explain()


@pytest.mark.usefixtures("target")
def test_what_another_run_specialized_serves_the_first_launch(module: Any, gate: Any, restart: Any) -> None:
    first = module().scale
    launched(first)
    gate()
    first.wait_for_compiles()
    restart()
    scale = module().scale
    launched(scale)
    assert forms(scale) == [("specialized", 64)]
    assert (scale.stats.compiles, scale.stats.generic_launches, scale.stats.swaps) == (0, 0, 0)


@pytest.mark.usefixtures("target")
def test_launches_that_differ_in_nothing_specialized_wait_for_one_compile(
    module: Any, gate: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    handed = []
    send = Ahead.send
    monkeypatch.setattr(Ahead, "send", lambda self, pool: (handed.append(self.launch.config), send(self, pool)))
    scale = module().scale
    for grid in range(1, 20):
        launched(scale, grid=grid)
    assert len(handed) == 1
    gate()
    scale.wait_for_compiles()
    for grid in range(1, 20):
        launched(scale, grid=grid)
    assert forms(scale) == [("generic", None), ("specialized", 64)]
    assert (scale.stats.generic_launches, scale.stats.swaps) == (19, 1)


@pytest.mark.usefixtures("target")
def test_launches_of_many_sizes_hand_over_so_many_compiles_and_no_more(module: Any, gate: Any) -> None:
    scale = module().scale
    results = [launched(scale, block) for block in range(8, 48)]
    assert results == [1.0] * 24 + [2.0] * 16
    assert scale.explain().count("specialized code is being compiled") == 16 + 24
    assert len([task for task in [session()._pool] if task is not None and len(task._open) == 16]) == 1


@pytest.mark.usefixtures("target")
def test_if_it_cannot_be_compiled_elsewhere_generic_code_goes_on_serving_and_says_why(module: Any) -> None:
    head = HEAD.replace('open(os.environ["GATE"]).close()', 'raise OSError("no such device")')
    scale = module(head=head).scale
    launched(scale)
    scale.wait_for_compiles()
    assert [launched(scale) for _ in range(4)] == [4, 4, 4, 4]
    assert forms(scale) == [("generic", None)]
    assert "generic code serves, and there is no specialized code: CannotBeHandedOverError" in scale.explain()
    assert "OSError: no such device" in scale.explain()
    assert scale.stats.compiles == 1
    assert scale.stats.generic_launches == 2  # later ones find it ready, as launches of other kernels do


@pytest.mark.usefixtures("target")
def test_what_got_lost_with_its_process_is_handed_over_again(module: Any, gate: Any) -> None:
    scale = module().scale
    launched(scale)
    pool = session().pool(1, scale.target_for(None))
    (task,) = pool._open.values()
    while not task.begun:
        pool.turn()
    pool.end()
    launched(scale)
    launched(scale)
    gate()
    scale.wait_for_compiles()
    launched(scale)
    assert forms(scale) == [("generic", None), ("specialized", 64)]


@pytest.mark.usefixtures("target")
def test_without_other_processes_it_is_compiled_where_it_is_launched(
    module: Any, monkeypatch: pytest.MonkeyPatch, restart: Any
) -> None:
    monkeypatch.setenv("GRIDJIT_COMPILE_PROCESSES", "0")
    restart()
    scale = module().scale
    launched(scale)
    assert forms(scale) == [("specialized", 64)]
    assert "blockdim 64, (float32[1d C]): not tiered: GRIDJIT_COMPILE_PROCESSES is 0" in scale.explain()


@pytest.mark.usefixtures("target")
def test_a_field_that_the_kernel_reads_itself_has_no_generic_code(module: Any, gate: Any) -> None:
    kernel = module("""
        @gridjit.jit(specialize=("blockdim", "griddim"), tiered=True)
        def own(x):
            i = cuda.grid(1)
            if i < x.size:
                x[i] = gridjit.static.blockDim.x
    """).own
    assert launched(kernel, 64) == 64
    assert launched(kernel, 64, grid=5) == 64
    assert kernel.stats.compiles == 1
    assert launched(kernel, 32) == 32
    assert "not tiered: the kernel's code reads blockdim.x while it is compiled" in kernel.explain()
    assert [one.tier for one in kernel.specializations] == ["generic", "specialized"]


@pytest.mark.usefixtures("target")
def test_code_that_may_be_inexact_is_specialized_before_it_is_launched(module: Any) -> None:
    kernel = module("""
        @gridjit.jit(device=True, fastmath=True)
        def near(x, y):
            return x / y + x * y

        @gridjit.jit(specialize="blockdim", tiered=True)
        def scale(x):
            i = cuda.grid(1)
            if i < x.size:
                x[i] = near(x[i], x[i]) + cuda.blockDim.x
    """).scale
    assert launched(kernel) == 66
    assert kernel.stats.generic_launches == 0
    assert "not tiered: part of it is compiled with fastmath" in kernel.explain()


@pytest.mark.usefixtures("target")
def test_a_declared_signature_is_compiled_as_generic_code(module: Any, gate: Any, restart: Any) -> None:
    declares = SCALE.replace("@gridjit.jit(", '@gridjit.jit("void(float32[::1])", ')
    assert module(declares).scale.stats.compiles == 1
    restart()
    scale = module(declares).scale
    assert launched(scale) == 4
    assert (scale.stats.compiles, scale.stats.generic_launches) == (0, 1)


@pytest.mark.usefixtures("target")
def test_what_is_compiled_ahead_is_generic_without_a_configuration(module: Any) -> None:
    scale = module().scale
    assert scale.compile("void(float32[::1])").metadata["tier"] == "generic"
    assert all(scale.inspect_asm().values())
    assert scale.compile("void(float32[::1])", config=(1, 96)).metadata["tier"] == "specialized"
    assert launched(scale, 96) == 8
    assert forms(scale) == [("generic", None), ("specialized", 96)]


@pytest.mark.usefixtures("target")
def test_a_launch_during_a_capture_and_those_that_follow_until_it_ends_are_of_generic_code(
    module: Any, gate: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    scale, stream = module().scale, gridjit.create_stream()
    timeline, captured = type(scale.timeline), {stream.handle}
    monkeypatch.setattr(timeline, "capturing", lambda self, handle: handle in captured)
    x = gridjit.cuda.to_device(np.ones(8, np.float32))
    scale[2, 64, stream](x)
    gate()
    scale.wait_for_compiles()
    scale[2, 64, stream](x)
    launched(scale)
    assert forms(scale) == [("generic", None)]
    captured.clear()
    launched(scale)
    assert forms(scale) == [("generic", None), ("specialized", 64)]
    assert scale.stats.generic_launches == 3
    assert float(x.copy_to_host()[0]) == 16


@pytest.mark.usefixtures("target")
def test_a_block_that_generic_code_has_too_many_registers_for_gets_specialized_code(
    module: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    scale = module().scale
    scale.compile("void(float32[::1])")
    loaded = scale.loaded(scale.specializations[0], session().device(None))
    uses = loaded.attributes()
    monkeypatch.setattr(type(loaded), "attributes", lambda self: type(uses)(**{**_fields(uses), "max_threads": 64}))
    launched(scale, 96)
    assert forms(scale)[1:] == [("specialized", 96)]
    assert "not tiered: a block of generic code can have 64 threads" in scale.explain()


@pytest.mark.usefixtures("target")
def test_what_a_program_put_in_the_compilers_place_sees_both_forms_compiled(module: Any) -> None:
    scale = module().scale
    original, seen = scale._compile_for_args, []
    scale._compile_for_args = lambda job, view: (seen.append(job.options.specialize), original(job, view))[1]
    with gridjit.launchconfig.capture_compile_config(scale) as capture:
        launched(scale)
    assert (config := capture["config"]) is not None
    assert (config.blockdim, config.dispatcher) == ((64, 1, 1), scale)
    scale.compile("void(float32[::1])", config=(1, 96))
    assert seen == [(), ("blockdim",)]


@pytest.mark.usefixtures("target")
def test_a_library_sees_the_kernel_with_the_options_of_the_form_that_is_compiled(rewrite: Any, module: Any) -> None:
    seen, scale = [], module().scale
    rewrite(lambda config: seen.append((config.dispatcher == scale, config.dispatcher.options.specialize)))
    for form in (scale.form_for(None), scale):
        form.compile("void(float32[::1])", config=(1, 96))
    assert seen == [(True, ()), (True, ("blockdim",))]


@pytest.mark.usefixtures("target")
def test_a_mark_counts_for_generic_code_too(module: Any, gate: Any) -> None:
    scale = module().scale
    scale.mark_launch_config_sensitive("griddim")
    for grid in (1, 2, 2):
        launched(scale, grid=grid)
    assert [one.footprint.facts[0].field for one in scale.specializations] == ["griddim", "griddim"]


@pytest.mark.usefixtures("target")
def test_the_block_that_forall_tries_is_specialized_by_nobody(module: Any, gate: Any) -> None:
    scale = module("""
        @gridjit.jit(specialize="griddim", tiered=True)
        def scale(x):
            i = cuda.grid(1)
            if i < x.size:
                x[i] *= 2
    """).scale
    x = np.ones(8, np.float32)
    scale.forall(8)(x)
    assert (x == 2).all()
    assert scale.stats.generic_launches == 1
    assert scale.explain().count("specialized code is being compiled") == 1


@pytest.mark.usefixtures("target")
def test_recompiling_makes_both_forms_anew(module: Any, gate: Any) -> None:
    made = module("""
        FACTOR = 2

        @gridjit.jit(specialize="blockdim", tiered=True)
        def scale(x):
            i = cuda.grid(1)
            if i < x.size:
                x[i] *= FACTOR
    """)
    made.scale.compile("void(float32[::1])", config=(2, 64))
    assert (launched(made.scale, 64), launched(made.scale, 32)) == (2, 2)
    made.FACTOR = 3
    made.scale.recompile()
    assert (launched(made.scale, 64), launched(made.scale, 32)) == (3, 3)


@pytest.mark.usefixtures("target")
def test_a_kernel_made_in_a_function_is_specialized_elsewhere_too() -> None:
    factor = 3

    @gridjit.jit(specialize="blockdim", tiered=True)
    def scale(x):
        i = gridjit.cuda.grid(1)
        if i < x.size:
            x[i] *= factor

    assert launched(scale) == 3
    scale.wait_for_compiles()
    assert launched(scale) == 3
    assert forms(scale) == [("generic", None), ("specialized", 64)]
    assert scale.stats.compiles == 1


def _fields(value: Any) -> dict[str, Any]:
    return {name: getattr(value, name) for name in value.__dataclass_fields__}
