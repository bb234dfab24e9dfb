"""A callee that was compiled before is compiled again where anything that it was made from is another."""

from __future__ import annotations

import copy
import operator
import sys
import types
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import gridjit
from gridjit import CompileError, LaunchConfig, cuda
from gridjit.compiler.frontend.bindings import replacing
from gridjit.compiler.frontend.bindings.bootstrap import numba_cuda
from gridjit.compiler.frontend.kept import surroundings
from gridjit.compiler.frontend.kept.keeping import Keeping
from gridjit.compiler.numba_state import mark, survey, within
from gridjit.compiler.values.options import Options
from tests.compiler.frontend.making import (
    HOPPER,
    HOST,
    Made,
    begin_anew,
    everything_of,
    in_llvm,
    kernel_of,
    look_anew,
    made,
    nothing_kept,
)

numba_cuda()

import numba  # noqa: E402
from llvmlite.ir.types import IntType  # noqa: E402
from numba.core import config  # noqa: E402
from numba.cuda import cgutils, cudaimpl, utils  # noqa: E402  # the first import has to come first
from numba.cuda.core import ir  # noqa: E402
from numba.cuda.core.rewrites import Rewrite, register_rewrite  # noqa: E402
from numba.cuda.extending import intrinsic, overload  # noqa: E402
from numba.cuda.target import CUDATargetContext  # noqa: E402
from numba.cuda.typing import builtins  # noqa: E402

settings = types.ModuleType("settings_of_kept_changes")
# Others than any that code has by itself.
FIRST, SECOND = 3001.5, 5003.5


class Program:
    """A namespace with device functions, each of one expression, and kernels that call them."""

    def __init__(self, **names: Any) -> None:
        self.names: dict[str, Any] = {"cuda": cuda, "np": np, "gridjit": gridjit, **names}

    def __setitem__(self, name: str, value: object) -> None:
        self.names[name] = value

    def device(self, name: str, expression: str, parameters: str = "value", **options: Any) -> Any:
        exec(f"def {name}({parameters}):\n    return {expression}", self.names)
        self.names[name] = gridjit.jit(device=True, **options)(self.names[name])
        return self.names[name]

    def compiled(self, body: str = "shared(x[i])", **how: Any) -> Made:
        """Return a kernel that nobody compiled, compiled; it must be what a whole compile makes."""
        kernel = kernel_of(body, **self.names)
        found = made(kernel, **how)
        with nothing_kept():
            assert everything_of(found) == everything_of(made(kernel, **how))
        return found


def check(program: Program, change: Callable[[], None], body: str = "shared(x[i])", **later: Any) -> None:
    """Compile twice, the second time from what is kept; then a change, and back again by what `change` says."""
    before = program.compiled(body)
    assert in_llvm(FIRST) in before.text
    assert program.compiled(body).reused == {"shared"} | ({"inner"} if "inner" in program.names else set())
    change()
    after = program.compiled(body, **later)
    assert "shared" not in after.reused
    assert in_llvm(SECOND) in after.text and in_llvm(FIRST) not in after.text
    assert "shared" in program.compiled(body, **later).reused


def test_a_changed_global_is_seen() -> None:
    program = Program(FACTOR=FIRST)
    shared = program.device("shared", "value * FACTOR")
    check(program, lambda: shared.py_func.__globals__.update(FACTOR=SECOND))


def test_a_changed_global_of_a_callees_callee_is_seen() -> None:
    program = Program(FACTOR=FIRST)
    inner = program.device("inner", "value * FACTOR")
    program.device("shared", "inner(value)")
    check(program, lambda: inner.py_func.__globals__.update(FACTOR=SECOND))


def test_a_changed_builtin_or_a_global_of_its_name_is_seen() -> None:
    program = Program()
    program.device("other", f"a * {SECOND}", "a, b")
    program.device("shared", "min(value, 3.0)")
    program.compiled()
    program["min"] = program.names["other"]
    after = program.compiled()
    assert after.reused == set()
    assert in_llvm(SECOND) in after.text


