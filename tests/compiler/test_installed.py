"""Installed code counts by its distribution, and by the plain settings that it reads; it is never looked into."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import textwrap
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

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
    "tilelib/stubs.py": """
        def stub(x):
            raise NotImplementedError
        def late_tile(x):
            raise NotImplementedError
        def lazily(x):
            raise NotImplementedError
        """,
    "tilelib/registered.py": """
        import itertools, os, threading, time
        from dataclasses import dataclass, field
        from numba.cuda import types
        from numba.cuda.core.imputils import lower_builtin
        from numba.cuda.core.rewrites import Rewrite, register_rewrite
        from numba.cuda.extending import overload
        from tilelib import config, stubs

        ids = itertools.count()
        lock = threading.RLock()
        memo = {}
        seen = 0
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
                global seen
                seen += 1
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

        def many():
            for number in range(150):
                def operation(x):
                    raise NotImplementedError
                @lower_builtin(operation, types.float64)
                def lower(context, builder, sig, args):
                    return next(ids), number
        many()
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
    """Run kernels in a process of their own; returns result, compiles and reasons to stay private by kernel."""

    def run(kernels: str = "tiled", before: str = "", path: Path | None = None) -> Any:
        environ = {**os.environ, "PYTHONPATH": str(path or site), "PYTHONDONTWRITEBYTECODE": "1"}
        program = PROGRAM.format(before=textwrap.dedent(before), kernels=f"{kernels},")
        done = subprocess.run(
            [sys.executable, "-W", "error", "-c", program], env=environ, capture_output=True, text=True, timeout=120
        )
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)

    return run


ALL = "plain, tiled, late, lazy"


def test_kernels_of_a_library_and_all_others_are_stored_and_found_by_the_next_process(run: Run) -> None:
    assert run(ALL) == {"plain": [1, 1, []], "tiled": [3, 1, []], "late": [4, 1, []], "lazy": [3, 1, []]}
    assert run(ALL) == {"plain": [1, 0, []], "tiled": [3, 0, []], "late": [4, 0, []], "lazy": [3, 0, []]}
