"""What is done with fewer calls has numba-cuda's result: names, places, warnings, events."""

from __future__ import annotations

import random
import warnings
from collections.abc import Callable, Iterator
from types import SimpleNamespace
from typing import Any

import pytest

from gridjit.compiler.frontend.bindings.bootstrap import numba_cuda
from gridjit.compiler.frontend.bindings.replacing import changes_now, replace, undo_to
from gridjit.compiler.frontend.faster import instructions, lines, liveness, pass_runs, warned

numba_cuda()

from llvmlite import ir as llvm  # noqa: E402
from numba.cuda.compiler import run_frontend  # noqa: E402
from numba.cuda.core import analysis, errors, event, typeinfer, untyped_passes  # noqa: E402
from numba.cuda.core.compiler_machinery import FunctionPass, PassManager, register_pass  # noqa: E402
from numba.cuda.core.controlflow import CFGraph  # noqa: E402
from numba.cuda.core.ir import Assign, Block, Del, Loc, Scope, Var  # noqa: E402
from numba.cuda.flags import CUDAFlags  # noqa: E402


@pytest.fixture
def faster() -> Iterator[Callable[[Any], None]]:
    """Return what puts a module's piece in place for the rest of a test."""
    start = changes_now()
    yield lambda found: found.PIECE.install(replace)
    undo_to(start)


def named_alike() -> str:
    """Return the text of a function whose instructions ask for names that others have."""
    module = llvm.Module()
    double = llvm.DoubleType()
    function = llvm.Function(module, llvm.FunctionType(double, (double, double)), name="f")
    builder = llvm.IRBuilder(function.append_basic_block("entry"))
    first, second = function.args
    made = [builder.fadd(first, second, name=name) for name in ("x", "x.1", "x", "x", "", "", "x.1", "a\\b", "a\\b")]
    slot = builder.alloca(double, name="x")
    builder.store(builder.fmul(made[0], made[-1], flags=("fast",)), slot)
    with builder.if_then(builder.fcmp_ordered("<", first, second)):
        builder.ret(made[2])
    builder.ret(builder.load(slot, name="x"))
    return str(module)


def test_instructions_get_the_names_that_llvmlite_gives_them(faster: Any) -> None:
    expected = named_alike()
    faster(instructions)
    assert named_alike() == expected


def test_an_instruction_of_what_is_not_a_type_is_refused_as_by_llvmlite(faster: Any) -> None:
    faster(instructions)
    function = llvm.Function(llvm.Module(), llvm.FunctionType(llvm.VoidType(), ()), name="f")
    with pytest.raises(AssertionError):
        llvm.Instruction(function.append_basic_block(), "double", "fadd", ())


def test_the_place_of_another_line_is_that_which_numba_makes(faster: Any) -> None:
    place = Loc("here.py", 3, 4, maybe_decorator=True)
    place.get_lines()
    expected = [vars(place.with_lineno(7)), vars(place.with_lineno(7, 2)), vars(place.with_lineno(line=8, col=1))]
    faster(lines)
    assert [
        vars(place.with_lineno(7)),
        vars(place.with_lineno(7, 2)),
        vars(place.with_lineno(line=8, col=1)),
    ] == expected


def warnings_of_a_round() -> tuple[list[str], list[tuple[Any, ...]], list[str], list[str]]:
    """Return which constraints ran, what is kept of their warnings, which others come at once, and the errors."""
    ran: list[str] = []
    fixer = errors.WarningsFixer(errors.NumbaWarning)

    def constraint(name: str, line: int, act: Callable[[], object]) -> Any:
        class Constraint:
            loc = Loc("users.py", line)

            def __call__(self, inference: Any) -> None:
                ran.append(name)
                act()

        return Constraint()

    def fail() -> None:
        warnings.warn("before it failed", errors.NumbaWarning, stacklevel=1)
        raise errors.TypingError("not typed")

    network = typeinfer.ConstraintNetwork()
    for name, line, act in (
        ("quiet", 1, lambda: None),
        ("numbas", 2, lambda: warnings.warn("slow", errors.NumbaWarning, stacklevel=1)),
        ("numbas again", 3, lambda: [warnings.warn("slow", errors.NumbaWarning, stacklevel=1) for _ in range(2)]),
        ("another", 4, lambda: warnings.warn("a user's", UserWarning, stacklevel=1)),
        ("adds", 5, lambda: network.append(constraint("added", 7, lambda: None))),
        ("fails", 6, fail),
    ):
        network.append(constraint(name, line, act))
    with warnings.catch_warnings(record=True) as others:
        warnings.simplefilter("always")
        found = network.propagate(SimpleNamespace(warnings=fixer))
    kept = sorted((*place, *sorted(texts)) for place, texts in fixer._warnings.items())
    return ran, kept, [str(one.message) for one in others], [str(one) for one in found]


