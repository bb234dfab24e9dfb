"""Installed code counts by its distribution, and by the plain settings that it reads; it is never looked into."""

from __future__ import annotations

import functools
import json
import os
import re
import shutil
import subprocess
import sys
import textwrap
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.programs import python_path, run_new_python, run_python

# Habits of cooperative libraries: a rewrite over every kernel, counters, memo tables, locks, nodes, late imports.
LIBRARY = {
    "tilelib/__init__.py": """
        from tilelib import registered
        from tilelib.stubs import lazily, late_tile, stub
        """,
    "tilelib/config.py": """
        import enum
        class Mode(enum.Enum):
            FAST = 1
            SAFE = 2
        TILE = 3
        MODE = Mode.FAST
        SHAPE = (1, 2)
        COMPILES = 0
        class Plan:
            DEPTH = 5
        UNREAD = 1
        """,
    "tilelib/late.py": "LATE = 4\n",
    "tilelib/plans.py": """
        import itertools
        class Plan:
            __slots__ = ("tile", "__depth", "__dict__")
            def __init__(self, tile, depth=1):
                self.tile, self.__depth = tile, depth
        class Counted(Plan):
            def __init__(self):
                super().__init__(1)
                self.ids = itertools.count()
        class Lazy(Plan):
            typed = 0
        """,
    "tilelib/stubs.py": """
        def stub(x):
            raise NotImplementedError
        def late_tile(x):
            raise NotImplementedError
        def lazily(x):
            raise NotImplementedError
        class Doubled:
            unseen = object()
        """,
    "tilelib/registered.py": """
        import itertools, os, threading, time
        from dataclasses import dataclass, field
        from numba.cuda import types
        from numba.cuda.core.imputils import lower_builtin
        from numba.cuda.core.rewrites import Rewrite, register_rewrite
        from numba.cuda.extending import overload, type_callable, typeof_impl
        from tilelib import config, plans, stubs

        ids = itertools.count()
        lock = threading.RLock()
        memo = {}
        seen = 0
        ready = None
        started = time.time()
        policy = None

        @dataclass
        class Node:
            number: int = field(default_factory=lambda: next(ids))

        def shape():
            return config.SHAPE[0] + config.MODE.value + config.Plan.DEPTH

        @register_rewrite("before-inference")
        class Watch(Rewrite):
            def match(self, func_ir, block, typemap, calltypes):
                global seen, ready
                seen += 1
                ready = ready or "made"
                config.COMPILES += 1
                with lock:
                    memo[id(func_ir)] = Node(), os.getpid(), shape(), policy
                return False

        @overload(stubs.stub, target="cuda")
        def tile(x):
            value = config.TILE
            return lambda x: value

        @overload(stubs.late_tile, target="cuda")
        def late(x):
            from tilelib import late
            value = late.LATE
            return lambda x: value

        @overload(stubs.lazily, target="cuda")
        def lazy(x):
            from numba.cuda.extending import intrinsic
            @intrinsic
            def made(typingctx, x):
                def codegen(context, builder, sig, args):
                    return context.get_constant(types.int64, config.TILE)
                return types.int64(x), codegen
            return lambda x: made(x)

        @typeof_impl.register(plans.Lazy)
        def type_of(value, context):
            value.typed += 1
            return types.none

        @type_callable(stubs.Doubled)
        def type_doubled(context):
            return lambda x: x

        @lower_builtin(stubs.Doubled, types.float64)
        def lower_doubled(context, builder, sig, args):
            return builder.fadd(args[0], args[0])

        from numba.cuda.target import CUDATypingContext
        from numba.cuda.typing.templates import AttributeTemplate, Registry
        private = Registry()
        load = CUDATypingContext.load_additional_registries
        def load_private_too(self):
            load(self)
            self.install_registry(private)
        CUDATypingContext.load_additional_registries = load_private_too

        @private.register_attr
        class PrivateTemplate(AttributeTemplate):
            key = types.Module(config)

        def structure(tile):
            class Structure:
                pass
            @type_callable(Structure)
            def type_structure(context):
                return lambda: types.int64
            @lower_builtin(Structure)
            def lower_structure(context, builder, sig, args):
                return context.get_constant(types.int64, tile)
            return Structure

        def many():
            for number in range(150):
                def operation(x):
                    raise NotImplementedError
                @lower_builtin(operation, types.float64)
                def lower(context, builder, sig, args):
                    return next(ids), number
        many()

        def install(given):
            def operation(x):
                raise NotImplementedError
            @lower_builtin(operation, types.float64)
            def lower(context, builder, sig, args):
                return given
        """,
}
PROGRAM = """
import json, sys, time
import gridjit
import tilelib
{before}

@gridjit.jit
def plain(x):
    x[0] = 1

@gridjit.jit
def tiled(x):
    x[0] = tilelib.stub(1)

@gridjit.jit
def late(x):
    x[0] = tilelib.late_tile(1)

@gridjit.jit
def lazy(x):
    x[0] = tilelib.lazily(1)

import numpy as np
found = {{}}
for kernel in ({kernels}):
    x = np.zeros(1)
    kernel[1, 1](x)
    private = [why for one in kernel.specializations for why in one.artifact.private]
    found[kernel.__name__] = [int(x[0]), kernel.stats.compiles, private]
print(json.dumps(found))
"""
Run = Callable[..., Any]
Begin = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture(scope="module")
def installation(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder that the library's wheel was installed into by pip."""
    folder = tmp_path_factory.mktemp("installation")
    return install(folder, LIBRARY)


def install(folder: Path, files: dict[str, str], version: str = "1.0") -> Path:
    """Build a wheel of files and install it below folder."""
    wheel, site = folder / f"tilelib-{version}-py3-none-any.whl", folder / "site"
    info = f"tilelib-{version}.dist-info"
    texts = {name: textwrap.dedent(text) for name, text in files.items()} | {
        f"{info}/METADATA": f"Metadata-Version: 2.1\nName: tilelib\nVersion: {version}\n",
        f"{info}/WHEEL": "Wheel-Version: 1.0\nGenerator: tests\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
    }
    with zipfile.ZipFile(wheel, "w") as archive:
        for name, text in texts.items():
            archive.writestr(name, text)
        archive.writestr(f"{info}/RECORD", "".join(f"{name},,\n" for name in (*texts, f"{info}/RECORD")))
    command = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--no-index", "--no-compile"]
    subprocess.run([*command, "--target", str(site), str(wheel)], check=True, capture_output=True)
    return site


@pytest.fixture
def site(installation: Path, tmp_path: Path) -> Path:
    """A copy of the installation that a test may change."""
    shutil.copytree(installation, tmp_path / "site")
    return tmp_path / "site"


@pytest.fixture
def run(site: Path, cache_dir: Path) -> Run:
    """Run kernels in a process of their own; returns result, compiles and reasons to stay private by kernel.

    begin: what runs Python.
    """

    def run(kernels: str = "tiled", before: str = "", path: Path | None = None, begin: Begin = run_python) -> Any:
        environ = {**os.environ, "PYTHONPATH": python_path(path or site), "PYTHONDONTWRITEBYTECODE": "1"}
        program = PROGRAM.format(before=textwrap.dedent(before), kernels=f"{kernels},")
        done = begin("-W", "error", "-c", program, env=environ)
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)

    return run


