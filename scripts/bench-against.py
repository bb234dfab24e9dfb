#!/usr/bin/env python3
"""Measure launches at two git refs, each in a temporary worktree, and print the second's times as ratios to the first.

    python scripts/bench-against.py main HEAD
    python scripts/bench-against.py v0.1.0 HEAD --target host --loops 500

Both are measured by this checkout's bench-launch-overhead; options after the refs are passed on to it. Needs a GPU
unless --target host is given. The worktrees are removed at the end, however it comes.
"""

from __future__ import annotations

import argparse
import json
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from launch_overhead import device, tables
from launch_overhead.timing import Row

SCRIPTS = Path(__file__).resolve().parent
ROOT = SCRIPTS.parent


def main() -> None:
    """Measure both and print the tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("refs", nargs=2, metavar="REF", help="a commit, branch or tag; the first is the reference")
    parser.add_argument("--output", type=Path, metavar="FILE.json", help="write everything that was found")
    parser.add_argument("--target", choices=("cuda", "host"), default="cuda")
    given, passed_on = parser.parse_known_args()
    if given.target == "cuda":
        device.refuse_without_gpu("bench-against")
    commits = [_commit(ref) for ref in given.refs]
    names = _names(given.refs)
    # An end from outside cleans up, too.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    with tempfile.TemporaryDirectory(prefix="bench-against-") as folder:
        output = given.output.resolve() if given.output else Path(folder) / "found.json"
        with (
            _worktree(commits[0], Path(folder) / "first") as one,
            _worktree(commits[1], Path(folder) / "second") as two,
        ):
            repositories = [f"--repo={name}={path}" for name, path in zip(names, (one, two), strict=True)]
            program = [sys.executable, str(SCRIPTS / "bench-launch-overhead.py"), *repositories]
            options = ["--target", given.target, "--no-peers", "--output", str(output), *passed_on]
            code = subprocess.run([*program, *options], check=False).returncode
            if code:
                raise SystemExit(code)
        found = json.loads(output.read_text())
    rows = [Row.of(row) for row in found["rows"]]
    print(f"\n{names[1]} ({commits[1][:10]}) / {names[0]} ({commits[0][:10]}), measured in turns:")
    print(tables.ratios(rows, *names))


def _names(refs: list[str]) -> list[str]:
    """Return what to call the refs; the same ref twice shows how far apart two measurements of one thing are."""
    first, second = refs
    return [first, second if second != first else f"{second} again"]


def _commit(ref: str) -> str:
    done = _git("rev-parse", "--verify", "--quiet", "--end-of-options", f"{ref}^{{commit}}")
    if done.returncode:
        print(f"bench-against: {ref!r} is not a commit of {ROOT}", file=sys.stderr)
        raise SystemExit(2)
    return done.stdout.strip()


@contextmanager
def _worktree(commit: str, path: Path) -> Iterator[Path]:
    done = _git("worktree", "add", "--quiet", "--detach", str(path), commit)
    if done.returncode:
        raise SystemExit(f"bench-against: git could not make a worktree\n{done.stderr.strip()}")
    try:
        yield path
    finally:
        _git("worktree", "remove", "--force", str(path))


def _git(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(["git", "-C", str(ROOT), *arguments], capture_output=True, text=True, check=False)


if __name__ == "__main__":
    main()
