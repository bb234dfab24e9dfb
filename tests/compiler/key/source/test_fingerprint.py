"""A fingerprint changes with everything that a compiler would see change, and with nothing else."""

from __future__ import annotations

import importlib.util
import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from gridjit.compiler.key.fingerprint import SourceFingerprint, fingerprint
from gridjit.compiler.values.errors import CompileError

BASE = '''
import enum
import functools
import math
from collections import namedtuple
import stats_helpers
import stats_helpers as alias

THRESHOLD = 3
RATIO = 1.0
NAMES = ("a", "b")
TABLE = [1, 2, 3]
SET = {1, 2, 3}
OPTIONS = {"a": 1, "b": 2}
Point = namedtuple("Point", "x y")
ORIGIN = Point(0, 1)

class Color(enum.IntEnum):
    RED = 1
    BLUE = 2

class Ops:
    SCALE = 4

    @staticmethod
    def double(x):
        return x * 2

def square(x):
    return x * x

def cube(x, power=3):
    return x ** power

def even(n):
    return n == 0 or odd(n - 1)

def odd(n):
    return n != 0 and even(n - 1)

cubed = functools.partial(cube, power=3)

def make(n):
    def scale(x):
        return x * n
    return scale

scaled = make(4)

def kernel(a, eps=1e-5, *, limit=7):
    """Doc."""
    local = alias
    a[0] = square(a[0]) + 1.5 + eps + limit
    if a[0] > THRESHOLD and even(3) and RATIO and NAMES and TABLE and SET and OPTIONS and ORIGIN:
        a[0] = stats_helpers.clip(a[0]) + cubed(2) + scaled(3) + Color.RED + Ops.double(a[0])
    a[1] = sum([local.shift(x) for x in a]) + math.pi
    while a[2] > 0:
        a[2] -= 1
'''

HELPERS = """
LIMIT = 9
OFFSET = 2
UNUSED = 1

def clip(x):
    return min(x, LIMIT)

def shift(x):
    return x + OFFSET

def unused(x):
    return x
"""


@dataclass(frozen=True, slots=True)
class Sources:
    """Writes and imports the module "stats" and the module it uses, as often as wanted."""

    folder: Path

    def load(self, base: str = BASE, helpers: str = HELPERS, folder: str = "one") -> ModuleType:
        self._import("stats_helpers", helpers, folder)
        return self._import("stats", base, folder)

    def fingerprint(self, base: str = BASE, helpers: str = HELPERS, folder: str = "one") -> SourceFingerprint:
        return fingerprint(self.load(base, helpers, folder).kernel)

    def _import(self, name: str, text: str, folder: str) -> ModuleType:
        path = self.folder / folder / f"{name}.py"
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)
        spec = importlib.util.spec_from_file_location(name, path)
        assert spec is not None and spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        sys.modules[name] = module
        # Not through the loader: its bytecode cache would serve a file that changed within one clock tick.
        exec(compile(text, str(path), "exec", dont_inherit=True), module.__dict__)
        return module


@pytest.fixture
def sources(tmp_path: Path) -> Iterator[Sources]:
    yield Sources(tmp_path)
    for name in ("stats", "stats_helpers"):
        sys.modules.pop(name, None)


def changed_parts(before: SourceFingerprint, after: SourceFingerprint) -> set[str]:
    """Return the labels of the parts that differ."""
    return {label for label, _ in set(before.parts) ^ set(after.parts)}