ALL = "plain, tiled, late, lazy"


def test_kernels_of_a_library_and_all_others_are_stored_and_found_by_the_next_process(run: Run) -> None:
    assert run(ALL) == {"plain": [1, 1, []], "tiled": [3, 1, []], "late": [4, 1, []], "lazy": [3, 1, []]}
    assert run(ALL, begin=run_new_python) == {
        "plain": [1, 0, []],
        "tiled": [3, 0, []],
        "late": [4, 0, []],
        "lazy": [3, 0, []],
    }


def compiles(found: Any) -> dict[str, int]:
    """Return how many compiles each kernel took."""
    return {name: count for name, (_, count, _) in found.items()}


REACHED_BY_ALL = {
    "number in a tuple": "tilelib.config.SHAPE = (2, 2)",
    "type of a number": "tilelib.config.SHAPE = (1.0, 2)",
    "enum": "tilelib.config.MODE = tilelib.config.Mode.SAFE",
    "attribute of a class": "tilelib.config.Plan.DEPTH = 6",
    "text in place of None": "tilelib.registered.policy = 'greedy'",
    "the user's own function": "tilelib.registered.policy = lambda: 1",
}


@pytest.mark.some(2)
@pytest.mark.parametrize("change", REACHED_BY_ALL.values(), ids=REACHED_BY_ALL)
def test_a_setting_that_a_rewrite_reads_counts_for_every_kernel(run: Run, change: str) -> None:
    run("plain")
    assert compiles(run("plain", change)) == {"plain": 1}
    assert compiles(run("plain", change)) == {"plain": 0}
    assert compiles(run("plain")) == {"plain": 0}


