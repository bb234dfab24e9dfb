"""The toolchain's fields name what is installed, without importing it."""

from __future__ import annotations

import base64
import hashlib
import json
import os
import re
import subprocess
import sys
import zipfile
from collections.abc import Iterator, Mapping
from importlib.metadata import version
from importlib.resources import files
from pathlib import Path
from types import MappingProxyType
from typing import Any

import pytest

from gridjit.compiler.key import installed
from gridjit.compiler.key import numba_settings as toolchain_environment
from gridjit.compiler.key import toolchain as toolchain_module
from gridjit.compiler.key.site_folders import descriptions
from gridjit.compiler.key.toolchain import (
    ARTIFACT_SCHEMA,
    component_versions,
    debug_versions,
    environment,
    header_versions,
    overtaken,
    own_sources,
    toolchain,
    toolkit_text,
    versions_in,
)
from gridjit.compiler.values.errors import ConfigError
from tests.programs import python_path


def distribution(folder: Path, name: str) -> Path:
    (folder / name).mkdir(parents=True)
    return folder


def run(code: str, cwd: Path | None = None, environ: Mapping[str, str] = MappingProxyType({})) -> Any:
    """Return the JSON that code prints in another process with these variables."""
    clean = {name: value for name, value in os.environ.items() if not name.startswith("NUMBA_")}
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, cwd=cwd, env={**clean, **environ}, timeout=60
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.mark.parametrize("kind", ["host", "ptx"])
def test_the_fields_are_the_installed_versions(kind: str) -> None:
    fields = dict(toolchain(kind))
    assert fields["artifact schema"] == str(ARTIFACT_SCHEMA)
    assert fields["python"].startswith(f"cpython {sys.version_info.major}.{sys.version_info.minor}, bytecode ")
    for name in ("gridjit", "numba-cuda", "numba", "llvmlite", "numpy"):
        assert fields[name] == version(name)


def test_only_ptx_depends_on_nvidias_compilers() -> None:
    assert {"nvvm", "nvjitlink", "cuda-bindings"} <= set(dict(toolchain("ptx")))
    assert not {"nvvm", "nvjitlink", "cuda-bindings"} & set(dict(toolchain("host")))


def test_an_unknown_kind_is_refused() -> None:
    with pytest.raises(ConfigError, match="target kind 'vulkan': one of host, ptx"):
        toolchain("vulkan")


@pytest.mark.parametrize(
    ("entry", "name", "found"),
    [
        ("numba_cuda-0.30.4.dist-info", "numba-cuda", "0.30.4"),
        ("Nvidia.NVVM-13.4.92.dist-info", "nvidia-nvvm", "13.4.92"),
        ("numba-0.70.0.dev0+4.gabcdef.dist-info", "numba", "0.70.0.dev0+4.gabcdef"),
        ("llvmlite-0.50.0-py3.11.egg-info", "llvmlite", "0.50.0"),
    ],
)
def test_versions_are_read_from_folder_names(tmp_path: Path, entry: str, name: str, found: str) -> None:
    folder = str(distribution(tmp_path, entry))
    assert versions_in([descriptions(folder)], {name}) == {name: found}
    assert versions_in([descriptions(folder)], {"another"}) == {}


def test_the_first_folder_wins_as_it_does_for_imports(tmp_path: Path) -> None:
    first = distribution(tmp_path / "first", "numba-1.0.dist-info")
    second = distribution(tmp_path / "second", "numba-2.0.dist-info")
    assert versions_in(map(descriptions, (str(first), str(second))), {"numba"}) == {"numba": "1.0"}


