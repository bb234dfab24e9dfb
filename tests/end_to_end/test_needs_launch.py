"""A declared signature of a kernel that depends on its launch: that it needs one is found out once, and kept.

Each `declare` is what an import of the kernel's module does.
"""

from __future__ import annotations

import json
import os
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import gridjit
from gridjit import cuda
from gridjit.cache.disk import DiskStore
from gridjit.commands import main
from gridjit.compiler.values.artifact import Artifact
from gridjit.compiler.values.errors import CompileDisabledError, CompileError, LaunchNeededError
from gridjit.runtime.process.session import session
from tests.programs import run_new_python, run_python

pytestmark = pytest.mark.usefixtures("on_host", "looked_into")

FLOATS, DOUBLES = "void(float32[::1])", "void(float64[::1])"
# A module whose kernels depend on their launches: through a constant, and through an implementation of its own.
MODULE = """
import sys
import numpy as np
import gridjit
from gridjit import cuda

FACTOR = 2

@gridjit.jit(["void(float32[::1])", "void(float64[::1])"])
def sized(x):
    x[cuda.grid(1)] = FACTOR * gridjit.static.blockDim.x
"""
EXTENSION = """
from numba.cuda.extending import overload
from numba.cuda.launchconfig import ensure_current_launch_config

def block_size():
    pass

@overload(block_size)
def implement_block_size():
    block = ensure_current_launch_config().blockdim[0]
    return lambda: block
"""
EXTENDED = """
import json
import gridjit
from gridjit import cuda
from extension import block_size

@gridjit.jit("void(float32[::1])")
def sized(x):
    x[cuda.grid(1)] = block_size()

stats = sized.stats
print(json.dumps([stats.compiles, stats.launches_needed, sized.explain()]))
"""


def reads_block(x):
    x[cuda.grid(1)] = gridjit.static.blockDim.x


def adds_one(x):
    x[cuda.grid(1)] += 1


