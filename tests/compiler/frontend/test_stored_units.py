"""What the front end made of device functions is used by other processes, as long as it is what they would make."""

from __future__ import annotations

import contextlib
import functools
import operator
import sys
import types
from collections.abc import Callable, Iterator

import pytest

from gridjit.compiler.frontend import lower
from gridjit.compiler.numba_state import mark, text
from gridjit.compiler.numba_state.survey import Survey
from gridjit.compiler.numba_state.text import numbas_text
from gridjit.compiler.numba_state.within import Within
from gridjit.compiler.values.errors import CompileError
from gridjit.compiler.values.options import Options
from gridjit.compiler.values.target import Target
from gridjit.runtime.simulated import under_numba
from tests.compiler.frontend.making import HOPPER, HOST, Made, begin_anew, everything_of, look_anew
from tests.compiler.frontend.shelves import NAME, DictShelf, made_by, program


@pytest.fixture(autouse=True)
def settings(monkeypatch: pytest.MonkeyPatch) -> Iterator[types.ModuleType]:
    """Let programs import a module of settings, and leave none of them behind.

    They are processes in which nobody changed numba yet, whatever other tests did to modules that compiles imported.
    """
    monkeypatch.setattr(mark, "_later_was_changed", [])
    module = types.ModuleType("settings_of_shelves")
    module.STEP = 3  # type: ignore[attr-defined]
    sys.modules[module.__name__] = module
    yield module
    for name in (module.__name__, NAME):
        sys.modules.pop(name, None)


def function(name: str, value: str, given: str = "value", options: str = "device=True") -> str:
    return f"@gridjit.jit({options})\ndef {name}({given}):\n    return {value}\n\n"


def kernel(value: str) -> str:
    return f"def kernel(x):\n    i = cuda.grid(1)\n    x[i] = {value}\n"


BODIES = {
    "numbers": "A, B = 2.5, (1, 4)\n" + function("f", "value * A + B[1]") + kernel("f(x[i])"),
    "defaults": function("f", "value + by", "value, by=4") + kernel("f(x[i]) + f(x[i], 2) + f(1, by=3)"),
    "callees": function("f", "value + 1") + function("g", "f(value) * f(2)") + kernel("g(x[i]) + f(x[i])"),
    "arrays": "T = np.array([1.0, 4.0])\n"
    + function("f", "T[value] + cuda.const.array_like(T)[0]")
    + kernel("f(i) + x[i]"),
    "attributes": "import settings_of_shelves as s\n" + function("f", "value + s.STEP + math.pi") + kernel("f(x[i])"),
    "numba's own": function("f", "round(value, 2) + value ** 3 + min(value, 3.0)")
    + kernel("f(x[i]) + round(x[i], 2) + x[i] ** 3"),
    "launches": function("f", "value * gridjit.static.blockDim.x") + kernel("f(x[i])"),
    "exceptions": "@gridjit.jit(device=True)\ndef f(value):\n"
    "    if value > 3:\n        raise ValueError('large')\n    return value\n\n" + kernel("f(x[i])"),
    "closures": "def make(n):\n    @gridjit.jit(device=True)\n    def f(value):\n"
    "        return value + n\n    return f\n\n"
    "f, g = make(1), make(2)\n" + kernel("f(x[i]) * g(x[i])"),
    "shared arrays": "@gridjit.jit(device=True)\ndef f(x, i):\n    t = cuda.shared.array(6, np.float64)\n"
    "    t[0] = x[i]\n    cuda.syncthreads()\n    return t[i % 3], i > 2\n\n" + kernel("f(x, i)[0]"),
    "records": "R = np.dtype([('a', np.float32), ('b', np.int64)], align=True)\n"
    "@gridjit.jit(device=True)\ndef f(t, value):\n    t[0].a = value\n    return t[0].a + t[0]['b']\n\n"
    "@gridjit.jit(device=True)\ndef g(value):\n    t = cuda.local.array(2, R)\n"
    "    t[0].b = 3\n    return f(t, value)\n\n" + kernel("g(x[i])"),
    "kernel's own": "A = 2\n" + function("f", "value + 1") + kernel("f(x[i]) * A + gridjit.static.blockDim.x"),
    "numba-cuda's decorator": "from numba import cuda as theirs\n\n@theirs.jit(device=True)\ndef f(value):\n"
    "    return value + 1\n\n" + kernel("f(x[i])"),
}


