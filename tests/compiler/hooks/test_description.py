"""Hooks: a function that can be made again without a pickle is, with what it holds; of any other there is a reason."""

from __future__ import annotations

import functools
import gc
import json
import math
import re
import sys
import types
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

from gridjit.base import reading
from gridjit.compiler.hooks import description
from gridjit.compiler.hooks.description import NotRepeatableError, described, hook_of
from gridjit.compiler.hooks.hook import DEEPEST, LONGEST, Hook, hook_as_json, hook_from_json
from gridjit.compiler.view.config import ConfigView
from gridjit.runtime.devices import hooks

LIBRARY = """
import functools

def carveout(percent, names=("a", "b"), *, scale=1.5):
    def hook(kernel, config, extra=(1, None), *, unit="KiB"):
        return percent, names, scale, extra, unit
    return hook

def two_lambdas(number):
    return (lambda kernel, config: number + 1), (lambda kernel, config: number + 2)

def outer(number):
    def middle():
        def inner(kernel, config):
            return number
        return inner
    return middle()

def composed(number):
    first = carveout(number)
    def hook(kernel, config):
        return first(kernel, config), plain(1)
    return hook

def plain(number):
    return number

def decorator(function):
    @functools.wraps(function)
    def wrapper(*args):
        return function(*args)
    return wrapper

@decorator
def decorated(number):
    def hook(kernel, config):
        return number
    return hook

class Node:
    size = 3

    def __init__(self, size, children=()):
        self.size = size
        self.children = list(children)

    def hook(self, kernel, config):
        return self.size, self.children

    def hooks(self):
        size = self.size
        return lambda kernel, config: size

    @classmethod
    def made(cls, kernel, config):
        return cls.size

    def counts(self, kernel, config):
        self.size += 1

class Slotted:
    __slots__ = ("size",)

    def __init__(self, size):
        self.size = size

    def hook(self, kernel, config):
        return self.size

def counter():
    count = 0
    def hook(kernel, config):
        nonlocal count
        count += 1
    return hook

def notes(found):
    def hook(kernel, config):
        found.append(kernel)
    return hook

def holds(value):
    def hook(kernel, config):
        return value
    return hook

def from_a_generator(number):
    return next(lambda kernel, config: number for _ in range(1))

def from_a_comprehension(number):
    return [(lambda kernel, config: number) for _ in range(1)][0]

def limited(limit=float("inf")):
    def hook(kernel, config, low=-limit, *, default=limit - limit):
        return limit, low, default
    return hook

def nests(value, depth):
    return holds(value) if depth == 0 else holds(nests(value, depth - 1))

def itself():
    def hook(kernel, config):
        return hook
    return hook
"""


@pytest.fixture
def library() -> Iterator[Callable[..., Any]]:
    """Yield what imports a library anew, as another process would: the first time as it is, then as edited."""

    def load(edit: Callable[[str], str] = lambda text: text) -> Any:
        module = types.ModuleType("hook_library")
        exec(compile(edit(LIBRARY), "hook_library.py", "exec"), vars(module))
        sys.modules["hook_library"] = module
        return module

    yield load
    sys.modules.pop("hook_library", None)


MAKERS: dict[str, Callable[[Any], Callable[..., Any]]] = {
    "closure": lambda lib: lib.carveout(50),
    "other closure": lambda lib: lib.carveout(None, ("x", [1, {"deep": (2.5, True)}]), scale={3: "three"}),
    "first lambda": lambda lib: lib.two_lambdas(1)[0],
    "second lambda": lambda lib: lib.two_lambdas(1)[1],
    "two levels": lambda lib: lib.outer(7),
    "function that holds one": lambda lib: lib.composed(60),
    "inside a decorated function": lambda lib: lib.decorated(8),
    "bound method": lambda lib: lib.Node(9, [1, 2]).hook,
    "inside a method": lambda lib: lib.Node(4).hooks(),
    "class method": lambda lib: lib.Node.made,
    "partial of a closure": lambda lib: functools.partial(lib.holds(5), *[]),
    "partial of a lambda": lambda lib: functools.partial(lib.two_lambdas(1)[0], *[]),
    "lambda from a generator": lambda lib: lib.from_a_generator(3),
    "lambda from a comprehension": lambda lib: lib.from_a_comprehension(3),
    "numbers that are not finite": lambda lib: lib.limited(),
    "not a number as a key": lambda lib: lib.holds({math.nan: {math.inf: -math.inf}}),
    "the largest numbers": lambda lib: lib.holds((2**63 - 1, 1 - 2**63, 1e308, 5e-324)),
    "as deep as can be: tuples": lambda lib: lib.holds(deep(lambda value: (value,))),
    "as deep as can be: lists": lambda lib: lib.holds(deep(lambda value: [value])),
    "as deep as can be: dictionaries": lambda lib: lib.holds(deep(lambda value: {"a": value})),
    "as deep as can be: functions": lambda lib: lib.nests(1, DEEPEST),
    "as long as can be": lambda lib: lib.holds(tuple(range(LONGEST))),
    "function that holds an importable one": lambda lib: lib.holds((lib.plain, [lib.plain])),
}


