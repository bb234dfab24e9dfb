"""An installed extension counts for the kernels that take part of it, and for all if it registers what all may meet."""

from __future__ import annotations

import functools
import json
import os
import shutil
import subprocess
import textwrap
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from gridjit.compiler.recorded.everybody import Answer
from tests.programs import python_path, run_new_python, run_python

PROGRAM = """
    import json, sys, warnings
    import numpy as np
    import gridjit

    @gridjit.jit
    def first(x):
        x[0] = 1

    @gridjit.jit
    def second(x):
        x[0] = 2
    {more}
    found = []
    for kernel in ({kernels}):
        x = np.ones(1)
        kernel[1, 1](x)
        found.append((int(x[0]), kernel.stats.compiles, [kernel.specializations[0].reason]))
        found[-1][2].extend(kernel.specializations[0].artifact.private)
    print(json.dumps([found, {sign!r} in sys.modules]))
"""
USES = """
    from tiles import twice

    @gridjit.jit(device=True)
    def inner(x):
        return twice(x)

    @gridjit.jit
    def uses(x):
        x[0] = inner(x[0])

    @gridjit.jit
    def again(x):
        x[0] = inner(x[0]) + 1
"""
OVERLOAD = """
    from numba.cuda.extending import overload
    from tiles import twice

    def init():
        overload(twice, target="cuda")(lambda x: lambda x: x * VERSION)
"""
LOWERING = """
    from numba.cuda import types
    from numba.cuda.cudadecl import register_global
    from numba.cuda.cudaimpl import lower
    from numba.cuda.typing.templates import AbstractTemplate, signature
    from tiles import twice

    def init():
        @register_global(twice)
        class Template(AbstractTemplate):
            def generic(self, args, kws):
                return signature(types.float64, types.float64)

        @lower(twice, types.float64)
        def scale(context, builder, sig, args):
            return builder.fmul(args[0], context.get_constant(types.float64, VERSION))
"""
REWRITE = """
    from numba.cuda.core.rewrites import Rewrite, register_rewrite

    def init():
        @register_rewrite("before-inference")
        class Watch(Rewrite):
            def match(self, *arguments):
                return False
"""
Run = Callable[..., tuple[list[Any], bool]]
Install = Callable[..., None]
Begin = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture
def site(tmp_path: Path) -> Path:
    (tmp_path / "site").mkdir()
    return tmp_path / "site"


@pytest.fixture
def installed(site: Path) -> Install:
    """A function that installs an extension of a name in a version, in the place of any other."""

    def install(source: str, version: int = 1, name: str = "tiles", stubs: str = "") -> None:
        removed(site, name)
        files = {
            f"{name}/__init__.py": stubs or "def twice(x):\n    raise NotImplementedError\n",
            f"{name}/ext.py": textwrap.dedent(source).replace("VERSION", str(version)),
            f"{name}-{version}.dist-info/METADATA": f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n",
            f"{name}-{version}.dist-info/entry_points.txt": f"[numba_extensions]\ninit = {name}.ext:init\n",
        }
        for path, text in {**files, f"{name}-{version}.dist-info/RECORD": ",,\n".join((*files, ""))}.items():
            (site / path).parent.mkdir(exist_ok=True)
            (site / path).write_text(text)

    return install


def removed(site: Path, name: str = "tiles") -> None:
    for path in site.glob(f"{name}*"):
        shutil.rmtree(path)


@pytest.fixture
def run(site: Path, cache_dir: Path) -> Run:
    """Run kernels in a new process; returns (result, compiles, reasons) of each, and whether it loaded the extension.

    An interpreter that is started for it, which takes long, tells whether it has numba.
    """

    def run(
        kernels: str = "first, second", more: str = "", *, begin: Begin = run_python, **settings: str
    ) -> tuple[list[Any], bool]:
        sign = "numba" if begin is run_new_python else "tiles.ext"
        program = textwrap.dedent(PROGRAM).format(more=textwrap.dedent(more), kernels=f"{kernels},", sign=sign)
        environ = {**os.environ, "PYTHONPATH": python_path(site), "GRIDJIT_TARGET": "host", **settings}
        done = begin("-B", "-c", program, env=environ)
        assert done.returncode == 0, done.stderr
        found, has_loaded = json.loads(done.stdout)
        return found, has_loaded

    return run