@pytest.fixture
def looked_into(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Note each kernel that is compiled, also in vain."""
    compiled: list[str] = []
    compile_it = gridjit.Kernel._compile_for_args

    def noted(self: gridjit.Kernel, job: Any, view: Any) -> Any:
        compiled.append(job.kernel)
        return compile_it(self, job, view)

    monkeypatch.setattr(gridjit.Kernel, "_compile_for_args", noted)
    return compiled


def declare(*signatures: str, **options: Any) -> gridjit.Kernel:
    """Return a kernel that declares signatures."""
    kernel: gridjit.Kernel = gridjit.jit([*signatures], **options)(reads_block)
    return kernel


def launched(kernel: Any, block: int = 4) -> list[float]:
    x = np.zeros(4, np.float32)
    kernel[1, block](x)
    found: list[float] = x.tolist()
    return found


def counts(kernel: gridjit.Kernel) -> tuple[int, int, int]:
    """How often a kernel was compiled, found, and found to need a launch."""
    return kernel.stats.compiles, kernel.stats.disk_hits, kernel.stats.launches_needed


def test_an_import_imports_no_compiler_and_compiles_nothing_once_it_is_known(cache_dir: Path, tmp_path: Path) -> None:
    (tmp_path / "declares.py").write_text(MODULE)
    environment = {**os.environ, "GRIDJIT_CACHE_DIR": str(cache_dir)}
    program = "import sys, declares; print('numba' in sys.modules, declares.sized.stats.launches_needed)"
    first = run_python("-c", program, env=environment, cwd=tmp_path)
    assert (first.stdout, first.stderr) == ("True 2\n", "")
    strict = {**environment, "GRIDJIT_ASSERT_NO_COMPILE": "1", "GRIDJIT_LOG": "compiles"}
    second = run_new_python("-W", "error", "-c", program, env=strict, cwd=tmp_path)
    assert second.stdout == "False 2\n"
    said = "gridjit: needs a launch sized(float32[1d C]) for host, read at declares.py:11: in the cache"
    assert second.stderr.splitlines()[0] == said


def test_each_signature_is_looked_into_once_and_launches_are_compiled_as_ever(
    restart: Callable[[], None], looked_into: list[str]
) -> None:
    first = declare(FLOATS, DOUBLES)
    assert (counts(first), len(looked_into)) == ((0, 0, 2), 2)
    assert [launched(first, block) for block in (4, 2)] == [[4.0] * 4, [2.0, 2.0, 0.0, 0.0]]
    restart()
    looked_into.clear()
    second = declare(FLOATS, DOUBLES)
    assert [launched(second, block) for block in (4, 2)] == [[4.0] * 4, [2.0, 2.0, 0.0, 0.0]]
    assert (counts(second), looked_into) == ((0, 2, 2), [])


def test_a_compile_without_a_launch_raises_what_the_first_one_raised(
    restart: Callable[[], None], looked_into: list[str]
) -> None:
    errors = []
    for _ in range(2):
        kernel = gridjit.jit(reads_block)
        with pytest.raises(LaunchNeededError, match="needs a launch configuration: launch the kernel") as raised:
            kernel.compile(FLOATS)
        errors.append(raised.value)
        assert counts(kernel) == (0, 0, 1)
        restart()
    assert len(looked_into) == 1
    assert [error.is_stored for error in errors] == [False, True]
    without_place = "\n\n".join(part for part in str(errors[0]).split("\n\n") if not part.startswith("  "))
    assert str(errors[1]) == without_place
    assert kernel.compile(FLOATS, (1, 4)).footprint.sensitive


def test_a_library_that_asks_for_a_launch_where_there_is_none_is_told_of_with_the_way_on() -> None:
    def size() -> Any:
        raise TypeError

    @cuda.extending.overload(size)
    def overload_size() -> Any:
        threads = gridjit.launchconfig.ensure_current_launch_config().blockdim[0]
        return lambda: threads

    @gridjit.jit
    def writes_size(out):
        out[0] = size()

    with pytest.raises(LaunchNeededError) as raised:
        writes_size.compile(FLOATS)
    told = str(raised.value)
    assert "this line needs a launch configuration: launch the kernel, or pass compile(..., config=...)" in told
    assert "out[0] = size()" in told


@pytest.mark.usefixtures("foreign_rewrites")
def test_a_rewrite_that_asks_for_the_launch_needs_one(restart: Callable[[], None], looked_into: list[str]) -> None:
    from numba.cuda.core.rewrites import Rewrite, register_rewrite
    from numba.cuda.launchconfig import ensure_current_launch_config

    @register_rewrite("after-inference")
    class Asks(Rewrite):
        def match(self, func_ir, block, typemap, calltypes):
            ensure_current_launch_config()
            return False

    for origins in (["compiled"], ["disk"]):
        kernel = gridjit.jit(FLOATS)(adds_one)
        assert launched(kernel) == [1.0] * 4
        assert ([one.origin for one in kernel.specializations], counts(kernel)[2]) == (origins, 1)
        restart()
    assert len(looked_into) == 2  # for no launch, and for one


@pytest.mark.some(2)
@pytest.mark.parametrize(
    ("file", "old", "new"),
    [
        ("declares.py", "FACTOR = 2", "FACTOR = 3"),
        ("declares.py", "FACTOR *", "1 + FACTOR *"),
        ("extension.py", "blockdim[0]", "blockdim[1]"),
    ],
    ids=["a global", "the source", "an extension"],
)
def test_what_the_compile_had_read_is_looked_into_again_when_it_is_another(
    cache_dir: Path, tmp_path: Path, file: str, old: str, new: str
) -> None:
    (tmp_path / "extension.py").write_text(EXTENSION)
    (tmp_path / "declares.py").write_text(MODULE)
    (tmp_path / "extended.py").write_text(EXTENDED)
    module = "extended" if file == "extension.py" else "declares"

    def imported(**more: str) -> int:
        environment = {**os.environ, "GRIDJIT_CACHE_DIR": str(cache_dir), **more}
        return run_python("-B", "-c", f"import {module}", env=environment, cwd=tmp_path).returncode

    strict = {"GRIDJIT_ASSERT_NO_COMPILE": "1"}
    assert [imported(**strict), imported(), imported(**strict)] == [1, 0, 0]
    (tmp_path / file).write_text((tmp_path / file).read_text().replace(old, new))
    assert [imported(**strict), imported(), imported(**strict)] == [1, 0, 0]


def test_an_implementation_that_no_longer_asks_for_the_launch_is_compiled_at_the_import(
    cache_dir: Path, tmp_path: Path
) -> None:
    (tmp_path / "extended.py").write_text(EXTENDED)
    environment = {**os.environ, "GRIDJIT_CACHE_DIR": str(cache_dir)}

    def report() -> Any:
        done = run_python("-B", "-c", "import extended", env=environment, cwd=tmp_path)
        assert done.stderr == ""
        return json.loads(done.stdout)

    (tmp_path / "extension.py").write_text(EXTENSION)
    assert [report()[:2], report()[:2]] == [[0, 1], [0, 1]]
    (tmp_path / "extension.py").write_text(EXTENSION.replace("ensure_current_launch_config().blockdim[0]", "7"))
    assert report()[:2] == [1, 0]


@pytest.mark.usefixtures("foreign_rewrites")
def test_what_cannot_be_compared_later_is_looked_into_each_time(
    restart: Callable[[], None], looked_into: list[str]
) -> None:
    from numba.cuda.core.rewrites import Rewrite, register_rewrite
    from numba.cuda.launchconfig import ensure_current_launch_config

    @register_rewrite("before-inference")
    class AsksForTheColumn(Rewrite):
        def match(self, func_ir, block, typemap, calltypes):
            return block.body[0].loc.col is None and ensure_current_launch_config()

    for _ in range(2):
        assert counts(gridjit.jit(FLOATS)(adds_one)) == (0, 0, 1)
        restart()
    assert len(looked_into) == 2


def test_threads_that_declare_at_once_look_into_it_once(looked_into: list[str]) -> None:
    together, found = threading.Barrier(4), []

    def work() -> None:
        together.wait()
        found.append(counts(declare(FLOATS)))

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert (found, len(looked_into)) == ([(0, 0, 1)] * 4, 1)


def test_fields_that_are_folded_need_a_launch_too(restart: Callable[[], None], looked_into: list[str]) -> None:
    for _ in range(2):
        kernel = gridjit.jit(FLOATS, specialize="blockdim")(lambda x: None)
        assert counts(kernel) == (0, 0, 1)
        with pytest.raises(CompileError, match="folds the launch's own values into the code"):
            kernel.compile(FLOATS)
        restart()
    assert len(looked_into) == 1


def test_nothing_may_be_compiled_to_find_it_out(monkeypatch: pytest.MonkeyPatch, restart: Callable[[], None]) -> None:
    monkeypatch.setenv("GRIDJIT_ASSERT_NO_COMPILE", "1")
    restart()
    with pytest.raises(CompileDisabledError):
        declare(FLOATS)


def test_a_process_that_compiles_for_others_finds_it_out_for_all(
    monkeypatch: pytest.MonkeyPatch, restart: Callable[[], None], looked_into: list[str]
) -> None:
    for pool_is_there in (True, False):
        kernel = declare(FLOATS, background=True)
        kernel.wait_for_compiles()
        assert (counts(kernel), looked_into) == ((0, 0, 1), [])
        said = "needs a launch, for which it is compiled in this process: its code depends on the launch"
        assert f"declared (float32[1d C]): {said}" in kernel.explain()
        assert bool(session()._pool) == pool_is_there
        restart()
    assert launched(declare(FLOATS, background=True)) == [4.0] * 4


def test_everybody_is_told_what_it_is(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, restart: Callable[[], None], capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("GRIDJIT_TRACE", str(tmp_path / "trace.json"))
    monkeypatch.setenv("GRIDJIT_LOG", "compiles")
    place = f"test_needs_launch.py:{reads_block.__code__.co_firstlineno + 1}"
    for found in ("found out by compiling it", "in the cache"):
        restart()
        kernel = declare(FLOATS)
        assert f"gridjit: needs a launch reads_block(float32[1d C]) for host, read at {place}: {found}\n" in (
            capsys.readouterr().err
        )
        name = f"{__name__}.reads_block"
        assert kernel.explain() == (
            f"{name}: 0 compiled, 0 from the cache, 1 without code as a launch is needed\n"
            f"(float32[1d C]) for host needs a launch, read at {place}: {found}"
        )
    monkeypatch.delenv("GRIDJIT_TRACE")
    restart()
    events = json.loads((tmp_path / "trace.json").read_text())
    told = [event for event in events if event.get("cat") == "needs a launch"]
    assert [event["name"] for event in told] == ["reads_block needs a launch"] * 2
    assert not [event for event in events if event.get("cat") in ("compile", "find", "fail")]
    for words in ([], [str(tmp_path / "trace.json")]):
        assert main(["report", *words, "--json"]) == 0
        report = json.loads(capsys.readouterr().out)
        assert (report["launches_needed"], report["hits"], report["compiles"]) == (2 if words else 1, 0, 0)
    assert main(["report"]) == 0
    assert "0 kernels, 0 specializations, 1 needing a launch" in capsys.readouterr().out


def test_commands_know_the_entry(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, cache_dir: Path, restart: Callable[[], None],
    capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    declare(FLOATS)
    bundle = str(tmp_path / "bundle")
    assert main(["cache", "ls", "--json"]) == 0
    (entry,) = json.loads(capsys.readouterr().out)
    assert (entry["kind"], entry["kernel"], entry["hits"]) == ("needs a launch", f"{__name__}.reads_block", 0)
    assert main(["cache", "ls"]) == 0
    assert "needs a launch" in capsys.readouterr().out
    assert main(["cache", "show", entry["key"][:12]]) == 0
    assert "needs a launch" in capsys.readouterr().out
    assert main(["cache", "stats"]) == 0
    assert "no uses are counted yet" in capsys.readouterr().out
    assert main(["cache", "verify"]) == 0
    assert main(["cache", "export", bundle, "--target", entry["target"]]) == 0
    monkeypatch.setenv("GRIDJIT_CACHE_DIR", str(tmp_path / "elsewhere"))
    monkeypatch.setenv("GRIDJIT_ASSERT_NO_COMPILE", "1")
    restart()
    assert main(["cache", "import", bundle]) == 0
    assert counts(declare(FLOATS)) == (0, 0, 1)
    assert main(["cache", "gc", "--max-entries", "0"]) == 0
    assert list(DiskStore(tmp_path / "elsewhere").entries()) == []


def test_explain_and_warm_say_that_it_needs_a_launch(cache_dir: Path, tmp_path: Path) -> None:
    (tmp_path / "declares.py").write_text(MODULE)
    environment = {**os.environ, "GRIDJIT_CACHE_DIR": str(cache_dir)}

    def said(*words: str) -> str:
        return run_python("-m", "gridjit", *words, env=environment, cwd=tmp_path).stdout

    for _ in range(2):
        assert "0 compiled, 0 in the cache already, 2 failed (2 for want of a launch)" in said("warm", "declares:sized")
        assert json.loads(said("warm", "declares:sized", "--json"))["needs_launch"] == 2
    told = said("explain", "declares:sized", "--signature", FLOATS)
    assert "depends on: needs a launch" in told
    assert "it depends on the launch: give one with --config" in told
    assert "compiles:" not in told


def test_what_has_no_code_is_read_only_where_it_says_that_there_was_no_launch(cache_dir: Path) -> None:
    declare(FLOATS)
    store = DiskStore(cache_dir)
    (data,) = (data for info in store.entries() if (data := store.get(info.key)) and Artifact.from_bytes(data))
    answer = Artifact.read(data)
    assert answer.needs_launch and not answer.image
    assert not answer.footprint.matches(gridjit.LaunchConfig.of(1, 4))
    for old, new in ((b'["launch",false,', b'["launch",true,'), (b'"entry":""', b'"entry":"a"')):
        assert data.count(old) == 1
        changed = data.replace(old, new)
        length = len(changed) - 16
        assert Artifact.from_bytes(changed[:length] + length.to_bytes(8, "little") + changed[-8:]) is None