def test_a_changed_item_of_a_tuple_is_seen() -> None:
    program = Program(PAIR=(1, FIRST))
    program.device("shared", "value * PAIR[1]")
    check(program, lambda: program.names.update(PAIR=(1, SECOND)))


def test_a_changed_attribute_of_a_module_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, settings.__name__, settings)
    settings.FACTOR = FIRST  # type: ignore[attr-defined]
    program = Program(settings=settings)
    program.device("shared", "value * settings.FACTOR")
    check(program, lambda: setattr(settings, "FACTOR", SECOND))


def test_a_changed_cell_of_a_closure_is_seen() -> None:
    factor = FIRST

    @gridjit.jit(device=True)
    def shared(value):
        return value * factor

    def change() -> None:
        nonlocal factor
        factor = SECOND

    check(Program(shared=shared), change)


def test_a_changed_default_is_seen() -> None:
    program = Program()
    shared = program.device("shared", "value * by", f"value, by={FIRST}")
    check(program, lambda: setattr(shared.py_func, "__defaults__", (SECOND,)))


def test_a_changed_default_of_a_callees_callee_is_seen() -> None:
    program = Program()
    inner = program.device("inner", "value * by", f"value, by={FIRST}")
    program.device("shared", "inner(value)")
    check(program, lambda: setattr(inner.py_func, "__defaults__", (SECOND,)))
    inner.py_func.__defaults__ = None
    with pytest.raises(CompileError):
        program.compiled()


def test_a_default_that_becomes_an_equal_one_of_another_type_is_seen() -> None:
    program = Program()
    inner = program.device("inner", "value * by", "value, by=1")
    program.device("shared", "inner(value)")
    program.compiled()
    assert program.compiled().reused == {"inner", "shared"}
    for other in (1.0, True):
        inner.py_func.__defaults__ = (other,)
        assert not program.compiled().reused


def of_another_function(inner: Any) -> None:
    """Have the dispatcher of a device function stand for another function."""
    inner._dispatcher.py_func = Program().device("inner", f"value * {SECOND}").py_func


def of_another_dispatcher(inner: Any) -> None:
    """Have a device function made again from another function."""
    inner.py_func = Program().device("inner", f"value * {SECOND}").py_func
    vars(inner).pop("_dispatcher")


@pytest.mark.some(1)
@pytest.mark.parametrize("change", [of_another_function, of_another_dispatcher])
def test_a_callees_callee_that_stands_for_another_function_is_seen(change: Callable[[Any], None]) -> None:
    program = Program()
    inner = program.device("inner", f"value * {FIRST}")
    program.device("shared", "inner(value)")
    check(program, lambda: change(inner))


def test_other_options_of_a_callees_callee_are_seen() -> None:
    program = Program()
    inner = program.device("inner", f"value * {FIRST}")
    program.device("shared", "inner(value)")
    assert "alwaysinline" not in program.compiled().text
    inner._dispatcher.targetoptions["forceinline"] = True
    after = program.compiled()
    assert "alwaysinline" in after.text
    assert not after.reused


def test_changed_contents_of_an_array_are_seen() -> None:
    table = np.array([FIRST])
    program = Program(TABLE=table)
    program.device("shared", "value * TABLE[0]")
    first = program.compiled()
    assert program.compiled().reused == {"shared"}
    table.fill(SECOND)
    second = program.compiled()
    assert second.reused == set()
    assert second.text != first.text
    table.shape = (1, 1)
    with pytest.raises(CompileError):
        program.compiled()


def test_changed_code_of_a_function_is_seen() -> None:
    program = Program()
    shared = program.device("shared", f"value * {FIRST}")
    other = Program()
    other.device("shared", f"value * {SECOND}")
    check(program, lambda: setattr(shared.py_func, "__code__", other.names["shared"].py_func.__code__))


