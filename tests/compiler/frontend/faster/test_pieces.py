"""Faster passes: they make what numba-cuda's own make, of every kernel, and are there for a compile only."""

from __future__ import annotations

import functools
import importlib.util
import inspect
import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import BuiltinFunctionType, ModuleType
from typing import Any

import pytest

from gridjit import CompileError
from gridjit.compiler.frontend.bindings.bootstrap import numba_cuda
from gridjit.compiler.frontend.bindings.types import parse_signature
from gridjit.compiler.frontend.faster import colours, matched, operators, pieces, resolving
from gridjit.compiler.frontend.faster.piece import Piece
from gridjit.compiler.frontend.lower import lower
from gridjit.compiler.numba_state.pristine import function_at, is_pristine, record
from gridjit.compiler.values.options import Options
from gridjit.compiler.values.target import Target
from gridjit.compiler.view.config import ConfigView
from tests.programs import run_python

numba_cuda()

from numba.cuda.core.ir import Loc  # noqa: E402
from numba.cuda.extending import overload  # noqa: E402  # the first import has to come first
from numba.cuda.typing import signature  # noqa: E402

_SPEC = importlib.util.spec_from_file_location("many_kernels", Path(__file__).with_name("kernels.py"))
assert _SPEC is not None and _SPEC.loader is not None
MANY: Any = importlib.util.module_from_spec(_SPEC)
_SPEC.loader.exec_module(MANY)
AMPERE = Target(kind="ptx", arch="sm_80")
# What numba numbers as it goes: modules, functions, those that it inlines, and shared memory.
_NUMBERS = re.compile(r"\$\d+\"|B\d+v\d+|_smem_\d+|_v\d+(?=_)")
# Where it inlined something, it begins its labels with another number each time.
_LABELS = re.compile(r"\bB\d+\b")
# It indents what it says the deeper the more calls it refused before.
_INDENTED = re.compile(r"^ +", re.MULTILINE)
_COLORS = re.compile(r"\x1b\[[0-9;]*m")
NAMES = [f"{function.__name__}-{signature}" for function, signature in MANY.KERNELS]
WRONG_NAMES = [f"{function.__name__}-{signature}" for function, signature in MANY.WRONG]
# Where colorama is missing, numba has nothing that colours.
PLACES = sorted(
    {
        place
        for piece in pieces.PIECES
        for place in piece.written_for
        if piece is not colours.PIECE or function_at("numba.core.errors:ColorShell") is not None
    }
)


def ir(function: Any, signature: str) -> str:
    found, _ = lower(function, parse_signature(signature), Options(), AMPERE, (), ConfigView(None))
    labels: dict[str, str] = {}
    text = _NUMBERS.sub("#", "\n".join(found.modules))
    return _LABELS.sub(lambda found: labels.setdefault(found[0], f"B{len(labels)}"), text)


def message(function: Any, signature: str) -> str:
    with pytest.raises(CompileError) as caught:
        ir(function, signature)
    return _INDENTED.sub("", _COLORS.sub("", f"{caught.value}\n{caught.value.__cause__}"))