def compiles(found: tuple[list[Any], bool]) -> list[int]:
    return [count for _, count, _ in found[0]]


def test_what_is_for_an_extensions_own_invalidates_nothing_and_is_asked_once(run: Run, installed: Install) -> None:
    assert compiles(run()) == [1, 1]
    for version in (1, 2):
        installed(OVERLOAD, version)
        assert compiles(run()) == [0, 0]
        found = run(begin=run_new_python if version == 1 else run_python)
        assert (compiles(found), found[1]) == ([0, 0], False)


def test_what_is_for_everybody_is_in_the_key_of_every_kernel_and_explain_names_it(
    run: Run, installed: Install, site: Path
) -> None:
    run("first")
    installed(REWRITE)
    ((_, count, (why,)),), _ = run("first")
    assert (count, why.split(" 1 ")[0]) == (
        1,
        "installed extension tiles, for its rewrite before-inference tiles.ext.init.<locals>.Watch",
    )
    found = run("first")
    assert (compiles(found), found[1]) == ([0], False)
    installed(REWRITE, 2)
    assert compiles(run("first")) == [1]
    removed(site)
    assert compiles(run("first")) == [0]


@pytest.mark.parametrize("source", [OVERLOAD, LOWERING], ids=["overload", "lowering"])
def test_a_kernel_that_an_extension_took_part_in_depends_on_its_installation(
    run: Run, installed: Install, source: str
) -> None:
    installed(source, 3)
    kernels = "uses, again, first"
    assert [row[:2] for row in run(kernels, USES)[0]] == [[3, 1], [4, 1], [1, 1]]
    installed(source, 4)
    assert [row[:2] for row in run(kernels, USES)[0]] == [[4, 1], [5, 1], [1, 0]]
    assert [row[:2] for row in run(kernels, USES)[0]] == [[4, 0], [5, 0], [1, 0]]


GENERATES = """
    from types import FunctionType
    from numba.cuda import types
    from numba.cuda.extending import intrinsic, overload
    from tiles import twice

    def scaled(context, x):
        def lower(context, builder, sig, args):
            return builder.fmul(args[0], context.get_constant(types.float64, VERSION))
        return types.float64(types.float64), lower

    def generated(fn):
        code = compile("def impl(context, x):\\n    return fn(context, x)\\n", "<string>", "exec").co_consts[0]
        return FunctionType(code, locals())

    class Plan:
        __name__ = "plan"

    def make():
        kept.append(Plan())
        overload(kept[-1], target="cuda")(generated(scaled))
        return intrinsic(generated(scaled))

    kept = []

    def typed(x):
        scale = make()
        return lambda x: scale(x)

    def init():
        overload(twice, target="cuda")(typed)
"""


def test_what_generated_code_registers_while_a_kernel_is_compiled_keeps_no_kernel_out_of_the_cache(
    run: Run, installed: Install
) -> None:
    for version in (3, 4):
        installed(GENERATES, version)
        for count in (1, 0):
            first, again, _ = run("uses, again, first", USES)[0]
            assert [first, again] == [[version, count, first[2]], [version + 1, count, again[2]]]


def test_an_extension_that_a_program_had_generate_code_before_loading_is_for_its_own_as_elsewhere(
    run: Run, installed: Install
) -> None:
    installed(GENERATES)
    before = "\n    from tiles import ext\n    ext.kept.append(ext.make())\n"
    assert compiles(run("first")) == [1]
    assert compiles(run("uses, first", USES + before)) == [1, 0]