@pytest.mark.parametrize("maker", MAKERS.values(), ids=MAKERS)
def test_a_hook_of_a_module_is_made_again_with_what_it_holds(
    library: Callable[..., Any], maker: Callable[[Any], Callable[..., Any]]
) -> None:
    callback = maker(library())
    stored = json.dumps(hook_as_json(hook_of(callback))).encode()
    library()
    (made,) = hooks.resolve((hook_from_json(reading.parse(stored)),)) or (None,)
    assert made is not None and made is not callback
    assert plain(made("kernel", "config")) == plain(callback("kernel", "config"))


def deep(wrap: Callable[[Any], Any]) -> Any:
    """Return 1 in as many levels of what wrap makes as a hook may hold."""
    value: Any = 1
    for _ in range(DEEPEST):
        value = wrap(value)
    return value


def plain(value: Any) -> Any:
    """Return value with functions as their names."""
    return re.sub(" at 0x[0-9a-f]+", "", repr(value))


def test_a_hook_whose_code_changed_is_not_made_again_and_one_beside_a_change_is(library: Callable[..., Any]) -> None:
    lib = library()
    stored = [hook_of(callback) for callback in (lib.carveout(50), lib.outer(7))]
    library(lambda text: "\n\n" + text.replace("return percent, names", "return names, percent"))
    assert hooks.resolve((stored[0],)) is None
    (other,) = hooks.resolve((stored[1],)) or (None,)
    assert other is not None and other("kernel", "config") == 7


REFUSED: dict[str, tuple[Callable[[Any], Any], str]] = {
    "counter": (lambda lib: lib.counter(), "it may change what it holds"),
    "appends": (lambda lib: lib.notes([]), "it may change what it holds"),
    "method that writes": (lambda lib: lib.Node(1).counts, "it may change what it holds"),
    "object": (lambda lib: lib.holds(object()), "its variable 'value' is a builtins.object"),
    "deep object": (lambda lib: lib.holds([{"a": object()}]), "its variable 'value' is a builtins.object"),
    "subclass of int": (lambda lib: lib.holds(type("Int", (int,), {})(3)), "its variable 'value' is a "),
    "huge number": (lambda lib: lib.holds(10**5000), "its variable 'value' is a builtins.int"),
    "number that no reader takes": (lambda lib: lib.holds(-(2**63)), "its variable 'value' is a builtins.int"),
    "too deep": (lambda lib: lib.holds([deep(lambda value: {"a": value})]), "too large"),
    "function too deep": (lambda lib: lib.nests(1, DEEPEST + 1), "too large"),
    "too long": (lambda lib: lib.holds(list(range(LONGEST + 1))), "too large"),
    "slots": (lambda lib: lib.Slotted(1).hook, "bound to a Slotted, which is not a plain class"),
    "itself": (lambda lib: lib.itself(), "too large"),
    "of no module": (lambda lib: eval("lambda kernel, config: 1", {"__name__": "nowhere"}), "its module is nowhere"),
    "of a script": (lambda lib: eval("lambda kernel, config: 1", {"__name__": "__main__"}), "its module is __main__"),
    "of another namespace": (lambda lib: eval("lambda k, c: 1", {"__name__": lib.__name__}), "holds other code"),
    "with attributes": (lambda lib: marked(lib.holds(1)), "it has attributes of its own"),
    "a callable object": (lambda lib: type("Call", (), {"__call__": lambda self, k, c: 1})(), "not have a module"),
}