@contextmanager
def numbas_own_passes() -> Iterator[None]:
    """Have compiles in the block use no faster passes."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(pieces, "PIECES", ())
        yield


@pytest.mark.some(3)
@pytest.mark.parametrize("kernel", MANY.KERNELS, ids=NAMES)
def test_a_kernel_is_lowered_to_the_same_text_as_by_numbas_own_passes_at_first_and_later(
    kernel: tuple[Any, str],
) -> None:
    with numbas_own_passes():
        expected = ir(*kernel)
    assert [ir(*kernel), ir(*kernel)] == [expected, expected]


@pytest.mark.some(2)
@pytest.mark.parametrize("kernel", MANY.WRONG, ids=WRONG_NAMES)
def test_a_wrong_kernel_is_refused_in_the_words_of_numbas_own_passes(kernel: tuple[Any, str]) -> None:
    with numbas_own_passes():
        expected = message(*kernel)
    assert message(*kernel) == expected


@pytest.mark.parametrize("place", PLACES)
def test_each_piece_was_written_for_the_numba_cuda_that_is_installed(place: str) -> None:
    records = next(piece.written_for[place] for piece in pieces.PIECES if place in piece.written_for)
    assert is_pristine({place: records})


@pytest.mark.parametrize("piece", pieces.PIECES, ids=lambda piece: piece.name)
def test_a_piece_replaces_only_functions_whose_text_it_was_written_for(piece: Piece) -> None:
    if not is_pristine(piece.written_for):
        pytest.skip("another numba-cuda, or one without what this piece makes faster")
    known = {function for place in piece.written_for if (function := plain(function_at(place))) is not None}
    replaced: list[Any] = []

    def replace(owner: Any, name: str, value: Any) -> Any:
        replaced.append(inspect.getattr_static(owner, name))
        return getattr(owner, name)

    piece.install(replace)
    assert replaced
    assert [one for one in replaced if not {*functions_of(one)} <= known] == []


def functions_of(value: Any) -> list[Any]:
    """Return a function, or those that a class has of its own."""
    held = vars(value).values() if isinstance(value, type) else (value,)
    return [plain(one) for one in held if inspect.isfunction(plain(one))]


def plain(value: Any) -> Any:
    """Return the function of a class method, a static method or a context manager; others as they are."""
    if getattr(value, "__code__", None) is contextmanager(iter).__code__:
        return value.__wrapped__
    return getattr(value, "__func__", value)


def test_a_piece_stays_out_where_another_function_stands_in_the_place_of_numbas(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    theirs: list[Any] = []
    original = Loc.with_lineno

    def with_lineno(place: Any, line: Any, col: Any = None) -> Any:
        theirs.append(line)
        return original(place, line, col)

    monkeypatch.setattr(Loc, "with_lineno", with_lineno)
    ir(MANY.operators, "void(int64[::1], float64[::1])")
    assert theirs


def test_a_piece_stays_out_where_the_text_of_a_function_goes_on_after_what_it_was_written_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = "def known(x):\n    y = x\n    return y\n"
    longer = text + "    # and more\n    yield y\n"
    assert _is_known(tmp_path / "short_text.py", text, monkeypatch)
    assert not _is_known(tmp_path / "longer_text.py", longer, monkeypatch)


def _is_known(path: Path, text: str, monkeypatch: pytest.MonkeyPatch) -> bool:
    """Return whether a function of a module with this text is the one that has three lines."""
    path.write_text(text)
    monkeypatch.syspath_prepend(str(path.parent))
    place = f"{path.stem}:known"
    return is_pristine({place: (record(function_at(place).__code__, 3),)})


def test_a_function_that_was_known_is_looked_at_again_wherever_something_else_may_have_taken_its_place(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    class Base:
        def known(self) -> None:
            pass

    class Derived(Base):
        pass

    module = ModuleType("looked_at_again")
    vars(module).update(Derived=Derived)
    monkeypatch.setitem(sys.modules, module.__name__, module)
    records = {"looked_at_again:Derived.known": (record(Base.known.__code__, 2),)}

    def known() -> list[bool]:
        return [is_pristine(records) for _ in range(2)]

    assert known() == [True, True]
    for owner, name, value in (
        (Base, "known", known),
        (Derived, "known", known),
        (Base.known, "__code__", (lambda self: None).__code__),
        (module, "Derived", type("Other", (), {"known": known})),
    ):
        with monkeypatch.context() as patch:
            patch.setattr(owner, name, value, raising=False)
            assert known() == [False, False]
        assert known() == [True, True]
    monkeypatch.setitem(sys.modules, module.__name__, ModuleType("another"))
    assert known() == [False, False]


def test_python_functions_are_taken_for_values_first_where_an_extension_has_a_type_for_them(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    from numba.cuda.typing import typeof

    theirs = functools.singledispatch(inspect.unwrap(typeof.typeof_impl))
    theirs.register(BuiltinFunctionType)(lambda value, context: None)
    replaced: list[str] = []
    operators.FUNCTIONS.install(lambda owner, name, value: replaced.append(name))
    assert replaced == ["resolve_value_type"]
    monkeypatch.setattr(typeof, "typeof_impl", theirs)
    operators.FUNCTIONS.install(lambda owner, name, value: replaced.append(name))
    assert replaced == ["resolve_value_type"]


def test_numbas_own_functions_are_in_their_places_after_a_compile() -> None:
    before = [function_at(place) for place in PLACES]
    ir(*MANY.KERNELS[0])
    with pytest.raises(CompileError):
        ir(*MANY.WRONG[0])
    assert [function_at(place) for place in PLACES] == before


def test_a_call_that_an_earlier_compile_resolved_tries_only_the_template_that_matched(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    tried: list[Any] = []
    original = resolving._applied

    def applied(template: Any, args: Any, kws: Any) -> Any:
        found = original(template, args, kws)
        tried.append((type(template), found[0]))
        return found

    monkeypatch.setattr(resolving, "_applied", applied)
    matched._kept.clear()
    first = ir(MANY.floats, "void(float64[::1], float64[::1])")
    refused = [one for one, signature in tried if signature is None]
    tried.clear()
    assert ir(MANY.floats, "void(float64[::1], float64[::1])") == first
    assert refused
    assert [one for one, signature in tried if signature is None] == []


# A program of its own: numba-cuda does not forget what was registered for a function, and other tests call it.
IMPLEMENTED_LATER = """
import math
import numpy as np
import gridjit
from numba.cuda.extending import overload

def calls(x):
    x[0] = math.lgamma(x[0])

def called(x):
    x = np.full(1, x)
    gridjit.jit(calls, target="host", cache=False)[1, 1](x)
    return x[0]

assert [called(1.0), called(1.0)] == [0.0, 0.0]
overload(math.lgamma, target="cuda")(lambda x: lambda x: x + 4096.0)
assert [called(1.0), called(1.0)] == [4097.0, 4097.0]
"""


def test_a_call_is_resolved_anew_after_an_extension_implemented_it_for_this_target(tmp_path: Path) -> None:
    (program := tmp_path / "program.py").write_text(IMPLEMENTED_LATER)
    done = run_python(program)
    assert (done.returncode, done.stderr) == (0, "")


def changing(x):
    """Stand for what is overloaded."""


def test_an_extensions_overload_is_asked_as_often_as_by_numbas_own_passes(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[Any] = []

    @overload(changing)
    def implementation(x):
        asked.append(x)
        return signature(x, x), lambda x: x  # which numba does not keep

    def calls(x):
        x[0] = changing(x[0]) + changing(x[1]) + changing(2)

    ir(calls, "void(float64[::1])")
    times = len(asked)
    monkeypatch.setattr(pieces, "PIECES", ())
    ir(calls, "void(float64[::1])")
    assert len(asked) == 2 * times
    assert times > 3


def adding(x):
    """Stand for what is overloaded by an overload that adds another."""


def test_what_an_extension_registers_while_a_kernel_compiles_is_found_in_that_compile() -> None:
    @overload(adding)
    def implementation(x):
        overload(added_later)(lambda x: lambda x: x + 1)
        return lambda x: added_later(x)

    def calls(x):
        x[0] = adding(x[0])

    assert "added_later" not in ir(MANY.floats, "void(float32[::1], float32[::1])")
    assert "define" in ir(calls, "void(float64[::1])")


def added_later(x):
    """Stand for what is overloaded by an overload."""