def test_a_setting_that_only_an_overload_reads_counts_for_the_kernels_that_call_it(run: Run) -> None:
    run("plain, tiled")
    found = run("plain, tiled", "tilelib.config.TILE = 8")
    assert (found["tiled"], compiles(found)) == ([8, 1, []], {"plain": 0, "tiled": 1})
    assert run("plain, tiled")["tiled"] == [3, 0, []]


def test_a_setting_of_a_module_that_is_imported_while_compiling_counts(run: Run) -> None:
    assert run("late")["late"] == [4, 1, []]
    change = "import tilelib.late; tilelib.late.LATE = 6"
    assert run("late", change)["late"] == [6, 1, []]
    assert run("late", "import tilelib.late")["late"] == [4, 0, []]
    assert run("late", change)["late"] == [6, 0, []]


# Ways in which the code of a library reads its settings; each is an overload of its own, which returns what it read.
WAYS = """
import abc, collections, functools, importlib, operator, sys
from numba.cuda.extending import overload
from tilelib import given
from tilelib import given as settings

class Planner:
    def plan(self): return settings.of_method
    @property
    def value(self): return settings.of_property
PLANNER = Planner()
class Table:
    def __init__(self): self.entries = {}
TABLE, REGISTRY = {"x": [lambda: settings.in_table]}, Table()
REGISTRY.entries["x"] = lambda: settings.in_registry
@functools.singledispatch
def single(x): return 0
@single.register
def of_int(x: int): return settings.behind_singledispatch
@functools.lru_cache
def remembered(): return settings.behind_lru_cache
def decorated(function):
    @functools.wraps(function)
    def wrapper(): return function()
    return wrapper
@decorated
def inner(): return settings.behind_decorator
NAME = "by_text_of_global"

def by_pattern():
    match settings:
        case object(by_pattern=x): return x
def when_absent():
    try: return settings.absent
    except AttributeError: return 3
def import_when_absent():
    try: from tilelib.given import absent_too
    except ImportError: return 3
    return absent_too
def global_when_absent():
    try: return absent_global
    except NameError: return 3

ways = {
    "of_method": lambda: PLANNER.plan(), "of_property": lambda: PLANNER.value, "in_table": lambda: TABLE["x"][0](),
    "in_registry": lambda: REGISTRY.entries["x"](), "behind_singledispatch": lambda: single(1),
    "behind_lru_cache": lambda: remembered(), "behind_decorator": lambda: inner(),
    "by_getattr": lambda: getattr(settings, "by_getattr"), "by_vars": lambda: vars(settings)["by_vars"],
    "by_dict": lambda: settings.__dict__["by_dict"], "by_getter": lambda: operator.attrgetter("by_getter")(settings),
    "by_text_of_global": lambda: getattr(settings, NAME), "by_pattern": by_pattern,
    "of_modules": lambda: sys.modules["tilelib.given"].of_modules,
    "by_import": lambda: importlib.import_module("tilelib.given").by_import,
    "by_relative_import": lambda: importlib.import_module(".given", "tilelib").by_relative_import,
    "absent_by_getattr": lambda: getattr(settings, "absent_by_getattr", 3),
    "absent": when_absent, "absent_too": import_when_absent, "absent_global": global_when_absent,
}
def make(way):
    def stub(): raise NotImplementedError
    @overload(stub, target="cuda")
    def read():
        value = way()
        return lambda: value
    return stub
stubs = {name: make(way) for name, way in ways.items()}
"""
GIVEN = "\n".join(f"{name} = 3" for name in re.findall(r'"(\w+)": ', WAYS) if "absent" not in name) + "\nunread = 3\n"
KERNELS_OF_WAYS = """
import tilelib.ways, tilelib.given
{change}
def kernel_of(name, stub):
    def kernel(x):
        x[0] = stub()
    kernel.__name__ = kernel.__qualname__ = name
    return gridjit.jit(kernel)
kernels = [kernel_of(*found) for found in tilelib.ways.stubs.items()]
"""
CHANGE_ALL = """
for name in tilelib.ways.ways:
    setattr(tilelib.ways if name == "absent_global" else tilelib.given, name, 8)
"""