MUTATIONS = {
    "operator": ("a[2] -= 1", "a[2] += 1", "stats.kernel code"),
    "constant": ("+ 1.5 +", "+ 1.25 +", "stats.kernel code"),
    "constant sign of zero": ("+ 1.5 +", "+ 0.0 * -0.0 +", "stats.kernel code"),
    "condition": ("a[2] > 0", "a[2] >= 0", "stats.kernel code"),
    "parameter name": ("limit=7", "limes=7", "stats.kernel code"),
    "nested code": ("local.shift(x) for", "local.shift(x * 2) for", "stats.kernel code"),
    "default": ("eps=1e-5", "eps=1e-6", "default eps of stats.kernel"),
    "keyword default": ("limit=7", "limit=8", "default limit of stats.kernel"),
    "global int": ("THRESHOLD = 3", "THRESHOLD = 4", "global stats.THRESHOLD"),
    "global int to bool": ("THRESHOLD = 3", "THRESHOLD = True", "global stats.THRESHOLD"),
    "global float to int": ("RATIO = 1.0", "RATIO = 1", "global stats.RATIO"),
    "global sign of zero": ("RATIO = 1.0", "RATIO = -0.0", "global stats.RATIO"),
    "global tuple": ('("a", "b")', '("a", "c")', "global stats.NAMES"),
    "global tuple to list": ('("a", "b")', '["a", "b"]', "global stats.NAMES"),
    "global list": ("[1, 2, 3]", "[1, 2, 4]", "global stats.TABLE"),
    "global set": ("{1, 2, 3}", "{1, 2, 4}", "global stats.SET"),
    "global dict": ('"b": 2', '"b": 3', "global stats.OPTIONS"),
    "global namedtuple": ("Point(0, 1)", "Point(0, 2)", "global stats.ORIGIN"),
    "namedtuple field names": ('"x y"', '"x z"', "global stats.ORIGIN"),
    "global removed": ("THRESHOLD = 3", "", "global stats.THRESHOLD"),
    "enum member": ("RED = 1", "RED = 3", "members of class stats.Color"),
    "class attribute": ("SCALE = 4", "SCALE = 5", "attribute SCALE of class stats.Ops"),
    "static method": ("x * 2", "x * 3", "callee stats.Ops.double code"),
    "callee": ("x * x", "x * x * x", "callee stats.square code"),
    "callee default": ("power=3):", "power=2):", "default power of stats.cube"),
    "partial argument": ("partial(cube, power=3)", "partial(cube, power=2)", "global stats.cubed"),
    "partial function": ("partial(cube, power=3)", "partial(square)", "global stats.cubed"),
    "closure": ("make(4)", "make(5)", "closure n of stats.make.<locals>.scale"),
    "callee in a cycle": ("n != 0", "n > 0", "callee stats.odd code"),
    "callee rebound": ("scaled = make(4)", "scaled = square", "global stats.scaled"),
    "module rebound": ("import stats_helpers\n", "import math as stats_helpers\n", "global stats.stats_helpers"),
    "builtin shadowed": ("THRESHOLD = 3", "THRESHOLD = 3\ndef sum(x): return x", "global stats.sum"),
}


@pytest.mark.parametrize(("before", "after", "label"), MUTATIONS.values(), ids=MUTATIONS)
def test_a_change_in_the_kernels_module_changes_its_part(sources: Sources, before: str, after: str, label: str) -> None:
    assert BASE.count(before) == 1
    original = sources.fingerprint()
    mutated = sources.fingerprint(BASE.replace(before, after))
    assert not original.opaque and not mutated.opaque
    assert original.digest != mutated.digest
    assert label in changed_parts(original, mutated)


HELPER_MUTATIONS = {
    "callee": ("min(x, LIMIT)", "max(x, LIMIT)", {"callee stats_helpers.clip code"}),
    "global of a callee": ("LIMIT = 9", "LIMIT = 8", {"global stats_helpers.LIMIT"}),
    "callee of a local module name": ("x + OFFSET", "x - OFFSET", {"callee stats_helpers.shift code"}),
    "global of that callee": ("OFFSET = 2", "OFFSET = 3", {"global stats_helpers.OFFSET"}),
}


@pytest.mark.parametrize(("before", "after", "labels"), HELPER_MUTATIONS.values(), ids=HELPER_MUTATIONS)
def test_a_change_in_another_file_changes_exactly_its_part(
    sources: Sources, before: str, after: str, labels: set[str]
) -> None:
    original = sources.fingerprint()
    mutated = sources.fingerprint(helpers=HELPERS.replace(before, after))
    assert changed_parts(original, mutated) == labels


IRRELEVANT = {
    "comment": ("        a[2] -= 1", "        # one less\n        a[2] -= 1"),
    "line numbers": ("def kernel", "\n\n\ndef kernel"),
    "docstring text": ('"""Doc."""', '"""Other words."""'),
    "layout of the text": ("x * x", "( x*x )"),
    "unused global": ("THRESHOLD = 3", "THRESHOLD = 3\nOTHER = 5"),
    "unused function": ("def square", "def unused(x):\n    return x\n\ndef square"),
    "order of a set": ("{1, 2, 3}", "{3, 1, 2}"),
    "future import": ("\nimport enum", "from __future__ import annotations\nimport enum"),
    "annotation": ("def square(x)", "def square(x: int) -> int"),
}


