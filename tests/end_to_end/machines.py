"""A program that several machines run: each cache folder is a machine of its own, with remote caches in between."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tests.programs import run_new_python, run_python

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
        out[i] = scaled(tile[cuda.threadIdx.x]) * gridjit.static.blockDim.x

@gridjit.jit
def plain(x, out):
    i = cuda.grid(1)
    if i < x.size:
        out[i] = x[i] + 1

x = np.arange(100, dtype=np.float32)
out = np.zeros_like(x)
right = []

def launches():
    for block in (32, 64):
        scale[4, block](x, out)
        right.append(bool((out == FACTOR * block * x).all()))
    plain[4, 32](x, out)
    right.append(bool((out == x + 1).all()))

launches()
"""
PATIENT = """
from gridjit.cache.remote import tier
tier.LOOK_UP_S = tier.EXIT_S = 60.0
tier.ASKING = tier.PACKS = tier.WORKING
"""
TELLS = """
found = [*scale.specializations, *plain.specializations]
tier = gridjit.runtime.process.session.session().remote
flushed = tier is None or tier.flush(60.0)
print(json.dumps({
    "right": all(right), "flushed": flushed,
    "story": plain.explain(),
    "origins": sorted(one.origin for one in found),
    "compiles": scale.stats.compiles + plain.stats.compiles,
    "remotes": [] if tier is None else [remote.told() for remote in tier.remotes],
}))
"""
COMPILED, FOUND, STORED = ["compiled"] * 3, ["remote"] * 3, ["disk"] * 3


Run = Callable[..., dict[str, Any]]


def content(folder: Path) -> dict[str, bytes]:
    """Return all files below a folder."""
    files = (path for path in folder.rglob("*") if path.is_file())
    return {str(path.relative_to(folder)): path.read_bytes() for path in files}


def machine_at(tmp_path: Path, remote: Path) -> Run:
    """Return what runs a program on a machine, and returns the JSON that it prints.

    url: its remotes; the shared folder, unless it is given. Warnings are errors, unless there is one to be found.
    hurries: whether it waits for remotes no longer than programs do; else a busy machine takes its time.
    """

    def run(
        name: str,
        program: str = PROGRAM,
        *,
        url: str | None = None,
        warns: str = "",
        new: bool = False,
        hurries: bool = False,
        **more: str,
    ) -> dict[str, Any]:
        folder = tmp_path / "programs" / name
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "main.py").write_text(("" if hurries else PATIENT) + program + TELLS)
        remotes = f"file://{remote}?unsigned" if url is None else url
        settings = {
            "GRIDJIT_TARGET": "host",
            "GRIDJIT_CACHE_DIR": str(tmp_path / name),
            "GRIDJIT_CACHE_REMOTE": remotes,
        }
        options = [] if warns else ["-W", "error"]
        done = (run_new_python if new else run_python)(
            *options, "main.py", cwd=folder, env={**os.environ, **settings, **more}, timeout=200.0
        )
        assert done.returncode == 0, done.stderr
        assert (warns in done.stderr) if warns else not done.stderr, done.stderr
        printed: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
        assert printed["right"] and printed["flushed"]
        return printed

    return run