TYPE = """
    from numba.cuda import types
    from numba.cuda.extending import core_models, overload_attribute, register_model, typeof_impl
    from tiles import Tag

    class TagType(types.Opaque):
        pass

    def init():
        register_model(TagType)(core_models.OpaqueModel)
        typeof_impl.register(Tag)(lambda value, context: TagType("Tag"))
        overload_attribute(TagType, "depth", target="cuda")(lambda tag: lambda tag: VERSION)
"""
TAGGED = """
    from tiles import Tag
    tags = (1, {tag})

    class Tagged:
        def __init__(self, kernel):
            self.stats = kernel.stats
            self._kernel = kernel
            self.__name__ = "tagged"
        def __getitem__(self, shape):
            return lambda x: self._kernel[shape](x, Tag())
        @property
        def specializations(self):
            return self._kernel.specializations

    @gridjit.jit
    def reads(x, tag):
        x[0] = tag.depth
    tagged = Tagged(reads)
"""


def test_a_kernel_with_an_argument_of_an_extensions_type_depends_on_its_installation(
    run: Run, installed: Install
) -> None:
    more = TAGGED.format(tag=1)
    for version in (3, 4):
        installed(TYPE, version, stubs="class Tag:\n    pass\n")
        assert [row[:2] for row in run("tagged, first", more)[0]] == [[version, 1], [1, version == 3]]


# Whatever an extension registers, and in whatever way, while numba loads it or while it compiles for the first time.
WAYS = """
    import functools, operator

    def init():
        from numba import cuda
        from numba.cuda import types
        from numba.cuda.cudadecl import register_global
        from numba.cuda.cudaimpl import lower
        from numba.cuda.extending import typeof_impl
        from numba.cuda.typing.templates import AbstractTemplate
        from tiles import twice

        class Mine(types.Opaque):
            pass

        def given(context, builder, sig, args, table={"a": [1, 2]}, operation=operator.add):
            return args[0]

        class Tables:
            def method(self, context, builder, sig, args):
                return args[0]

        def by_exec(space):
            exec("def made(context, builder, sig, args): return args[0]", space)
            return space["made"]

        lower(operator.add, Mine)(given)
        lower(operator.sub, Mine)(functools.partial(given, table=3))
        lower(operator.mul, Mine)(lambda context, builder, sig, args: args[0])
        lower(operator.mod, Mine)(by_exec({}))
        lower(operator.pow, Mine)(by_exec({"__name__": "made"}))
        lower(operator.floordiv, Mine)(Tables().method)
        lower(operator.xor, Mine)(operator.getitem)
        register_global(twice, types.Dispatcher(cuda.jit(device=True)(lambda x: x)))
        register_global(operator.matmul)(type("Made", (AbstractTemplate,), {"generic": lambda self, args, kws: None}))
        typeof_impl.register(Tables)(functools.partial(lambda value, context: None))
"""
WHEN_CONTEXTS_ARE_MADE = """
    def init():
        import operator
        from numba.cuda.target import CUDATypingContext
        from numba.cuda.typing.templates import AbstractTemplate, Registry

        registry = Registry()

        @registry.register_global(operator.matmul)
        class Template(AbstractTemplate):
            def generic(self, args, kws):
                return None

        before = CUDATypingContext.load_additional_registries

        def load(self):
            before(self)
            self.install_registry(registry)

        CUDATypingContext.load_additional_registries = load
"""
IN_THE_FIRST_COMPILE = """
    from numba.cuda.core.rewrites import Rewrite, register_rewrite

    def init():
        done = []

        @register_rewrite("before-inference")
        class Watch(Rewrite):
            def match(self, *arguments):
                if not done:
                    done.append(True)
                    import operator
                    from numba.cuda import types
                    from numba.cuda.cudaimpl import lower

                    table = {"x": [1]}
                    lower(operator.matmul, types.float64)(lambda context, builder, sig, args: table)
                return False
"""