@pytest.mark.each_value_once
@pytest.mark.parametrize("target", [HOST, HOPPER], ids=str)
@pytest.mark.parametrize("name", BODIES)
def test_a_kernel_with_functions_from_disk_is_the_same_as_one_compiled_whole(name: str, target: Target) -> None:
    shelf, text = DictShelf(), BODIES[name]
    made_by(program(text), shelf, target=target)
    module = program(text)
    functions = "fg" if name == "callees" else "f"  # of a structured dtype, as one takes, nothing is told
    assert_whole_with(made_by(module, shelf, target=target), made_by(module, None, target=target), functions)


# What is changed between two processes, and which functions the second still takes from disk.
CHANGES = {
    "a global": ("numbers", "A, B = 2.5,", "A, B = 3.5,", ""),
    "a tuple": ("numbers", "(1, 4)", "(1, 5)", ""),
    "the type of a global": ("numbers", "A, B = 2.5,", "A, B = np.float32(2.5),", ""),
    "a global of no interest": ("numbers", "A, B =", "C = 1\nA, B =", "f"),
    "comments and empty lines": ("numbers", "@gridjit", "# that is f\n\n\n@gridjit", "f"),
    "code": ("numbers", "value * A", "value - A", ""),
    "the kernel": ("numbers", "x[i] = ", "x[i] = 1 + ", "f"),
    "a kernel's global": ("kernel's own", "A = 2", "A = 3", "f"),
    "a default": ("defaults", "by=4", "by=5", "f"),
    "a parameter's name": ("defaults", "by", "of", ""),
    "a default of another type": ("defaults", "by=4", "by=4.0", "f"),
    "a callee's code": ("callees", "value + 1", "value + 7", "g"),
    "a callee's result": ("callees", "value + 1", "int(value)", ""),
    "a callee's options": (
        "callees",
        "@gridjit.jit(device=True)\ndef f",
        "@gridjit.jit(device=True, fastmath=True)\ndef f",
        "",
    ),
    "a caller": ("callees", "f(value) *", "1 + f(value) *", "f"),
    "another function of that name": (
        "callees",
        "@gridjit.jit(device=True)\ndef g",
        "f = max\n\n@gridjit.jit(device=True)\ndef g",
        None,
    ),
    "an array's content": ("arrays", "[1.0, 4.0]", "[1.0, 5.0]", ""),
    "an array's type": ("arrays", "[1.0, 4.0]", "[1, 4]", ""),
    "an array's access": ("arrays", "4.0])", "4.0])\nT.flags.writeable = False", ""),
    "a module": ("attributes", "import settings_of_shelves as s", "import math as s\ns = math", None),
    "what a name of a library's is": ("numba's own", "min(value", "max(value", ""),
    "a global in place of a builtin": ("numba's own", "@gridjit", "min = max\n\n@gridjit", ""),
    "a variable of a closure": ("closures", "make(2)", "make(3)", "f"),
    "what is raised": ("exceptions", "ValueError", "KeyError", ""),
    "where it is raised": ("exceptions", "@gridjit", "\n\n@gridjit", ""),
    "an option": ("numbers", "device=True", "device=True, fastmath=True", ""),
    "inlining": ("numbers", "device=True", "device=True, forceinline=True", ""),
    "an array's extent": ("shared arrays", "array(6,", "array(7,", ""),
    "a field's type": ("records", "np.int64", "np.int32", ""),
}


@pytest.mark.some(5)
@pytest.mark.parametrize("change", CHANGES)
def test_what_is_changed_between_two_processes_counts_in_the_second(change: str) -> None:
    name, before, after, expected = CHANGES[change]
    text, shelf = BODIES[name], DictShelf()
    assert before in text
    made_by(program(text), shelf)
    module = program(text.replace(before, after))
    try:
        whole = made_by(module, None)
    except Exception as error:
        with pytest.raises(type(error)):
            made_by(module, shelf)
        return
    assert_whole_with(made_by(module, shelf), whole, expected)


