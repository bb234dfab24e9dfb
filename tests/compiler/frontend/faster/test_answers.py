"""What pieces ask in another way has numba's answer: a statement's variables, flags, sizes of types, colours."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterator
from types import SimpleNamespace
from typing import Any

import pytest

from gridjit.compiler.frontend.bindings.bootstrap import numba_cuda
from gridjit.compiler.frontend.bindings.replacing import changes_now, replace, undo_to
from gridjit.compiler.frontend.faster import colours, flags, sizes, variables
from gridjit.compiler.frontend.faster.flags import text_of

numba_cuda()

from llvmlite import ir as llvm  # noqa: E402
from llvmlite.binding import create_target_data  # noqa: E402
from numba.cuda.core import base, ir, ir_utils  # noqa: E402  # the first import has to come first
from numba.cuda.core.targetconfig import TargetConfig  # noqa: E402
from numba.cuda.cudadrv import nvvm  # noqa: E402
from numba.cuda.flags import CUDAFlags, Flags  # noqa: E402

HERE = ir.Loc("here.py", 1)
SCOPE = ir.Scope(parent=None, loc=HERE)


def variable(name: str) -> Any:
    return ir.Var(SCOPE, name, HERE)


A, B, C, D = map(variable, "abcd")
STATEMENTS = (
    ir.Assign(B, A, HERE),
    ir.Assign(ir.Const(3, HERE), A, HERE),
    ir.Assign(ir.Arg("x", 0, HERE), A, HERE),
    ir.Assign(ir.Expr.call(B, (C, D), (("k", A),), HERE, vararg=C), A, HERE),
    ir.Assign(ir.Expr.build_tuple([B, C], HERE), A, HERE),
    ir.Assign(ir.Expr.getattr(B, "name", HERE), A, HERE),
    ir.Assign(ir.Expr.static_getitem(B, (1, 2), C, HERE), A, HERE),
    ir.Assign(ir.Expr.build_map([(A, B), (C, D)], 2, {}, {}, HERE), A, HERE),
    ir.Assign(ir.Expr.phi(HERE), A, HERE),
    ir.Assign(ir.Yield(B, HERE, 0), A, HERE),
    ir.Return(A, HERE),
    ir.StaticRaise(ValueError, None, HERE),
    ir.Raise(A, HERE),
    ir.Branch(A, 1, 2, HERE),
    ir.Jump(1, HERE),
    ir.Del("a", HERE),
    ir.DelAttr(A, "name", HERE),
    ir.SetAttr(A, "name", B, HERE),
    ir.DelItem(A, B, HERE),
    ir.SetItem(A, B, C, HERE),
    ir.StaticSetItem(A, 1, B, C, HERE),
    ir.StoreMap(A, B, C, HERE),
    ir.Print((A, B), None, HERE),
    ir.EnterWith(A, 1, 2, HERE),
    ir.PopBlock(HERE),
)


@pytest.fixture
def faster() -> Iterator[Callable[[Any], None]]:
    """Return what puts a piece, or that of a module, in place for the rest of a test."""
    start = changes_now()
    yield lambda found: getattr(found, "PIECE", found).install(replace)
    undo_to(start)


def names(found: list[Any]) -> list[str]:
    return [one.name for one in found]


@pytest.mark.parametrize("statement", STATEMENTS, ids=lambda one: f"{type(one).__name__} {one}")
def test_the_variables_of_a_statement_are_those_that_numba_lists(statement: Any, faster: Any) -> None:
    listed, visited = names(statement.list_vars()), names(ir_utils.compat_list_vars_stmt(statement))
    faster(variables)
    assert names(statement.list_vars()) == listed
    assert names(ir_utils.compat_list_vars_stmt(statement)) == visited


def test_a_node_that_an_extension_visits_in_its_own_way_is_visited_so(
    faster: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    def visit(statement: Any, callback: Any, found: Any) -> None:
        callback(D, found)

    monkeypatch.setitem(ir_utils.visit_vars_extensions, ir.Return, visit)
    faster(variables)
    assert names(ir_utils.compat_list_vars_stmt(ir.Return(A, HERE))) == ["d"]


def made_flags() -> Any:
    made = CUDAFlags()
    made.fastmath, made.nvvm_options, made.inline = True, {"opt": 3}, "always"
    return made


@pytest.mark.parametrize("make", [CUDAFlags, Flags, made_flags, lambda: Flags(CUDAFlags()), lambda: CUDAFlags(Flags())])
def test_flags_have_the_values_and_the_hash_that_numba_finds(make: Callable[[], Any], faster: Any) -> None:
    one = make()
    values, number = list(one.values().items()), hash(one)
    faster(flags)
    assert list(one.values().items()) == values
    assert hash(one) == number
    assert one == make()


def test_flags_that_were_set_on_others_of_another_class_are_not_among_the_values(faster: Any) -> None:
    copied = Flags(made_flags())
    expected = copied.values()
    faster(flags)
    assert copied.values() == expected


def test_the_text_of_flags_is_of_their_values_now() -> None:
    one = made_flags()
    assert text_of(one) == repr(one)
    one.fastmath = False
    assert text_of(one) == repr(one)
    one.nvvm_options["opt"] = 0
    assert text_of(one) == repr(one)
    assert text_of(Flags(one)) == repr(Flags(one)) != text_of(one)
    assert text_of(None) == repr(None)


WORD, BYTES = llvm.IntType(64), llvm.IntType(8).as_pointer()
TYPES = (
    *map(llvm.IntType, (1, 8, 16, 32, 64, 128)),
    *(llvm.HalfType(), llvm.FloatType(), llvm.DoubleType(), BYTES, BYTES.as_pointer()),
    *(llvm.ArrayType(WORD, 3), llvm.VectorType(llvm.FloatType(), 4), llvm.LiteralStructType([])),
    *(llvm.LiteralStructType([llvm.IntType(8), WORD], packed=packed) for packed in (False, True)),
    llvm.LiteralStructType([BYTES, llvm.ArrayType(llvm.LiteralStructType([llvm.IntType(1), WORD]), 2)]),
)


# What is asked of a context, which would load NVVM to say it.
LAYOUT = SimpleNamespace(target_data=create_target_data(nvvm._datalayout))


def measured(type_: Any) -> tuple[int, int]:
    return base.BaseContext.get_abi_sizeof(LAYOUT, type_), base.BaseContext.get_abi_alignment(LAYOUT, type_)


@pytest.mark.parametrize("type_", TYPES, ids=str)
def test_a_types_size_and_alignment_are_those_that_llvm_says(type_: Any, faster: Any) -> None:
    expected = measured(type_)
    faster(sizes)
    assert [measured(type_), measured(type_)] == [expected, expected]


def test_llvm_is_asked_once_for_a_type_and_each_time_for_a_structure_with_a_name(
    faster: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[str] = []
    original = llvm.Type._get_ll_global_value_type

    def get(type_: Any, *args: Any) -> Any:
        asked.append(str(type_))
        return original(type_, *args)

    monkeypatch.setattr(llvm.Type, "_get_ll_global_value_type", get)
    monkeypatch.setattr(sizes, "_answers", [])
    context = llvm.global_context  # every module of the process names the types that are left in it
    monkeypatch.setattr(context, "identified_types", context.identified_types.copy())
    named_structure = context.get_identified_type("gridjit_sizes")
    named_structure.set_body(WORD, WORD)
    faster(sizes)
    for one in (WORD, WORD, named_structure, named_structure):
        base.BaseContext.get_abi_sizeof(LAYOUT, one)
    assert asked == [str(WORD), str(named_structure), str(named_structure)]


@pytest.mark.parametrize("module", ["numba.core.errors", "numba.cuda.core.errors"])
def test_errors_are_coloured_as_numba_does_without_the_terminal_being_prepared(
    module: str, faster: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    errors = importlib.import_module(module)
    if not hasattr(errors, "ColorShell"):
        pytest.skip("colorama is not installed, or the colours are turned off")
    prepared: list[object] = []
    monkeypatch.setattr(errors, "init", lambda: prepared.append(errors))
    monkeypatch.setattr(errors, "reinit", lambda: prepared.append(errors))
    expected, asked = str(errors.TypingError("words")), len(prepared)
    faster(colours)
    assert (str(errors.TypingError("words")), len(prepared)) == (expected, asked)
    assert asked


def test_numbas_own_are_back_in_their_places() -> None:
    before = (ir.Inst._rec_list_vars, ir_utils.compat_list_vars_stmt, TargetConfig.values)
    start = changes_now()
    for piece in (variables, flags):
        piece.PIECE.install(replace)
    undo_to(start)
    assert before == (ir.Inst._rec_list_vars, ir_utils.compat_list_vars_stmt, TargetConfig.values)
