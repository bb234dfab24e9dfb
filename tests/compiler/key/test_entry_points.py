"""Extensions that are installed: loaded before the first compile, as numba does, and part of the key before that."""

from __future__ import annotations

import json
import os
import sys
import textwrap
from collections.abc import Callable
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any

import pytest

from gridjit.compiler.key.entry_points import installed_extensions
from tests.programs import python_path, run_new_python, run_python

Run = Callable[..., str]
SLOW = pytest.mark.slow


def install(site: Path, name: str, entries: str, version: str = "1.0", record: str = "") -> Path:
    """Describe a distribution in a folder as installers do; return the folder of the description."""
    folder = site / f"{name}-{version}.dist-info"
    folder.mkdir(parents=True)
    (folder / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n")
    (folder / "RECORD").write_text(record)
    if entries:
        (folder / "entry_points.txt").write_text(textwrap.dedent(entries))
    return folder


@pytest.fixture
def site(tmp_path: Path) -> Path:
    """A folder that packages are installed into."""
    return tmp_path / "site"


@pytest.fixture
def run(site: Path) -> Run:
    """A function that runs a program in a process which finds the packages, and returns what it printed.

    new: in an interpreter that is started for it, which has not imported numba.
    """

    def run(program: str, *arguments: str, new: bool = False) -> str:
        return ran(site, program, *arguments, new=new)

    return run


def ran(site: Path, program: str, *arguments: str, new: bool = False, **settings: str) -> str:
    """Return what a program printed that found the packages of a folder."""
    path = site.with_name("program.py")
    path.write_text(textwrap.dedent(program))
    environment = {**os.environ, "PYTHONPATH": python_path(site), "GRIDJIT_TARGET": "host"}
    environment |= {"PYTHONDONTWRITEBYTECODE": "1", **settings}
    done = (run_new_python if new else run_python)(*arguments, path, env=environment)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout.strip()


def module(site: Path, name: str, source: str) -> None:
    site.mkdir(exist_ok=True)
    (site / f"{name}.py").write_text(textwrap.dedent(source))


TWICE = """
    from numba.cuda.extending import overload
    from api import twice

    def init():
        overload(twice, target="cuda")(lambda x: lambda x: 2 * x)
"""
NOSY = """
    from gridjit.launchconfig import current_launch_config
    from numba.cuda.launchconfig import current_launch_config as numbas

    def init():
        global told
        told = [str(current_launch_config()), str(numbas())]
"""
BROKEN = """
    def init():
        raise OSError('the licence is gone')
"""
MEETS_ALL = """
    import json, sys, warnings
    import numpy as np
    import gridjit
    from api import twice

    @gridjit.jit
    def first(out):
        out[0] = 1

    @gridjit.jit
    def doubles(out):
        out[0] = twice(out[0])

    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for launch in (1, 2):
            first[launch, launch](np.ones(2))
        doubles[1, 1](out := np.ones(1))
    print(json.dumps({
        "compiles": first.stats.compiles,
        "facts": [str(found.footprint.facts) for found in first.specializations],
        "told": sys.modules["nosy_ext"].told,
        "doubled": out[0],
        "warned": [str(one.message) for one in caught],
    }))
"""


@pytest.fixture(scope="module", params=["numba_extensions", pytest.param("numba_cuda_extensions", marks=SLOW)])
def met(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """What a process finds whose first compile meets extensions: one that fails, one that asks, one that adds."""
    site = tmp_path_factory.mktemp("extensions") / "site"
    module(site, "api", "def twice(x):\n    raise NotImplementedError\n")
    for name, source in {"broken": BROKEN, "nosy": NOSY, "twice": TWICE}.items():
        install(site, name, f"[{request.param}]\ninit = {name}_ext:init\n")
        module(site, f"{name}_ext", source)
    found: dict[str, Any] = json.loads(ran(site, MEETS_ALL, GRIDJIT_CACHE_DIR=str(site.with_name("cache"))))
    return found


def test_what_an_installed_extension_adds_is_there_without_importing_it(met: dict[str, Any]) -> None:
    assert met["doubled"] == 2


def test_an_extension_that_fails_to_load_is_a_warning_that_names_it_and_kernels_compile(met: dict[str, Any]) -> None:
    (warned,) = [text for text in met["warned"] if "broken_ext" in text]
    assert warned.startswith("Numba extension module 'broken_ext' failed to load due to 'OSError(the licence")
    assert met["compiles"] == 1


def test_what_an_extension_asks_while_it_is_loaded_is_not_what_the_kernel_read(met: dict[str, Any]) -> None:
    assert met["told"] == ["None", "None"]
    assert (met["compiles"], met["facts"]) == (1, ["()"])


def test_a_type_that_only_an_installed_extension_knows_can_be_an_argument(site: Path, run: Run) -> None:
    install(site, "tags", "[numba_extensions]\ninit = tags_ext:init\n")
    module(site, "tags", "class Tag:\n    pass\n")
    module(
        site,
        "tags_ext",
        """
        def init():
            from numba.cuda import types
            from numba.cuda.extending import core_models, register_model, typeof_impl
            from tags import Tag

            class TagType(types.Opaque):
                pass

            register_model(TagType)(core_models.OpaqueModel)
            typeof_impl.register(Tag)(lambda value, context: TagType("Tag"))
        """,
    )
    program = """
        import numpy as np
        import gridjit
        from tags import Tag

        @gridjit.jit
        def kernel(out, tag):
            out[0] = 3

        out = np.ones(1)
        kernel[1, 1](out, Tag())
        print(out[0])
    """
    assert run(program) == "3.0"


def test_a_description_that_nobody_can_read_is_a_warning_and_kernels_compile(site: Path, run: Run) -> None:
    install(site, "aa-unreadable", "[console_scripts]\nno equals sign\n")
    install(site, "quiet", "[numba_extensions]\ninit = quiet_ext:init\n")
    assert run(STARTS, "-W", "ignore").startswith("1 True")


STARTS = """
    import sys
    import numpy as np
    import gridjit

    @gridjit.jit
    def kernel(out):
        out[0] = 1

    kernel[1, 1](np.ones(1))
    print(kernel.stats.compiles, *(name in sys.modules for name in ("numba", "importlib.metadata", "quiet_ext")))
"""


def test_a_cached_kernel_starts_without_numba_where_an_extension_is_installed(site: Path, run: Run) -> None:
    install(site, "quiet", "[numba_extensions]\ninit = quiet_ext:init\n")
    module(site, "quiet_ext", "def init():\n    pass\n")
    assert run(STARTS).startswith("1 True")
    assert run(STARTS, new=True) == "0 False False False"


FOR_EVERYBODY = """
    from numba.cuda.core.rewrites import Rewrite, register_rewrite

    def init():
        @register_rewrite("before-inference")
        class Watch(Rewrite):
            def match(self, *arguments):
                return False
"""


def test_another_version_or_build_of_an_extension_that_registers_for_everybody_is_another_job(
    site: Path, run: Run
) -> None:
    module(site, "quiet_ext", FOR_EVERYBODY)
    folder = install(site, "quiet", "[numba_extensions]\ninit = quiet_ext:init\n", record="quiet_ext.py,sha256=1,10\n")
    install(site, "unrelated", "[console_scripts]\nmain = quiet_ext:init\n")
    assert run(STARTS)[0] == "1"
    (folder / "RECORD").write_text("quiet_ext.py,sha256=2,10\n")
    assert run(STARTS)[0] == "1"
    folder.rename(site / "quiet-1.1.dist-info")
    assert run(STARTS)[0] == "1"
    (site / "unrelated-1.0.dist-info").rename(site / "unrelated-2.0.dist-info")
    assert run(STARTS)[0] == "0"


def test_what_is_found_is_what_numba_would_load(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first, second = tmp_path / "first", tmp_path / "second"
    install(first, "Some.Thing_else", "# comment\n[numba_extensions]\n init=some.thing : go [extra]\nother = a:b\n")
    install(second, "some_thing_else", "[numba_extensions]\ninit = older:go\n", version="0.9")
    install(first, "hidden", "")
    install(second, "hidden", "[numba_extensions]\ninit = hidden:go\n")
    install(second, "both", "[numba_cuda_extensions]\ninit = two:go\n\n[numba_extensions]\n# comment\ninit = one:go\n")
    install(second, "similar", "[numba_extensions_of_mine]\ninit = not:this\n[console_scripts]\ninit = nor:that\n")
    paths = [str(first), str(tmp_path / "missing"), str(second)]
    found = installed_extensions(paths)
    assert [(name, version.split()[0], value.replace(" ", "")) for name, version, value in found] == [
        ("some-thing-else", "1.0", "some.thing:go"),
        ("both", "1.0", "one:go"),
        ("both", "1.0", "two:go"),
    ]
    monkeypatch.setattr(sys, "path", paths)
    groups = ("numba_extensions", "numba_cuda_extensions")
    numbas = {one.module for group in groups for one in entry_points(group=group, name="init")}
    assert {value.partition(":")[0].strip() for _, _, value in found} == numbas