@pytest.mark.parametrize(
    "source", [WAYS, WHEN_CONTEXTS_ARE_MADE, IN_THE_FIRST_COMPILE], ids=["ways", "contexts", "compile"]
)
def test_the_first_kernel_of_a_process_is_stored_whatever_an_extension_registers(
    run: Run, installed: Install, source: str
) -> None:
    installed(source)
    assert compiles(run(begin=functools.partial(run_python, compiles_first=True))) == [1, 1]
    assert compiles(run()) == [0, 0]


CLASSIFIED = """
    import json
    import gridjit
    from gridjit.compiler.frontend.bindings.bootstrap import load_installed_extensions
    from gridjit.compiler.key.extensions import all_registrations

    load_installed_extensions()
    mine = [one for one in all_registrations() if one.name.startswith("tiles.ext")]
    print(json.dumps({one.sources[0].__name__: one.is_for_its_own for one in mine}))
"""
OWN_AND_OTHERS = """
    import operator
    from numba.cuda import types
    from numba.cuda.cudaimpl import lower, lower_cast
    from numba.cuda.extending import overload, overload_attribute, register_model, typeof_impl
    from numba.cuda.core.rewrites import Rewrite, register_rewrite
    import abc, tiles, others

    class Mine(types.Opaque): pass
    class Equal(types.Opaque):
        def __eq__(self, other): return True
    class Virtual(types.Opaque): pass
    Virtual.register(types.Integer)

    def init():
        def own_function(context, builder, sig, args): pass
        def own_type(context, builder, sig, args): pass
        def own_cast(context, builder, fromty, toty, val): pass
        def of_builtin(context, builder, sig, args): pass
        def of_type(tag): pass
        def of_another(x): pass
        def of_equal(context, builder, sig, args): pass
        def of_virtual(context, builder, sig, args): pass
        lower(tiles.twice, types.float64)(own_function)
        lower(operator.add, Mine, types.float64)(own_type)
        lower_cast(Mine, types.float64)(own_cast)
        lower(operator.add, types.float64, types.float64)(of_builtin)
        overload_attribute(types.Array, "tiles", target="cuda")(of_type)
        overload(others.thing, target="cuda")(of_another)
        lower(operator.add, Equal)(of_equal)
        lower(operator.add, Virtual)(of_virtual)
"""


def test_what_only_code_that_has_to_do_with_an_extension_can_meet_is_its_own(site: Path, installed: Install) -> None:
    installed("def init(): pass", name="others", stubs="def thing(x):\n    raise NotImplementedError\n")
    installed(OWN_AND_OTHERS)
    environ = {**os.environ, "PYTHONPATH": python_path(site), "GRIDJIT_TARGET": "host"}
    done = run_python("-B", "-c", textwrap.dedent(CLASSIFIED), env=environ)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout) == {
        **dict.fromkeys(("own_function", "own_type", "own_cast"), True),
        **dict.fromkeys(("of_builtin", "of_type", "of_another", "of_equal", "of_virtual"), False),
    }


def test_an_extension_that_has_code_of_no_distribution_register_something_is_loaded_by_each_process(
    run: Run, installed: Install, site: Path
) -> None:
    installed("def init():\n    import plugin\n")
    (site / "plugin.py").write_text("REWRITES = 0\n")
    run("first")
    assert run("first") == ([[1, 0, ["in the cache"]]], False)
    (site / "plugin.py").write_text(textwrap.dedent(REWRITE) + "init()\n")
    assert compiles(run("first")) == [1]
    found = run("first")
    assert (compiles(found), found[1]) == ([0], True)


def test_a_bundle_of_one_kernel_has_the_answer_and_a_cache_that_cannot_be_written_is_of_use(
    run: Run, installed: Install, cache_dir: Path, tmp_path: Path
) -> None:
    installed(OVERLOAD)
    run()
    environ = {**os.environ, "GRIDJIT_CACHE_DIR": str(tmp_path / "there")}
    for command in (("export", "--kernel", "first"), ("import",)):
        folder = {"export": cache_dir, "import": tmp_path / "there"}[command[0]]
        settings = {**environ, "GRIDJIT_CACHE_DIR": str(folder)}
        done = run_python("-m", "gridjit", "cache", command[0], tmp_path / "b", *command[1:], env=settings)
        assert done.returncode == 0, done.stderr
    elsewhere = {"GRIDJIT_CACHE_DIR": str(tmp_path / "new"), "GRIDJIT_CACHE_BASE": str(tmp_path / "there")}
    assert run("first", **elsewhere) == ([[1, 0, ["in the cache"]]], False)