def marked(function: Any) -> Any:
    function.seen = True
    return function


@pytest.mark.parametrize(("maker", "reason"), REFUSED.values(), ids=REFUSED)
def test_what_would_not_be_the_same_again_is_not_stored_and_says_why(
    library: Callable[..., Any], maker: Callable[[Any], Any], reason: str
) -> None:
    with pytest.raises(NotRepeatableError) as refused:
        hook_of(maker(library()))
    assert reason in str(refused.value)


def test_two_hooks_that_hold_different_values_are_told_apart(library: Callable[..., Any]) -> None:
    lib = library()
    texts = {str(hook_of(callback)) for callback in (lib.carveout(50), lib.carveout(51), lib.carveout("50"))}
    assert len(texts) == 3


@pytest.mark.parametrize(
    "tampered",
    [
        Hook(module="hook_library", qualname="carveout.<locals>.hook", code="0" * 32, cells=(1, 2, 3)),
        Hook(module="hook_library", qualname="outer.<locals>.nothing", code="0" * 32),
        Hook(module="hook_library", qualname="Slotted.hook", instance=(("size", 1),)),
        Hook(module="subprocess", qualname="Popen.wait", instance=(("pid", 1),)),
        Hook(module="hook_library", qualname="Node.size", instance=()),
        Hook(module="no_such_module", qualname="hook"),
    ],
    ids=["digest", "name", "slots", "special class", "no method", "module"],
)
def test_a_hook_that_is_not_what_it_says_is_not_made(library: Callable[..., Any], tampered: Hook) -> None:
    library()
    assert hooks.resolve((tampered,)) is None


@pytest.mark.parametrize(
    "stored",
    [
        [],
        ["m", "q"],
        ["m", "q", [], "", [], [], [], None],
        [1, "q", {"tuple": []}],
        "text",
        [{"other": []}] * 8,
        ["m", "no name", *hook_as_json(Hook(module="m", qualname="q"))[2:]],
        ["m", "q.<<f>>", *hook_as_json(Hook(module="m", qualname="q"))[2:]],
        hook_as_json(Hook(module="m", qualname="q", cells=(Hook(module="m", qualname="no name"),))),
        hook_as_json(Hook(module="m", qualname="q", cells=(deep(lambda value: [{"a": value}]),))),
        hook_as_json(Hook(module="m", qualname="q", cells=(2**63,))),
    ],
)
def test_what_is_not_a_description_of_a_hook_is_refused(stored: Any) -> None:
    with pytest.raises((ValueError, TypeError)):
        hook_from_json(stored)


SHARED = """
import types

OPTIONS = {"on": False}
NUMBERS = [1]
PAIR = ([1], 1)
NESTED = [[(PAIR,)]]
SEVERAL = [PAIR]

class Settings:
    def __init__(self):
        self.percent = 0
        self.inner = [1]
    def hook(self, kernel, config):
        return self.percent

QUIET = Settings()

def closure(value):
    def hook(kernel, config):
        return value
    return hook

def pair():
    level = 1
    def hook(kernel, config):
        return level
    def change(to):
        nonlocal level
        level = to
    return hook, change

def twins():
    both = [1]
    return (lambda kernel, config: both), (lambda kernel, config: both)

KEPT = []

def kept(pair):
    KEPT.append(pair)
    return pair[0]

def twins_of_tuples():
    both = ([1],)
    return (lambda kernel, config: both), (lambda kernel, config: both)

def copied(hook):
    return types.FunctionType(hook.__code__, hook.__globals__, "copy", None, hook.__closure__)

def numpys(value, make):
    KEPT.append(make(value))
    return closure(value)

def attributes(settings):
    KEPT.append(vars(settings))
    return settings.hook

def suspended(value):
    yield
    value.append(2)

def running(value):
    KEPT.append(suspended(value))
    next(KEPT[-1])
    return closure(value)

def default():
    def hook(kernel, config, given=NUMBERS):
        return given
    return hook
"""


