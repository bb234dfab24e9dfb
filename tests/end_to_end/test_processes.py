"""Across processes: what one compiled the next one finds, without importing a compiler."""

from __future__ import annotations

import json
import os
import shutil
import textwrap
from pathlib import Path
from typing import Any

import pytest

from tests.programs import run_new_python, run_python

pytestmark = pytest.mark.usefixtures("target")
PROGRAM = """
    import json, sys
    import numpy as np
    import gridjit
    from gridjit import cuda

    FACTOR = 3

    @gridjit.jit(device=True)
    def scaled(value):
        return value * FACTOR

    @gridjit.jit
    def scale(x, out):
        tile = cuda.shared.array(gridjit.static.blockDim.x, np.float32)
        i = cuda.grid(1)
        tile[cuda.threadIdx.x] = x[i] if i < x.size else 0
        cuda.syncthreads()
        if i < x.size:
            out[i] = scaled(tile[cuda.threadIdx.x])

    x = cuda.to_device(np.arange(100, dtype=np.float32))
    out = cuda.device_array_like(x)
    for block in (32, 64):
        scale[4, block](x, out)
    print(json.dumps({
        "right": bool((out.copy_to_host() == FACTOR * np.arange(100)).all()),
        "compiles": scale.stats.compiles,
        "disk_hits": scale.stats.disk_hits,
        "disk_misses": scale.stats.disk_misses,
        "modules": [name for name in ("numba", "numba_cuda", "llvmlite.ir", "diskcache") if name in sys.modules],
    }))
"""

# What the code for a target is stored as.
SUFFIX = {"host": ".o", "cuda": ".cubin"}


def run(folder: Path, program: str = PROGRAM, *, new: bool = False, **environment: str) -> dict[str, Any]:
    """Run the program as a file in folder and return what it printed. new: by an interpreter started for it."""
    path = folder / "program.py"
    path.write_text(textwrap.dedent(program))
    done = (run_new_python if new else run_python)("-W", "error", path, env={**os.environ, **environment})
    assert done.returncode == 0, done.stderr
    assert "CacheWarning" not in done.stderr
    report: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    assert report["right"]
    return report