def test_an_answer_that_is_torn_or_of_changed_files_is_none(tmp_path: Path) -> None:
    path = tmp_path / "run.py"
    path.write_text("")
    status = path.stat()
    answer = Answer(registered=(("tiles", "rewrite"),), files=((str(path), status.st_mtime_ns, status.st_size),))
    assert (Answer.from_bytes(answer.to_bytes()), answer.holds()) == (answer, True)
    assert [Answer.from_bytes(data) for data in (None, b"", answer.to_bytes()[:-1], b"{}", b"[]")] == [None] * 5
    path.write_text("changed")
    assert not answer.holds()


PLAN = """
    from numba.cuda import types
    from numba.cuda.cudadecl import registry
    from numba.cuda.cudaimpl import lower
    from numba.cuda.typing.templates import AbstractTemplate, signature
    from tiles import PLAN

    def init():
        class Template(AbstractTemplate):
            key = PLAN

            def generic(self, args, kws):
                return signature(types.float64, *args)

        registry.register_global(PLAN, types.Function(Template))

        @lower(PLAN, types.float64)
        def scale(context, builder, sig, args):
            return builder.fmul(args[0], context.get_constant(types.float64, VERSION))
"""
PLANNED = """
    from tiles import PLAN

    @gridjit.jit
    def planned(x):
        x[0] = PLAN(x[0])
"""


def test_an_object_of_an_extension_counts_before_and_after_the_extension_registers_for_it(
    run: Run, installed: Install
) -> None:
    stubs = "class Plan:\n    def __call__(self, x):\n        raise NotImplementedError\n\nPLAN = Plan()\n"
    for version in (3, 4):
        installed(PLAN, version, stubs=stubs)
        assert [run("planned", PLANNED)[0][0][:2] for _ in range(2)] == [[version, 1], [version, 0]]


READS_OPTIONS = """
    from numba.cuda.extending import overload
    import tiles

    def init():
        @overload(tiles.twice, target="cuda")
        def scaled(x):
            factor = tiles.OPTIONS.get("factor", 9)
            return lambda x: x * factor
"""
OPTIONS = """
OPTIONS = {}

def twice(x):
    raise NotImplementedError
"""


@pytest.mark.some(2)
@pytest.mark.parametrize(
    ("source", "stubs"),
    [
        ("def init():\n    import tiles\n    tiles.OPTIONS['factor'] = VERSION\n", ""),
        ("import tiles\ntiles.OPTIONS['factor'] = VERSION\ndel tiles\n\ndef init():\n    pass\n", ""),
        (
            "def init():\n    from way import configured\n    configured(VERSION)\n",
            "def configured(factor):\n    from tiles import OPTIONS\n    OPTIONS['factor'] = factor\n",
        ),
    ],
    ids=["function", "module", "helper"],
)
def test_an_extension_that_may_set_up_a_library_counts_for_the_kernels_that_the_library_took_part_in(
    run: Run, installed: Install, site: Path, source: str, stubs: str
) -> None:
    installed(READS_OPTIONS, stubs=OPTIONS)
    assert [row[:2] for row in run("uses, first", USES)[0]] == [[9, 1], [1, 1]]
    for version in (3, 4):
        installed(source, version, "way", stubs)
        assert [row[:2] for row in run("uses, first", USES)[0]] == [[version, 1], [1, 0]]
        assert [row[:2] for row in run("uses, first", USES)[0]] == [[version, 0], [1, 0]]
    removed(site, "way")
    assert run("uses, first", USES)[0][0][0] == 9