def test_folders_that_are_none_are_passed_over(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    assert versions_in(map(descriptions, (str(tmp_path / "missing"), str(tmp_path / "file"))), {"numba"}) == {}


def test_a_component_is_found_under_any_of_its_names() -> None:
    wanted = (("nvvm", ("nvidia-nvvm", "nvidia-cuda-nvcc-cu12")), ("numba", ("numba",)))
    assert component_versions(wanted, {"nvidia-cuda-nvcc-cu12": "12.9"}) == {"nvvm": "12.9", "numba": "not installed"}
    both = component_versions(wanted, {"nvidia-nvvm": "13.4", "nvidia-cuda-nvcc-cu12": "12.9", "numba": "1"})
    assert both == {"nvvm": "nvidia-nvvm 13.4, nvidia-cuda-nvcc-cu12 12.9", "numba": "1"}


def test_a_distribution_inside_a_zip_file_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    archive = tmp_path / "bundle.zip"
    with zipfile.ZipFile(archive, "w") as file:
        file.writestr("zipped_part-3.1.dist-info/METADATA", "Metadata-Version: 2.1\nName: zipped-part\nVersion: 3.1\n")
    monkeypatch.syspath_prepend(str(archive))
    assert component_versions((("part", ("zipped-part",)),), {}) == {"part": "3.1"}


def test_a_toolkit_outside_pip_is_told_by_its_version_file(tmp_path: Path) -> None:
    (tmp_path / "version.json").write_text('{"cuda": {"version": "13.0.1"}}')
    one = toolkit_text({"CUDA_HOME": str(tmp_path)}, roots=())
    (tmp_path / "version.json").write_text('{"cuda": {"version": "13.0.2"}}')
    assert str(tmp_path) in one
    assert toolkit_text({"CUDA_HOME": str(tmp_path)}, roots=()) != one


def test_a_toolkit_without_a_version_file_is_told_by_its_libraries(tmp_path: Path) -> None:
    library = tmp_path / "nvvm" / "lib64" / "libnvvm.so.4"
    library.parent.mkdir(parents=True)
    library.write_text("")
    os.utime(library, (1, 1))
    library.with_suffix("").symlink_to(library.name)
    library.with_name("libnvvm.so.3").symlink_to("uninstalled")
    one = toolkit_text({}, roots=(str(tmp_path),))
    os.utime(library, (2, 2))
    assert toolkit_text({}, roots=(str(tmp_path),)) != one
    assert toolkit_text({}, roots=(str(tmp_path / "missing"),)) == "not installed"


def test_nothing_of_the_toolchain_is_imported() -> None:
    code = (
        "import json, sys\nfrom gridjit.compiler.key.toolchain import environment, toolchain\n"
        "toolchain('host'), toolchain('ptx'), environment()\n"
        "roots = {'numba', 'numba_cuda', 'llvmlite', 'numpy', 'cuda', 'importlib.metadata'}\n"
        "print(json.dumps([name for name in sys.modules if name in roots or name.partition('.')[0] in roots]))"
    )
    assert run(code) == []


ENVIRONMENT = (
    "import json\nfrom gridjit.compiler.key.toolchain import environment\n{}\nprint(json.dumps(environment()))"
)


def test_settings_at_their_defaults_are_not_named() -> None:
    assert environment({}) == ()
    assert environment({"NUMBA_OPT": "3", "NUMBA_CUDA_LOG_LEVEL": "DEBUG", "PATH": "/bin"}) == ()


def test_settings_that_alter_code_are_named_with_their_value() -> None:
    variables = {"NUMBA_OPT": "0", "NUMBA_CUDA_ENABLE_NRT": "True", "NUMBA_FORCE_CUDA_CC": "9.0"}
    found = run(ENVIRONMENT.format(""), environ=variables)
    assert found == [["NUMBA_OPT", "0"], ["NUMBA_FORCE_CUDA_CC", "(9, 0)"], ["NUMBA_CUDA_ENABLE_NRT", "True"]]


@pytest.mark.some(1)
@pytest.mark.parametrize("imports", ["", "import numba.cuda"], ids=["before", "after"])
def test_the_configuration_file_counts_as_numba_reads_it(tmp_path: Path, imports: str) -> None:
    # numba refuses an optimization level that is not a text, and takes the runtime's switch from the environment alone.
    (tmp_path / ".numba_config.yaml").write_text(
        '{"boundscheck": 1, "cuda_debuginfo": 1, "opt": 0, "cuda_enable_nrt": 1}'
    )
    # JSON is YAML enough, and PyYAML need not be installed.
    (tmp_path / "yaml.py").write_text(
        "import json\nYAMLError = ValueError\n"
        "def safe_load(text):\n    return json.loads(text if isinstance(text, str) else text.read())\n"
    )
    quiet = f"import warnings\nwarnings.simplefilter('ignore')\n{imports}"
    found = run(ENVIRONMENT.format(quiet), tmp_path, {"PYTHONPATH": python_path(tmp_path), "NUMBA_BOUNDSCHECK": "0"})
    assert found == [["NUMBA_BOUNDSCHECK", "0"], ["NUMBA_CUDA_DEBUGINFO", "1"]]


def test_a_setting_that_numba_cannot_read_is_at_its_default() -> None:
    assert environment({"NUMBA_OPT": "fast"}) == ()


@pytest.mark.some(1)
@pytest.mark.parametrize(
    "variables",
    [{}, {"NUMBA_OPT": "1", "NUMBA_CUDA_ENABLE_NRT": "1", "NUMBA_BOUNDSCHECK": "1", "NUMBA_FORCE_CUDA_CC": "8.0"}],
    ids=["defaults", "set"],
)
def test_settings_are_the_same_before_and_after_numba_is_imported(variables: dict[str, str]) -> None:
    before = run(ENVIRONMENT.format(""), environ=variables)
    after = run(ENVIRONMENT.format("import numba.cuda"), environ=variables)
    assert before == after
    assert {name for name, _ in before} == set(variables)


def test_an_assignment_to_numbas_configuration_is_seen() -> None:
    code = ENVIRONMENT.format("import numba\nnumba.config.CUDA_ENABLE_NRT = True")
    assert run(code) == [["NUMBA_CUDA_ENABLE_NRT", "False, numba.config says True"]]


def test_a_variable_of_numbas_that_nobody_listed_counts_as_it_stands() -> None:
    given = {"NUMBA_OF_TOMORROW": "5", "LLVMLITE_ENABLE_IR_LAYER_TYPED_POINTERS": "0"}
    fields = (("NUMBA_OF_TOMORROW", "'5'"), ("LLVMLITE_ENABLE_IR_LAYER_TYPED_POINTERS", "'0'"))
    assert environment(given) == fields


def test_what_is_known_to_change_no_code_does_not_count() -> None:
    assert environment({"NUMBA_NUM_THREADS": "3", "NUMBA_DUMP_LLVM": "1", "NUMBA_CACHE_DIR": "/somewhere"}) == ()


def test_every_setting_that_numba_cuda_reads_counts_or_is_known_to_change_no_code() -> None:
    read = {name for path in _sources_of_numba_cuda() for name in re.findall(r"\bconfig\.([A-Z][A-Z0-9_]+)", path)}
    known = {setting.attribute or setting.variable.removeprefix("NUMBA_") for setting in toolchain_environment.SETTINGS}
    known |= {*toolchain_environment._MADE, *toolchain_environment._DUMPS, *toolchain_environment._DUMPS.values()}
    known |= toolchain_environment._OF_NO_CODE
    # Python's version and the machine's are in the toolchain; the others name a tool to run, or a file to write.
    assert read - known == {"PYVERSION", "IS_WIN32", "MACHINE_BITS", "GDB_BINARY", "HTML"}


def _sources_of_numba_cuda() -> Iterator[str]:
    root = Path(str(files("numba_cuda"))) / "numba" / "cuda"
    for path in root.rglob("*.py"):
        if not {"tests", "simulator"} & set(path.relative_to(root).parts):
            yield path.read_text()


ASSIGNED = """
import json
import numba.core.config as config
BEFORE
from gridjit.compiler.frontend.bindings.bootstrap import numba_cuda
numba_cuda()
from gridjit.compiler.key.toolchain import environment
first = environment()
config.CUDA_DEBUG_POLY = not config.CUDA_DEBUG_POLY
print(json.dumps([first, environment()]))
"""


def test_what_numba_cuda_sets_itself_counts_where_it_was_assigned() -> None:
    first, second = run(ASSIGNED.replace("BEFORE", ""))
    assert (first, [label for label, _ in second]) == ([], ["numba.config.CUDA_DEBUG_POLY"])


def test_what_was_assigned_ahead_of_numba_cuda_counts_the_same() -> None:
    ahead = "import json\nimport numba.core.config as config\nconfig.CUDA_DEBUG_POLY = 7\n"
    ask = "from gridjit.compiler.key.toolchain import environment\n"
    code = f"{ahead}{ask}first = environment()\nimport numba.cuda\nprint(json.dumps([first, environment()]))"
    assert run(code) == [[["numba.config.CUDA_DEBUG_POLY", "7"]]] * 2


def test_debug_information_depends_on_the_version_of_cudas_runtime() -> None:
    assert [label for label, _ in debug_versions()] == ["cuda-runtime"]


def test_the_environment_is_read_anew_each_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("NUMBA_CUDA_INCLUDE_PATH", raising=False)
    before = environment()
    monkeypatch.setenv("NUMBA_CUDA_INCLUDE_PATH", "/include")
    assert set(environment()) - set(before) == {("NUMBA_CUDA_INCLUDE_PATH", "'/include'")}


def own_installation(site: Path) -> Path:
    """Return the compiler's folder of an installation of gridjit that was made below site."""
    compiler, info = site / "gridjit" / "compiler", site / "gridjit-0.1.0.dist-info"
    compiler.mkdir(parents=True)
    info.mkdir()
    (compiler / "driver.py").write_text("ONE = 1\n")
    (info / "RECORD").write_text(
        f"{listed('gridjit/compiler/driver.py', 'ONE = 1')}../../../bin/gridjit,sha256=one,8\n"
    )
    return compiler


def listed(name: str, line: str) -> str:
    """Return a row of a record for a file of one line."""
    digest = base64.urlsafe_b64encode(hashlib.sha256(f"{line}\n".encode()).digest()).decode().rstrip("=")
    return f"{name},sha256={digest},{len(line) + 1}\n"


def at_other_times(site: Path, moved: float, digits: int = 9) -> None:
    """Have the files of an installation written so many seconds later, and cut their times to digits of a second."""
    for file in (file for file in site.rglob("*") if file.is_file()):
        written = file.stat().st_mtime_ns + round(moved * 1e9)
        os.utime(file, ns=(0, written // 10 ** (9 - digits) * 10 ** (9 - digits)))


OWN_CHANGES = {
    "a file edited by hand": ("gridjit/compiler/compile.py", "ONE = 111\n"),
    "a file added": ("gridjit/compiler/targets/other.py", ""),
    "another build of the same version": (
        "gridjit-0.1.0.dist-info/RECORD",
        "gridjit/compiler/driver.py,sha256=two,8\n",
    ),
    "a file of the same size": ("gridjit/compiler/driver.py", "ONE = 2\n"),
}


@pytest.mark.parametrize(("name", "text"), OWN_CHANGES.values(), ids=OWN_CHANGES)
def test_gridjits_own_installation_counts_by_its_files_and_not_by_its_version_alone(
    tmp_path: Path, name: str, text: str
) -> None:
    folder = own_installation(tmp_path / "site-packages")
    before = own_sources("ptx", str(folder))
    changed = tmp_path / "site-packages" / name
    changed.parent.mkdir(exist_ok=True)
    changed.write_text(text)
    assert own_sources("ptx", str(folder)) != before


@pytest.mark.parametrize("moved", [0, -4e6, 7.5])
@pytest.mark.parametrize("digits", [9, 0])
def test_installations_of_one_wheel_are_one_whenever_they_were_made(tmp_path: Path, moved: float, digits: int) -> None:
    one, other = (own_installation(tmp_path / name) for name in ("ci", "image"))
    at_other_times(tmp_path / "image", moved, digits)
    (tmp_path / "image" / "gridjit-0.1.0.dist-info" / "direct_url.json").write_text("{}")
    assert own_sources("ptx", str(one)) == own_sources("ptx", str(other))


def test_a_start_reads_no_file_that_was_written_with_its_record(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = own_installation(tmp_path / "site-packages")
    monkeypatch.setattr("gridjit.compiler.key.record._digest", lambda path: pytest.fail(f"{path} is read"))
    own_sources("ptx", str(folder))


@pytest.mark.parametrize("digits", [9, 0])
@pytest.mark.parametrize("moved", [0, 0.5, -3600, 3600])
def test_a_file_of_the_same_size_that_was_not_installed_counts(tmp_path: Path, moved: float, digits: int) -> None:
    one, other = (own_installation(tmp_path / name) for name in ("ci", "image"))
    record = tmp_path / "image" / "gridjit-0.1.0.dist-info" / "RECORD"
    (other / "driver.py").write_text("ONE = 2\n")
    at_other_times(tmp_path / "image", 0, digits)
    written = record.stat().st_mtime_ns + 10_000_000 * (digits > 0) + round(moved * 1e9)
    os.utime(other / "driver.py", ns=(0, written))
    assert own_sources("ptx", str(one)) != own_sources("ptx", str(other))


@pytest.mark.parametrize(("kind", "other"), [("ptx", "host"), ("host", "ptx")])
def test_what_only_another_kind_of_target_has_does_not_count(tmp_path: Path, kind: str, other: str) -> None:
    folder = own_installation(tmp_path / "site-packages")
    for name in (kind, other, f"shared/{other}"):
        (folder / "targets" / name).mkdir(parents=True)
    before = own_sources(kind, str(folder))
    (folder / "targets" / other / "generate.py").write_text("")
    assert own_sources(kind, str(folder)) == before
    for counted in (f"targets/{kind}/generate.py", f"targets/shared/{other}/generate.py", "targets/generate.py"):
        (folder / counted).write_text("")
        assert before != (before := own_sources(kind, str(folder)))


@pytest.mark.cuda_toolkit
def test_no_code_for_a_gpu_is_made_by_what_only_the_host_has() -> None:
    program = (
        "import json, sys, gridjit\n"
        "from gridjit.compiler.compile import compile_job, make_job\n"
        "from gridjit.compiler.values.options import Options\n"
        "from gridjit.compiler.values.signature import plain_signature\n"
        "from gridjit.compiler.values.target import Target\n"
        "from gridjit.compiler.view.config import ConfigView\n"
        "def kernel(x):\n"
        "    x[0] = 1\n"
        "target, types = Target(kind='ptx', arch='sm_80'), plain_signature('void(int64[::1])')\n"
        "assert compile_job(make_job(kernel, types, Options(), target), ConfigView(None)).artifact.image\n"
        "print(json.dumps([name for name in sys.modules if name.startswith('gridjit.compiler.targets.host')]))"
    )
    assert run(program) == []


@pytest.mark.parametrize("name", ["gridjit/compiler/__pycache__/driver.pyc", "gridjit/notes.txt", "other-1.dist-info"])
def test_what_is_none_of_gridjits_code_does_not_count(tmp_path: Path, name: str) -> None:
    folder = own_installation(tmp_path / "site-packages")
    before = own_sources("ptx", str(folder))
    other = tmp_path / "site-packages" / name
    other.parent.mkdir(exist_ok=True)
    other.write_text("")
    assert own_sources("ptx", str(folder)) == before


def test_gridjit_inside_an_archive_counts_by_its_bytes(tmp_path: Path) -> None:
    (tmp_path / "all.zip").write_bytes(b"one")
    folder = str(tmp_path / "all.zip" / "gridjit" / "compiler")
    before = own_sources("host", folder)
    (tmp_path / "all.zip").write_bytes(b"other")
    assert own_sources("host", folder) != before


@pytest.fixture
def first_look() -> Iterator[None]:
    """A process that has looked at its toolchain; the next test's looks anew."""
    looks = (toolchain, debug_versions, header_versions)
    for kind in ("host", "ptx"):
        toolchain(kind)
    debug_versions()
    header_versions()
    yield
    for look in looks:
        look.cache_clear()


@pytest.mark.parametrize("kind", ["host", "ptx"])
def test_what_is_loaded_is_what_the_first_look_said(first_look: None, kind: str) -> None:
    assert overtaken(kind, lines=True, headers=True) == ()


@pytest.mark.parametrize(
    ("name", "kind", "labels"),
    [
        ("numba-99.9", "host", ("numba",)),
        ("numba_cuda-99.9", "ptx", ("numba-cuda",)),
        ("llvmlite-99.9", "host", ("llvmlite",)),
        ("nvidia_nvvm-99.9", "ptx", ("nvvm",)),
        ("nvidia_nvjitlink-99.9", "ptx", ("nvjitlink",)),
        ("nvidia_cuda_runtime-99.9", "ptx", ("cuda-runtime", "headers of nvidia-cuda-runtime")),
        ("nvidia_cuda_cccl-99.9", "ptx", ("headers of nvidia-cuda-cccl",)),
    ],
)
def test_a_part_that_is_installed_after_the_first_look_is_named(
    first_look: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, kind: str, labels: tuple[str, ...]
) -> None:
    monkeypatch.setattr(sys, "path", [str(distribution(tmp_path, f"{name}.dist-info")), *sys.path])
    assert overtaken(kind, lines=True, headers=True) == labels


def test_gridjits_own_files_that_changed_after_the_first_look_are_named(
    first_look: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(toolchain_module, "own_sources", lambda kind: "edited")
    toolchain_module._own_sources.cache_clear()
    assert overtaken("host", lines=False, headers=False) == ("gridjit sources",)
    toolchain_module._own_sources.cache_clear()


def test_a_part_that_was_installed_after_the_process_began_is_named_though_the_first_look_came_later(
    first_look: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(installed, "began", lambda: 0)
    assert {"numba", "llvmlite", "numpy"} <= {*overtaken("host", lines=False, headers=False)}


def test_a_part_that_is_loaded_from_another_folder_than_the_first_look_found_is_named(
    first_look: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import llvmlite

    assert str(tmp_path) not in llvmlite.__file__
    monkeypatch.setattr(sys, "path", [str(distribution(tmp_path, "llvmlite-99.9.dist-info")), *sys.path])
    toolchain.cache_clear()
    assert dict(toolchain("host"))["llvmlite"] == "99.9"
    assert overtaken("host", lines=False, headers=False) == ("llvmlite",)


def test_own_files_that_cannot_be_looked_at_are_not_those_of_another_look(monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(*_: object) -> Any:
        raise OSError(5, "Input/output error")

    monkeypatch.setattr(os, "scandir", fails)
    assert own_sources("host") != own_sources("host")