@pytest.fixture(scope="module")
def stored(device_kind: str, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A cache in which a process left what it compiled."""
    folder = tmp_path_factory.mktemp("stored")
    found = run(folder, GRIDJIT_CACHE_DIR=str(folder / "cache"), GRIDJIT_TARGET=device_kind)
    assert (found["compiles"], found["disk_hits"]) == (2, 0)
    return folder / "cache"


@pytest.fixture
def compiled(stored: Path, cache_dir: Path) -> None:
    """The test's cache is a copy of that."""
    shutil.copytree(stored, cache_dir, dirs_exist_ok=True)


def test_a_second_process_compiles_nothing_and_imports_no_compiler(tmp_path: Path) -> None:
    first, second = run(tmp_path), run(tmp_path, new=True)
    assert (first["compiles"], first["disk_hits"], first["disk_misses"]) == (2, 0, 2)
    assert (second["compiles"], second["disk_hits"], second["disk_misses"]) == (0, 2, 0)
    assert second["modules"] == []


@pytest.mark.some(4)
@pytest.mark.usefixtures("compiled")
@pytest.mark.parametrize(
    ("old", "new", "compiles"),
    [
        ("FACTOR = 3", "FACTOR = 4", 2),
        ("return value * FACTOR", "return FACTOR * value + 0", 2),
        ("dtype=np.float32", "dtype=np.float64", 2),
        ("@gridjit.jit\n", "@gridjit.jit(fastmath=True)\n", 2),
        ("FACTOR = 3", "FACTOR = 3  # three", 0),
        ("    i = cuda.grid(1)", "    # the thread's item\n\n    i = cuda.grid(1)", 0),
        ("scale[4, block]", "scale[5, block]", 0),
    ],
    ids=["global", "callee", "argument type", "option", "comment", "lines", "grid"],
)
def test_an_edit_is_a_miss_exactly_if_it_changes_the_code(tmp_path: Path, old: str, new: str, compiles: int) -> None:
    program = textwrap.dedent(PROGRAM)
    assert old in program
    assert run(tmp_path, program.replace(old, new))["compiles"] == compiles


@pytest.mark.usefixtures("compiled")
def test_a_moved_program_finds_what_it_compiled_before(tmp_path: Path) -> None:
    assert run(tmp_path)["compiles"] == 0
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    assert run(elsewhere)["compiles"] == 0


@pytest.mark.some(2)
@pytest.mark.usefixtures("compiled")
@pytest.mark.parametrize("damage", ["truncate", "empty", "flip", "swap"])
def test_damaged_entries_are_compiled_again_and_healed(
    target: str, tmp_path: Path, cache_dir: Path, damage: str
) -> None:
    entries = sorted(path for path in cache_dir.rglob("*") if path.suffix in (SUFFIX[target], ".lcs"))
    assert len(entries) == 3
    contents = [entry.read_bytes() for entry in entries]
    for number, entry in enumerate(entries):
        data = contents[number]
        damaged = {
            "truncate": data[: len(data) // 2],
            "empty": b"",
            "flip": data[:100] + bytes([data[100] ^ 1]) + data[101:],
            "swap": contents[number - 1],
        }[damage]
        entry.write_bytes(damaged)
    assert run(tmp_path)["compiles"] == 2
    assert run(tmp_path)["compiles"] == 0


def test_a_sensitive_job_leaves_a_marker_and_an_insensitive_one_does_not(
    target: str, tmp_path: Path, cache_dir: Path
) -> None:
    run(tmp_path)
    assert len(list(cache_dir.rglob("*.lcs"))) == 1
    insensitive = textwrap.dedent(PROGRAM).replace("gridjit.static.blockDim.x", "64")
    run(tmp_path, insensitive, GRIDJIT_CACHE_DIR=str(tmp_path / "other"))
    assert not list((tmp_path / "other").rglob("*.lcs"))
    assert len(list((tmp_path / "other").rglob("*" + SUFFIX[target]))) == 1


def test_a_marker_says_nothing_about_what_an_edited_kernel_depends_on(tmp_path: Path, cache_dir: Path) -> None:
    insensitive = textwrap.dedent(PROGRAM).replace("gridjit.static.blockDim.x", "64")
    assert run(tmp_path)["compiles"] == 2
    assert run(tmp_path, insensitive)["compiles"] == 1
    assert run(tmp_path, insensitive.replace("(32, 64)", "(16, 48)"))["compiles"] == 0
    assert len(list(cache_dir.rglob("*.lcs"))) == 1
    assert run(tmp_path)["compiles"] == 0


HOOKED = """
    import json, sys
    import numpy as np
    import gridjit, hooks, library
    from gridjit import cuda

    @gridjit.jit
    def reverse(x):
        tile = cuda.shared.array(0, np.float32)
        tile[cuda.threadIdx.x] = x[cuda.threadIdx.x]
        cuda.syncthreads()
        x[cuda.threadIdx.x] = tile[tile.size - 1 - cuda.threadIdx.x]

    x = cuda.to_device(np.arange(64, dtype=np.float32))
    for _ in range(3):
        reverse[1, 64](x)
    print(json.dumps({
        "right": x.copy_to_host().tolist() == list(range(63, -1, -1)),
        "compiles": reverse.stats.compiles,
        "calls": hooks.calls,
    }))
"""
HOOKS = """
    calls = []

    def note(kernel, config):
        calls.append(["note", kernel.name, config.blockdim[0]])

    def sized(size, kernel, config):
        calls.append(["sized", size, config.blockdim[0]])
"""
LIBRARY = """
    import functools
    import hooks
    from numba.cuda.core.rewrites import Rewrite, register_rewrite
    from numba.cuda.launchconfig import ensure_current_launch_config

    @register_rewrite("after-inference")
    class NeedsMemory(Rewrite):
        def match(self, func_ir, block, typemap, calltypes):
            config = ensure_current_launch_config()
            config.sharedmem = 4 * config.blockdim[0]
            if not config.pre_launch_callbacks:
                config.pre_launch_callbacks += [hooks.note, functools.partial(hooks.sized, config.sharedmem)]
            return False
"""


def test_what_a_library_asked_for_while_compiling_is_done_by_the_next_process(tmp_path: Path) -> None:
    for name, text in (("hooks.py", HOOKS), ("library.py", LIBRARY)):
        (tmp_path / name).write_text(textwrap.dedent(text))
    for compiles in (1, 0):
        report = run(tmp_path, HOOKED)
        assert report["compiles"] == compiles
        assert report["calls"] == 3 * [["note", "reverse", 64], ["sized", 256, 64]]


APP = """
    import numpy as np
    import gridjit

    @gridjit.jit
    def writes_block(out):
        out[0] = gridjit.static.blockDim.x
"""
UNPICKLES = """
    import json, pickle, sys
    import numpy as np
    from gridjit import cuda

    kernel = pickle.loads(bytes.fromhex(PICKLED)) if PICKLED else __import__("app").writes_block
    out = cuda.to_device(np.zeros(1, np.int64))
    kernel[1, 32](out)
    print(json.dumps({
        "right": out.copy_to_host().tolist() == [32],
        "compiles": kernel.stats.compiles,
        "pickled": pickle.dumps(kernel).hex(),
    }))
"""


def test_a_pickled_kernel_finds_what_the_process_that_pickled_it_compiled(tmp_path: Path) -> None:
    (tmp_path / "app.py").write_text(textwrap.dedent(APP))
    first = run(tmp_path, UNPICKLES.replace("PICKLED", repr("")))
    second = run(tmp_path, UNPICKLES.replace("PICKLED", repr(first["pickled"])))
    assert (first["compiles"], second["compiles"]) == (1, 0)


def test_assert_no_compile_turns_a_compile_into_an_error_that_says_why(tmp_path: Path) -> None:
    with pytest.raises(
        AssertionError, match=r"CompileDisabledError: __main__\.scale\(float32\[1d C\].*not in the cache"
    ):
        run(tmp_path, GRIDJIT_ASSERT_NO_COMPILE="1")
    run(tmp_path)
    assert run(tmp_path, GRIDJIT_ASSERT_NO_COMPILE="1")["disk_hits"] == 2


def test_without_a_cache_every_process_compiles_and_nothing_is_written(tmp_path: Path, cache_dir: Path) -> None:
    for _ in range(2):
        assert run(tmp_path, GRIDJIT_CACHE="0")["compiles"] == 2
    assert not cache_dir.exists()


def test_a_cache_folder_that_cannot_be_made_is_one_warning_and_right_results(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("not a folder")
    program = textwrap.dedent(PROGRAM).replace(
        "for block in (32, 64):\n    scale[4, block](x, out)",
        "import warnings\n"
        "with warnings.catch_warnings(record=True) as caught:\n"
        "    warnings.simplefilter('always')\n"
        "    for block in (32, 64):\n"
        "        scale[4, block](x, out)\n"
        "assert [w.category.__name__ for w in caught] == ['CacheWarning'], caught",
    )
    assert run(tmp_path, program, GRIDJIT_CACHE_DIR=str(tmp_path / "file" / "cache"))["compiles"] == 2