REWRITE_IF = f"""
    import os
    import sys
    {REWRITE.split("def init")[0].strip()}

    MODE = os.environ.get("TILES_MODE")

    def init():
        if CONDITION:
            @register_rewrite("before-inference")
            class Watch(Rewrite):
                def match(self, *arguments):
                    return False
"""
MODE = 'if __import__("os").environ.get("TILES_MODE"): import fractions'


@pytest.mark.some(2)
@pytest.mark.parametrize(
    ("condition", "more"),
    [
        ('os.getenv("TILES_MODE")', ""),
        ('"TILES_MODE" in os.environ', ""),
        ("MODE", "import tiles.ext"),
        ('"fractions" in sys.modules', MODE),
    ],
    ids=["get", "in", "imported before", "modules"],
)
def test_what_an_extension_registers_for_some_processes_only_counts_in_those(
    run: Run, installed: Install, condition: str, more: str
) -> None:
    installed(REWRITE_IF.replace("CONDITION", condition))
    assert compiles(run("first", more)) == [1]
    ((_, count, (why,)),), _ = run("first", more, TILES_MODE="on")
    assert (count, "installed extension tiles, for its rewrite" in why) == (1, True)
    for settings in ({}, {"TILES_MODE": "on"}):
        assert compiles(run("first", more, **settings)) == [0]


def test_an_answer_holds_in_processes_whose_environment_differs_elsewhere(run: Run, installed: Install) -> None:
    installed(REWRITE_IF.replace("CONDITION", 'os.getenv("TILES_MODE")'))
    run("first", TILES_MODE="on")
    assert run("first", TILES_MODE="on", OTHER="on")[1] is False


DECLARING = """
import os

def twice(x):
    raise NotImplementedError

def __gridjit_settings__():
    return {"TILES_MODE": os.environ.get("TILES_MODE", "")}
"""


def test_variables_that_an_imported_extension_declares_are_asked_for_without_loading_it_again(
    run: Run, installed: Install
) -> None:
    installed(OVERLOAD, stubs=DECLARING)
    found = [run("first", "import tiles", **mode) for mode in ({}, {}, {"TILES_MODE": "on"}, {"TILES_MODE": "on"})]
    assert [has_loaded for _, has_loaded in found] == [True, False, True, False]
    assert [compiles(one) for one in found] == [[1], [0], [0], [0]]


def test_a_setting_that_an_extension_declares_is_the_reason_for_a_compile(run: Run, installed: Install) -> None:
    installed(OVERLOAD, 3, stubs=DECLARING)
    run("uses", USES)
    ((_, count, (why,)),), _ = run("uses", USES, TILES_MODE="on")
    now = "tiles.__gridjit_settings__() [('TILES_MODE', \"''\")] -> [('TILES_MODE', \"'on'\")]"
    assert (count, why) == (1, now)
    installed(OVERLOAD, 4, stubs=DECLARING)
    ((_, count, (why,)),), _ = run("uses", USES, TILES_MODE="on")
    assert (count, why) == (1, "library tiles, which the compile used, has changed")


IMPORTING = """
    from numba.cuda.extending import overload

    def lazily(x):
        raise NotImplementedError

    @overload(lazily, target="cuda")
    def imported(x):
        from tiles import twice
        return lambda x: twice(x)

    @gridjit.jit
    def uses(x):
        x[0] = lazily(x[0])
"""


def test_a_kernel_whose_overload_imports_an_extension_is_found_by_the_next_process(
    run: Run, installed: Install
) -> None:
    for version in (3, 4):
        installed(OVERLOAD, version)
        assert [run("uses", IMPORTING)[0][0][:2] for _ in range(2)] == [[version, 1], [version, 0]]


SET_BEFORE = """
    import tiles
    from numba.cuda.extending import overload

    def init():
        factor, tiles.is_loaded = tiles.FACTOR, True
        overload(tiles.twice, target="cuda")(lambda x: lambda x: x * factor)
        if factor > 2:
            from numba.cuda.core.rewrites import Rewrite, register_rewrite

            @register_rewrite("before-inference")
            class Watch(Rewrite):
                def match(self, *arguments):
                    return False
"""


