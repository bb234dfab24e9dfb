"""The front end: typed LLVM IR with no GPU, driver or CUDA library, and a record of what it read of the launch."""

from __future__ import annotations

import importlib
import math
import re
import threading
from typing import Any

import numpy as np
import pytest

import gridjit
from gridjit import CompileError, LaunchConfig, cuda
from gridjit.compiler.frontend.bindings.bootstrap import numba_cuda
from gridjit.compiler.frontend.lower import lower
from gridjit.compiler.values.options import Options
from gridjit.compiler.values.signature import ArgType, ArrayType, ScalarType, Signature
from gridjit.compiler.values.target import Lowered, Target
from gridjit.compiler.view.config import ConfigView

FLOATS = ArrayType(dtype="float32", ndim=1)
HOST = Target(kind="host", arch="any")
HOPPER = Target(kind="ptx", arch="sm_90")


def lowered(
    function: Any,
    *types: ArgType,
    config: LaunchConfig | None = None,
    options: Options | None = None,
    target: Target = HOST,
) -> tuple[Lowered, ConfigView]:
    view = ConfigView(config)
    result, _ = lower(function, Signature(arguments=types), options or Options(), target, (), view)
    return result, view


def read_by(view: ConfigView) -> dict[str, object]:
    return {fact.field: fact.value for fact in view.footprint.facts}


