"""LLVM IR is printed faster, and as the very text that llvmlite makes of it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from gridjit.compiler.frontend.bindings.bootstrap import numba_cuda
from gridjit.compiler.frontend.bindings.replacing import changes_now, replace, undo_to
from gridjit.compiler.frontend.faster import printing

numba_cuda()

from llvmlite import ir  # noqa: E402  # numba comes first

WORD, SHORT, REAL = ir.IntType(64), ir.IntType(32), ir.DoubleType()
PAIR = ir.LiteralStructType([WORD, ir.ArrayType(REAL, 2)])
SHARED = ir.PointerType(WORD, addrspace=3)


@pytest.fixture
def faster() -> Iterator[Callable[[], None]]:
    """Return what has instructions printed faster for the rest of a test."""
    start = changes_now()
    yield lambda: printing.PIECE.install(replace)
    undo_to(start)


class _Loud(ir.IntType):
    """A type of an extension's, with a text of its own around llvmlite's."""

    def __str__(self) -> str:
        return f"{super().__str__()}_loud"


class _LoudLoad(ir.instructions.LoadInstr):
    """An instruction of an extension's, which is described and referred to in its own way."""

    def descr(self, buf: list[str]) -> None:
        buf.append("load loudly\n")

    def get_reference(self) -> str:
        return f"{super().get_reference()}!"


def _values(builder: Any, x: Any, y: Any, z: Any) -> None:
    """Build operations on numbers, with and without flags."""
    builder.add(x, y, name="sum", flags=("nsw",))
    builder.mul(x, ir.Constant(WORD, -3), name="product", flags=["nuw", "nsw"])
    builder.add(x, y, name="sum")
    builder.fadd(z, ir.Constant(REAL, 0.1), flags=("fast",))
    builder.fsub(z, ir.Constant(REAL, ir.Undefined))
    builder.neg(x, name='a "quoted" \\ name')
    builder.icmp_signed("<", x, y)
    builder.icmp_unsigned("!=", x, ir.Constant(WORD, 0), name="differs")
    builder.fcmp_ordered("==", z, z, flags=["nnan", "ninf"])
    builder.fcmp_unordered("<", z, ir.Constant(REAL, float("inf")))
    builder.select(builder.icmp_signed(">", x, y), x, y, name="larger")
    builder.select(ir.Constant(ir.IntType(1), 1), z, z, flags=("fast",))
    for convert, value, kind in (
        *((builder.trunc, x, SHORT), (builder.sitofp, x, REAL), (builder.fptosi, z, SHORT)),
        *((builder.inttoptr, x, WORD.as_pointer()), (builder.bitcast, z, WORD), (builder.zext, x, ir.IntType(128))),
    ):
        convert(value, kind)
    builder.extract_element(ir.Constant(ir.VectorType(REAL, 2), [1.0, 2.0]), ir.Constant(SHORT, 1))
    builder.add(ir.Constant(ir.VectorType(SHORT, 2), [1, 2]), ir.Constant(ir.VectorType(SHORT, 2), None))


def _memory(builder: Any, x: Any, z: Any, shared: Any) -> None:
    """Build accesses to memory and to structures."""
    pair = builder.alloca(PAIR, name="pair")
    builder.alloca(WORD, size=ir.Constant(SHORT, 4), name="four").align = 16
    builder.store(x, builder.gep(pair, [ir.Constant(SHORT, 0)] * 2, inbounds=True), align=8)
    builder.store(z, builder.gep(pair, [ir.Constant(SHORT, 0), ir.Constant(SHORT, 1), ir.Constant(SHORT, 0)]))
    loaded = builder.load(pair, name="loaded")
    builder.load(shared, align=4)
    builder.load(ir.Constant(WORD.as_pointer(), None)).set_metadata("range", builder.module.add_metadata([x.type(1)]))
    builder.load_atomic(shared, "acquire", 8)
    builder.atomic_rmw("add", shared, x, "monotonic")
    builder.cmpxchg(shared, x, x, "seq_cst")
    first = builder.insert_value(loaded, x, 0)
    second = builder.insert_value(first, z, [1, 1], name="second")
    builder.extract_value(second, [1, 0], name="part")
    builder.extract_value(ir.Constant(PAIR, ir.Undefined), 0)


def _extensions(builder: Any, x: Any) -> None:
    """Build what an extension may have classes of its own for."""
    loud = builder.alloca(_Loud(7), name="loud")
    str(loud.type), ir.IntType.__str__(loud.allocated_type)
    found = builder.load(loud)
    builder.add(found, found)
    own = _LoudLoad(builder.block, builder.alloca(WORD), name="own")
    own.align = None
    own.get_reference()
    builder._insert(own)
    builder.add(own, x)


def made() -> Any:
    """Return a module with instructions of all kinds."""
    module = ir.Module("printed")
    arguments = [WORD, WORD, REAL, SHARED]
    function = ir.Function(module, ir.FunctionType(WORD, arguments), name="f")
    entry, loop, end = map(function.append_basic_block, ("entry", 'odd "name"', "end"))
    x, y, z, shared = function.args
    builder = ir.IRBuilder(entry)
    _values(builder, x, y, z)
    _memory(builder, x, z, shared)
    _extensions(builder, x)
    builder.call(function, [x, y, z, shared], tail=True, name="called")
    builder.call(ir.InlineAsm(ir.FunctionType(ir.VoidType(), [WORD]), "nop", "r", side_effect=True), [x])
    builder.comment("said")
    builder.branch(loop)
    builder.position_at_end(loop)
    phi = builder.phi(WORD, name="phi")
    phi.add_incoming(x, entry)
    phi.add_incoming(phi, loop)
    builder.cbranch(builder.icmp_signed("<", phi, y), loop, end).set_weights([1, 2])
    builder.position_at_end(end)
    builder.fence("seq_cst")
    builder.ret(phi)
    return module


def test_a_module_is_printed_as_llvmlite_prints_it(faster: Callable[[], None]) -> None:
    expected, module = str(made()), made()
    faster()
    assert str(module).splitlines() == expected.splitlines()
    assert str(module) == expected


def test_most_instructions_are_printed_without_llvmlite(faster: Callable[[], None]) -> None:
    asked = []
    original = ir.instructions.Instruction._to_string
    faster()
    replace(ir.instructions.Instruction, "_to_string", lambda one: asked.append(one.opname) or original(one))
    count = str(made()).count("\n  ")
    assert "getelementptr" not in asked and "add" not in asked and "load atomic" in asked
    assert len(asked) < count / 2


def test_what_llvmlite_printed_before_stays_as_it_was_printed(faster: Callable[[], None]) -> None:
    def changed(then: Callable[[], None]) -> str:
        module = made()
        by_name = {one.name: one for one in module.functions[0].blocks[0].instructions}
        told = str(by_name["pair"]), by_name["four"].get_reference()
        then()
        for name in ("pair", "four", "product"):
            by_name[name]._name = f"{name} renamed"
        return f"{told}{module}"

    expected = changed(lambda: None)
    assert changed(faster) == expected
    assert [name for name in ("pair", "four", "product") if f"{name} renamed" in expected] == ["product"]


def test_what_is_printed_faster_stays_as_it_was_printed(faster: Callable[[], None]) -> None:
    faster()
    module = made()
    before = str(module)
    module.functions[0].blocks[0].instructions[0]._name = "sum renamed"
    assert str(module) == before