def test_warnings_of_constraints_are_kept_with_their_places_and_others_passed_on_as_by_numba(faster: Any) -> None:
    expected = warnings_of_a_round()
    assert len(expected[1]) == 3
    assert expected[0][-1] == "added"
    faster(warned)
    assert warnings_of_a_round() == expected


@register_pass(mutates_CFG=False, analysis_only=False)
class EndsAVariable(FunctionPass):
    """A pass that leaves behind what no pass may."""

    _name = "ends_a_variable"

    def __init__(self) -> None:
        FunctionPass.__init__(self)

    def run_pass(self, state: Any) -> Any:
        if state.returned is True:
            block = next(iter(state.func_ir.blocks.values()))
            block.body.insert(0, Del("x", loc=block.loc))
        if isinstance(state.returned, Exception):
            raise state.returned
        return state.returned


def passed(returned: Any) -> tuple[str, list[str]]:
    """Return how a pass that returns this, or raises it, ends, and what is timed."""

    def function(x: Any) -> Any:
        return x

    manager = PassManager("test")
    manager.add_pass(EndsAVariable, "ends a variable")
    manager.finalize()
    made = run_frontend(function)
    state = SimpleNamespace(
        func_id=made.func_id, func_ir=made, flags=CUDAFlags(), args=(), return_type=None, returned=returned
    )
    try:
        manager.run(state)
    except Exception as error:
        return f"{type(error).__name__}: {error}", [*manager.exec_times]
    return "it ended", [*manager.exec_times]


@pytest.mark.parametrize(
    "make",
    [lambda: True, lambda: False, lambda: None, lambda: errors.TypingError("not typed"), lambda: KeyError("x")],
    ids=["changed", "unchanged", "says nothing", "refuses", "fails"],
)
def test_a_pass_ends_as_numba_has_it_end(make: Callable[[], Any], faster: Any) -> None:
    expected = passed(make())
    faster(pass_runs)
    assert passed(make()) == expected


def test_those_who_listen_to_the_events_of_passes_hear_of_each(faster: Any) -> None:
    faster(pass_runs)
    with event.install_recorder("numba-cuda:run_pass") as heard:
        passed(False)
    assert [one.data["name"].partition(" ")[0] for _, one in heard.buffer] == ["ends_a_variable"] * 2


def test_variables_are_alive_where_numba_finds_them_alive() -> None:
    draw = random.Random(3)
    for count in (1, 2, 5, 12, 40):
        for _ in range(20):
            blocks = dict.fromkeys(range(count), None)
            cfg = CFGraph()
            for block in blocks:
                cfg.add_node(block)
            for block in range(1, count):
                cfg.add_edge(draw.randrange(block), block)
            for _ in range(count // 2):
                cfg.add_edge(draw.randrange(count), draw.randrange(count))
            cfg.set_entry_point(0)
            cfg.process()
            uses, defines = (
                {block: {*draw.choices("abcdefgh", k=draw.randrange(4))} for block in blocks} for _ in "12"
            )
            assert liveness.compute_live_map(cfg, blocks, uses, defines) == analysis.compute_live_map(
                cfg, blocks, uses, defines
            )


def test_every_scope_has_every_variable_that_a_block_mentions(faster: Any) -> None:
    place, scopes = Loc("here.py", 1), [Scope(None, Loc("here.py", 1)) for _ in range(2)]

    def defined() -> list[dict[str, Any]]:
        blocks = {at: Block(scope, place) for at, scope in enumerate([scopes[0], scopes[1], scopes[0]])}
        for at, block in blocks.items():
            target = Var(block.scope, f"a{at}", place)
            block.append(Assign(Var(block.scope, "x", place), target, place))
        untyped_passes.fixup_var_define_in_scope(blocks)
        return [{name: one.name for name, one in block.scope.localvars._con.items()} for block in blocks.values()]

    expected = defined()
    assert set(expected[0]) == {"a0", "a1", "a2", "x"}
    for scope in scopes:
        scope.localvars._con.clear()
    faster(liveness)
    assert defined() == expected