@pytest.fixture
def reading(site: Path) -> None:
    """Have the library read settings in every way."""
    (site / "tilelib/ways.py").write_text(WAYS)
    (site / "tilelib/given.py").write_text(GIVEN)
    record = site / "tilelib-1.0.dist-info/RECORD"
    record.write_text(record.read_text() + "tilelib/ways.py,,\ntilelib/given.py,,\n")


@pytest.mark.usefixtures("reading")
def test_a_setting_counts_however_installed_code_reads_it(run: Run) -> None:
    before = run("*kernels", KERNELS_OF_WAYS.format(change=""))
    assert {name: row for name, row in before.items() if row != [3, 1, []]} == {}
    after = run("*kernels", KERNELS_OF_WAYS.format(change=CHANGE_ALL))
    assert {name: row for name, row in after.items() if row != [8, 1, []]} == {}
    again = run("*kernels", KERNELS_OF_WAYS.format(change="tilelib.given.unread = tilelib.given.strange = 8"))
    assert {name: row for name, row in again.items() if row != [3, 0, []]} == {}


IRRELEVANT = {
    "a setting that nothing reads": "tilelib.config.UNREAD = 2",
    "a counter that compiles change": "tilelib.config.COMPILES = 7",
    "what objects hold": "tilelib.registered.memo[1] = 2; next(tilelib.registered.ids)",
    "another lock": "tilelib.registered.lock = object()",
    "a setting of a module that is imported later": "import tilelib.late; tilelib.late.LATE = 6",
}


@pytest.mark.some(2)
@pytest.mark.parametrize("change", IRRELEVANT.values(), ids=IRRELEVANT)
def test_state_of_installed_code_does_not_count(run: Run, change: str) -> None:
    run("plain, tiled")
    assert compiles(run("plain, tiled", change)) == {"plain": 0, "tiled": 0}


def test_what_the_users_function_does_that_installed_code_was_given_counts(run: Run) -> None:
    given = "def choose():\n    return {}\ntilelib.registered.policy = choose"
    run("plain", given.format(1))
    assert compiles(run("plain", given.format(1))) == {"plain": 0}
    assert compiles(run("plain", given.format(2))) == {"plain": 1}


def test_a_file_edited_by_hand_is_a_miss(run: Run, site: Path) -> None:
    run("plain, tiled")
    config = site / "tilelib" / "config.py"
    config.write_text(config.read_text().replace("TILE = 3", "TILE = 9"))
    found = run("plain, tiled")
    assert (found["tiled"][0], compiles(found)) == (9, {"plain": 1, "tiled": 1})


def test_a_file_that_is_only_imported_later_is_a_miss_too(run: Run, site: Path) -> None:
    run("late")
    (site / "tilelib" / "late.py").write_text("LATE = 5\n")
    assert run("late")["late"] == [5, 1, []]


@pytest.mark.some(1)
@pytest.mark.parametrize("version", ["1.0", "1.1"])
def test_another_installation_is_a_miss_whatever_its_version(run: Run, tmp_path: Path, version: str) -> None:
    run("tiled")
    (tmp_path / "other").mkdir()
    changed = LIBRARY | {"tilelib/config.py": LIBRARY["tilelib/config.py"].replace("TILE = 3", "TILE = 2")}
    other = install(tmp_path / "other", changed, version)
    assert run("tiled", path=other)["tiled"] == [2, 1, []]
    assert run("tiled")["tiled"] == [3, 0, []]


def test_the_same_files_installed_again_are_the_same_code(run: Run, site: Path, tmp_path: Path) -> None:
    run("plain, tiled")
    shutil.rmtree(site)
    install(tmp_path, LIBRARY)
    for file in site.rglob("*"):
        os.utime(file, (1_000_000, 1_000_000))
    assert compiles(run("plain, tiled")) == {"plain": 0, "tiled": 0}


