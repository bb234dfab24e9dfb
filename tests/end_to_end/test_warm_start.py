"""A process that launches what is in the cache imports what that needs, and no more."""

from __future__ import annotations

import json
import os
from pathlib import Path

from tests.programs import run_new_python, run_python

# Parts of gridjit that a kernel without extensions, hooks, linked files and recorded values has no use for.
NOT_NEEDED = (
    "cache.chain",
    "cache.index",
    "cache.remote",
    "compiler.hooks",
    "compiler.key.argument_classes",
    "compiler.key.extensions",
    "compiler.key.installed",
    "compiler.key.linked_files",
    "compiler.key.registrations",
    "compiler.key.foreign",
    "compiler.recorded",
    "compiler.source.code_place",
    "compiler.source.identity",
    "compiler.source.plain_number",
    "compiler.view",
    "runtime.devices.exceptions",
    "runtime.installed",
    "runtime.devices.hooks",
    "runtime.native.function",
    "runtime.native.object_code",
    "runtime.native.operation",
    "runtime.numba_names",
    "runtime.pool",
    "runtime.process.secret",
    "runtime.simulated",
    "runtime.tiered",
    "runtime.traced",
)
PROGRAM = """
import json, sys
import numpy as np
import gridjit
from gridjit import cuda

@gridjit.jit
def scale(x, factor):
    i = cuda.grid(1)
    if i < x.size:
        x[i] *= factor

x = np.ones(64)
scale[1, 64](x, 3.0)  # one block: whether others get help is a matter of time
assert x.sum() == 192
print(json.dumps([scale.stats.compiles, sorted(name for name in sys.modules if name.startswith("gridjit."))]))
"""


def test_a_first_launch_from_disk_imports_only_what_it_uses(tmp_path: Path) -> None:
    (tmp_path / "program.py").write_text(PROGRAM)
    for compiles, run in ((1, run_python), (0, run_new_python)):
        done = run(tmp_path / "program.py", env=os.environ | {"GRIDJIT_TARGET": "host"})
        assert done.returncode == 0, done.stderr
        found, modules = json.loads(done.stdout)
        assert found == compiles
    assert [name for name in modules if name.removeprefix("gridjit.").startswith(NOT_NEEDED)] == []
    assert len(modules) <= 100, modules


def test_a_launch_from_disk_only_reads_the_addresses_of_remote_caches(tmp_path: Path) -> None:
    (tmp_path / "program.py").write_text(PROGRAM)
    remote = {
        "GRIDJIT_CACHE_REMOTE": f"file://{tmp_path}/remote?unsigned https://remote.example/cache?unsigned&read-only"
    }
    for compiles, run in ((1, run_python), (0, run_new_python)):
        given = os.environ | {"GRIDJIT_TARGET": "host"} | (remote if compiles == 0 else {})
        done = run(tmp_path / "program.py", env=given)
        assert done.returncode == 0, done.stderr
        found, modules = json.loads(done.stdout)
        assert found == compiles
    parts = [name for name in modules if name.startswith("gridjit.cache.remote")]
    assert parts == ["gridjit.cache.remote", "gridjit.cache.remote.address"]