@gridjit.jit(device=True)
def half_block(value):
    return value * (gridjit.static.blockDim.x // 2)


@gridjit.jit(device=True)
def square(value):
    return value * value


def static_tile(x):
    tile = cuda.shared.array((gridjit.static.blockDim.y, gridjit.static.blockDim.x), np.float32)
    tile[cuda.threadIdx.y, cuda.threadIdx.x] = x[cuda.grid(1)]


TILE = 4


def wide_tile(x):
    width = gridjit.static.blockDim.x * 2
    tile = cuda.shared.array((width + 1, TILE % 3), np.float32)
    tile[cuda.threadIdx.x, 0] = x[cuda.grid(1)]
    mine = cuda.local.array(shape=TILE * TILE // 3 - 2, dtype=np.int64)
    mine[0] = cuda.threadIdx.x
    x[mine[0]] = tile[width - mine[0], 0]


def tile_of_whole_warps(x):
    tile = cuda.shared.array(gridjit.static.blockDim.x // 32, np.float32)
    tile[0] = x[0]


def calls_half_block(x):
    x[cuda.grid(1)] = half_block(x[0])


def calls_square(x):
    x[cuda.grid(1)] = square(x[0])


def reads_grid_and_shared(x):
    dims = gridjit.static.gridDim
    for i in range(dims.z):
        x[i] = gridjit.static.sharedmem


def reads_nothing(x):
    x[cuda.grid(1)] = cuda.blockDim.x


@pytest.mark.parametrize("block", [(32, 8), (64, 2)])
def test_static_dimensions_size_shared_arrays(block: tuple[int, int]) -> None:
    result, view = lowered(static_tile, FLOATS, config=LaunchConfig.of(7, block))
    assert f"[{block[0] * block[1]} x float]" in result.modules[0]
    assert read_by(view) == {"blockdim.x": block[0], "blockdim.y": block[1]}


def test_a_static_read_names_its_source_line() -> None:
    _, view = lowered(static_tile, FLOATS, config=LaunchConfig.of(1, 32))
    line = static_tile.__code__.co_firstlineno + 1
    assert {fact.where for fact in view.footprint.facts} == {f"test_lower.py:{line}"}


def test_shapes_are_computed_from_constants_and_the_launch() -> None:
    result, view = lowered(wide_tile, FLOATS, config=LaunchConfig.of(1, 32))
    assert "[65 x float]" in result.modules[0]
    assert "alloca [3 x i64]" in result.modules[0]
    assert read_by(view) == {"blockdim.x": 32}


def test_a_computed_shape_of_no_items_is_not_the_dynamic_shared_memory() -> None:
    with pytest.raises(CompileError, match=r"is gridjit.static.blockDim.x // 32, and an array has at least one item"):
        lowered(tile_of_whole_warps, FLOATS, config=LaunchConfig.of(1, 31))


def test_static_names_work_through_variables_and_as_loop_bounds() -> None:
    _, view = lowered(reads_grid_and_shared, FLOATS, config=LaunchConfig.of((1, 1, 5), 32, 48))
    assert read_by(view) == {"griddim.z": 5, "sharedmem": 48}


def test_run_time_dimensions_are_not_a_dependence() -> None:
    _, view = lowered(reads_nothing, FLOATS, config=LaunchConfig.of(7, 32))
    assert view.footprint.facts == ()


@pytest.mark.parametrize("block", [64, 128, 64])
def test_a_device_functions_reads_count_for_every_kernel_that_calls_it(block: int) -> None:
    result, view = lowered(calls_half_block, FLOATS, config=LaunchConfig.of(1, block))
    assert read_by(view) == {"blockdim.x": block}
    assert len(result.modules) == 2


def test_a_compile_leaves_nothing_in_numba_cudas_tables() -> None:
    numba_cuda()
    from numba.cuda.descriptor import cuda_target

    dispatcher = square._dispatcher
    before = len(cuda_target.target_context.cached_internal_func)
    lowered(calls_square, FLOATS)
    assert not dispatcher.overloads
    assert len(cuda_target.target_context.cached_internal_func) == before


def test_a_device_function_is_compiled_from_what_its_globals_are_now(monkeypatch: pytest.MonkeyPatch) -> None:
    for factor in (3001, 5003, 3001):
        monkeypatch.setitem(globals(), "FACTOR", factor)
        result, _ = lowered(calls_scaled, FLOATS)
        assert set(re.findall(r"i64 (3001|5003)", "".join(result.modules))) == {str(factor)}


FACTOR = 1


@gridjit.jit(device=True)
def scaled(value):
    return value * FACTOR


def calls_scaled(x):
    x[cuda.grid(1)] = scaled(x[0])


def test_a_device_functions_declared_signature_converts_and_is_the_result_type() -> None:
    @gridjit.jit("int32(int32)", device=True)
    def whole(value):
        return value

    def kernel(x):
        x[0] = whole(x[0])

    result, _ = lowered(kernel, FLOATS)
    assert "fptosi float" in result.modules[0]


def test_a_static_name_without_a_launch_says_how_to_give_one() -> None:
    with pytest.raises(CompileError, match=r"blockDim\.[xy] needs a launch configuration: launch the") as e:
        lowered(static_tile, FLOATS)
    assert "test_lower.py" in str(e.value)


def test_an_unknown_axis_is_named() -> None:
    def wrong(x):
        x[0] = gridjit.static.blockDim.w  # type: ignore[attr-defined]

    with pytest.raises(CompileError, match="has x, y and z, not 'w'"):
        lowered(wrong, FLOATS, config=LaunchConfig.of(1, 1))


def test_a_typing_error_names_kernel_types_and_line() -> None:
    def adds_text(x, n):
        x[0] = n + "text"

    with pytest.raises(CompileError) as caught:
        lowered(adds_text, FLOATS, ScalarType(dtype="int64"))
    message = str(caught.value)
    assert message.startswith("adds_text(float32[:], int64) for host does not compile: ")
    assert f"test_lower.py:{adds_text.__code__.co_firstlineno + 1}" in message


def test_a_name_that_numba_has_no_type_for_is_named() -> None:
    opaque = object()

    def uses_opaque(x):
        x[0] = opaque

    with pytest.raises(CompileError, match="'opaque'"):
        lowered(uses_opaque, FLOATS)


def test_what_a_candidate_refused_is_told_and_the_candidates_are_not() -> None:
    def odd(x):
        tile = cuda.local.array(10, dtype="int33")
        x[0] = tile[0]

    with pytest.raises(CompileError, match=r"cuda\.local\.array is given 'int33', which is not a dtype") as caught:
        lowered(odd, FLOATS)
    assert "candidate implementation" not in str(caught.value)


def test_what_numba_colors_is_told_without_colors() -> None:
    """Where colorama is installed, as it is for these tests, numba colors its errors for a terminal."""

    def odd(x):
        x[0] = cuda.local.array(10, dtype="int33")[0]

    errors = importlib.import_module("numba.core.errors")
    with pytest.raises(CompileError) as caught:
        lowered(odd, FLOATS)
    assert "\x1b" not in str(caught.value)
    assert "\x1b" in errors.termcolor().errmsg("text")


def test_a_typing_error_is_caught_as_numbas_own() -> None:
    def adds_text(x, n):
        x[0] = n + "text"

    errors = importlib.import_module("numba.core.errors")
    with pytest.raises(errors.TypingError) as caught:
        lowered(adds_text, FLOATS, ScalarType(dtype="int64"))
    assert isinstance(caught.value, CompileError)
    assert type(caught.value.__cause__) is errors.TypingError
    assert "does not compile" in str(caught.value)


def test_exception_codes_differ_between_a_kernel_and_its_device_functions() -> None:
    @gridjit.jit(device=True)
    def checked(value):
        if value < 0:
            raise ValueError("negative")
        return math.sqrt(value)

    def kernel(x):
        if x[0] > 9:
            raise IndexError("too large")
        x[0] = checked(x[0])

    result, _ = lowered(kernel, FLOATS)
    raised = {(entry.qualname, entry.arguments) for entry in result.exceptions.values()}
    assert raised == {("ValueError", ("negative",)), ("IndexError", ("too large",))}


@pytest.mark.parametrize("target", [HOST, HOPPER], ids=str)
def test_debug_adds_bounds_checks_and_leaves_none_behind(target: Target) -> None:
    checked, _ = lowered(calls_square, FLOATS, options=Options(debug=True, opt=False), target=target)
    plain, _ = lowered(calls_square, FLOATS, target=target)
    (code,) = (code for code, entry in checked.exceptions.items() if entry.qualname == "IndexError")
    # Both indices of x are compared with its size from above and from below.
    assert "".join(checked.modules).count(f"i32 {code}") >= 4
    assert plain.exceptions == {}


def test_a_foreign_rewrite_sees_the_view_through_functions_it_imported_early(foreign_rewrites: None) -> None:
    numba_cuda()
    from numba.cuda.core.rewrites import Rewrite, register_rewrite
    from numba.cuda.launchconfig import current_launch_config, ensure_current_launch_config

    seen: list[Any] = []

    @register_rewrite("after-inference")
    class ReadsBlock(Rewrite):
        def match(self, func_ir: Any, block: Any, typemap: Any, calltypes: Any) -> bool:
            seen.append(ensure_current_launch_config().blockdim)
            return False

    _, view = lowered(reads_nothing, FLOATS, config=LaunchConfig.of(5, 96))
    assert set(seen) == {(96, 1, 1)}
    (fact,) = view.footprint.facts
    assert (fact.field, fact.value, fact.where[:14]) == ("blockdim", (96, 1, 1), "test_lower.py:")
    assert current_launch_config() is None


def test_a_foreign_read_in_a_device_function_is_repeated_for_each_launch(foreign_rewrites: None) -> None:
    numba_cuda()
    from numba.cuda.core.rewrites import Rewrite, register_rewrite
    from numba.cuda.launchconfig import ensure_current_launch_config

    @register_rewrite("before-inference")
    class ReadsBlockInSquare(Rewrite):
        def match(self, func_ir: Any, block: Any, typemap: Any, calltypes: Any) -> bool:
            if func_ir.func_id.func_name == "square":
                assert ensure_current_launch_config().blockdim
            return False

    for block in (32, 64, 32):
        _, view = lowered(calls_square, FLOATS, config=LaunchConfig.of(1, block))
        assert read_by(view) == {"blockdim": (block, 1, 1)}


@pytest.mark.parametrize("reads", [(), ("blockdim",)])
def test_a_mark_in_the_metadata_means_what_is_read_and_stays_visible(
    foreign_rewrites: None, reads: tuple[str, ...]
) -> None:
    numba_cuda()
    from numba.cuda.core.rewrites import Rewrite, register_rewrite

    @register_rewrite("after-inference")
    class Marks(Rewrite):
        def __init__(self, state: Any) -> None:
            super().__init__(state)
            state.metadata["launch_config_sensitive"] = True
            for name in reads:
                getattr(gridjit.launchconfig.ensure_current_launch_config(), name)

    _, view = lowered(reads_nothing, FLOATS, config=LaunchConfig.of(1, 32))
    assert set(read_by(view)) == set(reads)
    assert view.is_kernel_launch_config_sensitive()


def test_other_threads_see_no_configuration_while_one_compiles(foreign_rewrites: None) -> None:
    numba_cuda()
    from numba.cuda.core.rewrites import Rewrite, register_rewrite
    from numba.cuda.launchconfig import current_launch_config

    elsewhere: list[Any] = []

    @register_rewrite("after-inference")
    class LooksFromAnotherThread(Rewrite):
        def match(self, func_ir: Any, block: Any, typemap: Any, calltypes: Any) -> bool:
            other = threading.Thread(
                target=lambda: elsewhere.extend((current_launch_config(), gridjit.launchconfig.current_launch_config()))
            )
            other.start()
            other.join()
            return False

    lowered(reads_nothing, FLOATS, config=LaunchConfig.of(1, 32))
    assert elsewhere
    assert set(elsewhere) == {None}


def test_overloads_of_extensions_are_discovered() -> None:
    numba_cuda()
    from numba.cuda.extending import overload

    def extended(value: float) -> float:
        return value

    @overload(extended, target="cuda")
    def extended_overload(value):
        return lambda value: value + 1

    def kernel(x):
        x[0] = extended(x[0])

    view = ConfigView(None)
    _, discovered = lower(kernel, Signature(arguments=(FLOATS,)), Options(), HOST, (), view)
    assert [function.__name__ for function in discovered] == ["extended_overload"]