def test_a_file_that_is_not_code_of_it_changes_nothing(run: Run, site: Path) -> None:
    run("tiled")
    (site / "notes.txt").write_text("")
    shutil.rmtree(site / "tilelib" / "__pycache__", ignore_errors=True)
    assert compiles(run("tiled")) == {"tiled": 0}


@pytest.mark.parametrize("how", ["editable", "unlisted"])
def test_what_is_edited_in_place_is_the_users_own_code_and_looked_into(run: Run, site: Path, how: str) -> None:
    (info,) = site.glob("*.dist-info")
    if how == "editable":
        (info / "direct_url.json").write_text('{"dir_info": {"editable": true}, "url": "file:///tilelib"}')
    else:
        (info / "RECORD").write_text("")
    (reason, *_) = run("plain")["plain"][2]
    assert "tilelib.registered" in reason


def test_what_was_written_to_after_the_process_began_is_not_stored(run: Run, site: Path) -> None:
    config = str(site / "tilelib" / "config.py")
    write = f"text = open({config!r}).read(); file = open({config!r}, 'w'); file.write(text); file.close()"
    (reason,) = run("plain", write)["plain"][2]
    assert reason == "tilelib was modified after this process began, so what is loaded may be older"


DECLARING = """
    import os
    def __gridjit_settings__():
        return {"tile": os.environ.get("TILE", "1"), "level": 2}
"""


@pytest.fixture
def declaring(site: Path) -> Path:
    """The library, whose package says what its settings are."""
    package = site / "tilelib" / "__init__.py"
    package.write_text(package.read_text() + textwrap.dedent(DECLARING))
    return site


def test_a_package_declares_settings_that_cannot_be_seen(run: Run, declaring: Path) -> None:
    assert run("plain")["plain"] == [1, 1, []]
    assert compiles(run("plain")) == {"plain": 0}
    assert compiles(run("plain", "import os; os.environ['TILE'] = '2'")) == {"plain": 1}
    assert compiles(run("plain", "import os; os.environ['OTHER'] = '2'")) == {"plain": 0}


def test_a_declaration_that_fails_keeps_kernels_private(run: Run, declaring: Path) -> None:
    (reason,) = run("plain", "tilelib.__gridjit_settings__ = lambda: 1 / 0")["plain"][2]
    assert reason == "tilelib.__gridjit_settings__() raised ZeroDivisionError: division by zero"
    (reason,) = run("plain", "tilelib.__gridjit_settings__ = lambda: {'a': []}")["plain"][2]
    assert reason == "tilelib.__gridjit_settings__() returned what is not a text, or a mapping of plain values"


def test_what_an_installed_function_was_made_with_counts(run: Run) -> None:
    given = """
        from numba.cuda import types
        from tilelib import registered
        registered.install({})
    """
    run("plain", given.format("8"))
    assert compiles(run("plain", given.format("8"))) == {"plain": 0}
    assert compiles(run("plain", given.format("9"))) == {"plain": 1}
    assert compiles(run("plain")) == {"plain": 1}


def test_the_users_function_in_an_installed_one_counts(run: Run) -> None:
    given = "def add(x):\n    return x + {}\ntilelib.registered.install(add)"
    run("plain", given.format(8))
    assert compiles(run("plain", given.format(8))) == {"plain": 0}
    assert compiles(run("plain", given.format(9))) == {"plain": 1}


OBJECTS = """
import tilelib.plans
from numba.cuda import types
from numba.cuda.extending import typeof_impl
plan = tilelib.plans.{}
@typeof_impl.register(tilelib.plans.Plan)
def type_of(value, context):
    return types.none
@gridjit.jit
def planned(x):
    used = plan
    x[0] = 5
"""


def test_an_object_of_an_installed_class_counts_by_what_it_holds(run: Run) -> None:
    assert run("planned", OBJECTS.format("Plan(3)"))["planned"] == [5, 1, []]
    assert compiles(run("planned", OBJECTS.format("Plan(3)"))) == {"planned": 0}
    assert compiles(run("planned", OBJECTS.format("Plan(4)"))) == {"planned": 1}
    assert compiles(run("planned", OBJECTS.format("Plan(3, 2)"))) == {"planned": 1}
    assert run("planned", OBJECTS.format("Counted()"))["planned"] == [5, 1, []]
    assert compiles(run("planned", OBJECTS.format("Counted()"))) == {"planned": 0}