def test_values_that_a_program_sets_before_an_extension_is_loaded_count_if_loading_reads_them(
    run: Run, installed: Install
) -> None:
    stubs = "FACTOR, is_loaded = 1, False\ndef twice(x):\n    raise NotImplementedError\n"
    installed(SET_BEFORE, stubs=stubs)
    for count in (1, 0):
        for factor in (2, 3):
            found = run("uses, first", USES + f"\n    import tiles\n    tiles.FACTOR = {factor}\n")
            assert [row[:2] for row in found[0]] == [[factor, count], [1, count]]


READS_ELSEWHERE = """
from numba.cuda.extending import overload
from tiles import twice

def register(factor):
    overload(twice, target="cuda")(lambda x: lambda x: x * factor)

"""


@pytest.mark.some(2)
@pytest.mark.parametrize(
    "reads",
    [
        "def init():\n    import way\n    register(way.FACTOR)\n",
        "def init():\n    import way\n    factor, way.FACTOR = way.FACTOR, 0\n    register(factor)\n",
        "def init():\n    import way\n    factor, way.FACTOR = way.FACTOR, object()\n    register(factor)\n",
        "def init():\n    from way import get\n    register(get())\n",
    ],
    ids=["read", "replaced", "replaced by an object", "private"],
)
def test_values_of_another_library_that_a_program_sets_before_loading_do_not_count_where_it_sets_none(
    run: Run, installed: Install, reads: str
) -> None:
    installed("def init():\n    pass\n", name="way", stubs="FACTOR = 2\n_factor = 2\ndef get():\n    return _factor\n")
    installed(READS_ELSEWHERE + reads)
    sets = "\n    import way\n    way.FACTOR = way._factor = 3\n"
    found = [run("uses", USES + more)[0][0][:2] for more in (sets, "", "", sets)]
    assert found == [[3, 1], [2, 1], [2, 0], [3, 0]]


@pytest.mark.parametrize(
    "reads",
    [
        "import way\nFACTOR = way.FACTOR + 0\n\ndef init():\n    register(FACTOR)\n",
        "import way\n\ndef now(function):\n    function()\n\n@now\ndef found():\n    register(way.FACTOR)\n\n"
        "def init():\n    pass\n",
    ],
    ids=["computed", "decorated"],
)
def test_values_that_the_import_of_an_extension_reads_count(run: Run, installed: Install, reads: str) -> None:
    installed("def init():\n    pass\n", name="way", stubs="FACTOR = 2\n")
    installed(READS_ELSEWHERE + reads)
    sets = "\n    import way\n    way.FACTOR = 3\n"
    found = [run("uses", USES + more)[0][0][:2] for more in ("", sets, "", sets)]
    assert found == [[2, 1], [3, 1], [2, 0], [3, 0]]


def test_values_that_an_extension_computes_and_its_loading_does_not_read_cause_no_compile(
    run: Run, installed: Install
) -> None:
    stubs = "import os\nPROCESS = os.getpid()\ndef process():\n    return PROCESS\ndef twice(x):\n    raise TypeError\n"
    installed(READS_ELSEWHERE + "def init():\n    register(3)\n", stubs=stubs)
    assert [run("uses", USES)[0][0][:2] for _ in range(2)] == [[3, 1], [3, 0]]


MEMBERS = REWRITE.replace("def init():", "def init():\n        import tiles\n        assert tiles.Mode.FAST.value")


def test_members_of_enumerations_are_the_same_whether_a_program_or_loading_imports_them(
    run: Run, installed: Install
) -> None:
    stubs = "import enum\nclass Mode(enum.Enum):\n    FAST = 'fast'\ndef twice(x):\n    raise NotImplementedError\n"
    installed(MEMBERS, stubs=stubs)
    assert compiles(run("first")) == [1]
    assert compiles(run("first", "\n    import tiles\n")) == [0]