@pytest.mark.parametrize(("before", "after"), IRRELEVANT.values(), ids=IRRELEVANT)
def test_what_no_compiler_sees_changes_nothing(sources: Sources, before: str, after: str) -> None:
    assert BASE.count(before) == 1
    assert sources.fingerprint(BASE.replace(before, after)) == sources.fingerprint()


@pytest.mark.parametrize("constants", [3, 300])
def test_a_first_docstring_changes_nothing(sources: Sources, constants: int) -> None:
    body = "\n".join(f"    if a[{one}] > {one}.5:\n        a[{one}] = {one}" for one in range(constants // 3))
    text = f"def kernel(a):\n{body}\n"
    documented = text.replace("(a):\n", '(a):\n    """What it does, as nobody had said before."""\n', 1)
    assert sources.fingerprint(documented) == sources.fingerprint(text)


def test_constants_that_change_places_change_the_code(sources: Sources) -> None:
    text = "def kernel(a):\n    a[7] = 8\n    a[8] = 7\n"
    assert sources.fingerprint(text.replace("[7] = 8", "[8] = 7")) != sources.fingerprint(text)
    assert sources.fingerprint("def kernel(a):\n    a[8] = 7\n    a[7] = 8\n") != sources.fingerprint(text)


def test_the_order_of_definitions_changes_nothing(sources: Sources) -> None:
    square = "def square(x):\n    return x * x\n"
    moved = BASE.replace(square, "") + square
    assert sources.fingerprint(moved) == sources.fingerprint()


def test_unreached_names_of_a_used_module_change_nothing(sources: Sources) -> None:
    helpers = HELPERS.replace("UNUSED = 1", "UNUSED = 2").replace("    return x\n", "    return -x\n")
    assert helpers != HELPERS
    assert sources.fingerprint(helpers=helpers) == sources.fingerprint()


def test_a_moved_file_changes_nothing_unless_lines_count(sources: Sources) -> None:
    here = sources.load(folder="one").kernel
    there = sources.load(folder="two").kernel
    assert fingerprint(here) == fingerprint(there)
    assert fingerprint(here, lines=True) != fingerprint(there, lines=True)
    assert "stats.kernel lines" in dict(fingerprint(here, lines=True).parts)


def test_line_numbers_count_where_asked(sources: Sources) -> None:
    before = fingerprint(sources.load().kernel, lines=True)
    after = fingerprint(sources.load("\n" + BASE).kernel, lines=True)
    assert before != after


Edit = Callable[[ModuleType], object]

EDITS: dict[str, Edit] = {
    "global": lambda m: setattr(m, "THRESHOLD", 4),
    "global in place": lambda m: m.TABLE.append(4),
    "global deleted": lambda m: delattr(m, "THRESHOLD"),
    "global of another module": lambda m: setattr(m.stats_helpers, "LIMIT", 1),
    "function of another module": lambda m: setattr(m.stats_helpers, "clip", m.square),
    "callee rebound": lambda m: setattr(m, "square", m.odd),
    "callee code": lambda m: setattr(m.square, "__code__", m.odd.__code__),
    "default": lambda m: setattr(m.kernel, "__defaults__", (2e-5,)),
    "keyword default": lambda m: m.kernel.__kwdefaults__.update(limit=0),
    "closure cell": lambda m: setattr(m.scaled.__closure__[0], "cell_contents", 5),
    "class attribute": lambda m: setattr(m.Ops, "double", staticmethod(m.odd)),
}


@pytest.mark.parametrize("edit", EDITS.values(), ids=EDITS)
def test_an_edit_of_living_objects_is_seen_at_once(sources: Sources, edit: Edit) -> None:
    module = sources.load()
    before = fingerprint(module.kernel)
    assert fingerprint(module.kernel) == before
    edit(module)
    assert fingerprint(module.kernel) != before


def test_labels_are_what_people_call_things(sources: Sources) -> None:
    parts = dict(sources.fingerprint().parts)
    assert next(iter(parts)) == "stats.kernel code"
    expected = {
        "default eps of stats.kernel": "1e-05",
        "global stats.THRESHOLD": "3",
        "global stats.square": "function stats.square",
        "global stats.math": "library module math",
        "global stats.NAMES": "('a', 'b', )",
        "closure n of stats.make.<locals>.scale": "4",
    }
    assert {label: parts[label] for label in expected} == expected


def test_the_modules_reached_are_told(sources: Sources) -> None:
    assert sources.fingerprint().modules == ("stats", "stats_helpers")


def test_two_functions_of_one_name_stay_apart(sources: Sources) -> None:
    text = "def make(n):\n    def f(x):\n        return x * n\n    return f\nf, g = make(2), make(3)\n"
    first = sources.fingerprint(text + "def kernel(a):\n    a[0] = f(1) - g(1)\n")
    swapped = sources.fingerprint(text + "f, g = g, f\ndef kernel(a):\n    a[0] = f(1) - g(1)\n")
    assert dict(first.parts)["closure n of stats.make.<locals>.f (2)"] == "3"
    assert first != swapped


def test_a_dispatcher_is_its_function_and_its_options(sources: Sources) -> None:
    text = """
class Dispatcher:
    def __init__(self, py_func, **options):
        self.py_func = py_func
        self.targetoptions = options

def square(x):
    return x * x

device = Dispatcher(square, fastmath=False)

def kernel(a):
    a[0] = device(a[0])
"""
    original = sources.fingerprint(text)
    assert not original.opaque
    body = sources.fingerprint(text.replace("x * x", "x + x"))
    assert changed_parts(original, body) == {"callee stats.square code"}
    options = sources.fingerprint(text.replace("fastmath=False", "fastmath=True"))
    assert changed_parts(original, options) == {"global stats.device"}
    module = sources.load(text)
    assert fingerprint(module.device) == fingerprint(module.square)


def test_a_decorated_function_is_its_wrapper_and_what_it_wraps(sources: Sources) -> None:
    text = """
import functools, math

@functools.wraps(math.sqrt)
def root(x):
    return x * 0.5

@functools.lru_cache
def cached(x):
    return x * 0.25

def kernel(a):
    a[0] = root(a[0]) + cached(1)
"""
    original = sources.fingerprint(text)
    assert not original.opaque
    assert original.digest != sources.fingerprint(text.replace("0.5", "0.75")).digest
    assert original.digest != sources.fingerprint(text.replace("0.25", "0.75")).digest


def test_a_function_that_a_library_made_around_the_users_counts_with_it(sources: Sources) -> None:
    text = """
import contextlib, functools

@contextlib.contextmanager
def scope(x):
    yield x * 2

@functools.singledispatch
def area(x):
    return x + 5

def kernel(a):
    with scope(a) as b:
        b[0] = area(1)
"""
    original = sources.fingerprint(text)
    assert original.digest != sources.fingerprint(text.replace("x * 2", "x * 3")).digest
    assert original.digest != sources.fingerprint(text.replace("x + 5", "x + 6")).digest


def test_methods_count_with_the_class_they_are_bound_to(sources: Sources) -> None:
    text = """
class Ops:
    factor = 2

    @classmethod
    def scale(cls, x):
        return x

scale = Ops.scale

def kernel(a):
    a[0] = scale(a[0])
"""
    original = sources.fingerprint(text)
    assert not original.opaque
    assert original != sources.fingerprint(text.replace("return x", "return -x"))
    assert original != sources.fingerprint(text.replace("factor = 2", "factor = 3"))


def test_a_submodule_is_followed_attribute_by_attribute(sources: Sources, monkeypatch: pytest.MonkeyPatch) -> None:
    package, inner = ModuleType("pkg"), ModuleType("pkg.inner")
    package.inner = inner  # type: ignore[attr-defined]
    exec("SCALE = 2\ndef f(x):\n    return x * SCALE\n", inner.__dict__)
    monkeypatch.setitem(sys.modules, "pkg", package)
    monkeypatch.setitem(sys.modules, "pkg.inner", inner)
    kernel = sources.load("import pkg\ndef kernel(a):\n    a[0] = pkg.inner.f(1)\n").kernel
    before = fingerprint(kernel)
    assert dict(before.parts)["global pkg.inner.SCALE"] == "2"
    inner.SCALE = 3  # type: ignore[attr-defined]
    assert changed_parts(before, fingerprint(kernel)) == {"global pkg.inner.SCALE"}


def test_names_taken_of_a_module_indirectly_are_followed_in_every_function(
    sources: Sources, monkeypatch: pytest.MonkeyPatch
) -> None:
    package, inner = ModuleType("pkg"), ModuleType("pkg.inner")
    package.__dict__.update(inner=inner, package=package)
    exec("ONE, TWO, THREE = 1, 2, 3", inner.__dict__)
    monkeypatch.setitem(sys.modules, "pkg", package)
    text = (
        "import pkg\ndef f(a):\n    m = pkg\n    return m.inner.ONE\ndef g(a):\n    m = pkg\n    return m.inner.TWO\n"
        "def h(a):\n    return getattr(pkg.inner, 'THREE') + pkg.package.x\n"
        "def kernel(a):\n    a[0] = f(a) + g(a) + h(a)\n"
    )
    parts = dict(sources.fingerprint(text).parts)
    assert [parts[f"global pkg.inner.{name}"] for name in ("ONE", "TWO", "THREE")] == ["1", "2", "3"]


def test_a_module_in_a_closure_is_followed(sources: Sources) -> None:
    text = (
        "import stats_helpers\ndef make(m):\n    def kernel(a):\n        a[0] = m.clip(1)\n    return kernel\n"
        "kernel = make(stats_helpers)\n"
    )
    original = sources.fingerprint(text)
    assert original != sources.fingerprint(text, HELPERS.replace("LIMIT = 9", "LIMIT = 8"))
    assert original == sources.fingerprint(text, HELPERS.replace("UNUSED = 1", "UNUSED = 8"))


def test_an_unset_closure_variable_is_undefined(sources: Sources) -> None:
    text = "def make():\n    def kernel(a):\n        a[0] = late\n    if False:\n        late = 1\n    return kernel\n"
    parts = dict(sources.fingerprint(text + "kernel = make()\n").parts)
    assert parts["closure late of stats.make.<locals>.kernel"] == "undefined"


def test_a_missing_global_is_undefined_until_it_is_there(sources: Sources) -> None:
    module = sources.load("def kernel(a):\n    a[0] = later(a[0])\n")
    assert dict(fingerprint(module.kernel).parts)["global stats.later"] == "undefined"
    module.later = module.kernel  # type: ignore[attr-defined]
    assert dict(fingerprint(module.kernel).parts)["global stats.later"] == "function stats.kernel"


def test_opaque_things_are_named_with_their_place_and_reason(sources: Sources) -> None:
    text = """
class Model:
    pass

model = Model()

def helper(x, state=object()):
    return x

def kernel(a):
    a[0] = model.weight + helper(1)
"""
    found = sources.fingerprint(text)
    assert found.opaque
    assert found.opaque == (
        "global 'model' of stats.kernel is a Model object, whose contents gridjit cannot see",
        "default 'state' of stats.helper is an object object, whose contents gridjit cannot see",
    )


def test_a_value_that_holds_itself_is_opaque(sources: Sources) -> None:
    found = sources.fingerprint("loop = []\nloop.append(loop)\ndef kernel(a):\n    a[0] = len(loop)\n")
    assert found.opaque == ("global 'loop' of stats.kernel is a list that holds itself or is nested too deeply",)


def test_a_value_that_raises_when_looked_at_is_opaque(sources: Sources) -> None:
    text = """
class Sly:
    py_func = len

    @property
    def __dict__(self):
        raise OSError("gone")

sly = Sly()

def kernel(a):
    a[0] = sly(a)
"""
    (reason,) = sources.fingerprint(text).opaque
    assert reason == "global 'sly' of stats.kernel is a Sly that cannot be inspected (OSError: gone)"


def test_a_user_module_with_a_standard_name_is_not_a_library(sources: Sources) -> None:
    text = "import stats_helpers\ndef kernel(a):\n    a[0] = stats_helpers.clip(1)\n"
    module = sources.load(text)
    module.stats_helpers.__dict__["__name__"] = "queue"
    standard = sys.modules.get("queue")
    sys.modules["queue"] = module.stats_helpers
    try:
        assert "callee stats_helpers.clip in queue code" in dict(fingerprint(module.kernel).parts)
    finally:
        del sys.modules["queue"]
        if standard is not None:
            sys.modules["queue"] = standard


def test_what_is_not_a_function_is_refused() -> None:
    with pytest.raises(CompileError, match="3 is not a Python function"):
        fingerprint(3)  # type: ignore[arg-type]


def test_a_recursive_kernel_ends(sources: Sources) -> None:
    assert not sources.fingerprint("def kernel(n):\n    return n and kernel(n - 1)\n").opaque


PROBE = """
import json, sys
sys.path.insert(0, sys.argv[1])
import stats
from gridjit.compiler.key.fingerprint import fingerprint
from gridjit.compiler.key.toolchain import environment, toolchain
found = fingerprint(stats.kernel)
toolchain("host"), toolchain("ptx"), environment()
compilers = [name for name in sys.modules if name.partition(".")[0] in ("numba", "numba_cuda", "llvmlite", "numpy")]
print(json.dumps([found.digest, list(found.parts), compilers]))
"""


def probe(folder: Path, seed: str) -> Any:
    """Return the digest, the parts, and the compilers imported, of the same sources in another process."""
    environ = {**os.environ, "PYTHONHASHSEED": seed, "PYTHONDONTWRITEBYTECODE": "1"}
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", PROBE, str(folder)],
        capture_output=True,
        text=True,
        env=environ,
        check=True,
        timeout=60,
    )
    return json.loads(done.stdout)


def test_other_processes_with_other_hash_seeds_agree_and_import_no_compiler(sources: Sources, tmp_path: Path) -> None:
    text = BASE.replace("{1, 2, 3}", "{'one', 'two', 'three', None, 1.5}").replace(
        "a[2] > 0", "a[2] in {'p', 'q', 'r', 's'}"
    )
    here = sources.fingerprint(text)
    for seed in ("1", "2"):
        assert probe(tmp_path / "one", seed) == [here.digest, [list(part) for part in here.parts], []]


LIBRARY_VALUES: dict[str, tuple[str, Callable[[Any], object]]] = {
    "a value put there": ("math.TILE", lambda math: setattr(math, "TILE", 4)),
    "a value under another name": ("[m := math, m.TILE]", lambda math: setattr(math, "TILE", 4)),
    "a function put there": ("math.scale(1)", lambda math: setattr(math, "scale", lambda x: x + 1)),
    "a value that differs by process": ("time.timezone", lambda _: setattr(sys.modules["time"], "timezone", -1)),
}


@pytest.mark.parametrize(("code", "edit"), LIBRARY_VALUES.values(), ids=LIBRARY_VALUES)
def test_what_a_librarys_module_was_given_counts_and_what_is_its_own_does_not(
    sources: Sources, monkeypatch: pytest.MonkeyPatch, code: str, edit: Callable[[Any], object]
) -> None:
    math, time = sys.modules["math"], sys.modules["time"]
    monkeypatch.setattr(time, "timezone", 0)
    for name, value in (("TILE", 3), ("scale", lambda x: x), ("OTHER", 1)):
        monkeypatch.setattr(math, name, value, raising=False)
    kernel = sources.load(f"import math, time\ndef kernel(a):\n    a[0] = {code} + math.sqrt(1)\n").kernel
    before = fingerprint(kernel)
    monkeypatch.setattr(math, "OTHER", 2)
    assert fingerprint(kernel) == before
    edit(math)
    assert fingerprint(kernel) != before


MOCKS = """
from unittest.mock import MagicMock, NonCallableMock

class Everything:
    def __getattr__(self, name):
        return self
    def __call__(self, *args):
        return self

class Broken:
    def __getattribute__(self, name):
        raise RuntimeError(name)

class Proxy:
    @property
    def __class__(self):
        raise RuntimeError("unbound")

class Liar:
    __class__ = dict

mock, loose, all_of_it, broken, proxy, liar = (
    MagicMock(), NonCallableMock(spec=dict), Everything(), Broken(), Proxy(), Liar()
)

def kernel(a):
    a[0] = {name}.a + len({name})
"""


@pytest.mark.parametrize("name", ["mock", "loose", "all_of_it", "broken", "proxy", "liar"])
def test_objects_that_answer_anything_are_opaque_and_never_an_error(sources: Sources, name: str) -> None:
    text = MOCKS.replace("{name}", name)
    (reason,) = sources.fingerprint(text).opaque
    assert f"global {name!r} of stats.kernel is a" in reason