def test_a_function_that_was_replaced_is_compiled() -> None:
    program = Program()
    program.device("shared", f"value * {FIRST}")
    check(program, lambda: program.device("shared", f"value * {SECOND}") and None)


def test_a_callee_that_was_replaced_is_compiled_into_its_caller() -> None:
    program = Program()
    program.device("inner", f"value * {FIRST}")
    program.device("shared", "inner(value)")
    check(program, lambda: program.device("inner", f"value * {SECOND}") and None)


def test_a_function_that_was_replaced_in_its_module_is_compiled(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, settings.__name__, settings)
    first, second = Program(), Program()
    first.device("inner", f"value * {FIRST}")
    second.device("inner", f"value * {SECOND}")
    settings.inner = first.names["inner"]  # type: ignore[attr-defined]
    program = Program(settings=settings, inner=None)
    program.device("shared", "settings.inner(value)")
    check(program, lambda: setattr(settings, "inner", second.names["inner"]))


def test_a_function_in_a_closures_variable_that_was_replaced_is_compiled() -> None:
    first, second = Program(), Program()
    first.device("inner", f"value * {FIRST}")
    second.device("inner", f"value * {SECOND}")
    inner = first.names["inner"]

    @gridjit.jit(device=True)
    def shared(value):
        return inner(value)

    def change() -> None:
        nonlocal inner
        inner = second.names["inner"]

    check(Program(shared=shared, inner=None), change)


def test_numba_cudas_own_device_functions_are_reused_and_told_apart_alike() -> None:
    import numba.cuda

    program = Program(FACTOR=FIRST)
    exec("def shared(value):\n    return value * FACTOR", program.names)
    program["shared"] = dispatcher = numba.cuda.jit(device=True)(program.names["shared"])
    check(program, lambda: program.names.update(FACTOR=SECOND))
    before = dict(dispatcher.targetoptions)
    dispatcher.targetoptions["fastmath"] = True
    assert program.compiled().reused == set()
    dispatcher.targetoptions.update(before)
    assert program.compiled().reused == {"shared"}
    exec(f"def shared(value):\n    return value * {FIRST}", program.names)
    dispatcher.py_func, program["shared"] = program.names["shared"], dispatcher
    assert in_llvm(FIRST) in program.compiled().text


def test_folding_a_kernels_launch_leaves_its_callees_as_they_are() -> None:
    program = Program()
    program.device("shared", "value * cuda.blockDim.x")
    folded = Options(specialize=("blockdim",))
    for x in (32, 64):
        found = program.compiled(config=LaunchConfig.of(1, x), options=folded)
        assert f"add i32 0, {x}" in found.text
    plain = program.compiled(config=LaunchConfig.of(1, 32))
    assert plain.reused == {"shared"} and not plain.facts and "add i32 0, 32" not in plain.text


@pytest.mark.filterwarnings("ignore:.*Could not find source")
def test_a_debug_kernel_and_others_have_callees_of_their_own() -> None:
    program = Program()
    program.device("shared", "value * 2")
    for options in (Options(debug=True), Options(), Options(lineinfo=True), Options(debug=True), Options()):
        program.compiled(options=options, target=HOPPER)


def test_equal_values_of_other_types_are_told_apart() -> None:
    program = Program(FACTOR=3)
    program.device("shared", "FACTOR")
    for factor in (3, 3.0, True, 3, -0.0, 0.0):
        program.names["FACTOR"] = factor
        program.compiled()
    program = Program()
    shared = program.device("shared", "value * by", "value, by=0.0")
    for default in (0.0, -0.0, 0, False):
        shared.py_func.__defaults__ = (default,)
        program.compiled()