HELD_ELSEWHERE: dict[str, Callable[[Any], Any]] = {
    "dict": lambda lib: lib.closure(lib.OPTIONS),
    "list in a tuple": lambda lib: lib.closure((lib.NUMBERS, 1)),
    "list in a list": lambda lib: lib.closure([lib.NUMBERS]),
    "attribute": lambda lib: lib.closure(lib.QUIET.inner),
    "object": lambda lib: lib.QUIET.hook,
    "variable": lambda lib: lib.kept(lib.pair()),
    "twins": lambda lib: lib.kept(lib.twins()),
    "default": lambda lib: lib.default(),
    "partial": lambda lib: functools.partial(lib.closure(1), lib.NUMBERS),
    "tuple with a list": lambda lib: lib.closure(lib.PAIR),
    "tuple in a partial": lambda lib: functools.partial(lib.closure(1), lib.PAIR),
    "tuple in a list": lambda lib: lib.closure([lib.PAIR]),
    "deep": lambda lib: lib.closure({"deep": [(1, lib.NESTED[0])]}),
    "twins with a tuple": lambda lib: lib.kept(lib.twins_of_tuples()),
    "closure": lambda lib: lib.kept((hook := lib.closure([1]), lib.copied(hook))),
    "array of objects": lambda lib: lib.numpys([1], lambda value: np.array([value, None], dtype=object)),
    "attributes of an object": lambda lib: lib.attributes(lib.Settings()),
    "call that goes on": lambda lib: lib.running([1]),
}


@pytest.mark.parametrize("make", HELD_ELSEWHERE.values(), ids=HELD_ELSEWHERE)
@pytest.mark.parametrize("is_frozen", [False, True], ids=["seen", "frozen"])
def test_what_something_else_may_change_is_not_copied_and_says_so(
    make: Callable[[Any], Any], is_frozen: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    module: Any = types.ModuleType("hook_shares")
    exec(compile(SHARED, "hook_shares.py", "exec"), vars(module))
    monkeypatch.setitem(sys.modules, "hook_shares", module)
    hook = make(module)
    if is_frozen:
        gc.freeze()  # as servers do before they fork; the collector then tells nobody who holds what
    else:
        gc.unfreeze()
    try:
        with pytest.raises(NotRepeatableError, match="held by something else too"):
            hook_of(hook)
    finally:
        gc.freeze()


def test_what_a_running_call_holds_is_not_copied_until_it_has_ended(library: Callable[..., Any]) -> None:
    lib = library()

    def call(value: list[int]) -> Any:
        hook = lib.holds(value)
        return hook, described("hook", [hook])

    hook, ((), (reason,)) = call([1])
    assert "held by something else too" in reason
    assert hook_of(hook).cells == ([1],)


def test_a_hook_that_changes_hands_while_it_is_described_is_stored_or_refused_and_never_left_out(
    library: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    hook, other = library().holds([1]), []

    def take_turns(callback: Callable[..., Any]) -> Hook:
        """Describe it, between another thread's taking of the list and its letting go of it."""
        if other:
            other.clear()
        else:
            other.append(hook("kernel", "config"))
        return hook_of(callback)

    monkeypatch.setattr(description, "hook_of", take_turns)
    for _ in range(2):
        view = ConfigView(None)
        view.pre_launch_callbacks.append(hook)
        effects, reasons = view.asked_for()
        assert len(effects.hooks) + len(reasons) == 1


def test_a_constant_tuple_may_be_held_by_many(library: Callable[..., Any]) -> None:
    constant = ("a", (1, 2.5), ())
    held = [constant, library().holds(constant)]
    assert hook_of(held[1]).cells == (constant,)


def test_a_list_that_a_hook_holds_twice_is_its_own(library: Callable[..., Any]) -> None:
    twice = [[1]] * 2
    hook = library().holds(twice)
    del twice
    assert hook_of(hook).cells == ([[1], [1]],)


def test_lists_as_deep_as_memory_allows_are_refused_and_not_an_error(library: Callable[..., Any]) -> None:
    value: list[Any] = []
    for _ in range(100_000):
        value = [value]
    hook = library().holds(value)
    del value
    with pytest.raises(NotRepeatableError, match="too large"):
        hook_of(hook)