LAZY = """
import threading
import tilelib.plans
plan = tilelib.plans.Lazy({})
@gridjit.jit
def planned(x):
    used = plan
    x[0] = 5
"""
BUSY = "threading.Thread(target=lambda: [None for _ in iter(int, 1)], daemon=True).start()"


def test_an_object_that_its_own_library_changes_while_it_compiles_counts_as_it_was(run: Run) -> None:
    assert run("planned", LAZY.format(3))["planned"] == [5, 1, []]
    assert run("planned", LAZY.format(3))["planned"] == [5, 0, []]
    assert compiles(run("planned", LAZY.format(4))) == {"planned": 1}
    assert compiles(run("planned", LAZY.format(3) + "plan.typed = 1")) == {"planned": 1}


def test_an_object_that_another_thread_may_have_changed_is_not_stored(run: Run) -> None:
    reasons = run("planned", LAZY.format(3) + BUSY)["planned"][2]
    assert "plan changed while the kernel was compiled" in " ".join(reasons)


DOUBLED = """
from tilelib.stubs import Doubled
@gridjit.jit
def doubled(x):
    x[0] = Doubled(4.0)
"""


def test_a_class_of_installed_code_is_not_looked_into(run: Run) -> None:
    assert run("doubled", DOUBLED)["doubled"] == [8, 1, []]
    assert run("doubled", DOUBLED)["doubled"] == [8, 0, []]


MADE = """
from tilelib.registered import structure
others, Tile = [structure(number) for number in {}], structure({})
@gridjit.jit
def made(x):
    x[0] = Tile()
"""


def test_what_is_registered_for_a_class_that_a_call_made_counts_for_who_holds_it(run: Run) -> None:
    assert run("made, plain", MADE.format([], 3)) == {"made": [3, 1, []], "plain": [1, 1, []]}
    assert run("made, plain", MADE.format([5, 6], 3)) == {"made": [3, 0, []], "plain": [1, 0, []]}
    assert run("made, plain", MADE.format([], 4)) == {"made": [4, 1, []], "plain": [1, 0, []]}


CONTEXTS = "from numba.cuda.descriptor import cuda_target; cuda_target.typing_context.refresh()"


def test_a_librarys_own_registry_counts_alike_before_and_after_numbas_contexts_are_made(run: Run) -> None:
    first = functools.partial(run_python, compiles_first=True)
    assert run("plain, tiled", CONTEXTS, begin=first) == {"plain": [1, 1, []], "tiled": [3, 1, []]}
    assert run("plain, tiled") == {"plain": [1, 0, []], "tiled": [3, 0, []]}


WORKED_ON = "[numba_extensions]\ninit = tilelib.registered:shape\n"


def test_a_working_copy_of_an_extension_counts_by_the_files_of_its_package(run: Run, site: Path) -> None:
    (info,) = site.glob("*.dist-info")
    (info / "direct_url.json").write_text('{"dir_info": {"editable": true}, "url": "file:///tilelib"}')
    (info / "entry_points.txt").write_text(WORKED_ON)
    (info / "RECORD").write_text("")
    assert run() == {"tiled": [3, 1, []]}
    (site / "test_tilelib.py").write_text("")
    assert run() == {"tiled": [3, 0, []]}
    (site / "tilelib" / "new.py").write_text("")
    assert run() == {"tiled": [3, 1, []]}


def test_a_setting_that_a_compile_leaves_behind_does_not_count_for_the_next(run: Run) -> None:
    run("plain, tiled")
    assert compiles(run("tiled")) == {"tiled": 0}


STRANGE = """
class Strange(type):
    def __getattribute__(cls, name):
        if name == "__bases__":
            raise RuntimeError("never")
        return super().__getattribute__(name)
tilelib.registered.Node = Strange("Node", (), {"__module__": "tilelib.registered", "__qualname__": "Node"})
"""


def test_code_that_raises_when_it_is_looked_at_keeps_kernels_private_and_they_run(run: Run) -> None:
    value, _, (reason, *_) = run("plain", STRANGE)["plain"]
    assert value == 1
    assert reason == "what installed code reads cannot be told (RuntimeError: never)"