@pytest.mark.some(1)
@pytest.mark.parametrize("field", ["blockDim.x", "gridDim.y"])
def test_a_field_of_the_launch_that_a_shared_function_reads_counts_for_each_kernel(field: str) -> None:
    program = Program()
    program.device("shared", f"value * gridjit.static.{field}")
    for x in (32, 64, 32):
        found = program.compiled(config=LaunchConfig.of((1, x), x))
        assert [value for value, _ in found.facts.values()] == [x]
    assert "shared" in program.compiled(config=LaunchConfig.of((1, 32), 32)).reused
    assert "shared" in program.compiled(config=LaunchConfig.of((1, 64), 64)).reused
    with pytest.raises(CompileError, match="needs a launch configuration"):
        program.compiled()


def test_a_field_that_the_kernel_had_read_before_counts_for_its_callee_alone_too() -> None:
    program = Program()
    program.device("shared", "value * gridjit.static.blockDim.x")
    config = LaunchConfig.of(1, 32)
    program.compiled("gridjit.static.blockDim.x * shared(x[i])", config=config)
    for x in (64, 32):
        found = program.compiled(config=LaunchConfig.of(1, x))
        assert [value for value, _ in found.facts.values()] == [x]


def test_shared_memory_as_a_constant_is_never_taken_from_another_kernel() -> None:
    program = Program()
    program.device("shared", "value * gridjit.static.sharedmem")
    for _ in range(2):
        assert not program.compiled(config=LaunchConfig.of(1, 32, 64)).reused


def test_exceptions_of_a_reused_function_are_those_of_the_kernel() -> None:
    program = Program()
    exec("def shared(value):\n    if value > 3:\n        raise ValueError('large')\n    return value", program.names)
    program["shared"] = gridjit.jit(device=True)(program.names["shared"])
    first, second = program.compiled(), program.compiled("1.0 + shared(x[i])")
    assert second.reused == {"shared"}
    assert first.lowered.exceptions == second.lowered.exceptions
    assert [one.arguments for one in second.lowered.exceptions.values()] == [("large",)]


def test_other_architectures_options_and_settings_have_code_of_their_own(monkeypatch: pytest.MonkeyPatch) -> None:
    program = Program()
    program.device("shared", "value * 2")
    assert program.compiled(target=HOPPER).reused == set()
    assert program.compiled(target=HOPPER).reused == {"shared"}
    assert program.compiled(target=HOST, options=Options(debug=True)).reused == set()
    import numba

    monkeypatch.setattr(numba.config, "OPT", 2)
    assert program.compiled(target=HOPPER).reused == set()


def test_an_implementation_registered_between_two_kernels_is_used(monkeypatch: pytest.MonkeyPatch) -> None:
    def stub(value):
        raise NotImplementedError

    program = Program(stub=stub)
    program.device("shared", "stub(value)")

    @overload(stub, target="cuda")
    def implement(value):
        return lambda value: value * FIRST

    assert in_llvm(FIRST) in program.compiled().text

    @overload(stub, target="cuda")
    def implement_otherwise(value):
        return lambda value: value * SECOND

    for _ in range(2):
        # What an extension implements runs code of its own, and is asked each time.
        assert program.compiled().reused == set()


def test_an_intrinsic_of_an_extension_is_asked_each_time() -> None:
    asked = []

    @intrinsic
    def doubled(typing, value):
        asked.append(value)
        return value(value), lambda context, builder, signature, args: args[0]

    program = Program(doubled=doubled)
    program.device("shared", "doubled(value)")
    for _ in range(2):
        asked.clear()
        assert program.compiled().reused == set()
        assert len(asked) == 2