def test_a_module_attribute_that_another_process_has_otherwise_counts(settings: types.ModuleType) -> None:
    shelf, text = DictShelf(), BODIES["attributes"]
    made_by(program(text), shelf)
    settings.STEP = 4  # type: ignore[attr-defined]
    module = program(text)
    assert_whole_with(made_by(module, shelf), made_by(module, None), "")
    settings.STEP = 3  # type: ignore[attr-defined]
    module = program(text)
    assert_whole_with(made_by(module, shelf), made_by(module, None), "f")


@pytest.mark.parametrize("target", [HOST, HOPPER], ids=str)
def test_a_kernel_whose_callee_was_edited_is_not_compiled_itself(
    target: Target, monkeypatch: pytest.MonkeyPatch
) -> None:
    shelf, text = DictShelf(), BODIES["kernel's own"]
    made_by(program(text), shelf, target=target)
    module = program(text.replace("value + 1", "value + 2"))
    whole = made_by(module, None, target=target)
    monkeypatch.delattr(lower, "_run_pipeline")
    assert_whole_with(made_by(module, shelf, target=target), whole, "")


def test_each_launch_finds_what_was_made_for_one_like_it() -> None:
    text = BODIES["launches"] + BODIES["kernel's own"].replace("f(", "g(").replace("x[i]) *", "f(x[i])) *")
    shelf = DictShelf()
    for block in (32, 64):
        assert "f" not in made_by(program(text), shelf, block=block).reused
    for block, expected in ((32, "fg"), (64, "fg"), (128, "g")):
        module = program(text)
        assert_whole_with(made_by(module, shelf, block=block), made_by(module, None, block=block), expected)


def test_another_kernel_takes_the_functions_that_it_shares() -> None:
    shelf = DictShelf()
    made_by(program(BODIES["callees"]), shelf)
    module = program(function("f", "value + 1") + function("h", "f(value) - 1") + kernel("h(x[i]) / f(x[i])"))
    assert_whole_with(made_by(module, shelf), made_by(module, None), "f")


def test_what_surrounds_a_compile_counts() -> None:
    text, held = BODIES["numbers"], dict[str, bytes]()
    made_by(program(text), DictShelf("one", held))
    assert not made_by(program(text), DictShelf("other", held)).reused
    assert made_by(program(text), DictShelf("one", held)).reused == {"f"}
    assert not made_by(program(text), DictShelf("one", held), target=Target(kind="ptx", arch="sm_80")).reused
    assert not made_by(program(text), DictShelf("one", held), options=Options(debug=True, opt=False)).reused


@pytest.mark.some(1)
@pytest.mark.parametrize("value", [7, "text", min])
def test_settings_of_numbas_modules_count(value: object, monkeypatch: pytest.MonkeyPatch) -> None:
    from numba.cuda import cudaimpl

    text, shelf = BODIES["numbers"], DictShelf()
    made_by(program(text), shelf)
    monkeypatch.setattr(cudaimpl, "normalize_indices", value)
    assert not made_by(program(text), shelf).reused
    monkeypatch.undo()
    assert made_by(program(text), shelf).reused == {"f"}


def other_operator(patch: pytest.MonkeyPatch) -> None:
    from numba.cuda import utils

    patch.setitem(utils.BINOPS_TO_OPERATORS, "+", operator.sub)


def other_type(patch: pytest.MonkeyPatch) -> None:
    from numba.cuda import types

    patch.setattr(types, "float64", types.float32)


def other_default(patch: pytest.MonkeyPatch) -> None:
    from numba.cuda import cgutils

    patch.setattr(cgutils.alloca_once, "__defaults__", (None, "other", False))


def other_constants(patch: pytest.MonkeyPatch) -> None:
    from numba.cuda import cgutils

    code = cgutils.pack_array.__code__
    patch.setattr(cgutils.pack_array, "__code__", code.replace(co_consts=(*code.co_consts, 77)))


