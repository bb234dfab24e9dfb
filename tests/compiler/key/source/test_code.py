"""Plans of code objects are remembered by identity and forgotten with them."""

from __future__ import annotations

import gc
from types import CodeType, FunctionType

from gridjit.compiler.source import code as source_code
from gridjit.compiler.source.code import Reference, plan_of


def code_of(text: str) -> CodeType:
    return compile(text, "anywhere.py", "exec", dont_inherit=True).co_consts[0]


def test_equal_code_has_equal_plans_and_one_code_object_one_plan() -> None:
    one, other = code_of("def f(x): return x + 1"), code_of("\n\ndef f(x):\n    return x + 1")
    assert plan_of(one) == plan_of(other)
    assert plan_of(one) is plan_of(one)


def test_a_plan_is_forgotten_with_its_code() -> None:
    code = code_of("def f(x): return x + 1")
    plan_of(code)
    identity = id(code)
    assert identity in source_code._plans._entries
    del code
    gc.collect()
    assert identity not in source_code._plans._entries


def test_a_first_run_that_specializes_the_bytecode_changes_no_digest() -> None:
    namespace: dict[str, object] = {}
    text = "def f(n):\n    t = 0\n    for i in range(n):\n        t += i * 2\n    return t\n"
    exec(compile(text, "anywhere.py", "exec", dont_inherit=True), namespace)
    function = namespace["f"]
    assert isinstance(function, FunctionType)
    for _ in range(50):
        function(100)
    assert plan_of(function.__code__).digest == plan_of(code_of(text)).digest


def test_references_name_globals_and_the_attributes_taken_of_them() -> None:
    plan = plan_of(
        code_of("def f(x):\n    m = helpers\n    return helpers.inner.clip(x) + sum(y for y in LIMITS) + m.low")
    )
    assert set(plan.references) == {
        Reference(name="helpers"),
        Reference(name="helpers", attributes=("inner", "clip")),
        Reference(name="sum"),
        Reference(name="LIMITS"),
    }
    assert set(plan.attributes) == {"inner", "clip", "low"}


def test_attributes_are_followed_where_their_index_needs_an_extended_argument() -> None:
    names = "".join(f"    x.a{i}\n" for i in range(300))
    plan = plan_of(code_of(f"def f(x):\n{names}    return helpers.clip(x) + LIMIT\n"))
    assert Reference(name="helpers", attributes=("clip",)) in plan.references
    assert Reference(name="LIMIT") in plan.references


def test_exception_handlers_count() -> None:
    handled = "def f(x):\n    try:\n        x()\n    except {}:\n        return 1\n"
    assert plan_of(code_of(handled.format("KeyError"))) != plan_of(code_of(handled.format("IndexError")))


def test_constants_that_no_compiler_makes_are_told() -> None:
    code = code_of("def f(x): return x + 1")
    strange = code.replace(co_consts=tuple([1] if value == 1 else value for value in code.co_consts))
    assert plan_of(code).strange == ()
    assert plan_of(strange).strange == ("list",)