def test_a_rewrite_registered_between_two_kernels_rewrites_a_shared_function(foreign_rewrites: None) -> None:
    program = Program()
    program.device("shared", f"value * {FIRST}")

    def register() -> None:
        @register_rewrite("before-inference")
        class Bake(Rewrite):
            def match(self, func_ir: Any, block: Any, typemap: Any, calltypes: Any) -> bool:
                found = [one for one in block.find_insts(ir.Assign) if isinstance(one.value, ir.Const)]
                self.block, self.found = block, [one for one in found if one.value.value == FIRST]
                return bool(self.found)

            def apply(self) -> Any:
                for one in self.found:
                    one.value = ir.Const(SECOND, one.loc)
                return self.block

    assert program.compiled() and program.compiled().reused == {"shared"}
    register()
    for _ in range(2):
        after = program.compiled()
        assert after.reused == set()
        assert in_llvm(SECOND) in after.text and in_llvm(FIRST) not in after.text


def test_numba_cuda_that_a_program_patched_is_used_as_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    from numba.cuda import cudaimpl, mathimpl  # noqa: F401
    from numba.cuda.lowering import Lower

    program = Program()
    program.device("shared", f"value * {FIRST}")
    program.compiled()
    lower_assign = Lower.lower_assign
    seen = []

    def patched(self: Any, *args: Any) -> Any:
        seen.append(self.fndesc.qualname)
        return lower_assign(self, *args)

    monkeypatch.setattr(Lower, "lower_assign", patched)
    assert program.compiled().reused == set()
    assert "shared" in seen


def test_a_function_of_numba_cudas_that_a_program_gave_other_code_is_used_as_it_is() -> None:
    program = Program()
    exec("def shared(value):\n    a = cuda.shared.array(1, np.float64)\n    return a[0]", program.names)
    program["shared"] = gridjit.jit(device=True)(program.names["shared"])
    program.compiled()
    assert program.compiled().reused == {"shared"}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(cudaimpl._get_unique_smem_id, "__code__", (lambda name: "named_by_a_program").__code__)
        patched = program.compiled()
    assert not patched.reused
    assert "named_by_a_program" in patched.text
    assert "named_by_a_program" not in program.compiled().text


def test_an_exception_names_its_function_as_it_is_called_now() -> None:
    program = Program()
    exec("def inner(value):\n    if value > 3:\n        raise ValueError\n    return value", program.names)
    program["inner"] = inner = gridjit.jit(device=True)(program.names["inner"])
    program.device("shared", "inner(value)")
    program.compiled()
    assert program.compiled().reused == {"inner", "shared"}
    inner.py_func.__qualname__ = "renamed"
    after = program.compiled()
    assert not after.reused
    assert "renamed" in str(after.lowered.exceptions)


def test_a_function_that_calls_itself_is_compiled_each_time() -> None:
    program = Program()
    exec(
        "def shared(value):\n    if value < 1:\n        return value\n    return shared(value - 1) * 2.0",
        program.names,
    )
    program["shared"] = gridjit.jit(device=True)(program.names["shared"])
    for _ in range(2):
        assert program.compiled().reused == set()


def test_functions_for_declared_signatures_and_their_callers_are_compiled_each_time() -> None:
    program = Program(FACTOR=FIRST)
    program.names["inner"] = None
    exec("def inner(value):\n    return value * FACTOR", program.names)
    program["inner"] = gridjit.jit("float64(float64)", device=True)(program.names["inner"])
    program.device("shared", "inner(value)")
    for factor in (FIRST, SECOND):
        program.names["FACTOR"] = factor
        assert in_llvm(factor) in program.compiled().text


def test_an_inlined_function_is_not_missed(monkeypatch: pytest.MonkeyPatch) -> None:
    program = Program(FACTOR=FIRST)
    program.device("inner", "value * FACTOR", inline="always")
    program.device("shared", "inner(value) + 1")
    for factor in (FIRST, SECOND):
        program.names["FACTOR"] = factor
        assert in_llvm(factor) in program.compiled().text