def other_class(patch: pytest.MonkeyPatch) -> None:
    from numba.cuda import compiler

    patch.setattr(compiler, "CUDACompiler", type("Mine", (compiler.CUDACompiler,), {"__module__": "aprogram"}))


def other_closure(patch: pytest.MonkeyPatch) -> None:
    from numba.cuda import cgutils

    cell = next(one for one in cgutils.for_range.__closure__ or () if callable(one.cell_contents))
    patch.setattr(cell, "cell_contents", cgutils.for_range_slice.__wrapped__)


PATCHES = (other_operator, other_type, other_default, other_constants, other_class, other_closure)


@pytest.mark.some(2)
@pytest.mark.parametrize("change", PATCHES, ids=lambda one: one.__name__)
def test_what_a_process_that_changed_numba_finds_is_not_from_one_that_did_not(
    change: Callable[[pytest.MonkeyPatch], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    text, shelf = BODIES["numbers"], DictShelf()
    made_by(program(text), shelf)
    change(monkeypatch)
    look_anew(monkeypatch)  # as in a process that began with the change
    with contextlib.suppress(CompileError):
        assert not made_by(program(text), shelf).reused
    monkeypatch.undo()
    assert made_by(program(text), shelf).reused == {"f"}


@pytest.mark.some(1)
@pytest.mark.parametrize("first_meets_a_callee", [True, False])
def test_a_process_whose_first_kernel_calls_nothing_and_another_leave_the_same_functions(
    first_meets_a_callee: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    text, shelf = BODIES["numba's own"], DictShelf()
    for has_begun in (first_meets_a_callee, not first_meets_a_callee):
        begin_anew(monkeypatch)
        if has_begun:
            made_by(program(kernel("x[i] + 1")), shelf)
        found = made_by(program(text), shelf)
    assert found.reused == {"f"}


def test_nothing_is_taken_or_left_while_a_programs_code_stands_in_numbas_place(monkeypatch: pytest.MonkeyPatch) -> None:
    from numba.cuda import cudaimpl

    text, shelf = BODIES["numbers"], DictShelf()
    monkeypatch.setattr(cudaimpl, "normalize_indices", lambda *given: given)
    made_by(program(text), shelf)
    assert not shelf.held
    monkeypatch.undo()
    made_by(program(text), shelf)
    monkeypatch.setattr(cudaimpl, "normalize_indices", lambda *given: given)
    assert not made_by(program(text), shelf).reused


def test_a_gpu_that_the_host_stands_in_for_leaves_what_is_kept_as_it_is() -> None:
    text, shelf = BODIES["numbers"], DictShelf()
    under_numba.displace()
    made_by(program(text), shelf)
    under_numba.place()
    try:
        assert made_by(program(text), shelf).reused == {"f"}
    finally:
        under_numba.displace()


SYNCED = "@gridjit.jit(device=True)\ndef f(value):\n    cuda.cg.this_grid().sync()\n    return value + 1\n\n"


@pytest.mark.parametrize("synced_before", [True, False])
def test_a_kernel_is_cooperative_if_what_it_calls_is_so_today(synced_before: bool) -> None:
    calling = function("g", "f(value) * 2") + kernel("g(x[i])")
    texts = SYNCED + calling, function("f", "value + 1") + calling
    before, now = texts if synced_before else texts[::-1]
    shelf = DictShelf()
    made_by(program(before), shelf, target=HOPPER)
    module = program(now)
    found, whole = made_by(module, shelf, target=HOPPER), made_by(module, None, target=HOPPER)
    assert whole.lowered.cooperative is not synced_before
    assert_whole_with(found, whole, "")
    assert found.lowered.cooperative is whole.lowered.cooperative


def test_a_callee_that_stays_cooperative_leaves_its_callers_as_they_are() -> None:
    calling = function("g", "f(value) * 2") + kernel("g(x[i])")
    shelf = DictShelf()
    made_by(program(SYNCED + calling), shelf, target=HOPPER)
    module = program(SYNCED.replace("+ 1", "+ 2") + calling)
    found, whole = made_by(module, shelf, target=HOPPER), made_by(module, None, target=HOPPER)
    assert_whole_with(found, whole, "g")
    assert found.lowered.cooperative and whole.lowered.cooperative


# numba-cuda's function is made around one that it calls.
AROUND = (
    "from numba.cuda.np import arraymath\n\n"
    + function("less", "a < b", "a, b")
    + function("atmost", "a <= b", "a, b")
    + "f = gridjit.jit(device=True)(arraymath._searchsorted(less))\n"
    + "g = gridjit.jit(device=True)(arraymath._searchsorted(atmost))\n\n"
)


def test_functions_that_numba_cuda_makes_around_others_are_told_apart_by_these() -> None:
    text, shelf = AROUND + kernel("f(x, x[i], 0, 3)[0] * g(x, x[i], 0, 3)[0]"), DictShelf()
    made_by(program(text), shelf)
    module = program(text.replace("(less)", "()").replace("(atmost)", "(less)").replace("()", "(atmost)"))
    assert_whole_with(made_by(module, shelf), made_by(module, None), None)


UNTOLD = {
    "an exception of the program's": "class Large(Exception):\n    pass\n\n@gridjit.jit(device=True)\ndef f(value):\n"
    "    if value > 3:\n        raise Large('it is')\n    return value\n\n" + kernel("f(x[i])"),
    "a function made in it": "@gridjit.jit(device=True)\ndef f(value):\n    def g(v):\n        return v + 1\n"
    "    return g(value)\n\n" + kernel("f(x[i])"),
    "declared signatures": "@gridjit.jit('float64(float64)', device=True)\ndef f(value):\n    return value + 1\n\n"
    + kernel("f(x[i])"),
    "a recursion": "@gridjit.jit(device=True)\ndef f(n):\n    if n <= 1:\n        return 1\n    return n * f(n - 1)\n\n"
    + kernel("f(i)"),
}


@pytest.mark.some(2)
@pytest.mark.parametrize("name", UNTOLD)
def test_what_cannot_be_told_in_another_process_is_compiled_there(name: str) -> None:
    shelf, text = DictShelf(), UNTOLD[name]
    made_by(program(text), shelf)
    module = program(text)
    assert_whole_with(made_by(module, shelf), made_by(module, None), "")


def test_functions_that_came_to_call_each_other_are_compiled_as_without_a_shelf() -> None:
    shelf = DictShelf()
    apart = function("f", "g(n - 1) if n > 1 else 1", "n") + function("g", "n + 1", "n") + kernel("f(i)")
    made_by(program(apart), shelf)
    module = program(apart.replace("n + 1", "f(n - 1) if n > 1 else 2"))
    whole = made_by(module, None)
    assert len(whole.lowered.modules) == 3
    assert_whole_with(made_by(module, shelf), whole, "")


def assert_whole_with(found: Made, whole: Made, expected: str | None) -> None:
    """Check that found is what a whole compile makes, with the expected functions from disk; None for any."""
    assert not whole.reused
    assert everything_of(found) == everything_of(whole)
    if expected is not None:
        assert found.reused == set(expected)
        assert all(name.endswith(" from disk") for name in found.lowered.reused)


@pytest.mark.parametrize(("package", "is_told"), [("colorama", True), ("aprogram", False)])
def test_numba_is_told_with_the_colours_of_its_messages_and_not_with_a_programs_functions(
    package: str, is_told: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    module = types.ModuleType(package)
    module.__file__ = f"/somewhere/{package}/__init__.py"
    exec(compile("def init():\n    pass\n", module.__file__, "exec"), vars(module))
    monkeypatch.setitem(sys.modules, package, module)
    for known in (text._homes, text._is_at_home):  # what they remember is of this process's own packages
        monkeypatch.setattr(text, known.__name__, functools.cache(known.__wrapped__))
    within = Within(Survey())
    within.add([module.init])
    told = numbas_text(["numba.core.errors", "init"], within)
    assert (told is not None) is is_told