def test_a_warning_of_a_functions_compile_is_given_for_each_kernel(monkeypatch: pytest.MonkeyPatch) -> None:
    from numba.cuda.core import config

    monkeypatch.setattr(config, "ALWAYS_WARN_UNINIT_VAR", 1)
    program = Program()
    exec("def shared(value):\n    if value > 1:\n        other = value\n    return other", program.names)
    program["shared"] = gridjit.jit(device=True)(program.names["shared"])
    for _ in range(3):
        with pytest.warns(match="uninitialized variable"):
            made(kernel_of("shared(x[i])", **program.names))


def in_a_dictionary(patch: pytest.MonkeyPatch) -> None:
    patch.setitem(utils.BINOPS_TO_OPERATORS, "+", operator.sub)


def in_a_functions_defaults(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(cgutils.alloca_once, "__defaults__", (None, "other", True))


def in_what_a_decorator_wraps(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(cgutils.for_range.__wrapped__, "__code__", cgutils.for_range_slice.__wrapped__.__code__)


def in_a_cell(patch: pytest.MonkeyPatch) -> None:
    cell = next(one for one in cgutils.for_range.__closure__ or () if callable(one.cell_contents))
    patch.setattr(cell, "cell_contents", cgutils.for_range_slice.__wrapped__)


def in_a_property(patch: pytest.MonkeyPatch) -> None:
    getter = vars(CUDATargetContext)["call_conv"].fget
    patch.setattr(getter, "__code__", getter.__code__.replace(co_name="other"))


def to_an_equal_value_of_another_type(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(CUDATargetContext, "implement_powi_as_math_call", 1)


def by_a_module_of_the_same_name(patch: pytest.MonkeyPatch) -> None:
    module = types.ModuleType(cgutils.__name__)
    vars(module).update(vars(cgutils))
    patch.setitem(sys.modules, cgutils.__name__, module)


CHANGES_OF_NUMBA = [
    *(in_a_dictionary, in_a_functions_defaults, in_what_a_decorator_wraps, in_a_cell, in_a_property),
    *(to_an_equal_value_of_another_type, by_a_module_of_the_same_name),
]


@pytest.mark.each_value_once
@pytest.mark.parametrize("change", CHANGES_OF_NUMBA, ids=lambda one: one.__name__)
@pytest.mark.parametrize("has_stamps", [True, False], ids=["stamps", "no stamps"])
def test_numbas_code_that_was_changed_within_what_its_names_stand_for_is_seen(
    change: Callable[[pytest.MonkeyPatch], None], has_stamps: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    if not has_stamps:
        in_survey = ("of_dictionaries", "of_attributes", "of_cells")
        for module, name in ((within, "of_dictionaries"), *((survey, name) for name in in_survey)):
            monkeypatch.setattr(module, name, lambda *_: None)
        look_anew(monkeypatch)
    before = surroundings.surroundings((9, 0), False)
    assert surroundings.surroundings((9, 0), False) is before
    with pytest.MonkeyPatch.context() as patch:
        change(patch)
        assert surroundings.surroundings((9, 0), False) is not before


@pytest.mark.some(3)
@pytest.mark.parametrize("change", CHANGES_OF_NUMBA, ids=lambda one: one.__name__)
def test_numbas_code_that_was_changed_after_a_processs_first_compile_is_seen(
    change: Callable[[pytest.MonkeyPatch], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    begin_anew(monkeypatch)
    program = Program()
    program.device("shared", f"value * {FIRST}")
    made(kernel_of("shared(x[i])", **program.names))
    assert program.compiled().reused == {"shared"}
    change(monkeypatch)
    assert not made(kernel_of("shared(x[i])", **program.names)).reused


def test_numbas_code_that_is_changed_in_a_processs_first_compile_is_seen_in_the_second(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    begin_anew(monkeypatch)
    program = Program()
    program.device("shared", f"value + {FIRST}")
    compiled = Keeping._compiled

    def compile_and_change(keeping: Keeping, callee: Any, compile_it: Callable[[], Any]) -> Any:
        def compiled_before_the_change() -> Any:
            result = compile_it()
            in_a_dictionary(monkeypatch)
            return result

        return compiled(keeping, callee, compiled_before_the_change)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Keeping, "_compiled", compile_and_change)
        assert " fadd " in made(kernel_of("shared(x[i])", **program.names)).text
    assert " fsub " in program.compiled().text


def test_a_list_of_numbas_with_another_item_is_seen() -> None:
    cases = next(one.cases for one in vars(builtins).values() if type(getattr(one, "cases", None)) is list)
    before, first = surroundings.surroundings((9, 0), False), cases[0]
    cases[0] = copy.copy(first)
    try:
        assert surroundings.surroundings((9, 0), False) is not before
    finally:
        cases[0] = first


def test_an_operator_that_a_program_gave_another_meaning_has_it_in_callees_too(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    program = Program()
    program.device("shared", f"value + {FIRST}")
    assert " fadd " in program.compiled().text
    in_a_dictionary(monkeypatch)
    assert " fsub " in program.compiled().text


def a_setting_of_no_code() -> None:
    config.DISABLE_PERFORMANCE_WARNINGS = config.DISABLE_PERFORMANCE_WARNINGS + 1


def a_setting_to_what_it_is() -> None:
    config.reload_config()


def numbas_own_compilers_work() -> None:
    numba.njit(lambda x: x.sum())(np.zeros(3))


@pytest.mark.some(1)
@pytest.mark.parametrize("change", [a_setting_of_no_code, a_setting_to_what_it_is, numbas_own_compilers_work])
def test_what_changes_no_kernel_leaves_what_is_kept(
    change: Callable[[], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(config, "DISABLE_PERFORMANCE_WARNINGS", 0)
    numbas_own_compilers_work()  # it sets itself up
    program = Program()
    program.device("shared", f"value + {FIRST}")
    program.compiled()
    change()
    assert program.compiled().reused == {"shared"}


def test_integers_of_a_width_that_no_kernel_had_before_leave_what_is_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    widths = {bits: made_before for bits, made_before in IntType._instance_cache.items() if bits != 16}
    monkeypatch.setattr(IntType, "_instance_cache", widths)
    program = Program()
    program.device("shared", f"value + {FIRST}")
    program.compiled()
    made(kernel_of("np.float16(x[i])", **program.names))
    assert 16 in widths
    assert program.compiled().reused == {"shared"}


@pytest.mark.parametrize("first", ["rec(i)", "shared(x[i])"])
def test_what_a_processs_first_compile_replaces_in_numba_is_as_before_for_the_second(
    first: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    begin_anew(monkeypatch)
    program = Program()
    program.device("shared", f"value * {FIRST}")
    program.device("rec", "1 if value < 1 else rec(value - 1)")
    made(kernel_of(first, **program.names))
    assert mark._watch.hold()
    made(kernel_of("shared(x[i])", **program.names))
    assert made(kernel_of("shared(x[i])", **program.names)).reused == {"shared"}


def test_what_python_comes_to_remember_of_a_class_of_numbas_is_told_of_no_process(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    begin_anew(monkeypatch)
    around = surroundings.surroundings((9, 0), False)
    assert "__slotnames__" not in vars(cgutils.Structure)
    monkeypatch.setattr(cgutils.Structure, "__slotnames__", [], raising=False)
    assert surroundings.surroundings((9, 0), False) is around
    told = around.told
    begin_anew(monkeypatch)
    assert surroundings.surroundings((9, 0), False).told == told is not None


def test_a_method_that_a_class_inherits_is_inherited_again_after_a_compile_replaced_it() -> None:
    class Base:
        def method(self) -> int:
            return 1

    class Derived(Base):
        pass

    start = replacing.changes_now()
    original = replacing.replace(Derived, "method", lambda self: 2)
    assert original is Base.method and Derived().method() == 2
    replacing.undo_to(start)
    assert "method" not in vars(Derived)
